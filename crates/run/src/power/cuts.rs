//! When power is cut: at given times, or at times drawn uniformly over a run whose end is not known before.
//!
//! Random times are the points of a Poisson process, of which a subset of the right size is drawn at the end: given how many
//! there are, they are independent and uniform. So that there are neither too few nor too many, each point is given a
//! level, `k` with probability 2^-(k+1), as it is drawn; whenever there are more than four times as many as wanted, the
//! lowest level is left out from then on, which halves their rate.

use flashweir_ssd::quantity::round_to_u64;
use flashweir_ssd::random::below;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::Outcome;

/// Fewest points kept in mind, so that halving leaves enough.
const FEWEST: usize = 64;

/// When power is to be cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cuts {
    /// At these times, ns.
    At(Vec<u64>),
    /// So many times, drawn uniformly over the run.
    Random(u64),
}

/// A point of the process: its level and what a cut does there.
type Point = (u32, Outcome);

/// Gives times one after the other and takes the outcomes.
#[derive(Clone, Debug)]
pub(super) enum Plan {
    At { times: Vec<u64>, outcomes: Vec<Outcome> },
    Random { wanted: usize, rng: Xoshiro256PlusPlus, level: u32, next: (f64, u32), points: Vec<Point> },
}

impl Plan {
    pub(super) fn new(cuts: Cuts, seed: u64) -> Self {
        match cuts {
            Cuts::At(mut times) => {
                times.sort_unstable();
                Plan::At { times, outcomes: Vec::new() }
            }
            Cuts::Random(wanted) => {
                let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
                let next = step(&mut rng, 0.0, 0);
                Plan::Random { wanted: wanted as usize, rng, level: 0, next, points: Vec::new() }
            }
        }
    }

    /// The time of the next cut, ns.
    pub(super) fn next_ns(&self) -> Option<u64> {
        match self {
            Plan::At { times, outcomes } => times.get(outcomes.len()).copied(),
            Plan::Random { next: (time, _), .. } => Some(round_to_u64(time.floor())),
        }
    }

    /// Takes the outcome of the next cut.
    pub(super) fn put(&mut self, outcome: Outcome) {
        match self {
            Plan::At { outcomes, .. } => outcomes.push(outcome),
            Plan::Random { wanted, rng, level, next, points } => {
                points.push((next.1, outcome));
                while points.len() > 4 * FEWEST.max(*wanted) {
                    *level += 1;
                    points.retain(|(of_point, _)| of_point >= level);
                }
                *next = step(rng, next.0, *level);
            }
        }
    }

    /// The outcomes of all cuts, by time; or the time of the first one that has none.
    pub(super) fn finish(self, instead: Outcome) -> Result<Vec<Outcome>, u64> {
        match self {
            Plan::At { times, outcomes } => match times.get(outcomes.len()) {
                Some(time) => Err(*time),
                None => Ok(outcomes),
            },
            Plan::Random { wanted, mut rng, mut points, .. } => {
                // Only a run of fewer nanoseconds than cuts has too few points.
                let found = points.len() as u64;
                while points.len() < wanted {
                    let again =
                        if found > 0 { points[below(&mut rng, found) as usize] } else { (0, instead) };
                    points.push(again);
                }
                for place in 0..wanted {
                    let other = place as u64 + below(&mut rng, (points.len() - place) as u64);
                    points.swap(place, other as usize);
                }
                points.truncate(wanted);
                points.sort_by_key(|(_, outcome)| outcome.time_ns);
                Ok(points.into_iter().map(|(_, outcome)| outcome).collect())
            }
        }
    }
}

/// The point after `time` of at least this level: points of all levels come once a nanosecond.
fn step(rng: &mut Xoshiro256PlusPlus, time: f64, level: u32) -> (f64, u32) {
    // Uniform in (0, 1]: its logarithm exists.
    let uniform = ((rng.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
    let gap = -libm::log(uniform) * libm::exp2(level.into());
    (time + gap, level + rng.next_u64().trailing_zeros())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(wanted: u64, seed: u64, end_ns: u64) -> Vec<u64> {
        let mut plan = Plan::new(Cuts::Random(wanted), seed);
        while let Some(time_ns) = plan.next_ns().filter(|time_ns| *time_ns <= end_ns) {
            plan.put(Outcome { time_ns, ..Outcome::default() });
        }
        let outcomes = plan.finish(Outcome::default()).expect("random cuts lie within the run");
        outcomes.into_iter().map(|outcome| outcome.time_ns).collect()
    }

    #[test]
    fn random_cuts_are_uniform_over_the_run_whatever_its_length() {
        for (wanted, end_ns) in [(1000, 1_000), (1000, 1_000_000), (3000, 7_777_777), (100, 1 << 45)] {
            let mut bins = [0.0; 10];
            let runs = 40;
            for seed in 0..runs {
                let times = times(wanted, seed, end_ns);
                assert_eq!(times.len() as u64, wanted);
                assert!(times.is_sorted() && times[times.len() - 1] <= end_ns);
                for time in times {
                    bins[(u128::from(time) * 10 / (u128::from(end_ns) + 1)) as usize] += 1.0;
                }
            }
            let mean = (wanted * runs) as f64 / 10.0;
            let chi_square: f64 = bins.iter().map(|count| (count - mean) * (count - mean) / mean).sum();
            // 9 degrees of freedom: 27.9 is exceeded once in a thousand.
            assert!(chi_square < 27.9, "{wanted} cuts over {end_ns} ns: {chi_square}, {bins:?}");
        }
    }

    #[test]
    fn the_same_seed_cuts_at_the_same_times_and_a_run_of_no_time_at_its_only_one() {
        assert_eq!(times(50, 7, 1_000_000), times(50, 7, 1_000_000));
        assert_ne!(times(50, 7, 1_000_000), times(50, 8, 1_000_000));
        assert_eq!(times(3, 7, 0), [0; 3]);
    }

    #[test]
    fn given_cuts_come_in_order_and_one_beyond_the_end_is_named() {
        let mut plan = Plan::new(Cuts::At(vec![30, 10, 20]), 1);
        for time_ns in [10, 20] {
            assert_eq!(plan.next_ns(), Some(time_ns));
            plan.put(Outcome { time_ns, ..Outcome::default() });
        }
        assert_eq!(plan.finish(Outcome::default()), Err(30));
    }
}
