//! Blocks that are retired because of their bit errors, those of translation pages included.

use super::Dftl;
use crate::ftl::Fate;

impl Dftl {
    /// True if the unit has fewer erased blocks than it keeps because of those that it is to lose.
    pub(super) fn must_make_up(&self, unit: u32) -> bool {
        let blocks = &self.page.units[unit as usize].blocks;
        blocks.worn() > 0 && blocks.free() < self.reserve(unit)
    }

    /// A block of a unit is to be retired.
    pub(in crate::ftl) fn wear_out(&mut self, unit: u32, block: u32) -> Fate {
        if self.page.wear_out_kept(unit, block) {
            return Fate::Leaves;
        }
        let (usable, state) = (u64::from(self.rules.pages_per_block), &mut self.units[unit as usize]);
        let own = &mut self.page.units[unit as usize];
        let has_room = own.valid_pages - state.translation_pages + usable < state.room;
        let fate = self.page.spare.take(unit, has_room);
        if fate == Fate::Leaves {
            state.room = state.room.saturating_sub(usable);
            own.blocks.wear_out(block);
        }
        fate
    }
}
