//! From being handed over to getting a die: where a command waits, and when it starts.

use super::die::Active;
use super::{Chain, Command, CommandKind, Events, Pages, Phase, Probe, Queued, READ, TimePath, probe};
use crate::sched::Arrival;
use crate::stats::Spent;

impl<P: Probe> Events<P> {
    /// A command is handed to an idle die, as the one of that number, where no order is changed.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a command that is made where it goes need not be copied")]
    pub(super) fn begin_at_once(&mut self, command: Command, handed: u64) {
        let number = command.die;
        self.probe.queue(self.now_ns, number, -1);
        self.book(number);
        // The die did nothing while it waited.
        let spent = Spent::default();
        let pages = Pages::default();
        let mut queued = Queued::new(command, pages, Chain::None, self.request, self.now_ns, spent);
        queued.handed = handed;
        self.hold(number, queued);
    }

    /// A command is handed to its die, for which it has waited since then, ns, as the one of that number. `replaces`: number of the
    /// list of blocks in which it replaces pages, of which there may be none.
    pub(super) fn enqueue(
        &mut self,
        command: Command,
        pages: Pages,
        (chain, replaces): (Chain, u32),
        since: (u64, u64),
    ) {
        let number = command.die;
        if self.follows {
            self.book(number);
        }
        let now_ns = self.now_ns;
        let die = &mut self.dies[number as usize];
        let (request, spent) = (self.request, die.spent);
        let (arrived_ns, handed) = since;
        let mut queued = Queued::new(command, pages, chain, request, arrived_ns, spent);
        (queued.handed, queued.replaces, queued.tenant) = (handed, replaces, self.tenant);
        if !self.scheduler.reorders() {
            if matches!(chain, Chain::None | Chain::Counts { .. }) && die.is_idle() {
                return self.begin(number, queued, false);
            }
            die.queue.append(queued);
            return self.start(number);
        }
        let ahead_ns = if self.scheduler.estimates() { die.ahead_ns(now_ns) } else { 0 };
        let place = self.scheduler.place(&die.queue, &mut queued, now_ns, ahead_ns);
        let passed = die.queue.len() - place;
        queued.passed = passed as u32;
        self.counts.moved += u64::from(passed > 0);
        self.counts.passed += passed as u64;
        die.queue.insert(place, queued);
        self.scheduler.settle(&mut die.queue, Some(place));
        let running = die.current.as_ref().map(|current| current.queued.tenant);
        self.scheduler.arrived(&mut die.queue, Arrival { now_ns, ahead_ns, running });
        self.start(number);
        if place == 0 && self.scheduler.pauses() {
            self.make_way(number);
        }
    }

    /// Brings the account of a die up to date.
    #[inline]
    pub(super) fn book(&mut self, number: u32) {
        self.dies[number as usize].book(self.now_ns, &mut self.usage, self.follows);
    }

    /// Starts commands, if everything else of this instant has happened. Returns whether there were any.
    #[inline]
    pub(super) fn start_all_ready(&mut self) -> bool {
        if self.ready.is_empty() || self.next_ns() == Some(self.now_ns) {
            return false;
        }
        self.start_ready();
        true
    }

    #[inline(never)]
    fn start_ready(&mut self) {
        let mut ready = std::mem::take(&mut self.ready);
        for number in ready.drain(..) {
            self.start_now(number);
        }
        // Commands that have become ready meanwhile are rare; the memory is kept.
        ready.append(&mut self.ready);
        self.ready = ready;
    }

    /// Starts whatever the die can start: at once, or among all that has arrived at this instant.
    #[inline]
    pub(super) fn start(&mut self, number: u32) {
        let die = &self.dies[number as usize];
        if die.queue.is_empty() && die.paused.is_none() || die.current.is_some() && !self.cache.program {
            return;
        }
        let waits = self.batches || die.freed_ns == Some(self.now_ns);
        if self.scheduler.reorders() && waits {
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
        let unloads = die.unloading.is_some();
        if die.paused.is_some() && die.current.is_none() && !self.goes_on_without_paused(number) {
            if !unloads {
                self.resume(number);
            }
            return;
        }
        let die = &mut self.dies[number as usize];
        if die.queue.is_empty() {
            return;
        }
        let overlaps = match &die.current {
            None => false,
            // Only a program that has left the register lets the next page in.
            Some(active)
                if self.cache.program
                    && active.phase == Phase::Finishing
                    && active.queued.command.kind == CommandKind::Program =>
            {
                true
            }
            Some(_) => return,
        };
        let bus_is_free = self.buses[self.usage.channel_of(number) as usize].user.is_none();
        let place = self.scheduler.pick(&mut die.queue, bus_is_free, self.now_ns);
        let Some(next) = die.queue.get(place) else { return };
        let waits = die.queue.holds_back(next);
        if unloads && !self.cache.reads(&next.command) {
            return;
        }
        if waits || overlaps && (next.command.kind != CommandKind::Program || die.paused.is_some()) {
            return;
        }
        let taken = if self.scheduler.reorders() { die.queue.remove(place) } else { die.queue.take_first() };
        let Some(mut queued) = taken else { return };
        if place > 0 {
            queued.passed += place as u32;
        }
        self.scheduler.settle(&mut die.queue, None);
        self.scheduler.taken(&mut die.queue, &queued);
        self.begin(number, queued, overlaps);
    }

    /// A command gets its die, or the die's register while that is busy with the one before.
    fn begin(&mut self, number: u32, mut queued: Queued, overlaps: bool) {
        self.probe.queue(self.now_ns, number, -1);
        self.book(number);
        let die = &mut self.dies[number as usize];
        if self.follows {
            queued.spent = die.spent.since(&queued.spent);
        }
        if overlaps {
            self.counts.waited(&queued.command, self.now_ns - queued.arrived_ns);
            die.loading = Some(Active::new(queued, self.now_ns));
            self.want_bus(number);
        } else {
            self.hold(number, queued);
        }
    }

    /// A command holds its die from now on.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as `begin_at_once`")]
    fn hold(&mut self, number: u32, queued: Queued) {
        let command = queued.command;
        self.counts.waited(&command, self.now_ns - queued.arrived_ns);
        let current = self.dies[number as usize].current.insert(Active::new(queued, self.now_ns));
        if self.solo || command.kind == CommandKind::Erase {
            // One event, and so one copy.
            current.left = 1;
            if P::ON {
                probe::transfers(&command, self.now_ns, &mut self.probe);
            }
            self.enter(number, Phase::Finishing, command.total_ns());
        } else if command.kind == CommandKind::Program {
            self.want_bus(number);
        } else {
            let read_ns = current.share(READ);
            self.enter(number, Phase::Reading, read_ns);
        }
    }
}
