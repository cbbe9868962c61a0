//! Spread: a normal factor for each die and each block, drawn when a drive is made, for the times of its array.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

use super::NandConfig;
use crate::geometry::Geometry;
use crate::quantity::round_to_u64;
use crate::random::normal;

/// Binary places of a factor.
const PLACES: u32 = 16;
/// The smallest factor: a tenth.
const SMALLEST: f64 = 0.1;

/// Factors of the blocks of all units.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Spread {
    unit_blocks: u64,
    /// Empty where all blocks are alike.
    factors: Box<[u32]>,
}

impl Spread {
    pub(super) fn new(nand: &NandConfig, geometry: &Geometry) -> Self {
        let unit_blocks = geometry.max_unit_blocks();
        if !nand.spreads() {
            return Self { unit_blocks, factors: Box::default() };
        }
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(nand.seed.into());
        let dies: Vec<f64> =
            (0..geometry.total_dies()).map(|_| 1.0 + nand.die_spread * normal(&mut rng)).collect();
        let one = f64::from(1_u32 << PLACES);
        let mut factors = Vec::with_capacity((unit_blocks * u64::from(geometry.units())) as usize);
        for unit in 0..geometry.units() {
            let die = dies[(unit / geometry.planes) as usize];
            for _ in 0..unit_blocks {
                let factor = (die * (1.0 + nand.spread * normal(&mut rng))).max(SMALLEST);
                factors.push(round_to_u64(factor * one) as u32);
            }
        }
        Self { unit_blocks, factors: factors.into() }
    }

    /// True if all blocks are alike.
    #[inline]
    pub(super) fn is_off(&self) -> bool {
        self.factors.is_empty()
    }

    /// A time of the array on a block, rounded to the nearest ns.
    #[inline]
    pub(super) fn of(&self, unit: u32, block: u32, ns: u64) -> u64 {
        if self.factors.is_empty() {
            return ns;
        }
        let factor = self.factors[(u64::from(unit) * self.unit_blocks + u64::from(block)) as usize];
        ((u128::from(ns) * u128::from(factor) + (1 << (PLACES - 1))) >> PLACES) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    const SECOND: u64 = 1_000_000_000;

    /// Times that a second takes on the blocks of a drive, ns, by unit.
    fn seconds(spread: f64, die_spread: f64, seed: u32) -> Vec<Vec<u64>> {
        let config =
            Config { channels: 4, planes: 2, capacity: crate::quantity::Bytes(4 << 30), ..Config::default() };
        let geometry = Geometry::new(&config).expect("a drive");
        let nand = NandConfig { spread, die_spread, seed, ..NandConfig::default() };
        let spread = Spread::new(&nand, &geometry);
        let of = |unit| (0..geometry.max_unit_blocks() as u32).map(move |block| (unit, block));
        let second = |(unit, block)| spread.of(unit, block, SECOND);
        (0..geometry.units()).map(|unit| of(unit).map(second).collect()).collect()
    }

    fn mean_and_deviation(numbers: &[f64]) -> (f64, f64) {
        let count = numbers.len() as f64;
        let mean = numbers.iter().sum::<f64>() / count;
        (mean, (numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / count).sqrt())
    }

    #[test]
    fn blocks_differ_as_asked() {
        let times = seconds(0.1, 0.0, 1).concat();
        let all: Vec<f64> = times.iter().map(|time| *time as f64 / SECOND as f64).collect();
        let (mean, deviation) = mean_and_deviation(&all);
        assert!(
            all.len() > 8000 && (mean - 1.0).abs() < 0.005 && (deviation - 0.1).abs() < 0.003,
            "{deviation}"
        );
        let within =
            all.iter().filter(|factor| (**factor - 1.0).abs() < 0.1).count() as f64 / all.len() as f64;
        assert!((within - 0.683).abs() < 0.02, "{within}");
        assert_ne!(times, seconds(0.1, 0.0, 2).concat());
        assert_eq!(times, seconds(0.1, 0.0, 1).concat());
    }

    #[test]
    fn planes_of_a_die_share_its_factor() {
        let units = seconds(0.0, 0.2, 3);
        assert!(units.iter().all(|unit| unit.iter().all(|time| *time == unit[0])));
        assert!(units.chunks(2).all(|die| die[0][0] == die[1][0]));
        assert_ne!(units[0][0], units[2][0]);
    }

    #[test]
    fn without_spread_times_are_as_given() {
        assert!(seconds(0.0, 0.0, 1).concat().iter().all(|time| *time == SECOND));
    }
}
