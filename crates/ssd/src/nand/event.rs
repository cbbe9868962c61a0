//! The event path: a queue in front of every die, buses granted as commands ask for them, completions as events.
//!
//! Life of a command: it waits in its die's queue until the scheduler picks it; then it holds the die through its
//! phases (array, bus, array) until it is done. With cache program a die takes in the next page while it programs the
//! last one: the die then has a command *loading* beside the *current* one. With cache read it senses the next page while
//! the last one leaves: that is *unloading*. At most one of them uses the bus. A command
//! may stand back for reads (*paused*), if the scheduler says so. Where nothing else can want the bus in between, a
//! command is one event.

mod agenda;
mod bus;
mod die;
mod fence;
mod guard;
mod links;
mod path;
mod pause;
#[cfg(test)]
mod slices;
mod start;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{Cache, Executor, Probe, TimePath, Usage, probe};
use crate::geometry::Geometry;
use crate::op::{BlockAt, Command, CommandKind, Link, NOBODY, Purpose};
use crate::sched::{Chain, Pages, Queued, Scheduler};
use crate::stats::{Parts, SchedCounts};
use agenda::{Agenda, Other};
use die::{BUS, Die, PROGRAM, Phase, READ};
use fence::Fences;
pub(crate) use fence::Later;
use guard::Guards;
use links::Links;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Bus {
    user: Option<u32>,
    waiting: VecDeque<u32>,
    /// With [`Events::works_ahead`]: end of the last transfer to a die, ns, and whether an event comes then.
    free_ns: u64,
    announced: bool,
}

/// Executor on events. The caller steps it and reads `completed`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a thing of its own that a drive has or not")]
pub(crate) struct Events<P> {
    dies: Vec<Die>,
    buses: Vec<Bus>,
    cache: Cache,
    /// True if a command can be one event.
    solo: bool,
    /// True if the end of a program is known as soon as its page is on the bus: a transfer to a die is then no event, unless
    /// another command waits for the bus.
    works_ahead: bool,
    scheduler: Scheduler,
    /// True if a command that has begun may be paused.
    pauses: bool,
    agenda: Agenda,
    /// Copies of a collection that no read gets in between.
    batch: u32,
    /// Chains so far.
    chains: u64,
    links: Links,
    /// True if the commands of one instant are ordered before the first of them starts.
    batches: bool,
    /// Dies that may start a command when everything else of this instant has happened.
    ready: Vec<u32>,
    counts: SchedCounts,
    fences: Fences,
    guards: Guards,
    pub(crate) now_ns: u64,
    pub(crate) usage: Usage,
    pub(crate) probe: P,
    /// Tags of commands that are done, since the caller last cleared it.
    pub(crate) completed: Vec<u32>,
    /// Where the time of these went, if account is kept.
    pub(crate) parts: Vec<Parts>,
    /// True if the latency breakdown of commands is kept.
    pub(crate) follows: bool,
    /// Host commands handed in since the caller last cleared it.
    pub(crate) submitted: u32,
    /// Number of the request being served, for the probe.
    pub(crate) request: u64,
    /// The tenant that the command submitted next is charged to.
    tenant: u16,
}

impl<P: Probe> Events<P> {
    pub(crate) fn new(
        geometry: &Geometry,
        bus_is_free: bool,
        cache: Cache,
        scheduler: Scheduler,
        probe: P,
    ) -> Self {
        let dies = geometry.total_dies();
        Self {
            dies: vec![Die::default(); dies as usize],
            buses: vec![Bus::default(); geometry.channels as usize],
            cache,
            solo: !cache.program
                && !cache.read
                && !scheduler.pauses()
                && (bus_is_free || geometry.dies_per_channel() == 1),
            works_ahead: false,
            pauses: scheduler.pauses(),
            batches: true,
            scheduler,
            agenda: Agenda::new(dies + geometry.channels),
            batch: 1,
            chains: 0,
            links: Links::default(),
            ready: Vec::new(),
            counts: SchedCounts::default(),
            fences: Fences::default(),
            guards: Guards::default(),
            now_ns: 0,
            usage: Usage::new(dies, geometry.dies_per_channel()),
            probe,
            completed: Vec::new(),
            parts: Vec::new(),
            follows: P::ON,
            submitted: 0,
            request: 0,
            tenant: 0,
        }
    }

    /// From now on, a die that was idle before starts a command as it arrives, whatever else does at that instant.
    pub(crate) fn dispatch_at_once(&mut self) {
        self.batches = false;
    }

    /// From now on, a transfer to a die is no event, unless another command waits for the bus: the end of its program is set with
    /// it, before others that may end at the same instant. Only where nobody chooses by the order in which ends of one instant come:
    /// commands keep their order, and pages have their unit before it is idle.
    pub(crate) fn work_ahead(&mut self) {
        self.works_ahead = !self.cache.program && !self.scheduler.reorders() && !self.scheduler.pauses();
    }

    /// From now on, no read gets in between so many copies of a collection.
    pub(crate) fn copy_in_batches(&mut self, batch: u32) {
        self.batch = batch;
    }

    /// From now on, counts the commands of each die, for fences.
    pub(crate) fn use_fences(&mut self) {
        self.fences = Fences::new(self.dies.len());
    }

    /// Lets everything happen that is due by `time_ns`, which is then the present.
    #[cfg(test)]
    fn run_until(&mut self, time_ns: u64) {
        loop {
            if self.now_ns < time_ns {
                self.dispatch();
            }
            if self.next_ns().is_none_or(|next| next > time_ns) {
                self.now_ns = time_ns;
                return;
            }
            self.step(0);
        }
    }

    /// The current command goes into a phase of the array, for so long.
    #[inline]
    fn enter(&mut self, number: u32, phase: Phase, delay_ns: u64) {
        self.enter_at(number, phase, self.now_ns, delay_ns);
    }

    /// As [`Events::enter`], where the array begins with the phase at `since_ns`.
    #[inline]
    fn enter_at(&mut self, number: u32, phase: Phase, since_ns: u64, delay_ns: u64) {
        let until_ns = since_ns + delay_ns;
        let die = &mut self.dies[number as usize];
        die.awaits = self.agenda.set(number, until_ns);
        if let Some(current) = &mut die.current {
            (current.phase, current.until_ns) = (phase, until_ns);
            (current.since_ns, current.resumed) = (since_ns, false);
        }
    }

    fn array_done(&mut self, number: u32) {
        let die = &mut self.dies[number as usize];
        let Some(current) = &mut die.current else { return };
        if current.until_ns > self.now_ns {
            // A time in which it could not be suspended is over.
            die.awaits = self.agenda.set(number, current.until_ns);
            self.make_way(number);
        } else if current.phase == Phase::Reading {
            let is_cached = self.cache.reads(&current.queued.command);
            current.phase = if is_cached { Phase::Loaded } else { Phase::OnBus };
            if is_cached {
                self.unload(number);
            } else {
                self.want_bus(number);
            }
        } else if current.phase == Phase::Stopping {
            self.stopped(number);
        } else if current.left > 1 {
            current.left -= 1;
            let read_ns = current.share(READ);
            self.enter(number, Phase::Reading, read_ns);
            self.make_way(number);
        } else {
            self.finish(number);
        }
    }

    /// The page that the array has sensed leaves the register, if the page before has left the die.
    fn unload(&mut self, number: u32) {
        let die = &mut self.dies[number as usize];
        let is_sensed = die.current.as_ref().is_some_and(|current| {
            current.phase == Phase::Loaded && self.cache.reads(&current.queued.command)
        });
        if !is_sensed || die.unloading.is_some() {
            return;
        }
        self.book(number);
        let die = &mut self.dies[number as usize];
        die.unloading = die.current.take();
        if let Some(read) = &mut die.unloading {
            read.phase = Phase::OnBus;
        }
        self.want_bus(number);
        self.start(number);
    }

    /// The page that was unloading is with the controller.
    fn unloaded(&mut self, number: u32) {
        self.done(number, true);
        self.unload(number);
        self.start(number);
    }

    /// The current command is done, and the next one may go.
    #[inline]
    fn finish(&mut self, number: u32) {
        self.done(number, false);
        if self.cache.program {
            self.promote(number);
        }
        self.start(number);
    }

    /// A command leaves its die, the one that unloads or the current one: reports it, and releases those that wait for it.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "nearly all commands end in one place")]
    fn done(&mut self, number: u32, unloads: bool) {
        let now = self.now_ns;
        let die = &mut self.dies[number as usize];
        die.book(now, &mut self.usage, self.follows);
        let place = if unloads { &mut die.unloading } else { &mut die.current };
        let Some(active) = place else { return };
        if self.fences.are_used() {
            // Taken up last, after the command itself.
            self.fences.done_by(number, active.queued.handed);
        }
        let Queued { command, chain, replaces, .. } = &active.queued;
        let (is_awaited, chain, replaces) = (command.tag != NOBODY, *chain, *replaces);
        self.usage.transfer(command);
        if self.follows && (P::ON || is_awaited) {
            let parts = active.parts(now);
            if P::ON {
                self.probe.command(command, &active.course(now, parts));
            }
            if is_awaited {
                self.parts.push(parts);
                if command.purpose == Purpose::Mapping
                    && let Some(last) = self.parts.last_mut()
                {
                    *last = last.for_mapping();
                }
            }
        }
        if is_awaited {
            self.completed.push(command.tag);
        }
        *place = None;
        die.freed_ns = Some(now);
        if replaces != guard::NOTHING {
            self.replaced(replaces);
        }
        match chain {
            Chain::None | Chain::Second { .. } => {}
            Chain::First { number: chain, die } => {
                self.dies[die as usize].queue.release(chain);
                self.start(die);
            }
            Chain::Counts { number } | Chain::Between { counts: number, .. } => self.counted(number),
        }
    }

    /// A page loaded meanwhile moves on to the free array; one still on the bus becomes the current command.
    fn promote(&mut self, number: u32) {
        let die = &mut self.dies[number as usize];
        if die.current.is_some() {
            return;
        }
        let Some(active) = die.loading.take() else { return };
        let (phase, delay) = (active.phase, active.queued.command.program_ns);
        die.current = Some(active);
        if phase == Phase::Loaded {
            self.enter(number, Phase::Finishing, delay);
            self.start(number);
            self.make_way(number);
        }
    }
}

impl<P: Probe> Executor for Events<P> {
    fn wants_pages(&self) -> bool {
        self.scheduler.reorders()
    }

    fn serving(&self) -> u64 {
        self.request
    }

    fn serve(&mut self, request: u64) {
        self.request = request;
    }

    #[inline]
    fn charge(&mut self, tenant: u16) {
        self.tenant = tenant;
    }

    fn guard(&mut self, blocks: &[BlockAt]) {
        self.guards.put(blocks);
    }

    #[inline]
    fn submit(&mut self, now_ns: u64, command: Command, pages: Pages) {
        debug_assert!(now_ns == self.now_ns, "commands are handed over at the present time");
        if command.tag != NOBODY {
            self.submitted += 1;
        }
        let handed = self.fences.submitted(command.die);
        self.probe.queue(now_ns, command.die, 1);
        if command.link == Link::NONE
            && !self.scheduler.reorders()
            && !self.guards.are_set()
            && self.dies[command.die as usize].is_idle()
        {
            self.begin_at_once(command, handed);
        } else {
            let (waits, replaces) = self.guarded(command.kind, command.die);
            let chain = match self.chain_of(command.link, command.die) {
                Chain::None => waits,
                chain => chain,
            };
            self.enqueue(command, pages, (chain, replaces), (now_ns, handed));
        }
    }

    fn expects_no_end(&mut self) {
        self.submitted -= 1;
    }

    fn submit_chain(&mut self, now_ns: u64, first: (Command, Pages), second: (Command, Pages)) {
        debug_assert!(now_ns == self.now_ns, "commands are handed over at the present time");
        self.submitted += 1;
        self.chains += 1;
        let number = self.chains;
        // The second one's place is taken now, so that whatever is made later for its page comes after it.
        let die = second.0.die;
        let handed = [die, first.0.die].map(|die| {
            self.probe.queue(now_ns, die, 1);
            (now_ns, self.fences.submitted(die))
        });
        let chain = match self.chain_of(second.0.link, die) {
            Chain::Counts { number: counts } => Chain::Between { waits: number, counts },
            _ => Chain::Second { number },
        };
        let (_, replaces) = self.guarded(second.0.kind, die);
        self.enqueue(second.0, second.1, (chain, replaces), handed[0]);
        let first = (Command { tag: NOBODY, ..first.0 }, first.1);
        self.enqueue(first.0, first.1, (Chain::First { number, die }, guard::NOTHING), handed[1]);
    }

    fn die_is_idle(&self, die: u32, _: u64) -> bool {
        self.dies[die as usize].is_idle()
    }
}
