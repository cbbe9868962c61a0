//! Blocks that are retired because of their bit errors, those of translation pages included.

use super::Dftl;
use crate::ftl::Fate;

impl Dftl {
    /// A block of a unit is to be retired.
    pub(in crate::ftl) fn wear_out(&mut self, unit: u32, block: u32) -> Fate {
        let (usable, state) = (u64::from(self.rules.pages_per_block), &mut self.units[unit as usize]);
        let own = &mut self.page.units[unit as usize];
        let valid = own.valid_pages - state.translation_pages;
        match self.page.spare.take(unit, |blocks| valid + blocks * usable < state.room) {
            Ok(blocks) => {
                state.room = state.room.saturating_sub(blocks * usable);
                own.blocks.wear_out(block);
                Fate::Leaves
            }
            Err(fate) => fate,
        }
    }
}
