//! Blocks of flash that break: their pages can't be read any more.

use std::ops::Range;

use super::Core;
use crate::content::Content;
use crate::op::{BlockAt, PageAt};

/// Blocks that break together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Their units, which are planes.
    pub units: Range<u32>,
    /// The block of each unit; all of them without.
    pub block: Option<u32>,
}

impl Broken {
    fn has(&self, (unit, block): BlockAt) -> bool {
        self.units.contains(&unit) && self.block.is_none_or(|own| own == block)
    }
}

impl<C: Content> Core<C> {
    /// Where a mapping unit is on flash, if it is there and was not trimmed: the unit, and the number in it.
    pub(crate) fn place_of(&self, lpn: u64) -> Option<PageAt> {
        if self.is_given_up(lpn) {
            return None;
        }
        let home = self.alloc.locate(lpn)?;
        let ppn = self.ftl.lookup(home)?;
        Some(self.at(home.unit, ppn))
    }

    /// The block of a page of a unit.
    pub(crate) fn block_of(&self, (unit, ppn): PageAt) -> BlockAt {
        (unit, ppn / self.pages_per_block)
    }

    /// Full blocks that age can't be read until they are erased, and are retired if the drive retires blocks. Returns the mapping units
    /// that are lost: those that lie on broken blocks, unless the drive rebuilds them of the rest of their stripes.
    pub(crate) fn break_blocks(&mut self, broken: &Broken) -> Vec<u64> {
        if let Some(ageing) = &mut self.ageing {
            for unit in broken.units.clone() {
                let all = 0..self.geometry.unit_blocks(unit) as u32;
                for block in all.filter(|block| broken.block.is_none_or(|own| own == *block)) {
                    ageing.break_block((unit, block), self.geometry.units_per_page);
                    if ageing.retires() && !ageing.is_worn((unit, block)) {
                        self.worn.push((unit, block));
                    }
                }
            }
            if self.geometry.parity > 0 {
                return Vec::new();
            }
        }
        let is_lost = |lpn: &u64| self.place_of(*lpn).is_some_and(|at| broken.has(self.block_of(at)));
        (0..self.geometry.logical_pages).filter(is_lost).collect()
    }
}
