//! Settings of a characterization, and the check that refuses senseless ones.

use serde::Serialize;

use super::pieces::CHUNK;
use super::reuse::Sampling;
use flashweir_trace::SECTOR_BYTES;

use crate::SettingError;

/// Units of space are multiples of this.
const UNIT_STEP: u64 = CHUNK * SECTOR_BYTES;

/// Settings of a characterization.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Settings {
    /// Maximum number of other requests between two of a sequential run, K.
    pub gap: usize,
    /// Longest request that counts as small, bytes.
    pub small_bytes: u64,
    /// Alignment of requests, bytes.
    pub align_bytes: u64,
    /// Distance below which requests are near, bytes.
    pub chunk_bytes: u64,
    /// Into how many parts a workload is cut.
    pub segments: usize,
    /// Unit of space in which hot and cold data mix, bytes.
    pub unit_bytes: u64,
    /// Blocks that are followed for reuse distances and working sets.
    pub sampling: Sampling,
    /// True if only the macroscopic view is taken, which is faster.
    pub macroscopic: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            gap: 10,
            small_bytes: 4096,
            align_bytes: 4096,
            chunk_bytes: 9_728_000,
            segments: 10,
            unit_bytes: 1 << 20,
            sampling: Sampling::Blocks(1 << 16),
            macroscopic: false,
        }
    }
}

impl Settings {
    /// Refuses what makes no sense.
    pub fn check(&self) -> Result<(), SettingError> {
        let refuse = |what: &str, found: u64, expected: &str| {
            Err(SettingError { what: what.into(), found: found.to_string(), expected: expected.into() })
        };
        let sectors = |bytes: u64| bytes > 0 && bytes.is_multiple_of(SECTOR_BYTES);
        if self.gap > 1000 {
            return refuse("gap", self.gap as u64, "expected a number of requests from 0 to 1000");
        }
        if !(1..=1000).contains(&self.segments) {
            return refuse("segments", self.segments as u64, "expected a number from 1 to 1000");
        }
        for (what, bytes) in
            [("small", self.small_bytes), ("align", self.align_bytes), ("chunk", self.chunk_bytes)]
        {
            if !sectors(bytes) {
                return refuse(what, bytes, "expected a positive multiple of 512 bytes");
            }
        }
        if self.unit_bytes == 0 || !self.unit_bytes.is_multiple_of(UNIT_STEP) {
            return refuse("unit", self.unit_bytes, "expected a positive multiple of 128 KiB");
        }
        match self.sampling {
            Sampling::Blocks(blocks) if !(64..=1 << 26).contains(&blocks) => {
                refuse("sample", u64::from(blocks), "expected 64 to 67108864 blocks, or a share such as 0.01")
            }
            Sampling::Rate(rate) if !(rate > 0.0 && rate <= 1.0) => Err(SettingError {
                what: "sample".into(),
                found: rate.to_string(),
                expected: "expected a share above 0 and up to 1, or a number of blocks".into(),
            }),
            Sampling::Blocks(_) | Sampling::Rate(_) => Ok(()),
        }
    }
}
