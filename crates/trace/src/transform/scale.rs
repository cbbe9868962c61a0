//! Faster or slower arrivals.

use crate::{Request, Source, TraceError};

/// An exact positive factor: a fraction of whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factor {
    numerator: u64,
    denominator: u64,
}

impl Factor {
    /// A factor of `numerator / denominator`, in lowest terms; nothing if either is 0.
    pub fn new(numerator: u64, denominator: u64) -> Option<Self> {
        let (mut a, mut b) = (numerator, denominator);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        (numerator != 0 && denominator != 0)
            .then(|| Self { numerator: numerator / a, denominator: denominator / a })
    }

    /// Reads a decimal number such as `0.25`, or a fraction such as `1/3`.
    ///
    /// # Errors
    /// [`TraceError::Spec`] if it is neither, is 0, or has more digits than 64 bits hold.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let decimal = |whole: &str, fraction: &str| {
            let all_digits = digits(whole) && digits(fraction) && !whole.is_empty();
            let scale = 10u64.checked_pow(u32::try_from(fraction.len()).ok()?)?;
            Self::new(format!("{whole}{fraction}").parse().ok().filter(|_| all_digits)?, scale)
        };
        let trimmed = text.trim();
        let factor = if let Some((numerator, denominator)) = trimmed.split_once('/') {
            let whole = |part: &str| part.trim().parse::<u64>().ok();
            whole(numerator).zip(whole(denominator)).and_then(|(a, b)| Self::new(a, b))
        } else {
            let (whole, fraction) = trimmed.split_once('.').unwrap_or((trimmed, ""));
            decimal(whole, fraction)
        };
        factor.ok_or_else(|| TraceError::Spec {
            what: "time factor".into(),
            found: text.into(),
            expected: "expected a number above 0 such as 0.25, or a fraction such as 1/3".into(),
        })
    }

    /// Both factors one after the other, exactly; nothing if that takes more than 64 bits.
    #[must_use]
    pub fn times(self, other: Self) -> Option<Self> {
        // Each is in lowest terms; what is left to cancel stands crosswise.
        let one = Self::new(self.numerator, other.denominator)?;
        let two = Self::new(other.numerator, self.denominator)?;
        Some(Self {
            numerator: one.numerator.checked_mul(two.numerator)?,
            denominator: one.denominator.checked_mul(two.denominator)?,
        })
    }

    /// The time times the factor, rounded down, ns; nothing beyond 64 bits. Each time is scaled by itself, so
    /// rounding never adds up.
    #[inline]
    pub fn apply(self, time_ns: u64) -> Option<u64> {
        if self.denominator == 1 {
            return time_ns.checked_mul(self.numerator);
        }
        let scaled = u128::from(time_ns) * u128::from(self.numerator) / u128::from(self.denominator);
        u64::try_from(scaled).ok()
    }
}

impl std::fmt::Display for Factor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.numerator, self.denominator)
    }
}

/// Multiplies every arrival time by a factor: below 1 the workload runs faster.
#[derive(Clone, Debug)]
pub struct Scale<S> {
    source: S,
    factor: Factor,
}

impl<S> Scale<S> {
    /// `source` with its times multiplied by `factor`.
    pub const fn new(source: S, factor: Factor) -> Self {
        Self { source, factor }
    }
}

impl<S: Source> Source for Scale<S> {
    /// # Errors
    /// [`TraceError::Spec`] if a time no longer fits in 64 bits.
    fn read(&mut self, out: &mut Vec<Request>, limit: usize) -> Result<bool, TraceError> {
        let start = out.len();
        let more = self.source.read(out, limit);
        for index in start..out.len() {
            let time_ns = out[index].time_ns;
            let Some(scaled) = self.factor.apply(time_ns) else {
                out.truncate(index);
                return Err(TraceError::Spec {
                    what: "time factor".into(),
                    found: self.factor.to_string(),
                    expected: format!("takes a time of {time_ns} ns beyond 2^64 ns; expected a smaller one"),
                });
            };
            out[index].time_ns = scaled;
        }
        more
    }
}
