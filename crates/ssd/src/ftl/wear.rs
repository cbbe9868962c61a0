//! Erases of blocks, since the drive was new.

use serde::{Deserialize, Serialize};

use super::Ftl;
use super::blocks::Blocks;

/// Most bins of a histogram.
const MAX_BINS: u32 = 256;

/// Erase counts over all blocks of the drive.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Wear {
    /// Since the drive was new.
    #[serde(flatten)]
    pub all: Erases,
    /// In preconditioning.
    pub preconditioned: Erases,
    /// Since then.
    pub run: Erases,
}

/// Erases of the blocks of a drive.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Erases {
    /// Fewest erases of a block.
    pub min: u32,
    /// Mean over all blocks.
    pub mean: f64,
    /// Most erases of a block.
    pub max: u32,
    /// Standard deviation over all blocks.
    pub stddev: f64,
    /// Blocks by their erases.
    pub histogram: Histogram,
}

/// Blocks by their erases: bin `i` counts those with `first + i * width` erases and up to `width - 1` more. At most 256 bins;
/// up to that a bin is one number of erases.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    /// Fewest erases.
    pub first: u32,
    /// Numbers of erases in a bin.
    pub width: u32,
    /// Blocks of each bin.
    pub blocks: Vec<u64>,
}

impl Wear {
    /// Each block stands for so many with the same erases.
    pub(crate) fn of_each(mut self, blocks: u64) -> Self {
        let of_all = [&mut self.all, &mut self.preconditioned, &mut self.run];
        of_all.into_iter().flat_map(|erases| &mut erases.histogram.blocks).for_each(|count| *count *= blocks);
        self
    }
}

impl Erases {
    /// Of these numbers, one a block.
    fn of(erases: impl Iterator<Item = u32> + Clone) -> Self {
        let (mut blocks, mut min, mut max, mut sum, mut squares) = (0u64, u32::MAX, 0, 0u64, 0u128);
        for erases in erases.clone() {
            blocks += 1;
            min = min.min(erases);
            max = max.max(erases);
            sum += u64::from(erases);
            squares += u128::from(erases) * u128::from(erases);
        }
        let mean = sum as f64 / blocks as f64;
        let variance = (squares as f64 / blocks as f64 - mean * mean).max(0.0);
        let width = (max - min) / MAX_BINS + 1;
        let mut histogram =
            Histogram { first: min, width, blocks: vec![0; ((max - min) / width + 1) as usize] };
        erases.for_each(|erases| histogram.blocks[((erases - min) / width) as usize] += 1);
        Self { min, mean, max, stddev: variance.sqrt(), histogram }
    }
}

/// Erase counts over the blocks of all units.
pub(super) fn wear<'a>(units: impl Iterator<Item = &'a Blocks> + Clone) -> Wear {
    of_all(units.flat_map(Blocks::all_erases))
}

/// Of blocks with these erases in preconditioning, and since the drive was new.
pub(super) fn of_tables(blocks: &[(u32, u32)]) -> Wear {
    of_all(blocks.iter().copied())
}

fn of_all(all: impl Iterator<Item = (u32, u32)> + Clone) -> Wear {
    Wear {
        all: Erases::of(all.clone().map(|(_, all)| all)),
        preconditioned: Erases::of(all.clone().map(|(before, _)| before)),
        run: Erases::of(all.map(|(before, all)| all - before)),
    }
}

impl Ftl {
    /// Erase counts since the drive was new.
    pub(crate) fn wear(&self) -> Wear {
        match self {
            Ftl::Page(page) => page.wear(),
            Ftl::Dftl(dftl) => dftl.wear(),
            Ftl::Log(log) => log.wear(),
            Ftl::Zones(zones) => zones.wear(),
            Ftl::Direct => Wear::default(),
        }
    }

    /// Preconditioning is over: erases count as those of the run from now on.
    pub(crate) fn end_preconditioning(&mut self) {
        match self {
            Ftl::Page(page) => page.end_preconditioning(),
            Ftl::Dftl(dftl) => dftl.end_preconditioning(),
            Ftl::Log(log) => log.end_preconditioning(),
            Ftl::Zones(zones) => zones.end_preconditioning(),
            Ftl::Direct => {}
        }
    }

    /// Erases of a block of a unit.
    pub(crate) fn erases(&self, unit: u32, block: u32) -> u32 {
        match self {
            Ftl::Page(page) => page.erases(unit, block),
            Ftl::Dftl(dftl) => dftl.erases(unit, block),
            Ftl::Log(log) => log.erases(unit, block),
            Ftl::Zones(zones) => zones.erases(unit, block),
            Ftl::Direct => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_of_erases_has_a_bin_up_to_256_of_them() {
        let erases = Erases::of([7, 3, 3, 5].into_iter());
        assert_eq!((erases.min, erases.max, erases.mean), (3, 7, 4.5));
        assert_eq!(erases.histogram, Histogram { first: 3, width: 1, blocks: vec![2, 0, 1, 0, 1] });
        for (most, width, bins) in [(255, 1, 256), (256, 2, 129), (1000, 4, 251)] {
            let histogram = Erases::of(0..=most).histogram;
            assert_eq!((histogram.width, histogram.blocks.len()), (width, bins), "{most}");
            assert_eq!(histogram.blocks.iter().sum::<u64>(), u64::from(most) + 1);
        }
        assert_eq!(Erases::of([4, 4].into_iter()).histogram.blocks, [2]);
    }
}
