//! The randomness of the generators: one seed, one sub-stream a purpose, and draws from it that give the same bits
//! on every machine. What is drawn here is integers and fractions; distributions live beside this file.

use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng, SeedableRng},
};

/// Purpose of a sub-stream. Each purpose draws from its own, so that a change of the mix, the sizes or the arrivals
/// leaves the addresses where they are. Adding one at the end keeps all existing streams.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    Addresses,
    Layout,
    Ops,
    Sizes,
    Arrivals,
}

/// One sub-stream of random numbers.
#[derive(Clone, Debug)]
pub(super) struct Draw(Xoshiro256PlusPlus);

impl Draw {
    /// The sub-stream of `seed` for `purpose`: 2^128 numbers away from the next, so no two overlap.
    pub(super) fn new(seed: u64, purpose: Purpose) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        for _ in 0..purpose as u32 {
            rng.jump();
        }
        Self(rng)
    }

    /// 64 random bits.
    #[inline]
    pub(super) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// An integer in `0..bound`, which is not zero.
    #[inline]
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        Uniform::below(bound).draw(self)
    }

    /// An integer from `low` to `high`, both included.
    #[inline]
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// A size from `low` to `low << octaves`: every octave equally likely, and every size in it.
    #[inline]
    pub(super) fn octaves(&mut self, low: u64, octaves: u64) -> u64 {
        let floor = low << self.below(octaves);
        floor + self.below(floor)
    }

    /// An integer in `0..bound` of which the n-th has a probability of about 1/n, up to a power of two.
    #[inline]
    pub(super) fn skewed(&mut self, bound: u64) -> u64 {
        self.octaves(1, u64::from(bound.max(2).ilog2())) - 1
    }

    /// A multiple of 2^-53 in (0, 1], uniform: a logarithm of it is finite.
    #[inline]
    pub(super) fn fraction(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1u64 << 53) as f64;
        ((self.bits() >> 11) + 1) as f64 * STEP
    }
}

/// Integers in `0..bound`, all equally likely to the last bit (Lemire, "Fast random integer generation in an
/// interval", 2019, algorithm 5): the high half of a product, rejecting the few low halves that favour some values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Uniform {
    bound: u64,
    threshold: u64,
}

impl Uniform {
    /// Integers below `bound`, which is not zero.
    pub(super) fn below(bound: u64) -> Self {
        Self { bound, threshold: bound.wrapping_neg() % bound }
    }

    #[inline]
    pub(super) fn draw(self, draw: &mut Draw) -> u64 {
        loop {
            let product = u128::from(draw.bits()) * u128::from(self.bound);
            if product as u64 >= self.threshold {
                return (product >> 64) as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_is_uniform() {
        let mut draw = Draw::new(7, Purpose::Addresses);
        let uniform = Uniform::below(7);
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            counts[uniform.draw(&mut draw) as usize] += 1;
        }
        // Six standard deviations of a binomial count.
        assert!(counts.iter().all(|&count| count.abs_diff(10_000) < 556), "{counts:?}");
    }

    #[test]
    fn bounds_at_both_ends() {
        let mut draw = Draw::new(7, Purpose::Addresses);
        assert!((0..100).all(|_| Uniform::below(1).draw(&mut draw) == 0));
        let wide = Uniform::below(u64::MAX);
        assert!((0..100).all(|_| wide.draw(&mut draw) < u64::MAX));
        assert!((0..1000).all(|_| (0.0..=1.0).contains(&draw.fraction())));
    }

    #[test]
    fn sizes_and_skewed_numbers_stay_in_their_range() {
        let mut draw = Draw::new(7, Purpose::Addresses);
        assert!((0..1000).all(|_| (3..=5).contains(&draw.between(3, 5)) && draw.below(2) < 2));
        let sizes: Vec<u64> = (0..10_000).map(|_| draw.octaves(512, 7)).collect();
        assert!(sizes.iter().all(|size| (512..65_536).contains(size)));
        // A seventh in each octave; six standard deviations.
        assert!(sizes.iter().filter(|size| **size >= 32_768).count().abs_diff(1429) < 210);
        let ranks: Vec<u64> = (0..10_000).map(|_| draw.skewed(1000)).collect();
        assert!(
            ranks.iter().all(|rank| *rank < 511) && ranks.iter().filter(|rank| **rank == 0).count() > 900
        );
        assert_eq!((draw.skewed(1), draw.skewed(3)), (0, 0));
    }

    #[test]
    fn purposes_do_not_share_numbers() {
        let all = [Purpose::Addresses, Purpose::Layout, Purpose::Ops, Purpose::Sizes, Purpose::Arrivals];
        let mut first: Vec<u64> = all.iter().map(|&purpose| Draw::new(1, purpose).bits()).collect();
        first.sort_unstable();
        first.dedup();
        assert_eq!(first.len(), all.len());
    }
}
