//! Blocks that are retired because of their bit errors.
//!
//! A unit that is to lose a block keeps one more erased: it collects until it has that, as it does for `gc.free_blocks`. Then it
//! collects the worn block, whatever is valid there, and goes on without it. So no collection ever lacks a block, and the unit
//! does not lose more than it can spare: what it needs for its logical pages, its open blocks and those held back.

use super::{Ops, PageFtl, RunError};
use crate::geometry::Geometry;
use crate::op::Work;

/// Blocks that a unit of so many may lose: what it has beyond those of its logical pages, so many in a block, and the others that
/// it needs.
pub(super) fn spare(
    geometry: &Geometry,
    (usable, beside): (u64, u64),
    max_retired: Option<u32>,
) -> impl Fn(u64) -> u32 + use<> {
    let needed = (geometry.unit_logical_pages + 1).div_ceil(usable) + beside;
    let most = max_retired.unwrap_or(u32::MAX);
    move |blocks| u32::try_from(blocks.saturating_sub(needed)).unwrap_or(most).min(most)
}

impl PageFtl {
    /// A block of a unit is to be retired. Returns false if the unit can't do without it.
    pub(in crate::ftl) fn wear_out(&mut self, unit: u32, block: u32) -> bool {
        let state = &mut self.units[unit as usize];
        if state.spare == 0 {
            return false;
        }
        state.spare -= 1;
        state.room -= u64::from(self.rules.usable);
        state.blocks.wear_out(block);
        true
    }

    /// Units with their blocks that were retired since the last call.
    pub(in crate::ftl) fn take_retired(&mut self) -> Vec<(u32, u32)> {
        std::mem::take(&mut self.retired)
    }

    /// Blocks that the unit with the fewest of them may still lose.
    pub(in crate::ftl) fn fewest_spare(&self) -> Option<u32> {
        self.units.iter().map(|unit| unit.spare).min()
    }

    /// Erased blocks that a unit keeps: those held back, and one for each that it is to lose.
    #[inline]
    pub(in crate::ftl) fn kept(&self, unit: u32) -> u64 {
        self.rules.held_back + self.units[unit as usize].blocks.worn()
    }

    /// Collects until a unit has the erased blocks that it keeps.
    #[cold]
    pub(super) fn make_up(&mut self, unit: u32, ops: &mut Ops) -> Result<(), RunError> {
        while self.units[unit as usize].blocks.free() < self.kept(unit) {
            if self.collect_step(unit, Work::Collect, ops)?.is_none() {
                return Err(self.stuck(unit, self.kept(unit)));
            }
        }
        Ok(())
    }

    /// The block that is collected because it is to be retired, where the unit has the erased blocks that it keeps.
    #[inline]
    pub(super) fn worn_victim(&self, unit: u32) -> Option<u32> {
        let blocks = &self.units[unit as usize].blocks;
        if blocks.worn() == 0 || blocks.free() < self.kept(unit) { None } else { blocks.worn_and_full() }
    }

    /// A block was erased: those that the unit can do without now are retired.
    #[inline]
    pub(super) fn retire(&mut self, unit: u32, ops: &mut Ops) {
        while let Some(block) = self.units[unit as usize].blocks.retire(self.rules.held_back) {
            ops.opened(unit);
            self.retired.push((unit, block));
        }
    }
}
