//! Sums over time in bins whose width doubles as time goes on.

/// Several series over the same bins. A bin is a power of two ns wide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bins {
    most: u64,
    width_ns: u64,
    /// Bins that were never added to may be missing at the end.
    series: Vec<Vec<u128>>,
}

impl Bins {
    /// Empty series over at most so many bins.
    pub(super) fn new(series: usize, most: u64) -> Self {
        Self { most, width_ns: 1, series: vec![Vec::new(); series] }
    }

    /// The width of a bin, ns.
    pub(super) fn width_ns(&self) -> u64 {
        self.width_ns
    }

    /// The sum in a bin.
    pub(super) fn get(&self, series: usize, bin: usize) -> u128 {
        self.series[series].get(bin).copied().unwrap_or(0)
    }

    /// Widens the bins until they reach `end_ns`.
    pub(super) fn fit(&mut self, end_ns: u64) {
        while self.most.saturating_mul(self.width_ns) < end_ns {
            self.width_ns *= 2;
            for bins in &mut self.series {
                let merged = bins.chunks(2).map(|pair| pair.iter().sum());
                *bins = merged.collect();
            }
        }
    }

    /// Adds `each` for every ns from `start_ns` to `end_ns`, `end_ns` excluded.
    pub(super) fn add(&mut self, series: usize, start_ns: u64, end_ns: u64, each: u64) {
        if start_ns >= end_ns || each == 0 {
            return;
        }
        self.fit(end_ns);
        let width = self.width_ns;
        let bins = &mut self.series[series];
        let last = (end_ns - 1) / width;
        if bins.len() as u64 <= last {
            bins.resize(last as usize + 1, 0);
        }
        for bin in start_ns / width..=last {
            let start = start_ns.max(bin * width);
            let end = end_ns.min((bin + 1).saturating_mul(width));
            bins[bin as usize] += u128::from(end - start) * u128::from(each);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn spans_are_cut_at_the_edges_of_bins() {
        let mut bins = Bins::new(2, 4);
        bins.add(0, 3, 13, 1);
        assert_eq!(bins.width_ns(), 4, "13 ns in four bins");
        bins.add(1, 4, 5, 3);
        bins.add(1, 5, 5, 9);
        let of = |series| (0..4).map(|bin| bins.get(series, bin)).collect::<Vec<_>>();
        assert_eq!(of(0), [1, 4, 4, 1]);
        assert_eq!(of(1), [0, 3, 0, 0]);
    }

    #[test]
    fn the_longest_time_fits() {
        let mut bins = Bins::new(1, 1000);
        bins.add(0, 1, (1 << 62) + 4_000_000_000_000, u64::MAX);
        assert!((0..1000).all(|bin| bins.get(0, bin) > 0 || bin > 500));
        bins.fit(u64::MAX);
    }

    proptest! {
        #[test]
        fn bins_that_grew_hold_what_wide_bins_would_have_held(
            spans in prop::collection::vec((0..5_000u64, 0..2_000u64, 0..5u64), 1..40), most in 2..20u64,
        ) {
            let mut grown = Bins::new(1, most);
            let mut wide = Bins::new(1, most);
            wide.fit(spans.iter().map(|(start, length, _)| start + length).max().unwrap_or(0));
            for (start, length, each) in &spans {
                grown.add(0, *start, start + length, *each);
                wide.add(0, *start, start + length, *each);
            }
            // A span that counts for nothing widens nothing.
            grown.fit(most * wide.width_ns());
            prop_assert_eq!(grown.width_ns(), wide.width_ns());
            for bin in 0..most as usize {
                prop_assert_eq!(grown.get(0, bin), wide.get(0, bin));
            }
            let sum = spans.iter().map(|(_, length, each)| u128::from(length * each)).sum::<u128>();
            prop_assert_eq!((0..most as usize).map(|bin| grown.get(0, bin)).sum::<u128>(), sum);
        }
    }
}
