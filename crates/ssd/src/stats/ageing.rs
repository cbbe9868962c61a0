//! Counts of reads of cells that have aged.

use serde::{Deserialize, Serialize};

/// Pages of flash that were not right when they were read, and what it took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgeingCounts {
    /// Pages that needed at least one retry.
    pub retried_pages: u64,
    /// Retries.
    pub retries: u64,
    /// Pages that were decoded softly.
    pub soft_pages: u64,
    /// Pages that no decoding corrected.
    pub failed_pages: u64,
    /// Of these, rebuilt of the other pages of their stripe.
    pub rebuilt_pages: u64,
    /// Of these, lost: reads that can't be corrected.
    pub uncorrectable_pages: u64,
    /// Blocks erased after their data was moved because it was old.
    pub refreshed_blocks: u64,
    /// Blocks erased after their data was moved because they were read often, or with many retries.
    pub reclaimed_blocks: u64,
    /// Mapping units that both moved.
    pub moved_units: u64,
    /// Blocks that were retired.
    pub retired_blocks: u64,
    /// Writes and TRIMs that failed because the drive was read-only.
    pub refused_requests: u64,
    /// Bytes of these writes.
    pub refused_bytes: u64,
}

impl AgeingCounts {
    /// Difference from `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            retried_pages: self.retried_pages - earlier.retried_pages,
            retries: self.retries - earlier.retries,
            soft_pages: self.soft_pages - earlier.soft_pages,
            failed_pages: self.failed_pages - earlier.failed_pages,
            rebuilt_pages: self.rebuilt_pages - earlier.rebuilt_pages,
            uncorrectable_pages: self.uncorrectable_pages - earlier.uncorrectable_pages,
            refreshed_blocks: self.refreshed_blocks - earlier.refreshed_blocks,
            reclaimed_blocks: self.reclaimed_blocks - earlier.reclaimed_blocks,
            moved_units: self.moved_units - earlier.moved_units,
            retired_blocks: self.retired_blocks - earlier.retired_blocks,
            refused_requests: self.refused_requests - earlier.refused_requests,
            refused_bytes: self.refused_bytes - earlier.refused_bytes,
        }
    }
}
