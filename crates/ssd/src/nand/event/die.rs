//! One die on events: its queue, the commands that it holds, and the account of its time.

use serde::{Deserialize, Serialize};

use crate::nand::{Course, HoldRecord, Usage};
use crate::op::{Command, CommandKind, Purpose};
use crate::sched::{Operation, Queue, Queued, Running};
use crate::stats::{Cause, Parts, Spent};

/// Where a command is within its die.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Phase {
    /// Reading the array, before the bus.
    Reading,
    /// Waiting for the bus or using it.
    OnBus,
    /// In the register: the array is still busy with the program before, or the page of the read before has not left.
    Loaded,
    /// Programming or erasing, or the whole command as one.
    Finishing,
    /// Being suspended: the array is not free yet.
    Stopping,
}

/// Places in [`Active::each_ns`].
pub(super) const READ: usize = 0;
pub(super) const BUS: usize = 1;
pub(super) const PROGRAM: usize = 2;

/// A command that has got its die.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Active {
    pub(super) queued: Queued,
    pub(super) phase: Phase,
    /// Copies still to make, this one included; 1 for all other commands.
    pub(super) left: u32,
    /// Share of each copy but the first in the command's read, bus and program times, ns; the first one has the
    /// remainders.
    each_ns: [u64; 3],
    pub(super) start_ns: u64,
    /// When it took the die for the last time, ns.
    pub(super) resumed_ns: u64,
    /// When the phase in progress ends, unless it waits for the bus, ns.
    pub(super) until_ns: u64,
    /// When the array began with the phase in progress, or goes on with it once it is resumed, ns.
    pub(super) since_ns: u64,
    /// True if the phase in progress was suspended before.
    pub(super) resumed: bool,
    /// Rest of the phase that is being suspended, ns.
    pub(super) stopped_ns: u64,
    /// Since when it has waited for the bus, ns.
    pub(super) wanted_ns: u64,
    pub(super) wait_bus_ns: u64,
    pub(super) suspensions: u32,
    /// Times that it stood back, suspended or not.
    pub(super) pauses: u32,
    /// Time for which it has stood back, ns.
    pub(super) stood_ns: u64,
}

impl Active {
    /// A command that gets its die now.
    #[inline]
    pub(super) fn new(queued: Queued, now_ns: u64) -> Self {
        let left = queued.command.copies();
        let mut each_ns = queued.command.times();
        if left > 1 {
            each_ns = each_ns.map(|total_ns| total_ns / u64::from(left));
        }
        Self {
            phase: Phase::OnBus,
            left,
            each_ns,
            start_ns: now_ns,
            resumed_ns: now_ns,
            until_ns: now_ns,
            since_ns: now_ns,
            resumed: false,
            stopped_ns: 0,
            wanted_ns: now_ns,
            wait_bus_ns: 0,
            suspensions: 0,
            pauses: 0,
            stood_ns: 0,
            queued,
        }
    }

    /// Where its time went, from when it was handed over to its end, if account is kept.
    pub(super) fn parts(&self, end_ns: u64) -> Parts {
        let command = &self.queued.command;
        let (flash, bus) = (command.read_ns + command.program_ns, command.bus_ns);
        let rest = (end_ns - self.start_ns).saturating_sub(flash + bus + self.wait_bus_ns);
        let waited = Parts::waited(&self.queued.spent, self.start_ns - self.queued.arrived_ns);
        let mut parts = Parts { wait_bus: self.wait_bus_ns, bus, flash, ..waited };
        // It was suspended for reads, or stood in the register behind a program or a read.
        if self.pauses > 0 || command.kind == CommandKind::Read {
            parts.wait_read += rest;
        } else {
            parts.wait_write += rest;
        }
        parts
    }

    /// Its record, for the probe: it ends now.
    pub(super) fn course(&self, end_ns: u64, parts: Parts) -> Course {
        let Queued { command, arrived_ns, passed, request, .. } = &self.queued;
        Course {
            arrived_ns: *arrived_ns,
            start_ns: self.start_ns,
            end_ns,
            resumed_ns: self.resumed_ns,
            passed: *passed,
            pauses: self.pauses,
            parts,
            request: (command.purpose == Purpose::Host).then_some(*request),
        }
    }

    /// The part of one of its times that falls to the copy that it makes.
    #[inline]
    pub(super) fn share(&self, time: usize) -> u64 {
        let Self { queued: Queued { command, .. }, left, each_ns, .. } = self;
        if *left < command.copies() {
            each_ns[time]
        } else {
            command.times()[time] - u64::from(left - 1) * each_ns[time]
        }
    }

    /// Time that it still takes if nothing delays it, with `phase_ns` of a phase to go, ns.
    fn rest_ns(&self, phase: Phase, phase_ns: u64) -> u64 {
        let then = match phase {
            Phase::Reading => self.share(BUS) + self.share(PROGRAM),
            Phase::OnBus => self.share(PROGRAM),
            Phase::Loaded => self.share(BUS),
            Phase::Finishing | Phase::Stopping => 0,
        };
        phase_ns + then + u64::from(self.left - 1) * self.each_ns.iter().sum::<u64>()
    }

    /// Its wait for the die so far, ns.
    pub(super) fn waited_ns(&self) -> u64 {
        self.start_ns - self.queued.arrived_ns + self.stood_ns
    }

    /// Record of the die's occupation since the command last took it.
    pub(super) fn hold(&self, end_ns: u64) -> HoldRecord {
        let Command { die, kind, purpose, pages, .. } = self.queued.command;
        HoldRecord { die, kind, purpose, pages, start_ns: self.resumed_ns, end_ns }
    }

    /// True if it erases.
    pub(super) fn is_erase(&self) -> bool {
        self.queued.command.kind == CommandKind::Erase
    }

    /// True if it stands between two batches of `batch` copies each.
    pub(super) fn begins_batch(&self, batch: u32) -> bool {
        (self.queued.command.copies() - self.left).is_multiple_of(batch)
    }

    /// As a scheduler sees it.
    pub(super) fn running(&self, now_ns: u64, left_ns: u64, between_copies: bool, queue: &Queue) -> Running {
        let array = (self.phase == Phase::Finishing).then(|| Operation {
            total_ns: self.share(PROGRAM),
            resumed: self.resumed,
            to_start_ns: self.since_ns.saturating_sub(now_ns),
            ran_ns: now_ns.saturating_sub(self.since_ns),
        });
        Running {
            is_write: matches!(self.queued.command.kind, CommandKind::Program | CommandKind::Rewrite),
            is_erase: self.is_erase(),
            array,
            between_copies,
            age_ns: now_ns - self.queued.arrived_ns,
            left_ns,
            suspensions: self.suspensions,
            writes: 1 + queue.others(),
        }
    }
}

/// A command that has begun and stands back.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Paused {
    pub(super) active: Active,
    /// Phase with which it goes on, and the time left of that, ns.
    pub(super) phase: Phase,
    pub(super) left_ns: u64,
    pub(super) since_ns: u64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Die {
    /// When its last command ended, ns.
    pub(super) freed_ns: Option<u64>,
    pub(super) queue: Queue,
    pub(super) current: Option<Active>,
    pub(super) loading: Option<Active>,
    pub(super) unloading: Option<Active>,
    pub(super) paused: Option<Paused>,
    /// Number of the event that ends the phase of the array: others are out of date.
    pub(super) awaits: u64,
    /// Work that it did, up to `booked_ns`, if the latency breakdown is kept.
    pub(super) spent: Spent,
    pub(super) booked_ns: u64,
}

impl Die {
    /// True if it neither runs a command nor has one waiting.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.current.is_none()
            && self.loading.is_none()
            && self.unloading.is_none()
            && self.paused.is_none()
            && self.queue.is_empty()
    }

    /// Brings the account up to date. `usage`: of all dies; `follows`: the latency breakdown is kept.
    #[inline]
    pub(super) fn book(&mut self, now_ns: u64, usage: &mut Usage, follows: bool) {
        let since = now_ns - self.booked_ns;
        self.booked_ns = now_ns;
        let Some(holder) = self.unloading.as_ref().or(self.current.as_ref()) else { return };
        let command = &holder.queued.command;
        usage.hold(command, since);
        if follows {
            self.spent.add(Cause::of(command), since);
        }
    }

    /// The command that the die's time counts for: of two reads the earlier one.
    #[inline]
    pub(super) fn holder(&self) -> Option<&Active> {
        self.unloading.as_ref().or(self.current.as_ref())
    }

    /// Time that the commands that have begun still take if nothing delays them, ns.
    pub(super) fn ahead_ns(&self, now_ns: u64) -> u64 {
        let of = |active: &Active| {
            let left_ns = active.until_ns.saturating_sub(now_ns);
            let phase_ns = match active.phase {
                // It waits for the bus.
                Phase::OnBus if active.until_ns <= active.wanted_ns => active.share(BUS),
                Phase::Stopping => left_ns + active.stopped_ns,
                _ => left_ns,
            };
            active.rest_ns(active.phase, phase_ns)
        };
        let loading = self.loading.as_ref().map_or(0, |loading| loading.queued.command.program_ns);
        let paused =
            self.paused.as_ref().map_or(0, |paused| paused.active.rest_ns(paused.phase, paused.left_ns));
        self.current.as_ref().map_or(0, of) + self.unloading.as_ref().map_or(0, of) + loading + paused
    }

    /// The command that is on the bus, or comes next there.
    #[inline]
    pub(super) fn next_on_bus(&mut self) -> Option<&mut Active> {
        let loading = self.loading.as_mut().filter(|loading| loading.phase == Phase::OnBus);
        self.unloading.as_mut().or(loading).or(self.current.as_mut())
    }

    /// True if it waits for the bus with a page that it has read for the host.
    pub(super) fn reads_out(&self) -> bool {
        self.loading.is_none()
            && self
                .unloading
                .as_ref()
                .or(self.current.as_ref())
                .is_some_and(|read| read.queued.is_awaited_read())
    }
}
