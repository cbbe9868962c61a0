//! The macroscopic view of one operation (Yang 2009, section 5.1): how much is touched for the first time and how much
//! again, sequentially or at random; request sizes, and their alignment.

use serde::Serialize;

use super::Settings;
use super::counts::{Counts, Shares, Traits};
use super::ranges::Ranges;
use super::recent::Recent;
use super::sizes::{CommonSize, SizeBin, Sizes};
use flashweir_trace::{Request, SECTOR_BYTES};

/// State that is kept of the reads or of the writes.
pub(super) struct Side {
    again: &'static str,
    recent: Recent,
    ranges: Ranges,
    sizes: Sizes,
    align_sectors: u64,
    small_sectors: u64,
    chunk_sectors: u64,
}

/// The reads or the writes of a workload.
#[derive(Clone, Debug, Serialize)]
pub struct Macroscopic {
    /// Requests.
    pub requests: u64,
    /// Bytes that they carry.
    pub bytes: u64,
    /// Mean length; `None` without requests.
    pub mean_bytes: Option<f64>,
    /// Distinct bytes that they touch.
    pub footprint_bytes: u64,
    /// Bytes that they carry to sectors that an earlier one touched: exact to the sector, where the shares count whole
    /// requests.
    pub covered_bytes: u64,
    /// Shares of the bytes.
    #[serde(flatten)]
    pub shares: Shares,
    /// Shares of the requests.
    pub by_requests: Shares,
    /// Requests by length, in powers of two.
    pub sizes: Vec<SizeBin>,
    /// The most frequent lengths.
    pub common_sizes: Vec<CommonSize>,
}

impl Side {
    pub(super) fn new(settings: &Settings, again: &'static str) -> Self {
        Self {
            again,
            recent: Recent::new(settings.gap + 1),
            ranges: Ranges::new(),
            sizes: Sizes::new(),
            align_sectors: settings.align_bytes / SECTOR_BYTES,
            small_sectors: settings.small_bytes / SECTOR_BYTES,
            chunk_sectors: settings.chunk_bytes / SECTOR_BYTES,
        }
    }

    /// Looks up what a request will need soon.
    #[inline]
    pub(super) fn look(&self, request: &Request) -> u64 {
        self.ranges.look(request.lba)
    }

    /// Looks at a request of this operation: what it is like, and how many of its sectors were touched before.
    #[inline]
    pub(super) fn observe(&mut self, request: &Request) -> (Traits, u64) {
        let (start, end, sectors) = (request.lba, request.end(), u64::from(request.sectors));
        let covered = self.ranges.insert(start, end);
        let sequential = self.recent.continues(start);
        let traits = Traits {
            again: covered > 0,
            sequential,
            aligned: start.is_multiple_of(self.align_sectors) && end.is_multiple_of(self.align_sectors),
            small: sectors <= self.small_sectors,
            near: !sequential && self.recent.is_near(start, self.chunk_sectors),
        };
        self.recent.push(end);
        self.sizes.observe(request.sectors);
        (traits, covered)
    }

    /// Macroscopic view of the requests seen; `counts` is their sum.
    pub(super) fn finish(&self, counts: &Counts) -> Macroscopic {
        let all = counts.all();
        Macroscopic {
            requests: all.requests,
            bytes: all.bytes(),
            mean_bytes: (all.requests > 0).then(|| all.bytes() as f64 / all.requests as f64),
            footprint_bytes: self.ranges.sectors().saturating_mul(SECTOR_BYTES),
            covered_bytes: counts.covered.saturating_mul(SECTOR_BYTES),
            shares: counts.shares(self.again, false),
            by_requests: counts.shares(self.again, true),
            sizes: self.sizes.bins(),
            common_sizes: self.sizes.common(),
        }
    }

    /// Bytes of memory that it takes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.ranges.memory_bytes()
    }
}
