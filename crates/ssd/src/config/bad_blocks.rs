//! Blocks that are bad when a drive is made: which of a unit's blocks they are is drawn from `nand.seed`.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::geometry::Geometry;
use crate::nand::NandConfig;

/// Each block is bad with the same probability, whatever the others are.
#[derive(Clone, Copy, Debug)]
pub(super) struct BadBlocks {
    share: f64,
    seed: u32,
}

impl BadBlocks {
    /// None where all blocks are good.
    pub(super) fn new(nand: &NandConfig) -> Option<Self> {
        (nand.bad_blocks > 0.0).then_some(Self { share: nand.bad_blocks, seed: nand.seed })
    }

    /// The bad blocks of a unit, in order: good blocks in a row have a geometric distribution. More blocks change none of those
    /// before.
    fn of_unit(self, unit: u32) -> impl Iterator<Item = u64> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(u64::from(self.seed) << 32 | u64::from(unit));
        let scale = 1.0 / libm::log1p(-self.share);
        let mut at = 0_u64;
        std::iter::from_fn(move || {
            let uniform = ((rng.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
            let good = crate::quantity::round_to_u64((libm::log(uniform) * scale).floor());
            let bad = at.saturating_add(good);
            at = bad.saturating_add(1);
            Some(bad)
        })
    }

    /// Takes them out of a drive of good blocks.
    pub(super) fn mark(self, geometry: &mut Geometry) {
        let count = |unit| {
            let blocks = geometry.unit_blocks(unit);
            self.of_unit(unit).take_while(|bad| *bad < blocks).count() as u32
        };
        let bad: Box<[u32]> = (0..geometry.units()).map(count).collect();
        geometry.blocks -= bad.iter().map(|bad| u64::from(*bad)).sum::<u64>();
        geometry.bad_blocks = bad;
    }

    /// The fewest blocks of a drive, bad ones included, with which each unit has so many good ones.
    pub(super) fn built_for(self, geometry: &Geometry, good: u64) -> u64 {
        let units = u64::from(geometry.units());
        let built = |unit| {
            // Every bad block among those that it needs costs one more.
            let of_unit = self.of_unit(unit).take_while({
                let mut last = good;
                move |bad| {
                    let counts = *bad < last;
                    last += 1;
                    counts
                }
            });
            let blocks = good + of_unit.count() as u64;
            (blocks - 1) * units + geometry.rank(unit) + 1
        };
        (0..geometry.units()).map(built).max().unwrap_or(0)
    }

    /// The key, for messages.
    pub(super) fn key(&self) -> String {
        format!("nand.bad_blocks = {}, ", self.share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::config::layers::{Layer, resolve};

    fn config(settings: &[(&str, &str)]) -> Result<Config, String> {
        let layer = Layer::from_assignments("test", settings.iter().copied());
        resolve(&[layer]).map_err(|error| error.to_string())
    }

    fn bad(settings: &[(&str, &str)]) -> (u64, Vec<u32>) {
        let geometry = Geometry::new(&config(settings).expect("legal")).expect("legal");
        let units = (0..geometry.units()).map(|unit| geometry.unit_blocks(unit));
        assert_eq!(units.sum::<u64>(), geometry.blocks);
        (geometry.built_blocks(), geometry.bad_blocks.into_vec())
    }

    #[test]
    fn the_share_is_met_and_units_differ() {
        let (built, units) = bad(&[("nand.bad_blocks", "0.02")]);
        let (same, _) = bad(&[]);
        assert_eq!(built, same);
        // 36,053 blocks: 721 bad ones, give or take 27 (a standard deviation).
        let all = units.iter().sum::<u32>();
        assert!((640..800).contains(&all), "{all}");
        assert!(units.iter().any(|unit| *unit != units[0]));
        assert_eq!(bad(&[("nand.bad_blocks", "0.02")]).1, units);
        assert_ne!(bad(&[("nand.bad_blocks", "0.02"), ("nand.seed", "2")]).1, units);
    }

    #[test]
    fn every_block_is_bad_as_often() {
        let born_bad = BadBlocks { share: 0.1, seed: 1 };
        let mut counts = [0; 10];
        for unit in 0..20_000 {
            born_bad.of_unit(unit).take_while(|bad| *bad < 10).for_each(|bad| counts[bad as usize] += 1);
        }
        // A standard deviation is 42.
        assert!(counts.iter().all(|count| (1800..2200).contains(count)), "{counts:?}");
    }

    #[test]
    fn the_smallest_share_that_a_refusal_advises_works_and_none_below() {
        let small = [("capacity", "4MiB"), ("pages_per_block", "8"), ("op_ratio", "0.05")];
        for (share, seed) in [("0.05", "1"), ("0.1", "2"), ("0.2", "3"), ("0.3", "4")] {
            let with = |op: &str| {
                let more = [("nand.bad_blocks", share), ("nand.seed", seed), ("op_ratio", op)];
                config(&[&small[..], &more].concat())
            };
            let message = with("0.02").expect_err("too little");
            assert!(
                message.contains(&format!("nand.bad_blocks = {share}")) && message.contains("good blocks"),
                "{message}"
            );
            let advised = message.rsplit("op_ratio of at least ").next().expect("advice").to_owned();
            with(&advised).unwrap_or_else(|error| panic!("{advised}: {error}"));
            let less = format!("{:.4}", advised.parse::<f64>().expect("a number") - 0.005);
            assert!(with(&less).is_err(), "{less} works, {advised} was advised");
        }
    }
}
