//! When requests arrive. Independent of what they ask for: the n-th request has the n-th time.

use super::draw::{Draw, Purpose};

const NANOS_PER_SECOND: f64 = 1e9;

/// A rule of arrival, as the spec gives it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Arrivals {
    /// Everything has arrived at time 0: a closed loop, paced by whoever takes the requests.
    Closed,
    /// A Poisson process of so many requests per second; the first gap starts at 0.
    Poisson { rate: f64 },
    /// At 0, `period_ns`, 2 `period_ns`, ... so many requests at the same time.
    Periodic { period_ns: u64, burst: u64 },
    /// One request at 0, `period_ns`, 2 `period_ns`, ... and `burst` more at 0, `burst_period_ns`, 2
    /// `burst_period_ns`, ...; where both fall together the single one comes first.
    Mixed { period_ns: u64, burst: u64, burst_period_ns: u64 },
}

impl Arrivals {
    #[expect(clippy::cast_sign_loss, reason = "counts and rates are positive")]
    /// An upper estimate of the time of request number `count`, ns; more than `u64::MAX` if it won't fit.
    pub(super) fn last_ns(self, count: u64) -> u128 {
        match self {
            Arrivals::Closed => 0,
            // Twice the mean is out of reach for long streams, and short ones are far from the limit.
            Arrivals::Poisson { rate } => (count.max(1000) as f64 * 2.0 * NANOS_PER_SECOND / rate) as u128,
            Arrivals::Periodic { period_ns, burst } => {
                u128::from((count - 1) / burst) * u128::from(period_ns)
            }
            Arrivals::Mixed { period_ns, .. } => u128::from(count - 1) * u128::from(period_ns),
        }
    }
}

/// The times of a stream, one after the other. Past the last nanosecond that 64 bits hold (584 years; only endless
/// streams get there) time stands still.
#[derive(Clone, Debug)]
pub(super) enum Clock {
    Closed,
    Poisson { draw: Draw, mean_ns: f64, now_ns: u64, carry_ns: f64 },
    Periodic { period_ns: u64, burst: u64, now_ns: u64, left: u64 },
    Mixed { period_ns: u64, burst: u64, burst_period_ns: u64, single_ns: u64, burst_ns: u64, left: u64 },
}

impl Clock {
    pub(super) fn new(arrivals: Arrivals, seed: u64) -> Self {
        match arrivals {
            Arrivals::Closed => Clock::Closed,
            Arrivals::Poisson { rate } => Clock::Poisson {
                draw: Draw::new(seed, Purpose::Arrivals),
                mean_ns: NANOS_PER_SECOND / rate,
                now_ns: 0,
                carry_ns: 0.0,
            },
            Arrivals::Periodic { period_ns, burst } => {
                Clock::Periodic { period_ns, burst, now_ns: 0, left: burst }
            }
            Arrivals::Mixed { period_ns, burst, burst_period_ns } => {
                Clock::Mixed { period_ns, burst, burst_period_ns, single_ns: 0, burst_ns: 0, left: burst }
            }
        }
    }

    /// The time of the next request, ns.
    #[expect(
        clippy::cast_sign_loss,
        reason = "a gap is not negative: it is the logarithm of at most 1, negated"
    )]
    #[inline]
    pub(super) fn next_ns(&mut self) -> u64 {
        match self {
            Clock::Closed => 0,
            Clock::Poisson { draw, mean_ns, now_ns, carry_ns } => {
                // The fraction that rounding to whole nanoseconds cuts off a gap is added to the next: the rate stays
                // exact.
                let gap_ns = *mean_ns * -libm::log(draw.fraction()) + *carry_ns;
                let whole = gap_ns as u64;
                *carry_ns = gap_ns - whole as f64;
                *now_ns = now_ns.saturating_add(whole);
                *now_ns
            }
            Clock::Periodic { period_ns, burst, now_ns, left } => {
                let time = *now_ns;
                *left -= 1;
                if *left == 0 {
                    *left = *burst;
                    *now_ns = now_ns.saturating_add(*period_ns);
                }
                time
            }
            Clock::Mixed { period_ns, burst, burst_period_ns, single_ns, burst_ns, left } => {
                if *single_ns <= *burst_ns && *left == *burst {
                    let time = *single_ns;
                    *single_ns = single_ns.saturating_add(*period_ns);
                    return time;
                }
                let time = *burst_ns;
                *left -= 1;
                if *left == 0 {
                    *left = *burst;
                    *burst_ns = burst_ns.saturating_add(*burst_period_ns);
                }
                time
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(arrivals: Arrivals, count: usize) -> Vec<u64> {
        let mut clock = Clock::new(arrivals, 1);
        (0..count).map(|_| clock.next_ns()).collect()
    }

    #[test]
    fn periods_and_bursts_are_exact() {
        assert_eq!(times(Arrivals::Closed, 3), [0, 0, 0]);
        assert_eq!(times(Arrivals::Periodic { period_ns: 40, burst: 1 }, 4), [0, 40, 80, 120]);
        assert_eq!(times(Arrivals::Periodic { period_ns: 40, burst: 3 }, 7), [0, 0, 0, 40, 40, 40, 80]);
        let mixed = Arrivals::Mixed { period_ns: 40, burst: 2, burst_period_ns: 100 };
        assert_eq!(times(mixed, 13), [0, 0, 0, 40, 80, 100, 100, 120, 160, 200, 200, 200, 240]);
    }

    #[test]
    fn one_every_40_us_and_ten_every_1200_us() {
        let mixed = Arrivals::Mixed { period_ns: 40_000, burst: 10, burst_period_ns: 1_200_000 };
        let times = times(mixed, 40 * 100);
        for (cycle, chunk) in times.chunks(40).enumerate() {
            let start = cycle as u64 * 1_200_000;
            assert!(chunk[..11].iter().all(|&time| time == start));
            assert!(chunk[11..].iter().enumerate().all(|(i, &time)| time == start + (i as u64 + 1) * 40_000));
        }
    }

    #[test]
    fn poisson_mean_and_variance() {
        // A mean gap of 2.5 ns, so that a bias of rounding would show at once.
        for (rate, mean) in [(4e8, 2.5), (1e5, 1e4)] {
            let count = 1_000_000;
            let times = times(Arrivals::Poisson { rate }, count);
            let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
            let average = gaps.iter().sum::<f64>() / gaps.len() as f64;
            assert!((average / mean - 1.0).abs() < 0.005, "{average}");
            let variance =
                gaps.iter().map(|gap| (gap - average) * (gap - average)).sum::<f64>() / gaps.len() as f64;
            // Rounding both ends of a gap to whole nanoseconds adds 1/6.
            assert!(((variance - 1.0 / 6.0) / (mean * mean) - 1.0).abs() < 0.02, "{variance}");
        }
    }

    #[test]
    fn time_stands_still_at_the_end() {
        let late = Arrivals::Periodic { period_ns: u64::MAX - 1, burst: 1 };
        assert_eq!(times(late, 4), [0, u64::MAX - 1, u64::MAX, u64::MAX]);
        assert!(late.last_ns(3) > u128::from(u64::MAX));
    }
}
