//! Commands of which the end is known when they are handed over, so that only ends that somebody waits for are events.
//!
//! Where a die runs its commands in the order in which they come, whatever happens meanwhile, a command starts when it comes or when
//! the one before is done: the end of a step of several commands is worked out by additions. A die has one event to come at most: at
//! the next end that somebody waits for, or at its last one. Between them commands are only listed, and booked when they are done.
//! Times are those of step by step to the nanosecond; of several ends at one instant another one may come first.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{Events, Later, Probe, Usage};
use crate::op::{Command, NOBODY, Purpose};
use crate::stats::{Cause, DieTime, Parts, Spent};

/// A command that holds its die from one time to another.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Held {
    start_ns: u64,
    end_ns: u64,
    bus_ns: u64,
    purpose: Purpose,
    cause: Cause,
}

/// An end that somebody waits for: of a command, or of all commands before a fence.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct End {
    time_ns: u64,
    tag: u32,
    is_fence: bool,
}

/// One die.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Known {
    /// End of its last command, ns.
    free_ns: u64,
    /// True if an event of it is to come: it has commands that are not done.
    is_busy: bool,
    /// Commands that are not booked.
    held: VecDeque<Held>,
    ends: VecDeque<End>,
    /// With the latency breakdown: where the time of each command among `ends` goes, the time of all of `held`, and when a command
    /// came last, ns.
    parts: VecDeque<Parts>,
    spent: Spent,
    came_ns: u64,
}

impl Known {
    /// Books the commands that are done.
    #[inline]
    fn settle(&mut self, now_ns: u64, die: &mut DieTime, bus: &mut DieTime) {
        while let Some(first) = self.held.front()
            && first.end_ns <= now_ns
        {
            let Held { start_ns, end_ns, bus_ns, purpose, cause } = *first;
            die.add(purpose, end_ns - start_ns);
            bus.add(purpose, bus_ns);
            self.spent.remove(cause, end_ns - start_ns);
            self.held.pop_front();
        }
    }

    /// Work of the die between two times, the second of which is no earlier than the end of its last command. All that is done by the
    /// first is booked, or comes at its time.
    fn between(&self, from_ns: u64, until_ns: u64) -> Spent {
        let mut spent = self.spent;
        for Held { start_ns, end_ns, cause, .. } in &self.held {
            if *start_ns >= from_ns || from_ns >= until_ns {
                break;
            }
            spent.remove(*cause, from_ns.min(*end_ns) - start_ns);
        }
        if from_ns < until_ns { spent } else { Spent::default() }
    }

    /// Adds what is not booked of the commands up to a time: of those that are done, and of the one that holds the die until then.
    fn add_up(&self, time_ns: u64, held_until_ns: u64, (die, bus): (&mut DieTime, &mut DieTime)) {
        for Held { start_ns, end_ns, bus_ns, purpose, .. } in &self.held {
            if *end_ns <= time_ns {
                die.add(*purpose, end_ns - start_ns);
                bus.add(*purpose, *bus_ns);
            } else {
                die.add(*purpose, held_until_ns.saturating_sub(*start_ns));
                return;
            }
        }
    }
}

/// The dies; none where ends are not known ahead.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct KnownEnds {
    dies: Vec<Known>,
    /// Dies that are busy.
    busy: u32,
}

impl KnownEnds {
    /// True if ends are known ahead.
    #[inline]
    pub(super) fn are_on(&self) -> bool {
        !self.dies.is_empty()
    }

    /// True if a die has commands that are not done.
    #[inline]
    pub(super) fn is_busy(&self, die: u32) -> bool {
        self.dies[die as usize].is_busy
    }

    /// True if any die has.
    #[inline]
    pub(super) fn any_is_busy(&self) -> bool {
        self.busy > 0
    }

    /// Adds the commands that are not booked. `present`: the one that runs as far as it has gone, not as far as it was booked.
    pub(super) fn add_to(&self, usage: &mut Usage, now_ns: u64, present: bool) {
        for (number, known) in (0..).zip(&self.dies) {
            let channel = usage.channel_of(number) as usize;
            let until_ns = if present { now_ns } else { known.came_ns.min(now_ns) };
            let times = (&mut usage.dies[number as usize], &mut usage.buses[channel]);
            known.add_up(now_ns, until_ns, times);
        }
    }
}

impl<P: Probe> Events<P> {
    /// From now on, the ends of commands are known when they are handed over, if nothing comes between, and no probe records each.
    /// Only where no command waits for those of other dies, and nobody looks at what a die does in between.
    pub(crate) fn know_ends(&mut self) {
        if !P::ON && self.solo && !self.scheduler.reorders() {
            self.known.dies = vec![Known::default(); self.dies.len()];
        }
    }

    /// A command is handed to its die, which it reaches at `ready_ns`, after all that the die has, and for which it waits since
    /// `arrived_ns`.
    #[inline]
    pub(super) fn run_known(&mut self, command: &Command, ready_ns: u64, arrived_ns: u64) {
        let number = command.die as usize;
        let known = &mut self.known.dies[number];
        let channel = self.usage.channel_of(command.die) as usize;
        known.settle(self.now_ns, &mut self.usage.dies[number], &mut self.usage.buses[channel]);
        let start_ns = ready_ns.max(known.free_ns);
        let end_ns = start_ns + command.total_ns();
        let cause = Cause::of(command);
        if self.follows {
            if known.is_busy {
                known.came_ns = ready_ns;
            }
            if command.tag != NOBODY {
                let waited = Parts::waited(&known.between(ready_ns, start_ns), start_ns - arrived_ns);
                let flash = command.read_ns + command.program_ns;
                let parts = Parts { bus: command.bus_ns, flash, ..waited };
                let for_mapping = command.purpose == Purpose::Mapping;
                known.parts.push_back(if for_mapping { parts.for_mapping() } else { parts });
            }
        }
        known.spent.add(cause, end_ns - start_ns);
        known.free_ns = end_ns;
        let (bus_ns, purpose) = (command.bus_ns, command.purpose);
        known.held.push_back(Held { start_ns, end_ns, bus_ns, purpose, cause });
        if command.tag != NOBODY {
            known.ends.push_back(End { time_ns: end_ns, tag: command.tag, is_fence: false });
        }
        if !known.is_busy {
            known.is_busy = true;
            self.known.busy += 1;
            self.agenda.set(command.die, end_ns);
        }
    }

    /// A command reaches its die later. Nothing is handed to that die meanwhile but what comes later still.
    pub(super) fn run_known_later(&mut self, delay_ns: u64, later: &Later) {
        self.run_known(&later.command, self.now_ns + delay_ns, later.arrived_ns);
    }

    /// Puts a fence behind the commands that a die has. Returns false if it has none.
    pub(super) fn put_known_fence(&mut self, die: u32, tag: u32) -> bool {
        let known = &mut self.known.dies[die as usize];
        if known.is_busy {
            known.ends.push_back(End { time_ns: known.free_ns, tag, is_fence: true });
        }
        known.is_busy
    }

    /// The event of a die: hands out what ends now, and sets the next one.
    #[inline]
    pub(super) fn known_end(&mut self, number: u32) {
        let now_ns = self.now_ns;
        let channel = self.usage.channel_of(number) as usize;
        let known = &mut self.known.dies[number as usize];
        known.settle(now_ns, &mut self.usage.dies[number as usize], &mut self.usage.buses[channel]);
        let (mut command, mut is_first) = (None, true);
        while let Some(End { time_ns, tag, is_fence }) = known.ends.front().copied()
            && time_ns <= now_ns
            && (is_fence || is_first)
        {
            known.ends.pop_front();
            is_first = false;
            if is_fence {
                self.fences.reach(tag, &mut self.completed, self.follows.then_some(&mut self.parts));
            } else {
                command = Some(tag);
            }
        }
        // Taken up first, as those who wait for a fence count on it.
        if let Some(tag) = command {
            self.completed.push(tag);
            if self.follows {
                self.parts.push(known.parts.pop_front().unwrap_or_default());
            }
        }
        match known.ends.front() {
            Some(next) => _ = self.agenda.set(number, next.time_ns),
            None if known.free_ns > now_ns => _ = self.agenda.set(number, known.free_ns),
            None => {
                known.is_busy = false;
                self.known.busy -= 1;
            }
        }
    }
}
