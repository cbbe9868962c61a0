//! Views of the block tables: erased blocks, erases, wear.

use super::Dftl;
use crate::ftl::Wear;
use crate::ftl::blocks::Blocks;

impl Dftl {
    pub(in crate::ftl) fn free_blocks(&self, unit: u32) -> u64 {
        self.page.free_blocks(unit)
    }

    pub(in crate::ftl) fn erases(&self, unit: u32, block: u32) -> u32 {
        self.page.erases(unit, block)
    }

    pub(in crate::ftl) fn end_preconditioning(&mut self) {
        self.page.end_preconditioning();
    }

    /// The block tables of the units.
    pub(in crate::ftl) fn tables(&self) -> impl Iterator<Item = &Blocks> {
        self.page.tables()
    }

    pub(in crate::ftl) fn wear(&self) -> Wear {
        self.page.wear()
    }
}
