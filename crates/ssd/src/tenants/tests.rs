//! Allocators against their definitions.

use super::allocation::apportion;

#[test]
fn shares_are_largest_remainders_with_at_least_so_many_each() {
    assert_eq!(apportion(8, &[1, 1], 1), [4, 4]);
    assert_eq!(apportion(8, &[999, 1], 1), [7, 1]);
}
