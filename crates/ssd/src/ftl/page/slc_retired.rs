//! Retirement of blocks that are kept in SLC mode. They count neither as data nor as spare: no other block takes the place of one
//! that is retired, and the unit makes up for none.
//!
//! A worn block takes no more pages once it is full or erased. When a write finds the cache full, a full one is folded before all
//! others, and so erased; an erased one is retired with the next erase in its unit. When all blocks kept in SLC mode are retired,
//! pages of the host go to dynamic blocks of the cache, or to main blocks.

use super::slc::OfUnit;
use super::{Ops, PageFtl};

impl OfUnit {
    /// A filled block kept in SLC mode holds stale pages alone. It is written again, unless it is to be retired.
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

    /// A block was erased: retires the erased blocks kept in SLC mode that are to be retired.
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
