//! The error-correcting code: steps that reading a page takes, by its bit error rate.
//!
//! Of a codeword of n bits with error rate p, n p errors are expected, with a standard deviation of sqrt(n p (1 - p)). Hard decoding
//! corrects it if that many and `ageing.margin` deviations more are at most `ageing.ecc_bits`. Otherwise the page is read again with
//! other reference voltages, which leaves a share `ageing.retry_gain` of its errors, up to `ageing.retries` times; then decoded softly;
//! then it can't be read.

use serde::{Deserialize, Serialize};

use super::AgeingConfig;

/// Bits of the codeword that the strength typical of a cell is of.
const CODEWORD_BITS: f64 = 8192.0;
/// Bits of soft decoding for each of hard decoding, where nothing else is said.
const SOFT: f64 = 5.0 / 3.0;
const HALVINGS: u32 = 64;

/// Steps until the data of a page is right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Steps {
    /// Retries.
    pub(crate) retries: u32,
    /// True if it is decoded softly after them.
    pub(crate) soft: bool,
    /// True if it can't be read even so.
    pub(crate) fails: bool,
}

/// The code of a drive.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Code {
    /// Largest error rate of a page that each number of retries corrects, from none on.
    hard: Vec<f64>,
    /// Largest error rate that soft decoding corrects after the last one, if there is any.
    soft: Option<f64>,
}

impl Code {
    pub(super) fn new(config: &AgeingConfig, bits_of_kib: u32, codeword_bytes: u64) -> Self {
        let bits = 8.0 * codeword_bytes as f64;
        let ecc = config.ecc_bits.0.map_or(f64::from(bits_of_kib) * bits / CODEWORD_BITS, f64::from);
        let soft = config.soft_bits.0.map_or(ecc * SOFT, f64::from);
        let gained = |limit: f64| {
            std::iter::successors(Some(limit), |limit| Some((limit / config.retry_gain).min(1.0)))
        };
        let last = config.retries as usize;
        let limit = |bits_corrected| limit(bits, bits_corrected, config.margin);
        Self {
            hard: gained(limit(ecc)).take(last + 1).collect(),
            soft: (soft > 0.0).then(|| gained(limit(soft)).nth(last)).flatten(),
        }
    }

    /// Steps of a page, as a number that grows with its error rate.
    pub(super) fn level(&self, rate: f64) -> u8 {
        let hard = self.hard.partition_point(|limit| *limit < rate);
        let all = self.hard.len();
        if hard < all {
            return hard as u8;
        }
        let softly = self.soft.is_some_and(|limit| rate <= limit);
        if softly { all as u8 } else { self.failing() }
    }

    /// Largest error rate of a level; above all rates for pages that can't be read.
    pub(super) fn limit(&self, level: u8) -> f64 {
        let last = if level == self.failing() { None } else { self.soft };
        self.hard.get(usize::from(level)).copied().or(last).unwrap_or(f64::INFINITY)
    }

    /// The level of a page that can't be read.
    pub(super) fn failing(&self) -> u8 {
        self.hard.len() as u8 + 1
    }

    /// Steps of a level.
    pub(super) fn steps(&self, level: u8) -> Steps {
        let last = self.hard.len() as u32 - 1;
        let (retries, fails) = (u32::from(level).min(last), level == self.failing());
        let beyond = u32::from(level) > last;
        Steps { retries, soft: beyond && (self.soft.is_some() || !fails), fails }
    }
}

/// The largest error rate at which a codeword of `bits` bits has at most `corrected` errors, `margin` standard deviations above the
/// expected ones included.
fn limit(bits: f64, corrected: f64, margin: f64) -> f64 {
    let (mut low, mut high) = (0.0, 0.5);
    for _ in 0..HALVINGS {
        let rate = f64::midpoint(low, high);
        if bits * rate + margin * (bits * rate * (1.0 - rate)).sqrt() <= corrected {
            low = rate;
        } else {
            high = rate;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::Auto;

    fn config() -> AgeingConfig {
        AgeingConfig {
            retries: 2,
            retry_gain: 0.5,
            margin: 0.0,
            ecc_bits: Auto(Some(8)),
            ..Default::default()
        }
    }

    fn steps_of(config: &AgeingConfig, rate: f64) -> (u32, bool, bool) {
        let code = Code::new(config, 72, 1024);
        let Steps { retries, soft, fails } = code.steps(code.level(rate));
        (retries, soft, fails)
    }

    #[test]
    fn each_retry_doubles_the_errors_that_are_corrected() {
        // Eight wrong bits of 8192, without a margin: 1/1024. Soft decoding corrects 12.
        let config = AgeingConfig { soft_bits: Auto(Some(12)), ..config() };
        let unit = 1.0 / 1024.0;
        let found = [0.5, 0.999, 1.001, 1.999, 2.001, 3.999, 4.001, 5.999]
            .map(|times| steps_of(&config, times * unit));
        let expected = [
            (0, false, false),
            (0, false, false),
            (1, false, false),
            (1, false, false),
            (2, false, false),
            (2, false, false),
            (2, true, false),
            (2, true, false),
        ];
        assert_eq!(found, expected);
        assert_eq!(steps_of(&config, 6.001 * unit), (2, true, true));
        let hard_only = AgeingConfig { soft_bits: Auto(Some(0)), ..config };
        assert_eq!(steps_of(&hard_only, 4.001 * unit), (2, false, true));
    }

    #[test]
    fn a_level_holds_up_to_its_limit() {
        for soft_bits in [0, 12] {
            let code = Code::new(&AgeingConfig { soft_bits: Auto(Some(soft_bits)), ..config() }, 72, 1024);
            let limits = (0..=code.failing()).filter(|level| code.limit(*level).is_finite());
            for level in limits.clone() {
                let limit = code.limit(level);
                assert_eq!(code.level(limit), level);
                assert!(code.level(limit * 1.000_001) > level);
            }
            assert_eq!(limits.count(), if soft_bits == 0 { 3 } else { 4 });
            assert_eq!(code.level(0.5), code.failing());
        }
    }

    #[test]
    fn the_margin_counts_standard_deviations() {
        // 25 errors expected, 5 standard deviations of nearly 5: 50 in all.
        let rate = limit(1e9, 50.0, 5.0);
        assert!((rate * 1e9 - 25.0).abs() < 1e-3, "{rate}");
        assert!((limit(8192.0, 72.0, 0.0) - 72.0 / 8192.0).abs() < 1e-12);
    }
}
