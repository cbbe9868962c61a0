//! Closed forms of write amplification, of timing limits and of queueing: what the simulator must meet.
//!
//! Every function is plain arithmetic on `f64`; a rate and a time only have to be in the same unit. Each has a test
//! against all numbers printed for it.

pub(crate) mod hybrid;
pub(crate) mod mapping;
pub(crate) mod queueing;
pub(crate) mod timing;
pub(crate) mod write_amplification;

/// Asserts that `found` is `expected` to the last decimal printed.
///
/// A hundredth of that decimal is granted on top: 5.537751 stands printed as 5.5377.
#[cfg(test)]
#[track_caller]
pub(crate) fn assert_printed(found: f64, expected: f64, decimals: i32) {
    let half_a_digit = 0.51 * 10f64.powi(-decimals);
    assert!((found - expected).abs() <= half_a_digit, "found {found}, printed {expected}");
}
