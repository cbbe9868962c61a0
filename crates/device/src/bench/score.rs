//! Grades of a workload: how fast, and how fast where it is slowest. docs/concepts/scores.md says why.
//!
//! Every write has a *reference time*: 0.1 ms and 10 ns a byte (100 MB/s), fixed for all drives. *Speed* is the reference time of
//! all writes over the time they took. For *steadiness* the writes are cut, in their order, into stretches of 10 ms of
//! reference time, and the slowest tenth of these counts alone; both x 100. The score is their geometric mean. Stretches
//! are of the workload and not of the drive, so neither number can rise if writes get slower and none gets faster. No write
//! counts as more than a hundred times as fast as the reference: simulated buffers take no time.

use serde::{Deserialize, Serialize};

/// Reference time of a write, ns, and what each of its bytes adds.
pub const REFERENCE_NS: f64 = 100_000.0;
/// ns a byte.
pub const REFERENCE_NS_A_BYTE: f64 = 10.0;
/// A stretch, ns of reference time.
pub const STRETCH_NS: f64 = 10_000_000.0;
/// The share of the work that steadiness looks at.
pub const TAIL: f64 = 0.1;
/// Cap on the speed of a write, as a multiple of the reference speed.
const MOST: f64 = 100.0;
/// A write is slow from so many times the usual response of its length on.
const SLOW: f64 = 3.0;
/// Pieces of the time line.
const PIECES: usize = 60;

/// One write that counts.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// From issue to completion, ns.
    pub response_ns: u64,
    /// Its length, bytes.
    pub bytes: u64,
}

impl Sample {
    fn reference_ns(self) -> f64 {
        REFERENCE_NS + REFERENCE_NS_A_BYTE * self.bytes as f64
    }

    /// The response as it counts, ns.
    fn response(self) -> f64 {
        (self.response_ns as f64).max(self.reference_ns() / MOST)
    }
}

/// Grade of a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grade {
    /// Writes that count.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The time they took, one after the other, s.
    pub time_s: f64,
    /// Millions of bytes a second.
    pub mb_s: f64,
    /// Response times: mean, median, 99 %, largest, us.
    pub response_us: Responses,
    /// Speed x 100.
    pub speed: f64,
    /// Speed of the slowest tenth x 100.
    pub steadiness: f64,
    /// The geometric mean of both.
    pub score: f64,
    /// Share of the writes whose response is more than three times the median of their length.
    pub slow_requests: f64,
    /// Share of the time that is theirs beyond that median: what management cost, seen from outside.
    pub time_lost: f64,
    /// MB/s over the course of the workload, in pieces of the same number of bytes.
    pub course_mb_s: Vec<f64>,
}

/// Response times, us.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Responses {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest.
    pub max: f64,
}

/// The grade of these writes, in the order in which they were made; nothing if there are none.
pub fn grade(samples: &[Sample]) -> Option<Grade> {
    let bytes: u64 = samples.iter().map(|sample| sample.bytes).sum();
    let time_ns: f64 = samples.iter().map(|sample| sample.response()).sum();
    if samples.is_empty() || bytes == 0 {
        return None;
    }
    let reference_ns: f64 = samples.iter().map(|sample| sample.reference_ns()).sum();
    let speed = 100.0 * reference_ns / time_ns;
    let steadiness = 100.0 * slowest(samples, reference_ns * TAIL);
    let (slow_requests, lost_ns) = slow(samples);
    Some(Grade {
        requests: samples.len() as u64,
        bytes,
        time_s: time_ns / 1e9,
        mb_s: bytes as f64 / time_ns * 1e3,
        response_us: responses(samples, time_ns),
        speed,
        steadiness,
        score: (speed * steadiness).sqrt(),
        slow_requests: slow_requests as f64 / samples.len() as f64,
        time_lost: lost_ns / time_ns,
        course_mb_s: course(samples, bytes),
    })
}

/// The reference time over the time of the slowest stretches, as many as have `wanted_ns` of reference time.
fn slowest(samples: &[Sample], wanted_ns: f64) -> f64 {
    let mut by_slowness: Vec<(f64, f64)> = Vec::new();
    let (mut stretch_ns, mut took_ns) = (0.0, 0.0);
    for (index, sample) in samples.iter().enumerate() {
        stretch_ns += sample.reference_ns();
        took_ns += sample.response();
        if stretch_ns >= STRETCH_NS || index + 1 == samples.len() {
            by_slowness.push((took_ns / stretch_ns, stretch_ns));
            (stretch_ns, took_ns) = (0.0, 0.0);
        }
    }
    by_slowness.sort_unstable_by(|one, other| other.0.total_cmp(&one.0));
    let (mut left_ns, mut time_ns) = (wanted_ns, 0.0);
    for (slowness, reference_ns) in by_slowness {
        // The last one counts in part.
        let part_ns = reference_ns.min(left_ns);
        time_ns += part_ns * slowness;
        left_ns -= part_ns;
        if left_ns <= 0.0 {
            break;
        }
    }
    wanted_ns / time_ns
}

/// Number of writes that are slow among those of about their length (a power of two), and the time lost to them, ns.
fn slow(samples: &[Sample]) -> (u64, f64) {
    let mut lengths: Vec<Vec<f64>> = vec![Vec::new(); 65];
    let length = |sample: &Sample| sample.bytes.ilog2() as usize;
    for sample in samples {
        lengths[length(sample)].push(sample.response() / sample.bytes as f64);
    }
    let medians: Vec<f64> = lengths
        .iter_mut()
        .map(|all| {
            let middle = all.len() / 2;
            if all.is_empty() { 0.0 } else { *all.select_nth_unstable_by(middle, f64::total_cmp).1 }
        })
        .collect();
    let (mut count, mut lost_ns) = (0, 0.0);
    for sample in samples {
        let usual_ns = medians[length(sample)] * sample.bytes as f64;
        if sample.response() > SLOW * usual_ns {
            count += 1;
            lost_ns += sample.response() - usual_ns;
        }
    }
    (count, lost_ns)
}

fn responses(samples: &[Sample], time_ns: f64) -> Responses {
    let mut all: Vec<u64> = samples.iter().map(|sample| sample.response_ns).collect();
    all.sort_unstable();
    let at = |share: f64| {
        #[expect(clippy::cast_sign_loss, reason = "a share of a length")]
        let index = ((all.len() as f64 * share).ceil() as usize).clamp(1, all.len()) - 1;
        all[index] as f64 / 1e3
    };
    Responses { mean: time_ns / all.len() as f64 / 1e3, p50: at(0.5), p99: at(0.99), max: at(1.0) }
}

fn course(samples: &[Sample], bytes: u64) -> Vec<f64> {
    let mut pieces = vec![(0u64, 0.0); PIECES];
    let mut before = 0;
    for sample in samples {
        let piece = (u128::from(before) * PIECES as u128 / u128::from(bytes)) as usize;
        pieces[piece].0 += sample.bytes;
        pieces[piece].1 += sample.response();
        before += sample.bytes;
    }
    pieces.iter().filter(|(bytes, _)| *bytes > 0).map(|(bytes, ns)| *bytes as f64 / ns * 1e3).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample(response_us: u64, kib: u64) -> Sample {
        Sample { response_ns: response_us * 1000, bytes: kib << 10 }
    }

    #[test]
    fn the_reference_drive_has_100_everywhere() {
        let all: Vec<Sample> = [4u64, 64, 512, 4]
            .iter()
            .map(|kib| Sample { response_ns: 100_000 + (kib << 10) * 10, bytes: kib << 10 })
            .collect();
        let grade = grade(&all).unwrap();
        for value in [grade.speed, grade.steadiness, grade.score] {
            assert!((value - 100.0).abs() < 1e-9);
        }
        assert_eq!((grade.slow_requests, grade.time_lost), (0.0, 0.0));
        assert!(super::grade(&[]).is_none());
    }

    /// Ten stretches of 71 writes of the reference time but for the last, of a hundred times that.
    #[test]
    fn what_is_slow_for_long_costs_twice() {
        let mut all = vec![sample(141, 4); 639];
        all.extend(vec![sample(14_100, 4); 71]);
        let found = grade(&all).unwrap();
        assert!((found.steadiness - 1.0).abs() < 0.01 && (found.speed - 9.17).abs() < 0.02, "{found:?}");
        assert!((found.slow_requests - 0.1).abs() < 1e-9);
        assert!((found.time_lost - 71.0 * (14_100.0 - 141.0) / (639.0 * 141.0 + 1_001_100.0)).abs() < 1e-9);
        assert_eq!((found.response_us.p50, found.response_us.p99), (141.0, 14_100.0));
    }

    proptest! {
        /// Slower writes never have a better score.
        #[test]
        fn never_better_if_slower(
            writes in prop::collection::vec((1u64..100_000, 1u64..1024, 0u64..50_000), 1..60),
        ) {
            let fast: Vec<Sample> = writes.iter().map(|(us, kib, _)| sample(*us, *kib)).collect();
            let slow: Vec<Sample> = writes.iter().map(|(us, kib, more)| sample(us + more, *kib)).collect();
            let (fast, slow) = (grade(&fast).unwrap(), grade(&slow).unwrap());
            let hair = 1.0 + 1e-9;
            prop_assert!(slow.speed <= fast.speed * hair && slow.steadiness <= fast.steadiness * hair);
            prop_assert!(fast.steadiness <= fast.speed * hair && slow.score <= fast.score * hair);
        }
    }
}
