//! Erases of blocks, since the drive was new.

use serde::{Deserialize, Serialize};

use super::Ftl;

/// Erase counts over all blocks of the drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Wear {
    /// Fewest erases of a block.
    pub min: u32,
    /// Mean over all blocks.
    pub mean: f64,
    /// Most erases of a block.
    pub max: u32,
    /// Standard deviation over all blocks.
    pub stddev: f64,
}

impl Ftl {
    /// Erase counts since the drive was new.
    pub(crate) fn wear(&self) -> Wear {
        match self {
            Ftl::Page(page) => page.wear(),
            Ftl::Dftl(dftl) => dftl.wear(),
            Ftl::Log(log) => log.wear(),
            Ftl::Direct => Wear::default(),
        }
    }

    /// Erases of a block of a unit.
    pub(crate) fn erases(&self, unit: u32, block: u32) -> u32 {
        match self {
            Ftl::Page(page) => page.erases(unit, block),
            Ftl::Dftl(dftl) => dftl.erases(unit, block),
            Ftl::Log(log) => log.erases(unit, block),
            Ftl::Direct => 0,
        }
    }
}
