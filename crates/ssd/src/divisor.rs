//! Division by a number fixed at start-up, without a hardware division where it is a power of two (it nearly always is).

use serde::{Deserialize, Serialize};

/// A divisor known before the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Divisor {
    value: u64,
    /// `log2(value)`, or `u32::MAX` if it is no power of two.
    shift: u32,
}

impl Divisor {
    /// `value` must not be zero.
    pub(crate) fn new(value: u64) -> Self {
        assert!(value > 0, "a divisor is positive");
        Self { value, shift: if value.is_power_of_two() { value.trailing_zeros() } else { u32::MAX } }
    }

    /// The divisor itself.
    pub(crate) fn get(self) -> u64 {
        self.value
    }

    /// Quotient and remainder.
    #[inline]
    pub(crate) fn split(self, number: u64) -> (u64, u64) {
        if self.shift == u32::MAX {
            (number / self.value, number % self.value)
        } else {
            (number >> self.shift, number & (self.value - 1))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Divisor;

    #[test]
    fn agrees_with_division() {
        for value in [1, 2, 3, 7, 8, 63, 64, 100, 1 << 40] {
            for number in [0, 1, 2, 63, 64, 65, 12_345_678_901] {
                assert_eq!(Divisor::new(value).split(number), (number / value, number % value));
            }
        }
    }
}
