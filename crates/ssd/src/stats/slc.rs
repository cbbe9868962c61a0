//! Counts of an SLC cache.

use serde::{Deserialize, Serialize};

/// Pages (mapping units, where pages hold several) that went to an SLC cache, past it and out of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlcCounts {
    /// Written to it by the host.
    pub written: u64,
    /// Written by the host to the other blocks.
    pub direct: u64,
    /// Moved out of it to the other blocks.
    pub folded: u64,
    /// Overwritten by the host while they were in it.
    pub overwritten: u64,
    /// Trimmed while they were in it.
    pub trimmed: u64,
    /// Erases of blocks in SLC mode. They are among those of collections.
    pub erases: u64,
}

impl SlcCounts {
    /// Difference from `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            written: self.written - earlier.written,
            direct: self.direct - earlier.direct,
            folded: self.folded - earlier.folded,
            overwritten: self.overwritten - earlier.overwritten,
            trimmed: self.trimmed - earlier.trimmed,
            erases: self.erases - earlier.erases,
        }
    }
}
