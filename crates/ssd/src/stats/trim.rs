//! Counts of TRIMs with a granularity or a backlog.

use serde::{Deserialize, Serialize};

/// Pages (mapping units, where these are smaller) that TRIMs left for later, and what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrimCounts {
    /// Left for later.
    pub deferred: u64,
    /// Forgotten when the drive was idle.
    pub idle: u64,
    /// Forgotten while a TRIM waited for it.
    pub must: u64,
    /// Written again before they were forgotten.
    pub rewritten: u64,
    /// TRIMs that waited for the backlog.
    pub waited: u64,
    /// Sectors of TRIMs that kept their data, as they are no whole range of the granularity.
    pub kept_sectors: u64,
}

impl TrimCounts {
    /// Difference from `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            deferred: self.deferred - earlier.deferred,
            idle: self.idle - earlier.idle,
            must: self.must - earlier.must,
            rewritten: self.rewritten - earlier.rewritten,
            waited: self.waited - earlier.waited,
            kept_sectors: self.kept_sectors - earlier.kept_sectors,
        }
    }
}
