//! Folding: valid pages of a block in SLC mode move to the main block that the host writes to, then it is erased. Pages that
//! were overwritten in the cache need not move.
//!
//! Why there always is room for them. A main block is opened as for a page of the host (`collect.rs`), and what is in the cache
//! is among the valid pages that the main blocks of a unit can hold.

use super::{Ops, PageFtl, RunError, Step};

impl PageFtl {
    /// The block of the cache that was filled first and that no collection has begun with; before all others one kept in SLC mode
    /// that is to be retired.
    pub(in crate::ftl) fn oldest_slc(&self, unit: u32) -> Option<u32> {
        let slc = self.slc.as_ref()?;
        let blocks = &self.units[unit as usize].blocks;
        let mut filled = slc.units[unit as usize].filled.iter().copied();
        let worn = self.worn_and_filled(unit);
        worn.or_else(|| filled.find(|block| slc.keeps(*block) || blocks.is_full(*block)))
    }

    /// Blocks of the cache that could be folded now.
    pub(in crate::ftl) fn foldable(&self, unit: u32) -> u32 {
        self.slc.as_ref().map_or(0, |slc| slc.units[unit as usize].filled.len() as u32)
    }

    /// True if a page of the host waits until a block of the cache is folded.
    pub(in crate::ftl) fn must_fold(&self, unit: u32) -> bool {
        self.must_fold_beside(unit, 0)
    }

    /// As [`PageFtl::must_fold`], after something else took so many erased blocks.
    pub(in crate::ftl) fn must_fold_beside(&self, unit: u32, taken: u64) -> bool {
        let folds = self.slc.as_ref().is_some_and(|slc| slc.rules.folds);
        let folds = folds || self.uses_slc() && self.worn_and_filled(unit).is_some();
        folds && !self.slc_takes_beside(unit, taken) && self.oldest_slc(unit).is_some()
    }

    /// The block of the cache that the next page of the host is written to once it is erased: all in it is stale.
    pub(in crate::ftl) fn must_release(&self, unit: u32) -> Option<u32> {
        let slc = self.slc.as_ref().filter(|_| !self.slc_is_open(unit))?;
        let own = &slc.units[unit as usize];
        own.stale.front().copied().filter(|_| own.erased.is_empty())
    }

    /// A step of a collection that a page of the host waits for, if it is one in the cache: a block without data is erased, or
    /// the oldest one loses a page. Where a main block has to be collected for that page first, none.
    pub(super) fn fold_first(&mut self, unit: u32, ops: &mut Ops) -> Result<Option<Step>, RunError> {
        let state = &self.units[unit as usize];
        if self.slc.is_none() || state.steps.victim.is_some() || state.blocks.free() < self.kept(unit) {
            return Ok(None);
        }
        if let Some(block) = self.must_release(unit) {
            self.release_slc(unit, block, ops);
            return Ok(Some(Step::Fold { erased: true }));
        }
        if self.must_fold(unit) { self.fold(unit, false, ops) } else { Ok(None) }
    }

    /// Empties the block of the cache that was filled first.
    pub(super) fn fold_oldest(&mut self, unit: u32, ops: &mut Ops) -> Result<(), RunError> {
        let Some(block) = self.oldest_slc(unit) else { return Ok(()) };
        self.make_frontier(unit, ops)?;
        while self.is_foldable(unit, block) {
            if self.units[unit as usize].blocks.valid(block) == 0 {
                self.release_slc(unit, block, ops);
                return Ok(());
            }
            self.fold_pages(unit, block, (u32::MAX, true), ops)?;
        }
        Ok(())
    }

    /// Moves a page of the cache, or erases a block of it that has none left. A main block is collected for it if need be.
    pub(in crate::ftl) fn fold_step(&mut self, unit: u32, ops: &mut Ops) -> Result<Option<Step>, RunError> {
        if self.units[unit as usize].blocks.free() < self.rules.held_back {
            return Ok(None);
        }
        self.fold(unit, true, ops)
    }

    /// A step of folding; `None` if there is nothing to fold, or no place for a page without a collection (`collects`).
    fn fold(&mut self, unit: u32, collects: bool, ops: &mut Ops) -> Result<Option<Step>, RunError> {
        let Some(block) = self.oldest_slc(unit) else { return Ok(None) };
        if self.units[unit as usize].blocks.valid(block) == 0 {
            self.release_slc(unit, block, ops);
            return Ok(Some(Step::Fold { erased: true }));
        }
        let folded = self.fold_pages(unit, block, (1, collects), ops)?;
        Ok((folded > 0 || collects).then_some(Step::Fold { erased: false }))
    }

    /// Moves one more page of the block that is folded, in the same step. Returns whether there was one, and a place for it without a
    /// collection.
    pub(in crate::ftl) fn fold_more(&mut self, unit: u32, ops: &mut Ops) -> Result<bool, RunError> {
        let state = &self.units[unit as usize];
        if state.steps.victim.is_some() || state.blocks.free() < self.rules.held_back {
            return Ok(false);
        }
        let Some(block) = self.oldest_slc(unit) else { return Ok(false) };
        Ok(self.fold_pages(unit, block, (1, false), ops)? > 0)
    }

    /// True if the block is a filled one of the cache that no collection has begun with.
    pub(in crate::ftl) fn is_foldable(&self, unit: u32, block: u32) -> bool {
        let Some(slc) = &self.slc else { return false };
        let is_full = || self.units[unit as usize].blocks.is_full(block);
        slc.units[unit as usize].filled.contains(&block) && (slc.keeps(block) || is_full())
    }

    /// A collection that is in the block kept erased ends first: what it moves needs all of that.
    fn make_frontier(&mut self, unit: u32, ops: &mut Ops) -> Result<(), RunError> {
        if self.units[unit as usize].blocks.free() < self.rules.held_back {
            self.complete(unit, ops)?;
        }
        Ok(())
    }

    /// Moves pages of the block, up to so many pages of flash. The collections that this needs may take the block itself; without
    /// them (`collects`) it ends before the first one. Returns the pages of flash.
    fn fold_pages(
        &mut self,
        unit: u32,
        block: u32,
        (most, collects): (u32, bool),
        ops: &mut Ops,
    ) -> Result<u32, RunError> {
        let (mut pages, mut moved) = (0, 0);
        while pages < most
            && self.is_foldable(unit, block)
            && let Some(from) = self.first_valid(unit, block)
        {
            if self.groups.is_some() {
                self.place_folded(unit, from);
            }
            if self.rules.per_page > 1 {
                let padded = self.close_page(unit);
                ops.padded(padded);
                let state = &mut self.units[unit as usize];
                (state.host, _) = state.pad(&self.rules, state.host);
            }
            if self.rules.is_full(self.units[unit as usize].host) {
                moved_from_slc(unit, std::mem::take(&mut moved), ops);
                if !collects && !self.opens_main(unit) {
                    break;
                }
                self.make_room(unit, ops)?;
                continue;
            }
            moved += self.fold_page(unit, block, from, ops);
            pages += 1;
        }
        moved_from_slc(unit, moved, ops);
        Ok(pages)
    }

    /// True if a main block can be opened, or one of old data taken, without a collection.
    fn opens_main(&self, unit: u32) -> bool {
        let state = &self.units[unit as usize];
        let (free, kept) = (state.blocks.free(), self.kept(unit));
        free > kept || free == kept && !self.rules.is_full(state.laid.open)
    }

    /// Moves valid pages of the block, from `from` on, into the next page of flash of the host's open block. Of several
    /// groups, those of the group of the first one. Returns how many.
    fn fold_page(&mut self, unit: u32, block: u32, from: u32, ops: &mut Ops) -> u32 {
        let group = self.host_group_of(unit, from);
        let (mut moved, mut next) = (0, Some(from));
        while let Some(from) = next {
            let frontier = self.units[unit as usize].host;
            self.units[unit as usize].host = self.carry(unit, self.with_key(unit, from), frontier, ops);
            moved += 1;
            next = self.first_valid(unit, block).filter(|_| moved < self.rules.per_page);
            next = next.filter(|from| self.host_group_of(unit, *from) == group);
        }
        if self.rules.per_page > 1 {
            let padded;
            let state = &mut self.units[unit as usize];
            (state.host, padded) = state.pad(&self.rules, state.host);
            ops.padded(padded);
        }
        moved
    }

    /// The group of the host that a page of the cache goes to.
    pub(super) fn host_group_of(&self, unit: u32, from: u32) -> Option<u32> {
        let groups = self.groups.as_ref()?;
        let key = self.units[unit as usize].owner.get(from.into());
        Some(groups.classes.of_host(self.map_of(unit), key, self.handle_in_slc(unit, from)))
    }

    /// The first valid page of a block.
    pub(in crate::ftl) fn first_valid(&self, unit: u32, block: u32) -> Option<u32> {
        let words = self.rules.words_per_block;
        let bits = &self.units[unit as usize].valid_bits[block as usize * words..][..words];
        let (word, bits) = (0..).zip(bits).find(|(_, bits)| **bits != 0)?;
        Some(block * self.rules.pages_per_block.get() as u32 + word * 64 + bits.trailing_zeros())
    }
}

/// Notes that pages were copied out of blocks in SLC mode.
pub(in crate::ftl) fn moved_from_slc(unit: u32, moved: u32, ops: &mut Ops) {
    ops.of_slc(true);
    ops.copies(unit, moved);
    ops.of_slc(false);
}
