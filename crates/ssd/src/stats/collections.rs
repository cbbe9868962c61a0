//! Data blocks merged in each collection that a unit had to make, in their order: a course of at most 2048 bins, whose
//! width doubles as the run grows.

use serde::{Deserialize, Serialize};

/// Most bins.
const BINS: usize = 2048;

/// The course of collections.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collections {
    /// Collections so far.
    pub count: u64,
    /// Data blocks that they merged.
    pub merged: u64,
    /// Most data blocks merged in one.
    pub max_merged: u64,
    /// Collections in a bin; the last bin may have fewer.
    pub per_bin: u64,
    /// Most data blocks merged in one collection, by bin.
    pub max: Vec<u64>,
    /// Data blocks merged, by bin.
    pub sum: Vec<u64>,
}

impl Default for Collections {
    fn default() -> Self {
        Self { count: 0, merged: 0, max_merged: 0, per_bin: 1, max: Vec::new(), sum: Vec::new() }
    }
}

impl Collections {
    /// One more collection, that merged so many data blocks.
    pub(crate) fn record(&mut self, merged: u64) {
        let bin = (self.count / self.per_bin) as usize;
        if bin == BINS {
            self.double();
            return self.record(merged);
        }
        if bin == self.max.len() {
            self.max.push(0);
            self.sum.push(0);
        }
        self.max[bin] = self.max[bin].max(merged);
        self.sum[bin] += merged;
        self.count += 1;
        self.merged += merged;
        self.max_merged = self.max_merged.max(merged);
    }

    fn double(&mut self) {
        self.per_bin *= 2;
        self.max = self.max.chunks(2).map(|pair| pair.iter().copied().max().unwrap_or(0)).collect();
        self.sum = self.sum.chunks(2).map(|pair| pair.iter().sum()).collect();
    }

    /// Mean number of data blocks merged in one collection, by bin.
    pub fn means(&self) -> Vec<f64> {
        let counts = (0..self.sum.len() as u64)
            .map(|bin| self.per_bin.min(self.count - (bin * self.per_bin).min(self.count)));
        self.sum.iter().zip(counts).map(|(sum, count)| *sum as f64 / count.max(1) as f64).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_double_and_lose_nothing() {
        let mut collections = Collections::default();
        for number in 0..10_000u64 {
            collections.record(number % 7);
        }
        assert_eq!((collections.count, collections.max_merged, collections.per_bin), (10_000, 6, 8));
        assert_eq!(collections.merged, (0..10_000u64).map(|number| number % 7).sum::<u64>());
        assert_eq!(collections.sum.iter().sum::<u64>(), collections.merged);
        assert_eq!(collections.max.len(), 1250);
        assert!(
            (collections.means()[1249] - (9992..10_000).map(|n| n % 7).sum::<u64>() as f64 / 8.0).abs()
                < 1e-9
        );
    }
}
