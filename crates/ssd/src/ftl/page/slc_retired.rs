//! Blocks kept in SLC mode that are retired: the cache of their unit goes on without them. They count neither as data nor as spare, so
//! no other block takes their place, and none is made up for.
//!
//! What is valid there is folded before anything else in the cache is, when the next page of the host finds the cache full; a block
//! that is erased, or in which all is stale, takes nothing more. When all such blocks of a unit have left, its pages of the host go
//! where they go when a cache is full that folding does not help.

use super::slc::OfUnit;
use super::{Ops, PageFtl};

impl OfUnit {
    /// All in a filled block kept in SLC mode is stale. One that is to be retired is not written again.
    pub(super) fn note_stale(&mut self, block: u32) {
        if !self.worn.contains(&block) {
            self.stale.push_back(block);
        }
    }

    /// A block kept in SLC mode is erased.
    pub(super) fn erase(&mut self, block: u32) {
        match self.worn.iter().position(|worn| *worn == block) {
            Some(at) => self.leaving.push(self.worn.swap_remove(at)),
            None => self.erased.push_back(block),
        }
    }

    /// A block kept in SLC mode is to be retired.
    fn wear_out(&mut self, block: u32) {
        self.stale.retain(|stale| *stale != block);
        if let Some(at) = self.erased.iter().position(|erased| *erased == block) {
            self.erased.remove(at);
            self.leaving.push(block);
        } else {
            self.worn.push(block);
        }
    }
}

impl PageFtl {
    /// True if the number is that of a block that is kept in SLC mode.
    pub(in crate::ftl) fn keeps_in_slc(&self, block: u32) -> bool {
        self.slc.as_ref().is_some_and(|slc| slc.keeps(block))
    }

    /// A block is to be retired. Returns true if it is one kept in SLC mode: such a block always leaves.
    pub(in crate::ftl) fn wear_out_kept(&mut self, unit: u32, block: u32) -> bool {
        let Some(slc) = self.slc.as_mut().filter(|slc| slc.keeps(block)) else { return false };
        slc.units[unit as usize].wear_out(block);
        true
    }

    /// A filled block kept in SLC mode that is to be retired.
    pub(super) fn worn_and_filled(&self, unit: u32) -> Option<u32> {
        let own = &self.slc.as_ref()?.units[unit as usize];
        own.worn.iter().copied().find(|block| own.filled.contains(block))
    }

    /// A block was erased: those kept in SLC mode that are erased and to be retired are.
    pub(super) fn retire_kept(&mut self, unit: u32, ops: &mut Ops) {
        let Some(slc) = &mut self.slc else { return };
        let own = &mut slc.units[unit as usize];
        for block in std::mem::take(&mut own.leaving) {
            own.mode[block as usize] = false;
            ops.opened(unit);
            self.spare.note(unit, block);
        }
    }
}
