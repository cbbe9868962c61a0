//! Reads ahead of writes that wait, and of the one that runs: a program, a page copy or an erase whose array is busy is
//! suspended while reads that came meanwhile run, and resumed after them (Wu & He, FAST 2012). Suspending takes
//! `sched.suspend_time` before the die is free, and resuming `sched.resume_time` more than what was left. A command is
//! suspended at most `sched.max_suspensions` times, and not if it would be done before the die is free; a write is suspended, and
//! stays so, only while the read that goes before it leaves it within `sched.write_bound`.
//!
//! An operation of the array may have a first and a last share in which it can't be suspended (`sched.protected_start`,
//! `sched.protected_end`), and runs for `sched.min_run` between two suspensions: a read that comes earlier waits for that time,
//! and the operation is then suspended. Erases may have overheads of their own, and `sched.suspends` takes programs or erases
//! out.
//!
//! With `sched.write_weight` above 0 a command that is nearly done is left to end: it is suspended only if what the read
//! would wait for it is more than what it and all else that waits, but for reads, would wait for the read (suspension included),
//! weighted.
//! At 1 each suspension shortens the sum of all waits; the rule is that of the shortest remaining time, for a die.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Passing, Queued, Running, SchedConfig};
use crate::quantity::{Bound, LONGEST_NS, Nanos, round_to_u64};

/// Operations of the array that may be suspended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Suspends {
    /// Programs, page copies and erases.
    #[default]
    All,
    /// Programs and page copies.
    Program,
    /// Erases.
    Erase,
}

/// Cost and limits of suspensions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// Time from the decision to suspend a command to the die being free.
    #[schemars(range(max = LONGEST_NS))]
    pub suspend_time: Nanos,
    /// Time that a suspended command takes more each time that it goes on.
    #[schemars(range(max = LONGEST_NS))]
    pub resume_time: Nanos,
    /// The same as `suspend_time` for erases; "none": `suspend_time` is for them, too.
    #[schemars(range(max = LONGEST_NS))]
    pub erase_suspend_time: Bound,
    /// The same as `resume_time` for erases; "none": `resume_time` is for them, too.
    #[schemars(range(max = LONGEST_NS))]
    pub erase_resume_time: Bound,
    /// Operations of the array that may be suspended.
    pub suspends: Suspends,
    /// Array time that an operation runs between two suspensions of it, the resuming not included: its floor of progress.
    #[schemars(range(max = LONGEST_NS))]
    pub min_run: Nanos,
    /// Share of an operation's array time, from its start, in which it can't be suspended.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub protected_start: f64,
    /// Share of an operation's array time, before its end, in which it can't be suspended.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub protected_end: f64,
    /// Weight of a write's wait against that of a read, which counts 1: a command is suspended if the read would wait
    /// longer for it than it, and all that wait behind it, for the read. 0: always.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub write_weight: f64,
    /// Most suspensions of one command.
    pub max_suspensions: u32,
    /// True: reads get the bus of their channel before programs that wait for it.
    pub bus_reads_first: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            suspend_time: Nanos(0),
            resume_time: Nanos(5_000),
            erase_suspend_time: Bound(None),
            erase_resume_time: Bound(None),
            suspends: Suspends::All,
            min_run: Nanos(0),
            protected_start: 0.0,
            protected_end: 0.0,
            write_weight: 1.0,
            max_suspensions: 10,
            bus_reads_first: true,
        }
    }
}

/// Time to suspend an operation, and to resume it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Overhead {
    pub(super) stop_ns: u64,
    pub(super) resume_ns: u64,
}

/// The policy with its numbers.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Suspend {
    pub(super) passing: Passing,
    program: Overhead,
    erase: Overhead,
    suspends: Suspends,
    min_run_ns: u64,
    protected_start: f64,
    protected_end: f64,
    write_weight: f64,
    max_suspensions: u32,
    pub(super) bus_reads_first: bool,
}

impl Suspend {
    pub(super) fn new(own: &Config, config: &SchedConfig) -> Self {
        Self {
            passing: Passing {
                write_bound_ns: config.write_bound.ns(),
                collections: true,
                hindered_reads: false,
                interrupts_copies: true,
            },
            program: Overhead { stop_ns: own.suspend_time.0, resume_ns: own.resume_time.0 },
            erase: Overhead {
                stop_ns: own.erase_suspend_time.0.unwrap_or(own.suspend_time).0,
                resume_ns: own.erase_resume_time.0.unwrap_or(own.resume_time).0,
            },
            suspends: own.suspends,
            min_run_ns: own.min_run.0,
            protected_start: own.protected_start,
            protected_end: own.protected_end,
            write_weight: own.write_weight,
            max_suspensions: own.max_suspensions,
            bus_reads_first: own.bus_reads_first,
        }
    }

    /// See [`super::Scheduler::gives_way`].
    pub(super) fn gives_way(&self, running: &Running, read: &Queued) -> bool {
        let Overhead { stop_ns, resume_ns } = self.overhead(running.is_erase);
        running.between_copies
            || running.suspensions < self.max_suspensions
                && self.may_stop(running)
                && running.left_ns > stop_ns
                && running.left_ns as f64 > self.cost_ns(running, read)
                && self.keeps_bound(running, read, stop_ns + resume_ns)
    }

    /// Time to suspend a program or an erase, and to resume it.
    pub(super) fn overhead(&self, is_erase: bool) -> Overhead {
        if is_erase { self.erase } else { self.program }
    }

    /// See [`super::Scheduler::protected_ns`].
    pub(super) fn protected_ns(&self, running: &Running) -> u64 {
        let Some(array) = running.array else { return 0 };
        let run_ns = if array.resumed {
            self.min_run_ns
        } else {
            round_to_u64(self.protected_start * array.total_ns as f64)
        };
        // Without a floor an operation may be suspended again while it resumes.
        if run_ns == 0 { 0 } else { array.to_start_ns + run_ns.saturating_sub(array.ran_ns) }
    }

    /// True if the operation of the array that runs is one that may be suspended, and not near its end.
    fn may_stop(&self, running: &Running) -> bool {
        let Some(array) = running.array else { return true };
        let other = if running.is_erase { Suspends::Program } else { Suspends::Erase };
        let end_ns = round_to_u64(self.protected_end * array.total_ns as f64);
        self.suspends != other && (end_ns == 0 || running.left_ns > end_ns)
    }

    /// Weighted time for which the writes would wait for the read, ns.
    fn cost_ns(&self, running: &Running, read: &Queued) -> f64 {
        let Overhead { stop_ns, resume_ns } = self.overhead(running.is_erase);
        let delay_ns = stop_ns + read.command.total_ns() + resume_ns;
        self.write_weight * f64::from(running.writes) * delay_ns as f64
    }

    /// True if the command that is paused still keeps to its bound after the read.
    pub(super) fn goes_on_with(&self, paused: &Running, read: &Queued) -> bool {
        self.keeps_bound(paused, read, 0)
    }

    /// True if a write keeps to its bound if the read, and `more_ns`, come before the rest of it.
    fn keeps_bound(&self, write: &Running, read: &Queued, more_ns: u64) -> bool {
        let done_ns = write.age_ns + more_ns + read.command.total_ns() + write.left_ns;
        !write.is_write || done_ns <= self.passing.write_bound_ns
    }
}
