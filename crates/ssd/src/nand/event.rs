//! The event path: a queue in front of every die, buses granted first come first served, completions as events.
//!
//! Life of a command: it waits in its die's queue until the scheduler picks it; then it holds the die through its
//! phases (array, bus, array) until it is done. With cache program a die takes in the next page while it programs the
//! last one: the die then has a command *loading* beside the *current* one. At most one of them uses the bus. Where
//! nothing else can want the bus in between, a command is one event.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::{Command, CommandKind, Executor, NOBODY, Probe, Purpose, Usage};
use crate::geometry::Geometry;
use crate::sched::{Pages, Queued, Scheduler};
use crate::stats;

/// Where a command is within its die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Reading the array, before the bus.
    Reading,
    /// Waiting for the bus or using it.
    OnBus,
    /// Loaded into the register, the array still busy with the command before.
    Loaded,
    /// Programming or erasing, or the whole command as one.
    Finishing,
}

#[derive(Clone, Debug)]
struct Active {
    queued: Queued,
    phase: Phase,
    /// Copies still to make, this one included; 1 for all other commands.
    left: u32,
    start_ns: u64,
}

#[derive(Clone, Debug, Default)]
struct Die {
    queue: VecDeque<Queued>,
    current: Option<Active>,
    loading: Option<Active>,
    /// End of the last command, ns: time up to it is booked.
    booked_ns: u64,
}

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
    pub(crate) now_ns: u64,
    pub(crate) usage: Usage,
    pub(crate) probe: P,
    /// Tags of commands that are done, since the caller last cleared it.
    pub(crate) completed: Vec<u32>,
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
            solo: !cache_program && (bus_is_free || geometry.dies_per_channel() == 1),
            scheduler,
            heap: BinaryHeap::new(),
            sequence: 0,
            touched: Pages::default(),
            now_ns: 0,
            usage: Usage::new(dies, geometry.dies_per_channel()),
            probe,
            completed: Vec::new(),
            submitted: 0,
            request: 0,
        }
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
                let since = current.start_ns.max(die.booked_ns);
                time.add(current.queued.command.purpose, self.now_ns - since);
            }
        }
        stats::Times { dies, buses: self.usage.buses.clone(), lock_step: None }
    }

    /// No command that is not done has started, or will start, before this, ns.
    pub(crate) fn settled_ns(&self) -> u64 {
        let started = |die: &Die| Some(die.current.as_ref().or(die.loading.as_ref())?.start_ns);
        self.dies.iter().filter_map(started).fold(self.now_ns, u64::min)
    }

    /// When the next event happens, ns.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((time, ..))| *time)
    }

    /// Lets the next event happen. Returns whether there was one.
    pub(crate) fn step(&mut self) -> bool {
        let Some(Reverse((time, _, event))) = self.heap.pop() else { return false };
        self.now_ns = time;
        match event {
            Event::Array(die) => self.array_done(die),
            Event::Bus(channel) => self.bus_done(channel),
        }
        true
    }

    fn at(&mut self, delay_ns: u64, event: Event) {
        self.sequence += 1;
        self.heap.push(Reverse((self.now_ns + delay_ns, self.sequence, event)));
    }

    fn enqueue(&mut self, queued: Queued) {
        let die = queued.command.die;
        self.dies[die as usize].queue.push_back(queued);
        self.start(die);
    }

    /// Starts whatever the die can start now.
    fn start(&mut self, number: u32) {
        let die = &mut self.dies[number as usize];
        if die.loading.is_some() || die.queue.is_empty() {
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
        let place = self.scheduler.pick(&die.queue);
        let next = &die.queue[place];
        if next.waits.is_some() || overlaps && next.command.kind != CommandKind::Program {
            return;
        }
        let Some(queued) = die.queue.remove(place) else { return };
        let command = queued.command;
        let left = command.copies();
        let active = Active { queued, phase: Phase::OnBus, left, start_ns: self.now_ns };
        if overlaps {
            die.loading = Some(active);
            self.want_bus(number);
            return;
        }
        die.current = Some(active);
        if self.solo || command.kind == CommandKind::Erase {
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

    fn enter(&mut self, die: u32, phase: Phase, delay_ns: u64) {
        if let Some(current) = &mut self.dies[die as usize].current {
            current.phase = phase;
        }
        self.at(delay_ns, Event::Array(die));
    }

    fn want_bus(&mut self, die: u32) {
        let channel = die / self.dies_per_channel;
        self.buses[channel as usize].waiting.push_back(die);
        self.grant(channel);
    }

    fn grant(&mut self, channel: u32) {
        let bus = &mut self.buses[channel as usize];
        if bus.user.is_some() {
            return;
        }
        let Some(number) = bus.waiting.pop_front() else { return };
        bus.user = Some(number);
        let die = &mut self.dies[number as usize];
        let loading = die.loading.as_mut().filter(|loading| loading.phase == Phase::OnBus);
        let delay = loading.or(die.current.as_mut()).map_or(0, |active| {
            let command = &active.queued.command;
            let bus_ns = command.share(command.bus_ns, active.left);
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
        } else if current.left > 1 && !self.solo {
            current.left -= 1;
            let command = current.queued.command;
            let left = current.left;
            self.enter(number, Phase::Reading, command.share(command.read_ns, left));
        } else {
            self.finish(number);
        }
    }

    /// The current command is done: books it, tells of it, and lets the next one go.
    fn finish(&mut self, number: u32) {
        let now = self.now_ns;
        let die = &mut self.dies[number as usize];
        let Some(Active { queued, start_ns, .. }) = die.current.take() else { return };
        self.usage.book(&queued.command, now - start_ns.max(die.booked_ns));
        die.booked_ns = now;
        if P::ON {
            let request = (queued.command.purpose == Purpose::Host).then_some(queued.request);
            self.probe.command(&queued.command, start_ns, now, request);
        }
        if queued.command.tag != NOBODY {
            self.completed.push(queued.command.tag);
        }
        if let Some((chain, die)) = queued.then {
            for waiting in self.dies[die as usize].queue.iter_mut().filter(|next| next.waits == Some(chain)) {
                waiting.waits = None;
            }
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
        self.enqueue(Queued { command, pages, then: None, waits: None, request: self.request });
    }

    fn submit_chain(&mut self, now_ns: u64, first: Command, second: Command, page: (u32, u32)) {
        debug_assert!(now_ns == self.now_ns, "commands are handed over at the present time");
        self.submitted += 1;
        self.sequence += 1;
        let (chain, request) = (self.sequence, self.request);
        let pages = std::mem::take(&mut self.touched);
        // The second one's place is taken now, so that whatever is made later for its page comes after it.
        self.touches(page.0, page.1);
        let second_pages = std::mem::take(&mut self.touched);
        self.enqueue(Queued {
            command: second,
            pages: second_pages,
            then: None,
            waits: Some(chain),
            request,
        });
        let first = Command { tag: NOBODY, ..first };
        self.enqueue(Queued { command: first, pages, then: Some((chain, second.die)), waits: None, request });
    }

    fn die_is_idle(&self, die: u32, _: u64) -> bool {
        let die = &self.dies[die as usize];
        die.current.is_none() && die.loading.is_none() && die.queue.is_empty()
    }
}
