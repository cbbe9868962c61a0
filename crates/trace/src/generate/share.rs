//! A share between 0 and 1, as a whole number of millionths of a millionth: sums are exact, so `0.7 + 0.2 + 0.1` is 1.

/// Parts in a whole.
const WHOLE: u64 = 1_000_000_000_000;

/// A share of the whole, exact to twelve decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Share(u64);

impl Share {
    pub(super) const ZERO: Share = Share(0);
    pub(super) const ONE: Share = Share(WHOLE);

    /// A decimal number from 0 to 1, rounded to twelve decimals.
    #[expect(clippy::cast_sign_loss, reason = "within 0..=1 by the filter")]
    pub(super) fn parse(text: &str) -> Option<Self> {
        let value: f64 = text.parse().ok().filter(|value| (0.0..=1.0).contains(value))?;
        // Parsing and one multiplication are exactly defined by IEEE 754, so every machine gets the same share.
        Some(Share((value * WHOLE as f64 + 0.5) as u64))
    }

    /// Remainder of the whole after these shares; `None` if they are more than the whole.
    pub(super) fn rest(shares: &[Share]) -> Option<Self> {
        let sum: u64 = shares.iter().map(|share| share.0).sum();
        WHOLE.checked_sub(sum).map(Share)
    }

    pub(super) fn plus(self, other: Share) -> Self {
        Share(self.0 + other.0)
    }

    /// An equal part of this share; the last parts may be one smaller than the first.
    pub(super) fn part(self, index: usize, parts: usize) -> Self {
        let (index, parts) = (index as u64, parts as u64);
        Share(self.0 / parts + u64::from(index < self.0 % parts))
    }

    /// This share of `count`, to the nearest whole one.
    pub(super) fn of(self, count: u64) -> u64 {
        ((u128::from(count) * u128::from(self.0) + u128::from(WHOLE / 2)) / u128::from(WHOLE)) as u64
    }

    /// True if 64 random bits fall within this share: with the share's probability, to within 2^-64.
    #[inline]
    pub(super) fn hit(self, bits: u64) -> bool {
        (((u128::from(bits) * u128::from(WHOLE)) >> 64) as u64) < self.0
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_multiple_of(WHOLE) {
            return write!(f, "{}.0", self.0 / WHOLE);
        }
        write!(f, "{}", format!("0.{:012}", self.0).trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(text: &str) -> Share {
        Share::parse(text).unwrap()
    }

    #[test]
    fn parses_prints_and_adds_exactly() {
        for text in ["0.0", "1.0", "0.5", "0.1", "0.000000000001", "0.333333333333"] {
            assert_eq!(share(text).to_string(), text);
        }
        assert_eq!(share("0.30000000000000004"), share("0.3"));
        assert_eq!(share("1e-3"), share("0.001"));
        assert_eq!(Share::rest(&[share("0.7"), share("0.2"), share("0.1")]), Some(Share::ZERO));
        assert_eq!(Share::rest(&[share("0.7"), share("0.4")]), None);
        for bad in ["-0.1", "1.1", "nan", "inf", "", "half"] {
            assert_eq!(Share::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn hits_at_the_edges() {
        assert!(!Share::ZERO.hit(0) && !Share::ZERO.hit(u64::MAX));
        assert!(Share::ONE.hit(0) && Share::ONE.hit(u64::MAX));
        let half = share("0.5");
        assert!(half.hit((1 << 63) - 1) && !half.hit(1 << 63));
    }

    #[test]
    fn parts_add_up() {
        let third: u64 = (0..3).map(|index| Share::ONE.part(index, 3).0).sum();
        assert_eq!(third, WHOLE);
        assert_eq!(share("0.2").of(7), 1);
        assert_eq!(Share::ONE.of(u64::MAX), u64::MAX);
    }
}
