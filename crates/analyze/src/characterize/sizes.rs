//! Request sizes: counts in power-of-two bins (Yang 2009, section 5.1), and the most frequent sizes.

use std::collections::BTreeMap;

use serde::Serialize;

use super::counts::Tally;
use flashweir_trace::SECTOR_BYTES;

/// Lengths up to 2 MiB are counted one by one in a table.
const DENSE: usize = 4097;
/// Distinct lengths beyond that are counted one by one, as long as they are no more than this.
const SPARSE: usize = 1 << 14;
/// Number of the most frequent sizes reported.
const COMMON: usize = 8;

/// Counts by length.
pub(super) struct Sizes {
    bins: [Tally; 32],
    dense: Vec<u64>,
    sparse: BTreeMap<u32, u64>,
}

/// Requests of one bin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SizeBin {
    /// Shortest length in the bin, bytes.
    pub from_bytes: u64,
    /// Shortest length beyond it, bytes: twice that.
    pub below_bytes: u64,
    /// Requests in it.
    pub requests: u64,
    /// Bytes that they carry together.
    pub bytes: u64,
}

/// Requests of one length.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CommonSize {
    /// The length.
    pub bytes: u64,
    /// Requests of that length.
    pub requests: u64,
    /// Their share of all requests.
    pub requests_share: f64,
    /// Their share of all bytes.
    pub bytes_share: f64,
}

impl Sizes {
    pub(super) fn new() -> Self {
        Self { bins: [Tally::default(); 32], dense: vec![0; DENSE], sparse: BTreeMap::new() }
    }

    #[inline]
    pub(super) fn observe(&mut self, sectors: u32) {
        self.bins[sectors.max(1).ilog2() as usize].add(u64::from(sectors));
        if let Some(count) = self.dense.get_mut(sectors as usize) {
            *count += 1;
        } else if self.sparse.len() < SPARSE {
            *self.sparse.entry(sectors).or_default() += 1;
        } else if let Some(count) = self.sparse.get_mut(&sectors) {
            *count += 1;
        }
    }

    /// The bins from the first to the last that holds any.
    pub(super) fn bins(&self) -> Vec<SizeBin> {
        let used = |tally: &Tally| tally.requests > 0;
        let (Some(first), Some(last)) = (self.bins.iter().position(used), self.bins.iter().rposition(used))
        else {
            return Vec::new();
        };
        let bin = |at: usize| SizeBin {
            from_bytes: SECTOR_BYTES << at,
            below_bytes: SECTOR_BYTES << (at + 1),
            requests: self.bins[at].requests,
            bytes: self.bins[at].bytes(),
        };
        (first..=last).map(bin).collect()
    }

    /// The most frequent lengths, the most frequent first.
    pub(super) fn common(&self) -> Vec<CommonSize> {
        let all = self.bins.iter().fold(Tally::default(), |sum, bin| sum.plus(*bin));
        let dense = (0u64..).zip(&self.dense).map(|(sectors, count)| (sectors, *count));
        let sparse = self.sparse.iter().map(|(sectors, count)| (u64::from(*sectors), *count));
        let mut counts: Vec<(u64, u64)> = dense.chain(sparse).filter(|(_, count)| *count > 0).collect();
        counts.sort_unstable_by_key(|(sectors, count)| (std::cmp::Reverse(*count), *sectors));
        counts.truncate(COMMON);
        let sizes = counts.into_iter().map(|(sectors, requests)| CommonSize {
            bytes: sectors * SECTOR_BYTES,
            requests,
            requests_share: requests as f64 / all.requests as f64,
            bytes_share: (sectors * requests) as f64 / all.sectors as f64,
        });
        sizes.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_of_two_begins_a_bin() {
        let mut sizes = Sizes::new();
        for sectors in [1, 8, 8, 15, 16, u32::MAX] {
            sizes.observe(sectors);
        }
        let bins = sizes.bins();
        let counts: Vec<u64> = bins.iter().take(5).map(|bin| bin.requests).collect();
        assert_eq!(counts, [1, 0, 0, 3, 1]);
        assert_eq!((bins[3].from_bytes, bins[3].below_bytes, bins[3].bytes), (4096, 8192, 31 * 512));
        assert_eq!((bins.len(), bins[31].from_bytes), (32, 1 << 40));
        let common = sizes.common();
        assert_eq!((common[0].bytes, common[0].requests), (4096, 2));
        assert!(common.iter().any(|size| size.bytes == u64::from(u32::MAX) * 512));
    }

    #[test]
    fn nothing_has_no_bins() {
        assert!(Sizes::new().bins().is_empty() && Sizes::new().common().is_empty());
    }
}
