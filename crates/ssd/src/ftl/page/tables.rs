//! Views of the block tables: erased blocks, erases, wear.

use super::PageFtl;
use crate::ftl::blocks::Blocks;
use crate::ftl::{Wear, wear};

impl PageFtl {
    pub(in crate::ftl) fn free_blocks(&self, unit: u32) -> u64 {
        self.units[unit as usize].blocks.free() + self.erased_in_slc(unit)
    }

    pub(in crate::ftl) fn erases(&self, unit: u32, block: u32) -> u32 {
        self.units[unit as usize].blocks.erases(block)
    }

    pub(in crate::ftl) fn end_preconditioning(&mut self) {
        self.units.iter_mut().for_each(|unit| unit.blocks.end_preconditioning());
    }

    /// The block tables of the units.
    pub(in crate::ftl) fn tables(&self) -> impl Iterator<Item = &Blocks> + Clone {
        self.units.iter().map(|unit| &unit.blocks)
    }

    pub(in crate::ftl) fn wear(&self) -> Wear {
        wear::wear(self.tables())
    }
}
