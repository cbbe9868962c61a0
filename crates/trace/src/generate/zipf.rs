//! Zipf addresses: the start of rank k (from 1) is requested with probability proportional to k^-theta. Exact for
//! every theta above 0, 1 included, in constant memory and constant time however many starts there are.

use super::{
    Place,
    draw::{Draw, Purpose},
    scatter::Scatter,
};

/// Rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone discrete
/// distributions", 1996): invert the integral of x^-theta, round to the nearest rank, and keep it if the point lies
/// under the rank's own bar of the histogram. Few draws are thrown away.
///
/// Logarithms and powers are `libm`'s: those of the system differ in the last bit from machine to machine.
#[derive(Clone, Debug)]
pub(super) struct Zipf {
    draw: Draw,
    ranks: f64,
    theta: f64,
    /// The integral up to the right edge of the last bar.
    integral_last: f64,
    /// From there down to the left edge of the first bar.
    width: f64,
    /// A rank at most this far right of its point lies under its bar without computing the bar.
    sure: f64,
    scatter: Option<Scatter>,
}

impl Zipf {
    pub(super) fn new(starts: u64, theta: f64, scatter: Option<Scatter>, seed: u64) -> Self {
        let ranks = starts as f64;
        let integral_last = integral(ranks + 0.5, theta);
        let first_edge = integral(1.5, theta) - 1.0;
        let sure = 2.0 - inverse(integral(2.5, theta) - bar(2.0, theta), theta);
        let draw = Draw::new(seed, Purpose::Addresses);
        Self { draw, ranks, theta, integral_last, width: integral_last - first_edge, sure, scatter }
    }

    /// A rank from 1.
    #[expect(clippy::cast_sign_loss, reason = "clamped to at least 1")]
    #[inline]
    fn rank(&mut self) -> u64 {
        loop {
            let area = self.integral_last - self.draw.fraction() * self.width;
            let point = inverse(area, self.theta);
            let rank = libm::floor(point + 0.5).clamp(1.0, self.ranks);
            if rank - point <= self.sure || area >= integral(rank + 0.5, self.theta) - bar(rank, self.theta) {
                return rank as u64;
            }
        }
    }
}

impl Place for Zipf {
    #[inline]
    fn place(&mut self, _sectors: u32) -> u64 {
        let rank = self.rank() - 1;
        self.scatter.as_ref().map_or(rank, |scatter| scatter.place(rank))
    }
}

/// The bar of a rank: x^-theta.
fn bar(x: f64, theta: f64) -> f64 {
    libm::exp(-theta * libm::log(x))
}

/// The integral of t^-theta from 1 to `x`: (x^(1-theta) - 1) / (1-theta), which is ln x at theta = 1. Written with
/// expm1 so that nothing cancels near 1.
fn integral(x: f64, theta: f64) -> f64 {
    let log = libm::log(x);
    let exponent = (1.0 - theta) * log;
    if exponent == 0.0 { log } else { log * (libm::expm1(exponent) / exponent) }
}

/// The `x` up to which the integral is `area`.
fn inverse(area: f64, theta: f64) -> f64 {
    // Rounding may carry the product just below -1, where the integral ends for theta above 1.
    let product = (area * (1.0 - theta)).max(-1.0);
    let log = if product == 0.0 { area } else { area * (libm::log1p(product) / product) };
    libm::exp(log)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pearson's statistic of a million draws against the exact probabilities, ranks past `bins` as one.
    fn chi_square(starts: u64, theta: f64, bins: usize) -> f64 {
        let weights: Vec<f64> = (1..=starts).map(|rank| bar(rank as f64, theta)).collect();
        let total: f64 = weights.iter().sum();
        let mut zipf = Zipf::new(starts, theta, None, 42);
        let draws = 1_000_000;
        let mut counts = vec![0u64; bins + 1];
        for _ in 0..draws {
            counts[(zipf.rank() as usize - 1).min(bins)] += 1;
        }
        let expected = |bin: usize| {
            let weight = if bin < bins { weights[bin] } else { weights[bins..].iter().sum() };
            weight / total * f64::from(draws)
        };
        counts
            .iter()
            .enumerate()
            .map(|(bin, &count)| (expected(bin), count as f64))
            .filter(|(expected, _)| *expected > 5.0)
            .map(|(expected, count)| (count - expected) * (count - expected) / expected)
            .sum()
    }

    #[test]
    fn frequencies_are_exact() {
        for (starts, theta) in [
            (100, 0.01),
            (100, 0.5),
            (1000, 0.99),
            (1000, 1.0),
            (1000, 1.000_000_01),
            (50, 2.0),
            (30, 5.0),
            (2, 1.0),
        ] {
            let bins = 20.min(starts as usize - 1);
            let statistic = chi_square(starts, theta, bins);
            // The 99.99 % quantile of chi-square with 20 degrees of freedom is 52.4.
            assert!(statistic < 52.4, "theta {theta}: {statistic}");
        }
    }

    #[test]
    fn one_start_and_a_vast_span() {
        let mut one = Zipf::new(1, 0.99, None, 1);
        assert!((0..1000).all(|_| one.rank() == 1));
        for theta in [0.1, 0.99, 1.0, 1.5, 5.0] {
            let starts = 1 << 50;
            let mut vast = Zipf::new(starts, theta, None, 1);
            assert!((0..10_000).all(|_| (1..=starts).contains(&vast.rank())), "{theta}");
        }
    }
}
