//! Latency histograms (the buckets of HDR histograms with three significant digits) for each stream and operation; mean and maximum are exact.

use flashweir_trace::Op;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::quantity::round_to_u64;

/// Buckets that latencies up to twice as many ns have to themselves; from there on each doubling has as many.
const BUCKETS: u64 = 1024;

/// One stream's latencies of one operation.
#[derive(Clone, Debug, Default)]
struct Series {
    /// Requests by bucket, up to the last one that has any.
    counts: Vec<u64>,
    sum_ns: u128,
    max_ns: u64,
}

impl Series {
    #[inline]
    fn record_n(&mut self, latency_ns: u64, count: u64) {
        let doublings = (latency_ns | BUCKETS).ilog2() - BUCKETS.ilog2();
        let bucket = u64::from(doublings) * BUCKETS + (latency_ns >> doublings);
        if bucket as usize >= self.counts.len() {
            self.counts.resize(bucket as usize + 1, 0);
        }
        self.counts[bucket as usize] += count;
    }

    /// The buckets that have any: largest latency, and requests.
    fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        let largest = |bucket: u64| {
            let doublings = (bucket / BUCKETS).saturating_sub(1);
            ((bucket - doublings * BUCKETS + 1) << doublings) - 1
        };
        let counted = (0..).zip(self.counts.iter().copied()).filter(|(_, count)| *count > 0);
        counted.map(move |(bucket, count)| (largest(bucket), count))
    }

    fn len(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The latencies that shares of the requests do not pass, ns: at most one thousandth too large. Shares ascend, so that one
    /// pass over the buckets finds all.
    fn quantiles<const N: usize>(&self, shares: [f64; N]) -> [u64; N] {
        let len = self.len() as f64;
        let mut buckets = self.buckets();
        let (mut up_to, mut reached_ns) = (0, 0);
        shares.map(|share| {
            let wanted = round_to_u64((share * len).ceil()).max(1);
            while up_to < wanted {
                let Some((largest_ns, count)) = buckets.next() else { return 0 };
                up_to += count;
                reached_ns = largest_ns.min(self.max_ns);
            }
            reached_ns
        })
    }
}

/// Latencies of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Latencies {
    /// One an operation and stream, made when first needed.
    series: Vec<Option<Box<Series>>>,
}

/// Latencies of a set of requests, microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LatencySummary {
    /// Number of requests.
    pub count: u64,
    /// Exact mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// 99.99th percentile.
    pub p9999: f64,
    /// Exact maximum.
    pub max: f64,
}

/// A series as it is saved: counts by bucket, sum, maximum.
type Saved = (Vec<(u64, u64)>, u128, u64);

impl Serialize for Series {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let saved: Saved = (self.buckets().collect(), self.sum_ns, self.max_ns);
        saved.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Series {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (counts, sum_ns, max_ns) = Saved::deserialize(deserializer)?;
        let mut series = Self { counts: Vec::new(), sum_ns, max_ns };
        for (latency_ns, count) in counts {
            series.record_n(latency_ns, count);
        }
        Ok(series)
    }
}

impl Latencies {
    #[inline]
    fn series(&mut self, stream: u16, op: Op) -> &mut Series {
        let at = usize::from(stream) * Op::ALL.len() + op as usize;
        if at >= self.series.len() {
            self.series.resize(at + 1, None);
        }
        self.series[at].get_or_insert_default()
    }

    /// One more request.
    #[inline]
    pub(crate) fn record(&mut self, stream: u16, op: Op, latency_ns: u64) {
        let series = self.series(stream, op);
        series.record_n(latency_ns, 1);
        series.sum_ns += u128::from(latency_ns);
        series.max_ns = series.max_ns.max(latency_ns);
    }

    /// Adds requests that were counted elsewhere: latencies (any one of its bucket) with how many had them, and the exact sum
    /// and maximum of all these.
    pub fn add(
        &mut self,
        stream: u16,
        op: Op,
        counts: impl IntoIterator<Item = (u64, u64)>,
        sum_ns: u128,
        max_ns: u64,
    ) {
        let series = self.series(stream, op);
        for (latency_ns, count) in counts {
            series.record_n(latency_ns, count);
        }
        series.sum_ns += sum_ns;
        series.max_ns = series.max_ns.max(max_ns);
    }

    /// Streams that had a request.
    pub fn streams(&self) -> Vec<u16> {
        let mut streams: Vec<u16> = (0..self.series.len())
            .filter(|at| self.series[*at].is_some())
            .map(|at| (at / Op::ALL.len()) as u16)
            .collect();
        streams.dedup();
        streams
    }

    /// One operation's latencies, of one stream or of all.
    fn merged(&self, stream: Option<u16>, op: Op) -> Series {
        let chosen = |at: usize| {
            at % Op::ALL.len() == op as usize
                && stream.is_none_or(|stream| at / Op::ALL.len() == usize::from(stream))
        };
        let mut all = Series::default();
        for (at, series) in self.series.iter().enumerate() {
            if let Some(series) = series.as_ref().filter(|_| chosen(at)) {
                all.counts.resize(all.counts.len().max(series.counts.len()), 0);
                all.counts.iter_mut().zip(&series.counts).for_each(|(all, count)| *all += count);
                all.sum_ns += series.sum_ns;
                all.max_ns = all.max_ns.max(series.max_ns);
            }
        }
        all
    }

    /// Latencies of one operation, of one stream or of all. `None` without any request.
    pub fn summary(&self, stream: Option<u16>, op: Op) -> Option<LatencySummary> {
        let all = self.merged(stream, op);
        let count = all.len();
        if count == 0 {
            return None;
        }
        let micros = |ns: u64| ns as f64 / 1000.0;
        let [p50, p95, p99, p999, p9999] = all.quantiles([0.50, 0.95, 0.99, 0.999, 0.9999]).map(micros);
        Some(LatencySummary {
            count,
            mean: all.sum_ns as f64 / count as f64 / 1000.0,
            p50,
            p95,
            p99,
            p999,
            p9999,
            max: micros(all.max_ns),
        })
    }

    /// Counts of the histogram of one operation, of one stream or of all: upper edge in ns, requests.
    pub fn buckets(&self, stream: Option<u16>, op: Op) -> Vec<(u64, u64)> {
        self.merged(stream, op).buckets().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_right_to_three_digits_over_all_magnitudes() {
        for scale in [1, 1_000, 1_000_000, 1_000_000_000_000] {
            let mut latencies = Latencies::default();
            for rank in (1..=10_000).rev() {
                latencies.record(0, Op::Read, rank * scale);
            }
            let summary = latencies.summary(None, Op::Read).expect("requests");
            let found = [summary.p50, summary.p95, summary.p99, summary.p999, summary.p9999];
            for (found, rank) in found.into_iter().zip([5_000.0, 9_500.0, 9_900.0, 9_990.0, 9_999.0]) {
                let expected = rank * scale as f64 / 1000.0;
                assert!((found - expected).abs() <= expected * 1e-3, "{found}, expected {expected}");
            }
        }
    }

    #[test]
    fn buckets_are_those_of_an_hdr_histogram() {
        let mut series = Series::default();
        let mut hdr = hdrhistogram::Histogram::<u64>::new(3).expect("3 digits are legal");
        for shift in 0..62 {
            for latency_ns in [(1 << shift) - 1, 1 << shift, (1 << shift) * 3 / 2 + 1] {
                series.record_n(latency_ns, 1);
                hdr.record(latency_ns).expect("it grows");
            }
        }
        series.max_ns = u64::MAX;
        let recorded =
            hdr.iter_recorded().map(|bucket| (bucket.value_iterated_to(), bucket.count_at_value()));
        assert!(recorded.eq(series.buckets()));
        let shares = [1e-9, 0.1, 0.5, 0.5, 0.95, 0.999, 1.0];
        assert_eq!(series.quantiles(shares), shares.map(|share| hdr.value_at_quantile(share)));
        for share in shares {
            assert_eq!(series.quantiles([share]), [hdr.value_at_quantile(share)], "{share}");
        }
    }

    #[test]
    fn extremes_are_counted() {
        let mut latencies = Latencies::default();
        for latency in [0, 1 << 61] {
            latencies.record(0, Op::Read, latency);
        }
        let summary = latencies.summary(None, Op::Read).expect("two");
        assert_eq!((summary.count, summary.p50), (2, 0.0));
        assert_eq!(latencies.buckets(None, Op::Read).iter().map(|(_, count)| count).sum::<u64>(), 2);
    }

    #[test]
    fn requests_counted_elsewhere_count_as_recorded_ones() {
        let (mut recorded, mut added) = (Latencies::default(), Latencies::default());
        for latency in [7, 7, 5_000_123, 5_000_123] {
            recorded.record(1, Op::Read, latency);
        }
        added.add(1, Op::Read, [(7, 2)], 14, 7);
        // Another latency of the same bucket.
        added.add(1, Op::Read, [(4_998_144, 2)], 10_000_246, 5_000_123);
        assert_eq!(added.summary(Some(1), Op::Read), recorded.summary(Some(1), Op::Read));
        assert_eq!(added.buckets(None, Op::Read), recorded.buckets(None, Op::Read));
    }

    #[test]
    fn means_and_maxima_are_exact_and_streams_apart() {
        let mut latencies = Latencies::default();
        for latency in [1_000, 2_000, 4_000_001] {
            latencies.record(3, Op::Write, latency);
        }
        latencies.record(0, Op::Write, 7_000);
        assert_eq!(latencies.streams(), [0, 3]);
        let summary = latencies.summary(Some(3), Op::Write).expect("three writes");
        assert_eq!((summary.count, summary.max), (3, 4000.001));
        assert!((summary.mean - 1_334.333_666).abs() < 1e-5);
        // Three significant digits.
        assert!((summary.p50 - 2.0).abs() < 0.002 && (summary.p99 - 4000.0).abs() < 4.0, "{summary:?}");
        assert_eq!(latencies.summary(None, Op::Write).expect("four").count, 4);
        assert_eq!(latencies.summary(None, Op::Read), None);
    }
}
