//! A seeded one-to-one map of `0..count` onto itself, in constant memory: which place each popularity rank has.

use super::draw::{Draw, Purpose};

/// Rounds of mixing. One spreads neighbours, three leave no visible order.
const ROUNDS: usize = 3;

/// The map. Every step (odd multiplication, addition, exclusive or with the high half) can be undone in a power of
/// two, so their chain is one-to-one there; walking on until the value is below `count` keeps it one-to-one here.
#[derive(Clone, Debug)]
pub(super) struct Scatter {
    count: u64,
    mask: u64,
    shift: u32,
    rounds: [(u64, u64); ROUNDS],
}

impl Scatter {
    /// A map of `0..count`, `count` not zero.
    pub(super) fn new(count: u64, seed: u64) -> Self {
        let bits = (64 - (count - 1).leading_zeros()).max(1);
        let mut draw = Draw::new(seed, Purpose::Layout);
        let rounds = std::array::from_fn(|_| (draw.bits() | 1, draw.bits()));
        Self { count, mask: u64::MAX >> (64 - bits), shift: bits.div_ceil(2), rounds }
    }

    /// The place of `rank`, which is below the count. Walks twice on average at the worst count.
    #[inline]
    pub(super) fn place(&self, rank: u64) -> u64 {
        let mut value = rank;
        loop {
            for (factor, addend) in self.rounds {
                value = value.wrapping_mul(factor).wrapping_add(addend) & self.mask;
                value ^= value >> self.shift;
            }
            if value < self.count {
                return value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn one_to_one(count in 1u64..3000, seed: u64) {
            let scatter = Scatter::new(count, seed);
            let mut seen = vec![false; count as usize];
            for rank in 0..count {
                let place = scatter.place(rank) as usize;
                prop_assert!(!seen[place]);
                seen[place] = true;
            }
        }
    }

    #[test]
    fn neighbours_are_spread() {
        let scatter = Scatter::new(1_000_000, 1);
        // The 100 most popular places fall in about 64 of 100 equal parts if thrown at random.
        let mut parts: Vec<u64> = (0..100).map(|rank| scatter.place(rank) / 10_000).collect();
        parts.sort_unstable();
        parts.dedup();
        assert!(parts.len() > 45, "{}", parts.len());
    }

    #[test]
    fn largest_count() {
        let scatter = Scatter::new(u64::MAX, 3);
        assert!(scatter.place(u64::MAX - 1) < u64::MAX);
    }
}
