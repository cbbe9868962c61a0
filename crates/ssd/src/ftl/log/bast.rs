//! BAST: each data block that is overwritten has one log block of its own (Kim et al. 2002).
//!
//! A page that has no place in its data block is appended to the data block's log block. If there is none, and none is free,
//! the log block written longest ago is collected; so is one that is full, before the unit's next write. What
//! a collection costs depends on what the log block holds: all pages in order, and it takes the data block's place (a
//! switch merge); the first pages in order, and it is completed with copies and does so (a partial one); anything
//! else, and the data block is merged in full, and the log block erased.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::unit::Unit;
use super::{Ops, Rules, RunError, Step};
use crate::ftl::MergeKind;

/// No settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Config {}

impl Unit {
    /// A page was appended to the log block of its data block: that is the one written last.
    pub(super) fn wrote_to_own(&mut self, block: u32, slot: u32) {
        self.own.set_slot(block, slot);
        self.log.remove(slot);
        self.log.push(slot);
        if self.log.is_closed(slot) {
            self.own.full = Some(slot);
        }
    }

    /// The data block that the first page of a log block belongs to.
    pub(super) fn owner_of(&self, slot: u32) -> u32 {
        self.log.key(slot * self.pages_per_block) / self.pages_per_block
    }

    /// The log block of a data block, if its pages are the first ones in order.
    pub(super) fn own_in_order(&self, block: u32) -> Option<u32> {
        let slot = self.own.slot(block)?;
        let (position, key) = (slot * self.pages_per_block, block * self.pages_per_block);
        (0..self.log.next(slot)).all(|page| self.log.key(position + page) == key + page).then_some(slot)
    }

    /// Makes the next step of a collection: of the full log block, or else of that written longest ago, if no other is free.
    pub(super) fn collect_own_step(
        &mut self,
        rules: &Rules,
        ops: &mut Ops,
    ) -> Result<Option<Step>, RunError> {
        if self.erase_replaced(ops) {
            return Ok(Some(Step::Erase));
        }
        let oldest = if self.spare_blocks() == 0 { self.log.oldest() } else { None };
        let Some(victim) = self.own.full.or(oldest) else { return Ok(None) };
        if self.log.valid(victim) == 0 {
            self.erase_slot(victim, ops);
            return Ok(Some(Step::Erase));
        }
        let block = self.owner_of(victim);
        let Some(slot) = self.completable(rules, block) else {
            self.merge_in_full(rules, block, ops)?;
            return Ok(Some(Step::Merge { block }));
        };
        let (old, copies) = self.complete(rules, block, slot, ops);
        self.own.replaced = old;
        if copies > 0 {
            ops.merged(MergeKind::Partial);
            return Ok(Some(Step::Merge { block }));
        }
        ops.merged(MergeKind::Switch);
        self.erase_replaced(ops);
        Ok(Some(Step::Erase))
    }

    /// Erases what a completed log block has taken the place of. Returns whether there was anything.
    pub(super) fn erase_replaced(&mut self, ops: &mut Ops) -> bool {
        let Some(physical) = self.own.replaced.take() else { return false };
        self.erase(physical, ops);
        ops.collected();
        true
    }
}
