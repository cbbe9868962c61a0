//! Events as a time path.

use super::{Events, Executor, Later, Other, Probe, TimePath, Usage};
use crate::stats::{Parts, SchedCounts, Times};

impl<P: Probe> TimePath for Events<P> {
    type Probe = P;
    const AT_ONCE: bool = false;

    #[inline]
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    #[inline]
    fn set_now_ns(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
    }

    #[inline]
    fn probe(&mut self) -> &mut P {
        &mut self.probe
    }

    fn keep_parts(&mut self) {
        self.follows = true;
    }

    #[inline]
    fn next_ns(&self) -> Option<u64> {
        self.agenda.next_ns()
    }

    #[inline]
    fn dispatch(&mut self) -> bool {
        self.start_all_ready()
    }

    #[inline]
    fn step(&mut self, before_ns: u64) -> bool {
        let mut stepped = false;
        while self.happen() {
            stepped = true;
            let Some(next_ns) = self.agenda.next_ns() else { break };
            // Fences are taken up together with all that are reached at this instant.
            let passes_on = self.fences.reached.is_empty() || next_ns == self.now_ns;
            if !passes_on || !self.completed.is_empty() || !self.ready.is_empty() || next_ns >= before_ns {
                break;
            }
        }
        stepped
    }

    #[inline]
    fn has_done(&self) -> bool {
        !self.completed.is_empty() || !self.fences.reached.is_empty()
    }

    #[inline]
    fn take_done(&mut self) -> Option<(u32, Option<Parts>)> {
        match self.completed.pop() {
            Some(tag) => Some((tag, self.parts.pop())),
            // Fences come after commands.
            None => self.fences.reached.pop().map(|tag| (tag, None)),
        }
    }

    #[inline]
    fn begin(&mut self) {
        self.submitted = 0;
    }

    #[inline]
    fn submitted(&self) -> u32 {
        self.submitted
    }

    fn latest(&self) -> (u64, Parts) {
        (self.now_ns, Parts::default())
    }

    fn has_idle_die(&self) -> bool {
        (0..self.dies.len() as u32).any(|die| self.die_is_idle(die, self.now_ns))
    }

    fn fence(&mut self, dies: impl Iterator<Item = u32>, tag: u32) {
        self.put_fence(dies, tag);
    }

    fn handed(&self, die: u32) -> u64 {
        self.fences.handed(die)
    }

    fn next_changed_die(&mut self) -> Option<u32> {
        self.fences.next_changed_die()
    }

    fn is_busy(&self, dies: impl Iterator<Item = u32>) -> bool {
        self.have_commands(dies)
    }

    fn submit_at(&mut self, time_ns: u64, later: Later) {
        self.submit_later(time_ns - self.now_ns, later);
    }

    fn call_at(&mut self, time_ns: u64, tag: u32) {
        self.agenda.push(time_ns, Other::Tag(tag));
    }

    /// Of commands in flight a die's time counts as far as it has gone; a bus's time counts once the command is done.
    fn times(&self) -> Times {
        let mut dies = self.usage.dies.clone();
        for (time, die) in dies.iter_mut().zip(&self.dies) {
            if let Some(holder) = die.holder() {
                time.add(holder.queued.command.purpose, self.now_ns - die.booked_ns);
            }
        }
        Times { dies, buses: self.usage.buses.clone(), ..Times::default() }
    }

    fn usage(&self) -> &Usage {
        &self.usage
    }

    fn horizon_ns(&self) -> u64 {
        self.now_ns
    }

    fn settled_ns(&self) -> u64 {
        let paused = |die: &super::Die| die.paused.as_ref().map(|paused| paused.active.start_ns);
        let started = |die: &super::Die| Some(die.current.as_ref().or(die.loading.as_ref())?.start_ns);
        let unloading = |die: &super::Die| die.unloading.as_ref().map(|read| read.start_ns);
        self.dies
            .iter()
            .flat_map(|die| [started(die), paused(die), unloading(die)])
            .flatten()
            .fold(self.now_ns, u64::min)
    }

    fn sched_counts(&self) -> Option<SchedCounts> {
        self.scheduler.reorders().then_some(self.counts)
    }
}

impl<P: Probe> Events<P> {
    /// The next event happens. Returns false if there is none.
    #[inline]
    fn happen(&mut self) -> bool {
        let Some((time_ns, number, actor)) = self.agenda.fire() else { return false };
        self.now_ns = time_ns;
        let (dies, buses) = (self.dies.len() as u32, self.buses.len() as u32);
        if actor < dies {
            if self.dies[actor as usize].awaits == number {
                self.array_done(actor);
            }
        } else if actor < dies + buses {
            self.bus_done(actor - dies);
        } else {
            match self.agenda.take(number) {
                Some(Other::Arrival(number)) => self.arrive(number),
                Some(Other::Tag(tag)) => self.fence_reached(tag),
                None => {}
            }
        }
        true
    }
}
