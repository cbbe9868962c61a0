//! Latencies of a part of a run, in the buckets of the drive's own histograms (three significant digits), and small.
//!
//! While a part grows its counts are an array; after that they are a list of the buckets that are not empty, a number each.

use flashweir_ssd::Latencies;
use flashweir_trace::Op;

/// Buckets of an octave: 2^10 tell three digits apart. Smaller numbers, and those of one octave more, are exact.
const OCTAVE_BITS: u32 = 10;
/// Bits of a count beside its bucket, of which there are fewer than 2^16.
const COUNT_BITS: u32 = 48;
/// Buckets that are as fast to walk through as it is to sort one.
const WALK: usize = 8;

/// The bucket of a latency.
#[inline]
pub(super) fn bucket(latency_ns: u64) -> u16 {
    let shift = (u64::BITS - latency_ns.leading_zeros()).saturating_sub(OCTAVE_BITS + 1);
    ((u64::from(shift) << OCTAVE_BITS) + (latency_ns >> shift)) as u16
}

/// The lowest latency of a bucket, ns.
fn lowest_ns(bucket: u16) -> u64 {
    let shift = u32::from(bucket >> OCTAVE_BITS).saturating_sub(1);
    (u64::from(bucket) - (u64::from(shift) << OCTAVE_BITS)) << shift
}

/// Sum and maximum, which buckets don't tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Exact {
    pub(super) sum_ns: u128,
    pub(super) max_ns: u64,
}

impl Exact {
    #[inline]
    pub(super) fn record(&mut self, latency_ns: u64) {
        self.sum_ns += u128::from(latency_ns);
        self.max_ns = self.max_ns.max(latency_ns);
    }

    fn add(&mut self, other: &Self) {
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

/// A part that is growing.
#[derive(Clone, Debug, Default)]
pub(super) struct Dense {
    counts: Vec<u64>,
    /// Buckets that are not empty, in the order in which they were found.
    found: Vec<u16>,
    exact: Exact,
}

impl Dense {
    /// One more request.
    #[inline]
    pub(super) fn record(&mut self, latency_ns: u64) {
        let at = bucket(latency_ns);
        if usize::from(at) >= self.counts.len() {
            self.counts.resize(usize::from(at) + 1, 0);
        }
        let count = &mut self.counts[usize::from(at)];
        if *count == 0 {
            self.found.push(at);
        }
        *count += 1;
        self.exact.record(latency_ns);
    }

    /// Takes everything out.
    pub(super) fn take(&mut self) -> Sparse {
        let range = self.found.iter().min().zip(self.found.iter().max());
        let Some((first, last)) = range.map(|(first, last)| (*first, *last)) else {
            return Sparse::default();
        };
        if usize::from(last - first) / WALK < self.found.len() {
            self.found.clear();
            let counts = &self.counts;
            self.found.extend((first..=last).filter(|at| counts[usize::from(*at)] > 0));
        } else {
            self.found.sort_unstable();
        }
        let counts = &mut self.counts;
        let cells = self.found.drain(..).map(|at| pack(at, std::mem::take(&mut counts[usize::from(at)])));
        Sparse { cells: cells.collect(), exact: std::mem::take(&mut self.exact) }
    }
}

/// A part that has grown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sparse {
    /// Bucket and count of all that are not empty, in order.
    cells: Vec<u64>,
    exact: Exact,
}

impl Sparse {
    /// Of latencies whose buckets are in order.
    pub(super) fn of_sorted(latencies_ns: impl Iterator<Item = u64>) -> Self {
        let mut sparse = Self::default();
        for latency_ns in latencies_ns {
            sparse.exact.record(latency_ns);
            sparse.push(pack(bucket(latency_ns), 1));
        }
        sparse
    }

    fn push(&mut self, cell: u64) {
        match self.cells.last_mut() {
            Some(last) if *last >> COUNT_BITS == cell >> COUNT_BITS => *last += count(cell),
            _ => self.cells.push(cell),
        }
    }

    /// Adds another part.
    pub(super) fn add(&mut self, other: &Self) {
        let mut all =
            Self { cells: Vec::with_capacity(self.cells.len() + other.cells.len()), exact: self.exact };
        all.exact.add(&other.exact);
        let (mut left, mut right) =
            (self.cells.iter().copied().peekable(), other.cells.iter().copied().peekable());
        while let Some(cell) = match (left.peek(), right.peek()) {
            (Some(a), Some(b)) if a > b => right.next(),
            (Some(_), _) => left.next(),
            (None, _) => right.next(),
        } {
            all.push(cell);
        }
        all.cells.shrink_to_fit();
        *self = all;
    }

    /// Counts it among `latencies`.
    pub(super) fn add_to(&self, latencies: &mut Latencies, stream: u16, op: Op) {
        let counts = self.cells.iter().map(|cell| (lowest_ns((cell >> COUNT_BITS) as u16), count(*cell)));
        latencies.add(stream, op, counts, self.exact.sum_ns, self.exact.max_ns);
    }
}

fn pack(bucket: u16, count: u64) -> u64 {
    u64::from(bucket) << COUNT_BITS | count
}

fn count(cell: u64) -> u64 {
    cell & ((1 << COUNT_BITS) - 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Of all magnitudes.
    fn latencies() -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec((any::<u64>(), 0..64u32).prop_map(|(bits, shift)| bits >> shift >> 1), 0..200)
    }

    fn dense(latencies: &[u64]) -> Sparse {
        let mut dense = Dense::default();
        for latency in latencies {
            dense.record(*latency);
        }
        dense.take()
    }

    /// Everything that is said of them.
    fn said(parts: &[&Sparse]) -> String {
        let mut latencies = Latencies::default();
        for part in parts {
            part.add_to(&mut latencies, 0, Op::Read);
        }
        format!("{:?} {:?}", latencies.summary(None, Op::Read), latencies.buckets(None, Op::Read))
    }

    proptest! {
        #[test]
        fn buckets_are_those_of_the_drive(latencies in latencies()) {
            let mut by_one = Latencies::default();
            for latency in &latencies {
                by_one.add(0, Op::Read, [(*latency, 1)], u128::from(*latency), *latency);
            }
            let by_one = format!("{:?} {:?}", by_one.summary(None, Op::Read), by_one.buckets(None, Op::Read));
            prop_assert_eq!(said(&[&dense(&latencies)]), by_one);
        }

        #[test]
        fn parts_add_up_in_every_way(latencies in latencies(), cut in 0..200usize) {
            let (left, right) = latencies.split_at(cut.min(latencies.len()));
            let (mut first, second) = (dense(left), dense(right));
            let apart = said(&[&first, &second]);
            let mut sorted = right.to_vec();
            sorted.sort_unstable();
            prop_assert_eq!(&Sparse::of_sorted(sorted.into_iter()), &second);
            first.add(&second);
            prop_assert_eq!(&first, &dense(&latencies));
            prop_assert_eq!(said(&[&first]), apart);
        }
    }

    #[test]
    fn a_bucket_begins_with_its_lowest_latency() {
        for at in 0..=bucket(u64::MAX) {
            assert_eq!(bucket(lowest_ns(at)), at);
            assert!(at == 0 || bucket(lowest_ns(at) - 1) == at - 1);
        }
    }
}
