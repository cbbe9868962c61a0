//! Commands that have begun and stand back for reads: suspended with the array busy, between two copies of a collection, or
//! before their page is on the bus. Whether they do is the scheduler's to say.

use super::die::Paused;
use super::{Events, Phase, READ};
use crate::nand::{PauseRecord, Probe};
use crate::op::{Command, CommandKind, Purpose};
use crate::stats::{Cause, Spent};

impl<P: Probe> Events<P> {
    /// Pauses what the die does, if the read at the head of its queue may go before it.
    #[inline]
    pub(super) fn make_way(&mut self, number: u32) {
        if self.pauses {
            self.pause_if_better(number);
        }
    }

    fn pause_if_better(&mut self, number: u32) {
        let now_ns = self.now_ns;
        let die = &self.dies[number as usize];
        let (Some(read), Some(current)) = (die.queue.get(0), &die.current) else { return };
        if !read.is_awaited_read() {
            return;
        }
        let kind = current.queued.command.kind;
        // A page that is moved can be read where it was.
        let depends = !current.queued.command.moves_within() && current.queued.pages.overlaps(&read.pages);
        if depends || die.loading.is_some() || die.paused.is_some() {
            return;
        }
        let left_ns = current.until_ns.saturating_sub(now_ns);
        match current.phase {
            Phase::Finishing if kind != CommandKind::Copies || self.batch == 1 => {
                let running = current.running(now_ns, left_ns, false, &die.queue);
                let protected_ns = self.scheduler.protected_ns(&running);
                if protected_ns > 0 {
                    self.ask_again(number, protected_ns);
                } else if self.scheduler.gives_way(&running, read) {
                    self.suspend(number, left_ns);
                }
            }
            Phase::Reading if kind == CommandKind::Copies => {
                let begins = left_ns == current.share(READ) && current.begins_batch(self.batch);
                if begins
                    && self.scheduler.gives_way(&current.running(now_ns, left_ns, true, &die.queue), read)
                {
                    self.counts.preemptions += 1;
                    self.pause(number, Phase::Reading, left_ns);
                }
            }
            Phase::OnBus if kind == CommandKind::Program => {
                let left_ns = current.queued.command.total_ns();
                if self.scheduler.gives_way(&current.running(now_ns, left_ns, false, &die.queue), read) {
                    self.recall(number);
                }
            }
            _ => {}
        }
    }

    /// The current command can't be suspended for so long: if it still runs then, the scheduler is asked again.
    fn ask_again(&mut self, number: u32, protected_ns: u64) {
        let die = &mut self.dies[number as usize];
        let again_ns = self.now_ns.saturating_add(protected_ns);
        if die.current.as_ref().is_some_and(|current| again_ns < current.until_ns) {
            die.awaits = self.agenda.set(number, again_ns);
        }
    }

    /// Suspends the current command, whose array is busy for another `left_ns`.
    fn suspend(&mut self, number: u32, left_ns: u64) {
        self.counts.suspensions += 1;
        let mut suspend_ns = 0;
        if let Some(current) = &mut self.dies[number as usize].current {
            suspend_ns = self.scheduler.suspend_ns(current.is_erase());
            let resume_ns = self.scheduler.resume_ns(current.is_erase());
            current.suspensions += 1;
            // Time that it still takes when it goes on.
            current.stopped_ns = left_ns + resume_ns;
            current.until_ns = self.now_ns + suspend_ns;
            current.phase = Phase::Stopping;
        }
        if suspend_ns == 0 {
            return self.stopped(number);
        }
        self.dies[number as usize].awaits = self.agenda.set(number, self.now_ns + suspend_ns);
    }

    /// The array of a command being suspended is free.
    pub(super) fn stopped(&mut self, number: u32) {
        let left_ns = self.dies[number as usize].current.as_ref().map_or(0, |current| current.stopped_ns);
        self.pause(number, Phase::Finishing, left_ns);
    }

    /// The current command stands back, to go on with a phase that takes `left_ns`.
    fn pause(&mut self, number: u32, phase: Phase, left_ns: u64) {
        self.book(number);
        let since_ns = self.now_ns;
        let die = &mut self.dies[number as usize];
        die.awaits = 0;
        if P::ON
            && let Some(active) = &die.current
        {
            self.probe.hold(active.hold(since_ns));
        }
        die.paused = die.current.take().map(|mut active| {
            active.pauses += 1;
            Paused { active, phase, left_ns, since_ns }
        });
        self.start(number);
    }

    /// A program that waits for the bus goes back to the queue, behind the read at its head.
    fn recall(&mut self, number: u32) {
        let channel = self.usage.channel_of(number) as usize;
        let bus = &mut self.buses[channel];
        let Some(place) = bus.waiting.iter().position(|waiting| *waiting == number) else { return };
        bus.waiting.remove(place);
        self.book(number);
        let die = &mut self.dies[number as usize];
        let Some(mut active) = die.current.take() else { return };
        self.counts.recalls += 1;
        if self.follows {
            // It waits as it did before: what the die had done when it came is what counts again.
            let mut own = Spent::default();
            own.add(Cause::of(&active.queued.command), self.now_ns - active.start_ns);
            active.queued.spent = die.spent.since(&own).since(&active.queued.spent);
        }
        if P::ON {
            self.probe.hold(active.hold(self.now_ns));
            self.probe.queue(self.now_ns, number, 1);
        }
        die.queue.insert(1, active.queued);
        self.start(number);
    }

    /// True if the read at the head of the queue goes before the command that is paused.
    pub(super) fn goes_on_without_paused(&self, number: u32) -> bool {
        let die = &self.dies[number as usize];
        let (Some(read), Some(paused)) = (die.queue.get(0), &die.paused) else { return false };
        let queued = &paused.active.queued;
        let depends = !queued.command.moves_within() && queued.pages.overlaps(&read.pages);
        let between_copies = paused.phase == Phase::Reading;
        let running = paused.active.running(self.now_ns, paused.left_ns, between_copies, &die.queue);
        read.is_awaited_read() && !depends && self.scheduler.goes_on_with(&running, read)
    }

    /// The paused command goes on.
    pub(super) fn resume(&mut self, number: u32) {
        self.book(number);
        let now_ns = self.now_ns;
        let die = &mut self.dies[number as usize];
        let Some(Paused { mut active, phase, left_ns, since_ns }) = die.paused.take() else { return };
        active.stood_ns += now_ns - since_ns;
        self.counts.waited(&active.queued.command, active.waited_ns());
        if P::ON {
            let Command { kind, purpose, .. } = active.queued.command;
            self.probe.pause(PauseRecord {
                die: number,
                kind,
                purpose,
                suspended: phase == Phase::Finishing,
                start_ns: since_ns,
                end_ns: now_ns,
                request: (purpose == Purpose::Host).then_some(active.queued.request),
            });
        }
        active.resumed_ns = now_ns;
        let resume_ns = self.scheduler.resume_ns(active.is_erase());
        die.current = Some(active);
        self.enter(number, phase, left_ns);
        if phase == Phase::Finishing
            && let Some(current) = &mut self.dies[number as usize].current
        {
            (current.since_ns, current.resumed) = (now_ns + resume_ns, true);
        }
        self.start(number);
    }
}
