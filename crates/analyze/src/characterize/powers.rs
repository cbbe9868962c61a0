//! Histograms of positive numbers by powers of two, of which nobody knows beforehand how large they get.

use serde::Serialize;

/// Bins: zero, and then a power of two each.
const BINS: usize = 65;

/// Weights by value.
#[derive(Clone, Debug)]
pub(super) struct Powers {
    bins: [u64; BINS],
}

/// One bin of a histogram.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PowerBin {
    /// Smallest value in the bin.
    pub from: u64,
    /// Largest value in the bin.
    pub to: u64,
    /// Sum of the weights in the bin. The field that holds the histogram says what is counted.
    pub count: u64,
}

impl Powers {
    pub(super) const fn new() -> Self {
        Self { bins: [0; BINS] }
    }

    #[inline]
    pub(super) const fn add(&mut self, value: u64, weight: u64) {
        let bin = if value == 0 { 0 } else { 1 + value.ilog2() as usize };
        self.bins[bin] = self.bins[bin].saturating_add(weight);
    }

    /// All weights together.
    pub(super) fn total(&self) -> u64 {
        self.bins.iter().fold(0, |sum, bin| sum.saturating_add(*bin))
    }

    /// The first bin that holds any, 0 where there is none.
    pub(super) fn first_used(&self) -> usize {
        self.bins.iter().position(|count| *count > 0).unwrap_or(0)
    }

    /// The bins that hold any, with what they hold.
    pub(super) fn used(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.bins.iter().copied().enumerate().filter(|(_, count)| *count > 0)
    }

    /// The bins up to the last that holds any, from the first that does; `unit` is what a weight of 1 stands for.
    pub(super) fn finish(&self, unit: u64) -> Vec<PowerBin> {
        let used = |count: &u64| *count > 0;
        let (Some(first), Some(last)) = (self.bins.iter().position(used), self.bins.iter().rposition(used))
        else {
            return Vec::new();
        };
        let edges = |bin: usize| match bin {
            0 => (0, 0),
            64 => (1 << 63, u64::MAX),
            _ => (1 << (bin - 1), (1 << bin) - 1),
        };
        let bins = (first..=last).map(|bin| {
            let (from, to) = edges(bin);
            PowerBin { from, to, count: self.bins[bin].saturating_mul(unit) }
        });
        bins.collect()
    }

    /// The largest value of the bin in which half of all weights are reached.
    pub(super) fn median(&self) -> Option<u64> {
        let (total, mut seen) = (u128::from(self.total()), 0u128);
        let bin = self.bins.iter().position(|count| {
            seen += u128::from(*count);
            total > 0 && seen * 2 >= total
        })?;
        Some(match bin {
            0 => 0,
            64 => u64::MAX,
            _ => (1 << bin) - 1,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_in_their_bins() {
        let mut powers = Powers::new();
        for value in [0, 1, 2, 3, 4, u64::MAX] {
            powers.add(value, 2);
        }
        let bins = powers.finish(10);
        assert_eq!(bins[2], PowerBin { from: 2, to: 3, count: 40 });
        assert_eq!((bins.len(), bins[64].to, powers.total()), (65, u64::MAX, 12));
        assert_eq!((powers.median(), Powers::new().median()), (Some(3), None));
    }
}
