//! Histograms of reuse distances, in parts of a sample, and the miss-ratio curves that come of them.

/// Parts of the sample, whose differences say how far off the whole may be.
pub(super) const PARTS: usize = 16;
/// Bins of one octave of distances.
const STEPS: u64 = 8;
const BINS: usize = 512;

/// Touches by distance, in blocks.
pub(super) struct Distances {
    /// By part, then by bin: touches at that distance, each counted for those that are not followed.
    bins: Vec<f64>,
    /// By part: touches of what was not touched before.
    fresh: [f64; PARTS],
}

/// A point of a miss-ratio curve.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct MissRatio {
    /// Size of the cache, bytes.
    pub cache_bytes: u64,
    /// Share of the touches that miss.
    pub miss_ratio: f64,
    /// Standard error of that; 0 where every block was followed.
    pub error: f64,
}

/// The bin of a distance: one each up to `STEPS`, then `STEPS` an octave.
#[inline]
fn bin_of(distance: u64) -> usize {
    if distance < STEPS {
        return distance as usize;
    }
    let octave = u64::from(distance.ilog2());
    let step = (distance >> (octave - 3)) - STEPS;
    ((octave - 2) * STEPS + step) as usize
}

/// The smallest distance in a bin.
const fn least_of(bin: u64) -> u64 {
    if bin < STEPS {
        return bin;
    }
    let (octave, step) = (bin / STEPS + 2, bin % STEPS);
    (STEPS + step) << (octave - 3)
}

impl Distances {
    pub(super) fn new() -> Self {
        Self { bins: vec![0.0; PARTS * BINS], fresh: [0.0; PARTS] }
    }

    #[inline]
    pub(super) fn add(&mut self, part: usize, distance: u64, weight: f64) {
        self.bins[part * BINS + bin_of(distance)] += weight;
    }

    #[inline]
    pub(super) fn add_fresh(&mut self, part: usize, weight: f64) {
        self.fresh[part] += weight;
    }

    /// Adds those of another.
    pub(super) fn plus(&self, other: &Self) -> Self {
        let bins = self.bins.iter().zip(&other.bins).map(|(one, two)| one + two).collect();
        let mut fresh = self.fresh;
        fresh.iter_mut().zip(&other.fresh).for_each(|(one, two)| *one += two);
        Self { bins, fresh }
    }

    fn part_total(&self, part: usize) -> f64 {
        self.fresh[part] + self.bins[part * BINS..(part + 1) * BINS].iter().sum::<f64>()
    }

    /// All touches, as estimated from those that were followed.
    pub(super) fn total(&self) -> f64 {
        (0..PARTS).map(|part| self.part_total(part)).sum()
    }

    /// Touches by distance: smallest distance in blocks of each bin, and touches; and those of what was new.
    pub(super) fn histogram(&self) -> (Vec<(u64, f64)>, f64) {
        let sum = |bin: usize| (0..PARTS).map(|part| self.bins[part * BINS + bin]).sum::<f64>();
        let last = (0..BINS).rev().find(|bin| sum(*bin) > 0.0).map_or(0, |bin| bin + 1);
        ((0..last).map(|bin| (least_of(bin as u64), sum(bin))).collect(), self.fresh.iter().sum())
    }

    /// Miss ratios of caches that hold the last so many blocks, at the edges of bins. Of `touches` in all, more or fewer were
    /// followed than chance would have: the difference counts as touches at once again (SHARDS, section 3.2, "SHARDS adj").
    pub(super) fn curve(&self, touches: f64, exact: bool, block_bytes: u64) -> Vec<MissRatio> {
        let missing = if exact { 0.0 } else { touches - self.total() };
        let totals: Vec<f64> = (0..PARTS).map(|part| self.part_total(part)).collect();
        let mut hits = vec![0.0; PARTS];
        let (histogram, _) = self.histogram();
        let mut curve = Vec::with_capacity(histogram.len());
        for bin in 0..histogram.len() {
            for (part, hits) in hits.iter_mut().enumerate() {
                *hits += self.bins[part * BINS + bin];
            }
            let hit = hits.iter().sum::<f64>() + missing;
            curve.push(MissRatio {
                // A cache of one block more than the distance holds the block until it is reused.
                cache_bytes: least_of(bin as u64 + 1).saturating_mul(block_bytes),
                miss_ratio: (1.0 - hit / touches).clamp(0.0, 1.0),
                error: if exact { 0.0 } else { error(&hits, &totals, missing, touches) },
            });
        }
        curve
    }
}

/// Standard error of the hit ratio by the jackknife: how it changes when each part is left out (Efron 1982).
fn error(hits: &[f64], totals: &[f64], missing: f64, touches: f64) -> f64 {
    let parts = hits.len() as f64;
    let (hit, all) = (hits.iter().sum::<f64>(), totals.iter().sum::<f64>());
    let scale = parts / (parts - 1.0);
    // Without a part the others stand for all; what is then missing or too much again counts as hits.
    let without = |(own_hits, own): (&f64, &f64)| {
        let (hit, seen) = ((hit - own_hits) * scale, (all - own) * scale);
        (hit + (missing + all - seen)) / touches
    };
    let estimates: Vec<f64> = hits.iter().zip(totals).map(without).collect();
    let mean = estimates.iter().sum::<f64>() / parts;
    let squares: f64 = estimates.iter().map(|estimate| (estimate - mean) * (estimate - mean)).sum();
    ((parts - 1.0) / parts * squares).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_follow_each_other() {
        let mut bin = 0;
        for distance in 0..100_000u64 {
            let found = bin_of(distance);
            assert!(found == bin || found == bin + 1, "{distance}");
            bin = found;
            assert!(
                least_of(found as u64) <= distance && distance < least_of(found as u64 + 1),
                "{distance}"
            );
        }
        assert!(bin_of(u64::MAX) < BINS);
    }

    #[test]
    fn a_cache_holds_what_is_nearer_than_its_size() {
        let mut distances = Distances::new();
        distances.add_fresh(0, 1.0);
        distances.add(1, 0, 1.0);
        distances.add(2, 3, 2.0);
        let curve = distances.curve(4.0, true, 4096);
        let points: Vec<(u64, f64)> =
            curve.iter().map(|point| (point.cache_bytes, point.miss_ratio)).collect();
        assert_eq!(points, [(4096, 0.75), (8192, 0.75), (12288, 0.75), (16384, 0.25)]);
    }
}
