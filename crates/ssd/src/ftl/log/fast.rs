//! FAST: one log block takes sequential writes, the others, fully associative, take random ones (Lee et al. 2007).
//!
//! A write to the first page of a data block opens the sequential log block for it, its *owner*; the owner's next pages
//! follow there. Complete, the log block takes the data block's place before the unit's next write: a switch merge, one
//! erase and no copies. When another block's turn comes before that, `ftl.sw_full` says what becomes of it:
//!
//! - `reuse`: it goes on as the newest block of the random log, with the pages that it has free; it is filled when the
//!   blocks before it are full. If the random log has no place for another block, but for another page, the first page
//!   goes there like any other, and no sequential log block is opened for it: collecting a log that is not full would pile
//!   up blocks that are not. A page of the owner that is not the next one goes to the random log and invalidates
//!   the older version, wherever that is; the sequential log block can still be completed and switched in.
//! - `partial-merge`: it is completed with copies and takes the data block's place. So it is when a later page of
//!   the owner than the next one is written; an earlier one costs a full merge and the erase of both blocks. The page
//!   itself then goes to the random log.
//!
//! Under both, a collection that has to merge the owner completes the sequential log block, if all that it holds and
//! that still exists is the newest version, and merges in full otherwise.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::unit::{IN_DATA, IN_LOG, Sequential, Unit};
use super::{Ops, Page, Rules, RunError};
use crate::ftl::MergeKind;

/// Fate of a sequential log block that can't be switched in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SwFull {
    /// It goes on as a log block for random writes, with the pages that it still has free.
    #[default]
    Reuse,
    /// It is completed with copies and takes the data block's place.
    PartialMerge,
}

/// FAST.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// Fate of a sequential log block that can't be switched in.
    pub sw_full: SwFull,
}

impl Unit {
    /// The slot of the sequential log block, if the page is its next one.
    #[inline]
    pub(super) fn sequential_slot_for(&self, page: Page) -> Option<u32> {
        let Sequential { slot, owner } = self.sequential?;
        (owner == page.block && self.log.next(slot) == page.offset).then_some(slot)
    }

    /// True if opening a sequential log block would make the one before it a block of the queue.
    pub(super) fn sequential_joins_log(&self, rules: &Rules) -> bool {
        !rules.completes_sequential()
            && self.sequential.is_some_and(|sequential| !self.log.is_closed(sequential.slot))
    }

    /// Opens a sequential log block for the data block of `page`, its first. Returns its slot.
    pub(super) fn open_sequential(
        &mut self,
        rules: &Rules,
        page: Page,
        ops: &mut Ops,
    ) -> Result<u32, RunError> {
        if self.sequential_joins_log(rules) {
            if let Some(Sequential { slot, owner }) = self.sequential.take() {
                self.log.push(slot);
                if rules.kind.has_own_log_blocks() {
                    self.own.set_slot(owner, slot);
                }
            }
        } else if let Some(sequential) = self.sequential {
            self.merge(rules, sequential.owner, ops)?;
        }
        let block = self.take(ops)?;
        let slot = self.log.occupy(block);
        self.sequential = Some(Sequential { slot, owner: page.block });
        Ok(slot)
    }

    /// Does the work that must come before a page goes to the random log, if its data block owns the sequential one.
    #[inline]
    pub(super) fn leave_sequential(
        &mut self,
        rules: &Rules,
        page: Page,
        ops: &mut Ops,
    ) -> Result<(), RunError> {
        match self.sequential {
            Some(Sequential { slot, owner }) if owner == page.block && rules.completes_sequential() => {
                if page.offset > self.log.next(slot) {
                    self.merge(rules, owner, ops)
                } else {
                    self.merge_in_full(rules, owner, ops)
                }
            }
            _ => Ok(()),
        }
    }

    /// Lets the sequential log block take the place of its owner's data block, if it is complete.
    #[inline]
    pub(super) fn switch_if_complete(&mut self, ops: &mut Ops) {
        if let Some(Sequential { slot, owner }) = self.sequential
            && self.log.is_closed(slot)
        {
            self.switch(slot, owner, ops);
        }
    }

    fn switch(&mut self, slot: u32, owner: u32, ops: &mut Ops) {
        self.sequential = None;
        // Newer versions in the random log stay there.
        while let Some(position) = self.log.first_valid(slot) {
            self.log.invalidate(position);
            let offset = self.log.key(position) - owner * self.pages_per_block;
            let word = self.words(owner).start + (offset >> 6) as usize;
            let bit = 1 << (offset & 63);
            self.pages[word][IN_LOG] &= !bit;
            self.pages[word][IN_DATA] |= bit;
        }
        if let Some(old) = self.replace_data_block(owner, slot, self.pages_per_block) {
            self.erase(old, ops);
        }
        ops.merged(MergeKind::Switch);
    }

    /// Erases the sequential log block of a data block that was merged in full.
    pub(super) fn erase_sequential_of(&mut self, block: u32, ops: &mut Ops) {
        if let Some(Sequential { slot, owner }) = self.sequential
            && owner == block
        {
            self.sequential = None;
            let physical = self.log.release(slot);
            self.erase(physical, ops);
        }
    }
}
