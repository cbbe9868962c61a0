//! Counts of a translation layer beside its operations.

use serde::{Deserialize, Serialize};

use super::{MergeKind, Ops};

/// Events of a translation layer that need no operation of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tally {
    /// Merges by kind: full, partial, switch.
    pub(crate) merges: [u64; 3],
    /// For each collection that ended, the data blocks merged in full in it.
    pub(crate) collections: Vec<u64>,
    /// Entries of the map looked up, and those of them that were in RAM.
    pub(crate) looked_up: u64,
    pub(crate) hits: u64,
    /// Translation pages moved by collections.
    pub(crate) map_moves: u64,
    /// Mapping units of pages of flash that were programmed empty.
    pub(crate) padded: u64,
    /// Mapping units moved by collections.
    pub(crate) moved_units: u64,
    /// Pages moved out of blocks in SLC mode.
    pub(crate) folded: u64,
    /// Data blocks merged in full since the last collection ended.
    pub(super) merged: u64,
}

impl Tally {
    /// Forgets everything but its memory.
    pub(super) fn clear(&mut self) {
        let mut collections = std::mem::take(&mut self.collections);
        collections.clear();
        *self = Self { collections, ..Self::default() };
    }
}

impl Ops {
    /// True if the tally has anything.
    #[inline]
    pub(crate) fn has_counted(&self) -> bool {
        self.counted
    }

    #[inline]
    pub(super) fn tally(&mut self) -> &mut Tally {
        self.counted = true;
        &mut self.tally
    }

    /// A data block was merged; its copies are in the list.
    pub(crate) fn merged(&mut self, kind: MergeKind) {
        self.changed = true;
        let tally = self.tally();
        tally.merges[kind as usize] += 1;
        tally.merged += u64::from(kind == MergeKind::Full);
    }

    /// A collection is over: its victim is erased.
    pub(crate) fn collected(&mut self) {
        self.changed = true;
        let tally = self.tally();
        let merged = std::mem::take(&mut tally.merged);
        tally.collections.push(merged);
    }

    /// An entry was looked up in a map of which only a part is in RAM. `hit`: it is in that part.
    #[inline]
    pub(crate) fn looked_up(&mut self, hit: bool) {
        self.changed = true;
        let tally = self.tally();
        tally.looked_up += 1;
        tally.hits += u64::from(hit);
    }

    /// The page moved last was a translation page.
    pub(crate) fn moved_map(&mut self) {
        self.tally().map_moves += 1;
    }
}
