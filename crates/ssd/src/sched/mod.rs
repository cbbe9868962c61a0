//! Scheduling below the FTL: in which order the commands that wait for a die run, and whether one that runs makes way.
//!
//! The contract. A die has a [`Queue`]. [`Scheduler::place`] says where in it a new command goes, [`Scheduler::pick`] which
//! of those waiting runs when the die is free, [`Scheduler::gives_way`] whether a command that runs is paused for the
//! read at the head of the queue, and [`Scheduler::goes_on_with`] whether reads go on while it is. [`Scheduler::settle`]
//! keeps count of what no read passes any more; the engine calls it after every change of the queue. Whatever the order, a command never passes one that it depends on: a read never passes a
//! command that writes its page, and commands that write to a unit keep their order. Commands carry the pages they touch
//! only for schedulers that reorder; with these, commands start when everything else of an instant has happened, so that what
//! arrives together is put in order before any of it starts ([`Dispatch::Batch`]), or at once. Policies decide; the queue, the pauses and the times are the engine's.

mod by_page;
mod chunks;
mod fifo;
mod flin;
mod lengths;
mod out_of_order;
mod pages;
mod passing;
mod queue;
mod queued;
mod read_first;
mod read_priority;
mod suspend;
#[cfg(test)]
mod tests;
mod unordered;
mod work;
mod writing;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::Bound;

pub(crate) use flin::{Arrival, Shape};
pub(crate) use pages::Pages;
use passing::Passing;
pub(crate) use queue::Queue;
pub(crate) use queued::{Chain, Queued};
pub(crate) use suspend::Suspends;

/// In which order the commands of a die run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SchedPolicy {
    /// In the order of arrival.
    Fifo(fifo::Config),
    /// Each read moves ahead of writes that wait, as far as `sched.write_bound` lets it; never past a read, a write to its
    /// page or an erase.
    ReadFirst(read_first::Config),
    /// Host reads before everything else that waits, among themselves in the order of arrival: the reference of queueing theory.
    ReadPriority(read_priority::Config),
    /// As `read-first`, and a program, a page copy or an erase that runs is suspended for reads.
    Suspend(suspend::Config),
    /// Fair to tenants: flows of low intensity first, slowdowns alike, levels of priority, waits of reads and writes balanced.
    Flin(flin::Config),
    /// The oldest command that can start at once, whatever waits before it that it does not depend on.
    OutOfOrder(out_of_order::Config),
}

/// When a die starts one of several commands that arrive at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Dispatch {
    /// When everything else of the instant has happened: the scheduler chooses among all that arrived.
    #[default]
    Batch,
    /// As the first of them arrives, if the die was idle before: the scheduler orders the rest. A die that becomes free at that
    /// instant chooses among all.
    Immediate,
}

/// Order of the commands of a die.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SchedConfig {
    /// Scheduling policy.
    #[serde(flatten)]
    pub policy: SchedPolicy,
    /// Estimated latency over which no read pushes a write, or "none": soft, because other writes may. For `read-first` and `suspend`.
    pub write_bound: Bound,
    /// True: reads pass the copies and erases of a collection that wait, and get in between the page copies of one that
    /// runs; `suspend` always does.
    pub preempt_gc: bool,
    /// When an idle die starts one of the commands of one instant: `batch` once all of them have arrived, `immediate` the first as it
    /// arrives. With `fifo` both are the same.
    pub dispatch: Dispatch,
}

impl Default for SchedConfig {
    fn default() -> Self {
        Self {
            policy: SchedPolicy::Fifo(fifo::Config {}),
            write_bound: Bound::default(),
            preempt_gc: false,
            dispatch: Dispatch::default(),
        }
    }
}

impl SchedConfig {
    /// Why the policy can't do with busy-until times, if it can't.
    pub(crate) fn needs_events(&self) -> Option<&'static str> {
        self.reorders().then_some("the scheduler changes the order of commands")
    }

    /// True if commands may run in another order than that of their arrival.
    pub(crate) fn reorders(&self) -> bool {
        !matches!(self.policy, SchedPolicy::Fifo(_))
    }

    /// True if reads go ahead of writes.
    pub(crate) fn prefers_reads(&self) -> bool {
        self.reorders() && !matches!(self.policy, SchedPolicy::OutOfOrder(_) | SchedPolicy::Flin(_))
    }

    /// True if commands of one instant are put in order before any of them starts.
    pub(crate) fn batches(&self) -> bool {
        self.dispatch == Dispatch::Batch
    }

    /// True if `sched.write_bound` has an effect.
    pub(crate) fn bounds_writes(&self) -> bool {
        matches!(self.policy, SchedPolicy::ReadFirst(_) | SchedPolicy::Suspend(_))
    }
}

/// An operation that an array is busy with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    /// Its array time without suspensions, ns.
    pub(crate) total_ns: u64,
    /// True if it was suspended before.
    pub(crate) resumed: bool,
    /// Time for which it is still being resumed, ns.
    pub(crate) to_start_ns: u64,
    /// Time for which it has run since it began, or was resumed, ns.
    pub(crate) ran_ns: u64,
}

/// A command that runs, as a scheduler sees it that may pause it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Running {
    /// True if a request or the map waits for what it writes: a program, as opposed to collection.
    pub(crate) is_write: bool,
    /// True if it is between two copies: nothing is lost if it pauses now.
    pub(crate) between_copies: bool,
    /// Since when it has been in the queue or running, ns.
    pub(crate) age_ns: u64,
    /// Time that it still takes without a pause, ns.
    pub(crate) left_ns: u64,
    /// True if it erases.
    pub(crate) is_erase: bool,
    /// The operation that its array is busy with, if it is.
    pub(crate) array: Option<Operation>,
    /// Number of its suspensions.
    pub(crate) suspensions: u32,
    /// Commands that a read delays that goes before it: itself, and those that wait and are no reads.
    pub(crate) writes: u32,
}

/// The schedulers: a closed enum, because it is asked for every command.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Scheduler {
    Fifo,
    /// Reads move ahead; see [`Passing`].
    Reads(Passing),
    Suspend(suspend::Suspend),
    Flin(Box<flin::Flin>),
    OutOfOrder(out_of_order::OutOfOrder),
}

impl Scheduler {
    pub(crate) fn new(config: &SchedConfig, shape: Shape) -> Self {
        match &config.policy {
            SchedPolicy::Fifo(_) => Scheduler::Fifo,
            SchedPolicy::ReadFirst(_) => Scheduler::Reads(read_first::passing(config)),
            SchedPolicy::ReadPriority(_) => Scheduler::Reads(read_priority::passing(config)),
            SchedPolicy::Suspend(own) => Scheduler::Suspend(suspend::Suspend::new(own, config)),
            SchedPolicy::Flin(own) => Scheduler::Flin(Box::new(flin::Flin::new(own, shape))),
            SchedPolicy::OutOfOrder(own) => Scheduler::OutOfOrder(out_of_order::OutOfOrder::new(own)),
        }
    }

    /// True if commands may run in another order than that of their arrival.
    #[inline]
    pub(crate) fn reorders(&self) -> bool {
        !matches!(self, Scheduler::Fifo)
    }

    /// Rule by which reads move ahead when they arrive, if they do.
    #[inline]
    fn passing(&self) -> Option<&Passing> {
        match self {
            Scheduler::Fifo | Scheduler::Flin(_) | Scheduler::OutOfOrder(_) => None,
            Scheduler::Reads(passing) | Scheduler::Suspend(suspend::Suspend { passing, .. }) => Some(passing),
        }
    }

    /// True if a command that has begun may be paused.
    #[inline]
    pub(crate) fn pauses(&self) -> bool {
        match self {
            Scheduler::Suspend(_) => true,
            _ => self.passing().is_some_and(|passing| passing.interrupts_copies),
        }
    }

    /// True if the scheduler needs the remaining time of the command that runs.
    #[inline]
    pub(crate) fn estimates(&self) -> bool {
        matches!(self, Scheduler::Flin(_))
            || self.passing().is_some_and(|passing| passing.write_bound_ns < u64::MAX)
    }

    /// The place in the queue for a command that arrives at `now_ns`; `ahead_ns` is what the command that runs still takes. A
    /// read that passes the copy of its page reads it where it was.
    #[inline]
    pub(crate) fn place(&self, queue: &Queue, arriving: &mut Queued, now_ns: u64, ahead_ns: u64) -> usize {
        match self.passing() {
            None => queue.len(),
            Some(passing) => passing.place(queue, arriving, now_ns, ahead_ns),
        }
    }

    /// Keeps count of what no read passes, or of what keeps no order, after a command was put at `inserted` or another one was
    /// taken out.
    #[inline]
    pub(crate) fn settle(&self, queue: &mut Queue, inserted: Option<usize>) {
        if let Some(passing) = self.passing() {
            passing.settle(queue, inserted);
        } else if let Scheduler::OutOfOrder(_) | Scheduler::Flin(_) = self {
            queue.list_unordered();
        }
    }

    /// Notes a command that was put at the end of the queue.
    #[inline]
    pub(crate) fn arrived(&self, queue: &mut Queue, arrival: Arrival) {
        if let Scheduler::Flin(flin) = self {
            flin.arrived(queue, arrival);
        }
    }

    /// Notes a command that was taken out of the queue to run.
    #[inline]
    pub(crate) fn taken(&self, queue: &mut Queue, queued: &Queued) {
        if let Scheduler::Flin(flin) = self {
            flin.taken(queue, queued);
        }
    }

    /// The place in the queue, which is not empty, of the command to run next.
    #[inline]
    pub(crate) fn pick(&self, queue: &mut Queue, bus_is_free: bool, now_ns: u64) -> usize {
        match self {
            Scheduler::Fifo | Scheduler::Reads(_) | Scheduler::Suspend(_) => 0,
            Scheduler::Flin(flin) => flin.pick(queue, now_ns),
            Scheduler::OutOfOrder(out_of_order) => out_of_order.pick(queue, bus_is_free),
        }
    }

    /// True if a command that runs is paused for the read at the head of the queue, which does not depend on it.
    pub(crate) fn gives_way(&self, running: &Running, read: &Queued) -> bool {
        match self {
            Scheduler::Suspend(suspend) => suspend.gives_way(running, read),
            _ => self.pauses() && running.between_copies,
        }
    }

    /// Time for which the command that runs can't be paused, whatever comes, ns. The scheduler is asked again then.
    pub(crate) fn protected_ns(&self, running: &Running) -> u64 {
        if let Scheduler::Suspend(suspend) = self { suspend.protected_ns(running) } else { 0 }
    }

    /// True if reads go on while a command is paused.
    pub(crate) fn goes_on_with(&self, paused: &Running, read: &Queued) -> bool {
        match self {
            Scheduler::Suspend(suspend) => suspend.goes_on_with(paused, read),
            _ => self.passing().is_some(),
        }
    }

    /// Time from the decision to suspend a program or an erase to the die being free, ns.
    pub(crate) fn suspend_ns(&self, is_erase: bool) -> u64 {
        if let Scheduler::Suspend(suspend) = self { suspend.overhead(is_erase).stop_ns } else { 0 }
    }

    /// Time that a suspended program or erase takes more each time that it goes on, ns.
    pub(crate) fn resume_ns(&self, is_erase: bool) -> u64 {
        if let Scheduler::Suspend(suspend) = self { suspend.overhead(is_erase).resume_ns } else { 0 }
    }

    /// True if reads get the bus before programs that wait for it.
    pub(crate) fn bus_prefers_reads(&self) -> bool {
        matches!(self, Scheduler::Suspend(suspend) if suspend.bus_reads_first)
    }
}
