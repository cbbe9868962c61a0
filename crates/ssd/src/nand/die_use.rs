//! Time of each die by kind of work, added up while a drive goes: without records, so its memory does not grow.
//!
//! A command counts when it has ended, or, where times are worked out at once, when it was made.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::op::{CommandKind, Purpose};

/// Kinds of work of a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DieWork {
    /// Reads of the host.
    Read,
    /// Programs of the host, read-modify-writes and destaged pages included.
    Program,
    /// Pages that collection, wear levelling or folding of the SLC cache moves.
    Copy,
    /// Erases of blocks.
    Erase,
    /// Translation pages read and programmed.
    Mapping,
    /// Data on the bus, of any of the others.
    Transfer,
}

impl DieWork {
    /// All of them, in the order of [`DieWorkTimes`].
    pub const ALL: [Self; 6] =
        [Self::Read, Self::Program, Self::Copy, Self::Erase, Self::Mapping, Self::Transfer];

    /// The name in samples.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Program => "program",
            Self::Copy => "copy",
            Self::Erase => "erase",
            Self::Mapping => "mapping",
            Self::Transfer => "transfer",
        }
    }

    const fn of(kind: CommandKind, purpose: Purpose) -> Self {
        match (kind, purpose) {
            (CommandKind::Erase, _) => Self::Erase,
            (_, Purpose::Mapping) => Self::Mapping,
            (_, Purpose::Gc) => Self::Copy,
            (CommandKind::Read, Purpose::Host) => Self::Read,
            (_, Purpose::Host) => Self::Program,
        }
    }
}

/// Time of a die by kind of work, ns, in the order of [`DieWork::ALL`]. What is left of the time elapsed is idle.
pub type DieWorkTimes = [u64; DieWork::ALL.len()];

/// Sums of each die; a probe (`watcher.rs`). A drive that is saved leaves it out.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct DieUse {
    #[serde(skip)]
    dies: Vec<(DieWorkTimes, u64)>,
}

impl DieUse {
    /// A command had its die for a span of time, `bus_ns` of it for the bus.
    pub(super) fn add(
        &mut self,
        die: u32,
        (kind, purpose): (CommandKind, Purpose),
        span_ns: Range<u64>,
        bus_ns: u64,
    ) {
        let Range { start: start_ns, end: end_ns } = span_ns;
        let at = die as usize;
        if at >= self.dies.len() {
            self.dies.resize(at + 1, Default::default());
        }
        let (times, counted_ns) = &mut self.dies[at];
        // With cache commands the next page comes in or leaves beside a command: that time is the earlier command's.
        let time_ns = end_ns.saturating_sub(start_ns.max(*counted_ns));
        *counted_ns = end_ns.max(*counted_ns);
        let bus_ns = bus_ns.min(time_ns);
        times[DieWork::Transfer as usize] += bus_ns;
        times[DieWork::of(kind, purpose) as usize] += time_ns - bus_ns;
    }

    /// Times of the dies that have worked, by number; those behind have not.
    pub(crate) fn times(&self) -> Vec<DieWorkTimes> {
        self.dies.iter().map(|(times, _)| *times).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_of_a_die_counts_twice_and_the_bus_has_its_own() {
        let mut found = DieUse::default();
        found.add(1, (CommandKind::Read, Purpose::Host), 10..30, 5);
        // The next page was sensed while this one left.
        found.add(1, (CommandKind::Read, Purpose::Host), 25..40, 5);
        found.add(1, (CommandKind::Erase, Purpose::Gc), 50..60, 0);
        let times = found.times();
        assert_eq!(times[0], [0; 6], "a die that did nothing");
        assert_eq!(times[1], [20, 0, 0, 10, 0, 10]);
    }

    #[test]
    fn a_saved_drive_leaves_it_out() {
        let mut found = DieUse::default();
        found.add(0, (CommandKind::Copies, Purpose::Gc), 0..9, 0);
        assert!(postcard::to_allocvec(&found).expect("plain").is_empty());
    }
}
