//! Where latency goes: what a die does while commands wait for it, and the parts of a request's latency.
//!
//! A request is as late as the last of its commands. Its latency is the time until that command was handed to its die, the
//! wait for the die (by what the die did meanwhile), for the bus, the transfers, and the flash itself: the sum is exact.

use flashweir_trace::Op;
use serde::{Deserialize, Serialize};

use crate::op::{Command, CommandKind, Purpose};

/// Work of a die, as a command that waits for it sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Cause {
    Read,
    Write,
    Erase,
    Gc,
    Mapping,
}

/// Causes by purpose and kind of a command: read from a table, because it is asked for every command.
const CAUSES: [[Cause; 5]; Purpose::COUNT] = {
    let kinds = [
        CommandKind::Read,
        CommandKind::Program,
        CommandKind::Rewrite,
        CommandKind::Copies,
        CommandKind::Erase,
    ];
    let purposes = [Purpose::Host, Purpose::Gc, Purpose::Mapping];
    let mut causes = [[Cause::Read; 5]; Purpose::COUNT];
    let mut at = 0;
    while at < 5 * Purpose::COUNT {
        let (purpose, kind) = (purposes[at / 5], kinds[at % 5]);
        causes[purpose as usize][kind as usize] = Cause::by(purpose, kind);
        at += 1;
    }
    causes
};

impl Cause {
    const fn by(purpose: Purpose, kind: CommandKind) -> Self {
        match (purpose, kind) {
            (Purpose::Mapping, _) => Cause::Mapping,
            (_, CommandKind::Erase) => Cause::Erase,
            (Purpose::Gc, _) => Cause::Gc,
            (Purpose::Host, CommandKind::Read) => Cause::Read,
            (Purpose::Host, _) => Cause::Write,
        }
    }

    #[inline]
    pub(crate) fn of(command: &Command) -> Self {
        CAUSES[command.purpose as usize][command.kind as usize]
    }
}

/// Busy time of a die, ns, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Spent([u64; 5]);

impl Spent {
    /// More of it.
    #[inline]
    pub(crate) fn add(&mut self, cause: Cause, ns: u64) {
        self.0[cause as usize] += ns;
    }

    /// Difference from `earlier`.
    #[inline]
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self(std::array::from_fn(|cause| self.0[cause] - earlier.0[cause]))
    }
}

/// Parts of latencies, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Parts {
    /// Before any part of the drive worked at it: it waited for a rate limit or a slot, no unit could take its pages, or a flush waited for writes.
    pub host_queue: u64,
    /// On the host's link: submission, waiting for it and on it, and completion.
    pub link: u64,
    /// In submission queues, waiting for a core of the firmware, and on it.
    pub firmware: u64,
    /// Waiting for the drive's memory and being put there; waiting for room in the write buffer, or in it.
    pub buffer: u64,
    /// Waiting for the mapping: its translation pages were read, entries came from the host's memory, or the die worked for the mapping.
    pub mapping: u64,
    /// Waiting for the die while it read for the host (suspended for reads included).
    pub wait_read: u64,
    /// Waiting for the die while it wrote for the host.
    pub wait_write: u64,
    /// Waiting for the die while it erased.
    pub wait_erase: u64,
    /// Waiting for the die while it relocated pages of a collection.
    pub wait_gc: u64,
    /// Waiting for the bus.
    pub wait_bus: u64,
    /// On the bus.
    pub bus: u64,
    /// The flash array itself.
    pub flash: u64,
}

impl Parts {
    /// Waits of a command until it got its die: `spent` on others, and the rest of `waited_ns` on a command of its own
    /// on another die.
    #[inline]
    pub(crate) fn waited(spent: &Spent, waited_ns: u64) -> Self {
        let [read, wait_write, wait_erase, wait_gc, mapping] = spent.0;
        let others = waited_ns.saturating_sub(spent.0.iter().sum());
        Self { mapping, wait_read: read + others, wait_write, wait_erase, wait_gc, ..Self::default() }
    }

    /// All of them.
    #[inline]
    pub fn total(&self) -> u64 {
        self.host_queue
            + self.link
            + self.firmware
            + self.buffer
            + self.mapping
            + self.wait_read
            + self.wait_write
            + self.wait_erase
            + self.wait_gc
            + self.wait_bus
            + self.bus
            + self.flash
    }

    /// With what is left of the request's latency: it came before, in the buffer if that holds the request, else in front of the drive.
    #[inline]
    pub(crate) fn of_request(&self, buffered: bool, latency_ns: u64) -> Self {
        let before_ns = latency_ns.saturating_sub(self.total());
        let (buffer, host_queue) = if buffered { (before_ns, 0) } else { (0, before_ns) };
        Self { buffer: self.buffer + buffer, host_queue: self.host_queue + host_queue, ..*self }
    }

    /// The same time, all of it for the mapping.
    pub(crate) fn for_mapping(&self) -> Self {
        Self { mapping: self.total(), ..Self::default() }
    }

    /// Each with its name, in the order in which a request goes through them.
    pub fn named(&self) -> [(&'static str, u64); 12] {
        let Self {
            host_queue,
            link,
            firmware,
            buffer,
            mapping,
            wait_read,
            wait_write,
            wait_erase,
            wait_gc,
            wait_bus,
            bus,
            flash,
        } = *self;
        [
            ("host_queue", host_queue),
            ("link", link),
            ("firmware", firmware),
            ("buffer", buffer),
            ("mapping", mapping),
            ("wait_read", wait_read),
            ("wait_write", wait_write),
            ("wait_erase", wait_erase),
            ("wait_gc", wait_gc),
            ("wait_bus", wait_bus),
            ("bus", bus),
            ("flash", flash),
        ]
    }

    /// More of each.
    #[inline]
    pub fn add(&mut self, other: &Self) {
        self.host_queue += other.host_queue;
        self.link += other.link;
        self.firmware += other.firmware;
        self.buffer += other.buffer;
        self.mapping += other.mapping;
        self.wait_read += other.wait_read;
        self.wait_write += other.wait_write;
        self.wait_erase += other.wait_erase;
        self.wait_gc += other.wait_gc;
        self.wait_bus += other.wait_bus;
        self.bus += other.bus;
        self.flash += other.flash;
    }
}

/// Sums of parts over the requests of each operation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyParts {
    sums: [Parts; Op::COUNT],
}

impl LatencyParts {
    /// One more request.
    #[inline]
    pub fn add(&mut self, op: Op, parts: &Parts) {
        self.sums[op as usize].add(parts);
    }

    /// One more request of so long a latency, ns; `parts` as [`Parts::of_request`] takes them.
    #[inline]
    pub(crate) fn add_request(&mut self, op: Op, parts: &Parts, buffered: bool, latency_ns: u64) {
        let sum = &mut self.sums[op as usize];
        sum.add(parts);
        let before = if buffered { &mut sum.buffer } else { &mut sum.host_queue };
        *before += latency_ns.saturating_sub(parts.total());
    }

    /// Those of other requests as well.
    pub fn join(&mut self, other: &Self) {
        for op in Op::ALL {
            self.add(op, other.of(op));
        }
    }

    /// Sums over all requests of an operation that ended, ns.
    pub fn of(&self, op: Op) -> &Parts {
        &self.sums[op as usize]
    }
}

/// Counts of a scheduler, over all dies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedCounts {
    /// Commands that passed others.
    pub moved: u64,
    /// Commands that they passed, one by one.
    pub passed: u64,
    /// Times that a command was suspended with its array busy.
    pub suspensions: u64,
    /// Times that a collection made way between two page copies.
    pub preemptions: u64,
    /// Times that a program gave up its place for the bus.
    pub recalls: u64,
    /// Longest that a read of the host waited for its die, ns.
    pub longest_read_wait_ns: u64,
    /// Longest that a program of the host waited for its die, before it began or suspended, ns.
    pub longest_write_wait_ns: u64,
}

impl SchedCounts {
    /// A command has waited so long for its die.
    #[inline]
    pub(crate) fn waited(&mut self, command: &Command, ns: u64) {
        if command.purpose == Purpose::Host {
            let longest = match command.kind {
                CommandKind::Read => &mut self.longest_read_wait_ns,
                _ => &mut self.longest_write_wait_ns,
            };
            *longest = ns.max(*longest);
        }
    }
}
