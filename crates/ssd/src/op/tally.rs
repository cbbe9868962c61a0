//! Counts of a translation layer beside its operations.

use serde::{Deserialize, Serialize};

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
