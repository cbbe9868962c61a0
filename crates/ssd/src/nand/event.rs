//! The event path: a queue in front of every die, buses granted as commands ask for them, completions as events.
//!
//! Life of a command: it waits in its die's queue until the scheduler picks it; then it holds the die through its
//! phases (array, bus, array) until it is done. With cache program a die takes in the next page while it programs the
//! last one: the die then has a command *loading* beside the *current* one. At most one of them uses the bus. A command
//! may stand back for reads (*paused*), if the scheduler says so. Where nothing else can want the bus in between, a
//! command is one event.

mod die;
mod pause;
#[cfg(test)]
mod slices;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::{Command, CommandKind, Course, Executor, NOBODY, Probe, Purpose, Usage};
use crate::geometry::Geometry;
use crate::sched::{Chain, Pages, Queued, Scheduler};
use crate::stats::{self, Parts, SchedCounts};
use die::{Active, Die, Phase};

#[derive(Clone, Debug, Default)]
struct Bus {
    user: Option<u32>,
    waiting: VecDeque<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Array(u32),
    Bus(u32),
}

/// Executor on events. The caller steps it and reads `completed`.
#[derive(Clone, Debug)]
pub(crate) struct Events<P> {
    dies: Vec<Die>,
    buses: Vec<Bus>,
    dies_per_channel: u32,
    cache_program: bool,
    /// Whether a command can be one event.
    solo: bool,
    scheduler: Scheduler,
    heap: BinaryHeap<Reverse<(u64, u64, Event)>>,
    sequence: u64,
    touched: Pages,
    /// Dies that may start a command when everything else of this instant has happened.
    ready: Vec<u32>,
    counts: SchedCounts,
    pub(crate) now_ns: u64,
    pub(crate) usage: Usage,
    pub(crate) probe: P,
    /// Tags of commands that are done, and where their time went, since the caller last cleared it.
    pub(crate) completed: Vec<(u32, Parts)>,
    /// Host commands handed in since the caller last cleared it.
    pub(crate) submitted: u32,
    /// Number of the request being served, for the probe.
    pub(crate) request: u64,
}

impl<P: Probe> Events<P> {
    pub(crate) fn new(
        geometry: &Geometry,
        bus_is_free: bool,
        cache_program: bool,
        scheduler: Scheduler,
        probe: P,
    ) -> Self {
        let dies = geometry.total_dies();
        Self {
            dies: vec![Die::default(); dies as usize],
            buses: vec![Bus::default(); geometry.channels as usize],
            dies_per_channel: geometry.dies_per_channel(),
            cache_program,
            solo: !cache_program && !scheduler.pauses() && (bus_is_free || geometry.dies_per_channel() == 1),
            scheduler,
            heap: BinaryHeap::new(),
            sequence: 0,
            touched: Pages::default(),
            ready: Vec::new(),
            counts: SchedCounts::default(),
            now_ns: 0,
            usage: Usage::new(dies, geometry.dies_per_channel()),
            probe,
            completed: Vec::new(),
            submitted: 0,
            request: 0,
        }
    }

    /// What the scheduler did, if it does anything.
    pub(crate) fn sched_counts(&self) -> Option<SchedCounts> {
        self.scheduler.reorders().then_some(self.counts)
    }

    /// Whether some die has neither a command nor one waiting.
    pub(crate) fn has_idle_die(&self) -> bool {
        (0..self.dies.len() as u32).any(|die| self.die_is_idle(die, self.now_ns))
    }

    /// Times of dies and buses up to now. Of commands under way a die's time counts as far as it has gone; a bus's time
    /// counts once the command is done.
    pub(crate) fn times(&self) -> stats::Times {
        let mut dies = self.usage.dies.clone();
        for (time, die) in dies.iter_mut().zip(&self.dies) {
            if let Some(current) = &die.current {
                time.add(current.queued.command.purpose, self.now_ns - die.booked_ns);
            }
        }
        stats::Times { dies, buses: self.usage.buses.clone(), lock_step: None }
    }

    /// No command that is not done has started, or will start, before this, ns.
    pub(crate) fn settled_ns(&self) -> u64 {
        let paused = |die: &Die| die.paused.as_ref().map(|paused| paused.active.start_ns);
        let started = |die: &Die| Some(die.current.as_ref().or(die.loading.as_ref())?.start_ns);
        self.dies.iter().flat_map(|die| [started(die), paused(die)]).flatten().fold(self.now_ns, u64::min)
    }

    /// When the next event happens, ns.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((time, ..))| *time)
    }

    /// Lets the next event happen. Returns whether there was one.
    pub(crate) fn step(&mut self) -> bool {
        let Some(Reverse((time, number, event))) = self.heap.pop() else { return false };
        self.now_ns = time;
        match event {
            Event::Array(die) if self.dies[die as usize].awaits != number => {}
            Event::Array(die) => self.array_done(die),
            Event::Bus(channel) => self.bus_done(channel),
        }
        true
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
            self.step();
        }
    }

    fn at(&mut self, delay_ns: u64, event: Event) {
        self.sequence += 1;
        self.heap.push(Reverse((self.now_ns + delay_ns, self.sequence, event)));
    }

    fn enqueue(&mut self, command: Command, pages: Pages, chain: Chain) {
        let number = command.die;
        self.book(number);
        let now_ns = self.now_ns;
        let die = &mut self.dies[number as usize];
        let (request, spent) = (self.request, die.spent);
        let mut queued = Queued { command, pages, chain, request, arrived_ns: now_ns, spent, passed: 0 };
        if !self.scheduler.reorders() {
            die.queue.insert(die.queue.len(), queued);
            self.probe.queue(now_ns, number, 1);
            return self.start(number);
        }
        let ahead_ns = die.ahead_ns(now_ns);
        let place = self.scheduler.place(&die.queue, &mut queued, now_ns, ahead_ns);
        let passed = die.queue.len() - place;
        queued.passed = passed as u32;
        self.counts.moved += u64::from(passed > 0);
        self.counts.passed += passed as u64;
        die.queue.insert(place, queued);
        self.probe.queue(now_ns, number, 1);
        self.scheduler.settle(&mut die.queue, Some(place));
        self.start(number);
        if place == 0 && self.scheduler.pauses() {
            self.make_way(number);
        }
    }

    /// Brings the account of a die up to date.
    #[inline]
    fn book(&mut self, number: u32) {
        if let Some((command, ns)) = self.dies[number as usize].book(self.now_ns) {
            self.usage.hold(&command, ns);
        }
    }

    /// Starts commands, if everything else of this instant has happened. Returns whether there were any.
    #[inline]
    pub(crate) fn dispatch(&mut self) -> bool {
        if self.ready.is_empty() || self.next_ns() == Some(self.now_ns) {
            return false;
        }
        self.start_ready();
        true
    }

    fn start_ready(&mut self) {
        let mut ready = std::mem::take(&mut self.ready);
        for number in ready.drain(..) {
            self.start_now(number);
        }
        // What has become ready meanwhile is rare; the memory is kept.
        ready.append(&mut self.ready);
        self.ready = ready;
    }

    /// Starts whatever the die can start: at once in the order of arrival, else among all that has arrived at this instant.
    #[inline]
    fn start(&mut self, number: u32) {
        let die = &self.dies[number as usize];
        if die.queue.is_empty() && die.paused.is_none() || die.current.is_some() && !self.cache_program {
            return;
        }
        if self.scheduler.reorders() {
            self.ready.push(number);
        } else {
            self.start_now(number);
        }
    }

    fn start_now(&mut self, number: u32) {
        let die = &mut self.dies[number as usize];
        if die.loading.is_some() {
            return;
        }
        if die.paused.is_some() && die.current.is_none() && !self.goes_on_without_paused(number) {
            return self.resume(number);
        }
        let die = &mut self.dies[number as usize];
        if die.queue.is_empty() {
            return;
        }
        let overlaps = match &die.current {
            None => false,
            // Only a program that has left the register lets the next page in.
            Some(active)
                if self.cache_program
                    && active.phase == Phase::Finishing
                    && active.queued.command.kind == CommandKind::Program =>
            {
                true
            }
            Some(_) => return,
        };
        let bus_is_free = self.buses[(number / self.dies_per_channel) as usize].user.is_none();
        let place = self.scheduler.pick(&die.queue, bus_is_free);
        let Some(next) = die.queue.get(place) else { return };
        let waits = matches!(next.chain, Chain::Second { .. });
        if waits || overlaps && (next.command.kind != CommandKind::Program || die.paused.is_some()) {
            return;
        }
        let Some(mut queued) = die.queue.remove(place) else { return };
        self.probe.queue(self.now_ns, number, -1);
        queued.passed += place as u32;
        self.scheduler.settle(&mut die.queue, None);
        self.book(number);
        let die = &mut self.dies[number as usize];
        let command = queued.command;
        let active = Active::new(queued, self.now_ns, &die.spent);
        self.counts.waited(&command, active.waited_ns());
        if overlaps {
            die.loading = Some(active);
            self.want_bus(number);
            return;
        }
        let left = active.left;
        let current = die.current.insert(active);
        if self.solo || command.kind == CommandKind::Erase {
            // One event, and so one copy.
            current.left = 1;
            if P::ON {
                command.tell_transfers(self.now_ns, &mut self.probe);
            }
            self.enter(number, Phase::Finishing, command.total_ns());
        } else if command.kind == CommandKind::Program {
            self.want_bus(number);
        } else {
            self.enter(number, Phase::Reading, command.share(command.read_ns, left));
        }
    }

    /// The current command goes into a phase of the array, for so long.
    fn enter(&mut self, number: u32, phase: Phase, delay_ns: u64) {
        self.at(delay_ns, Event::Array(number));
        let die = &mut self.dies[number as usize];
        die.awaits = self.sequence;
        if let Some(current) = &mut die.current {
            current.phase = phase;
            current.until_ns = self.now_ns + delay_ns;
        }
    }

    /// The command of the die that comes next on the bus asks for it.
    fn want_bus(&mut self, number: u32) {
        let now_ns = self.now_ns;
        let die = &mut self.dies[number as usize];
        if let Some(active) = die.next_on_bus() {
            active.wanted_ns = now_ns;
        }
        let channel = number / self.dies_per_channel;
        self.buses[channel as usize].waiting.push_back(number);
        self.grant(channel);
    }

    fn grant(&mut self, channel: u32) {
        let bus = &mut self.buses[channel as usize];
        if bus.user.is_some() {
            return;
        }
        let mut first = 0;
        if self.scheduler.bus_prefers_reads() && bus.waiting.len() > 1 {
            let dies = &self.dies;
            first = bus.waiting.iter().position(|number| dies[*number as usize].reads_out()).unwrap_or(0);
        }
        let Some(number) = bus.waiting.remove(first) else { return };
        bus.user = Some(number);
        let delay = self.dies[number as usize].next_on_bus().map_or(0, |active| {
            active.wait_bus_ns += self.now_ns - active.wanted_ns;
            let command = &active.queued.command;
            let bus_ns = command.share(command.bus_ns, active.left);
            active.until_ns = self.now_ns + bus_ns;
            self.probe.transfer(command, self.now_ns, bus_ns);
            bus_ns
        });
        self.at(delay, Event::Bus(channel));
    }

    fn bus_done(&mut self, channel: u32) {
        let Some(number) = self.buses[channel as usize].user.take() else { return };
        let die = &mut self.dies[number as usize];
        if let Some(loading) = die.loading.as_mut().filter(|loading| loading.phase == Phase::OnBus) {
            loading.phase = Phase::Loaded;
            self.promote(number);
        } else if let Some(current) = &die.current {
            let command = current.queued.command;
            if command.kind == CommandKind::Read {
                self.finish(number);
            } else {
                let left = current.left;
                self.enter(number, Phase::Finishing, command.share(command.program_ns, left));
                self.start(number);
                self.make_way(number);
            }
        }
        self.grant(channel);
    }

    fn array_done(&mut self, number: u32) {
        let die = &mut self.dies[number as usize];
        let Some(current) = &mut die.current else { return };
        if current.phase == Phase::Reading {
            current.phase = Phase::OnBus;
            self.want_bus(number);
        } else if current.phase == Phase::Stopping {
            self.stopped(number);
        } else if current.left > 1 {
            current.left -= 1;
            let command = current.queued.command;
            let left = current.left;
            self.enter(number, Phase::Reading, command.share(command.read_ns, left));
            self.make_way(number);
        } else {
            self.finish(number);
        }
    }

    /// The current command is done: books it, tells of it, and lets the next one go.
    fn finish(&mut self, number: u32) {
        let now = self.now_ns;
        self.book(number);
        let die = &mut self.dies[number as usize];
        let Some(active) = die.current.take() else { return };
        let parts = active.parts(now);
        let Active { queued, start_ns, resumed_ns, pauses, .. } = active;
        self.usage.transfer(&queued.command);
        if P::ON {
            let course = Course {
                arrived_ns: queued.arrived_ns,
                start_ns,
                end_ns: now,
                resumed_ns,
                passed: queued.passed,
                pauses,
                parts,
                request: (queued.command.purpose == Purpose::Host).then_some(queued.request),
            };
            self.probe.command(&queued.command, &course);
        }
        if queued.command.tag != NOBODY {
            let for_mapping = queued.command.purpose == Purpose::Mapping;
            let parts = if for_mapping { parts.for_mapping() } else { parts };
            self.completed.push((queued.command.tag, parts));
        }
        if let Chain::First { number: chain, die } = queued.chain {
            self.dies[die as usize].queue.release(chain);
            self.start(die);
        }
        self.promote(number);
        self.start(number);
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
    fn listens(&self) -> bool {
        self.scheduler.reorders()
    }

    #[inline]
    fn touches(&mut self, unit: u32, ppn: u32) {
        if self.scheduler.reorders() {
            self.touched.add(unit, ppn);
        }
    }

    fn moves(&mut self, pages: Pages) {
        self.touched = pages;
    }

    fn erases(&mut self, unit: u32, first: u32, last: u32) {
        if self.scheduler.reorders() {
            self.touched.add_run(unit, first, last);
        }
    }

    fn serving(&self) -> u64 {
        self.request
    }

    fn serve(&mut self, request: u64) {
        self.request = request;
    }

    fn submit(&mut self, now_ns: u64, command: Command) {
        debug_assert!(now_ns == self.now_ns, "commands are handed over at the present time");
        if command.tag != NOBODY {
            self.submitted += 1;
        }
        let pages = std::mem::take(&mut self.touched);
        self.enqueue(command, pages, Chain::None);
    }

    fn submit_chain(&mut self, now_ns: u64, first: Command, second: Command, page: (u32, u32)) {
        debug_assert!(now_ns == self.now_ns, "commands are handed over at the present time");
        self.submitted += 1;
        self.sequence += 1;
        let number = self.sequence;
        let pages = std::mem::take(&mut self.touched);
        // The second one's place is taken now, so that whatever is made later for its page comes after it.
        self.touches(page.0, page.1);
        let second_pages = std::mem::take(&mut self.touched);
        self.enqueue(second, second_pages, Chain::Second { number });
        let first = Command { tag: NOBODY, ..first };
        self.enqueue(first, pages, Chain::First { number, die: second.die });
    }

    fn die_is_idle(&self, die: u32, _: u64) -> bool {
        self.dies[die as usize].is_idle()
    }
}
