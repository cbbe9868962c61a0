//! The SLC cache of a drive whose map lies on flash.
//!
//! Pages of the host go to the cache as with a map in RAM (`page/slc.rs`); translation pages never do. Folding changes entries as a
//! collection does: a cached one is only marked as changed; of all others the translation pages are written, each once, before
//! the block is erased.
//!
//! Why there always is room. A page is folded to where the host could write one, and its translation page is written where an entry
//! could be written back: both leave the blocks erased that a collection needs. Updates that a fold has not made yet are those of a
//! victim that was let go: a collection in between makes them with its own.

use super::{Dftl, Ops, RunError};
use crate::ftl::page::fold::moved_from_slc;
use crate::op::Step;

impl Dftl {
    /// Makes sure that a page of the host can be written: to the cache, after folding if need be, or past it.
    #[inline]
    pub(super) fn make_place(&mut self, unit: u32, ops: &mut Ops) -> Result<(), RunError> {
        if self.page.uses_slc() { self.make_cached_place(unit, ops) } else { self.make_room(unit, ops) }
    }

    #[cold]
    fn make_cached_place(&mut self, unit: u32, ops: &mut Ops) -> Result<(), RunError> {
        loop {
            self.restore_reserve(unit, ops)?;
            while !self.page.slc_is_open(unit) && self.page.must_fold(unit) {
                self.fold_oldest(unit, ops)?;
            }
            if let Some(block) = self.page.must_release(unit) {
                // Pages may have been folded out of it before the host wrote the others anew.
                self.update_all(unit, block, ops)?;
            }
            if self.free(unit) < self.reserve(unit) {
                continue;
            }
            if self.page.slc_takes(unit) {
                return Ok(());
            }
            self.make_room(unit, ops)?;
            if !self.page.must_fold(unit) {
                return Ok(());
            }
        }
    }

    /// Erases blocks until the unit has those that it keeps erased.
    fn restore_reserve(&mut self, unit: u32, ops: &mut Ops) -> Result<(), RunError> {
        let mut levels = true;
        while self.free(unit) < self.reserve(unit) {
            levels &= self.collect(unit, levels, false, ops)?;
        }
        Ok(())
    }

    /// True if the unit can't take a page before a block is erased, or folded.
    pub(super) fn must_empty(&self, unit: u32) -> bool {
        let of_map = self.needs_map_block(unit).into();
        let past = !self.page.slc_takes_beside(unit, of_map);
        let folds = self.page.must_fold_beside(unit, of_map);
        self.is_short(unit, past) || folds || self.page.must_release(unit).is_some()
    }

    /// Empties the block of the cache that was filled first.
    fn fold_oldest(&mut self, unit: u32, ops: &mut Ops) -> Result<(), RunError> {
        let Some(block) = self.page.oldest_slc(unit) else { return Ok(()) };
        while self.page.is_foldable(unit, block) && self.page.first_valid(unit, block).is_some() {
            self.make_room(unit, ops)?;
            self.fold_pages(unit, block, u32::MAX, ops);
        }
        self.update_all(unit, block, ops)?;
        // A collection may have taken it.
        if self.page.is_foldable(unit, block) {
            self.page.release_slc(unit, block, ops);
        }
        Ok(())
    }

    /// Moves up to so many valid pages of the block to the open block of the host, as many as that takes. Returns how many.
    fn fold_pages(&mut self, unit: u32, block: u32, most: u32, ops: &mut Ops) -> u32 {
        let mut moved = 0;
        while moved < most
            && self.page.is_foldable(unit, block)
            && self.page.units[unit as usize].host.next < self.rules.pages_per_block
            && let Some(from) = self.page.first_valid(unit, block)
        {
            let state = &self.page.units[unit as usize];
            let (key, frontier) = (state.owner.get(from.into()), state.host);
            self.page.units[unit as usize].host = self.page.carry(unit, (from, key), frontier, ops);
            self.note_moved(unit, key);
            moved += 1;
        }
        moved_from_slc(unit, moved, ops);
        moved
    }

    /// Writes all translation pages that wait for it, before the block is erased.
    fn update_all(&mut self, unit: u32, block: u32, ops: &mut Ops) -> Result<(), RunError> {
        while self.pending(unit) > 0 {
            self.update_folded(unit, block, ops)?;
        }
        Ok(())
    }

    /// Writes a translation page that waits for it. A collection that makes room for it may write it, too.
    fn update_folded(&mut self, unit: u32, block: u32, ops: &mut Ops) -> Result<(), RunError> {
        if !self.is_shared() {
            self.make_map_room(unit, ops)?;
        }
        if self.pending(unit) > 0 { self.update(unit, Some(block), ops) } else { Ok(()) }
    }

    /// A step that a page of the host waits for, if it is one in the cache: a page is folded, a translation page written for such
    /// pages, or a block without data erased. Where a main block has to be collected first, none.
    pub(super) fn fold_first(&mut self, unit: u32, ops: &mut Ops) -> Result<Option<Step>, RunError> {
        if !self.page.has_slc() || self.free(unit) < self.reserve(unit) {
            return Ok(None);
        }
        if let Some(block) = self.page.must_release(unit) {
            return self.finish_fold(unit, block, false, ops);
        }
        // The write may have to write an entry back before.
        let of_map = self.needs_map_block(unit).into();
        if self.page.must_fold_beside(unit, of_map) { self.fold(unit, false, ops) } else { Ok(None) }
    }

    /// Moves a page of the cache, writes a translation page for such pages, or erases a block of it that has none left. A main
    /// block is collected for it if need be.
    pub(in crate::ftl) fn fold_step(&mut self, unit: u32, ops: &mut Ops) -> Result<Option<Step>, RunError> {
        if self.free(unit) < self.reserve(unit) {
            return Ok(None);
        }
        self.fold(unit, true, ops)
    }

    /// A step of folding; `None` if there is nothing to fold, or no place without a collection (`collects`).
    fn fold(&mut self, unit: u32, collects: bool, ops: &mut Ops) -> Result<Option<Step>, RunError> {
        let Some(block) = self.page.oldest_slc(unit) else { return Ok(None) };
        if self.page.first_valid(unit, block).is_none() {
            return self.finish_fold(unit, block, collects, ops);
        }
        if !collects && !self.takes_page(unit) {
            return Ok(None);
        }
        self.make_room(unit, ops)?;
        self.fold_pages(unit, block, 1, ops);
        Ok(Some(Step::Fold { erased: false }))
    }

    /// A step after the last page of a block was folded.
    fn finish_fold(
        &mut self,
        unit: u32,
        block: u32,
        collects: bool,
        ops: &mut Ops,
    ) -> Result<Option<Step>, RunError> {
        if self.pending(unit) == 0 {
            self.page.release_slc(unit, block, ops);
            return Ok(Some(Step::Fold { erased: true }));
        }
        if !collects && self.is_short(unit, false) {
            return Ok(None);
        }
        self.update_folded(unit, block, ops)?;
        Ok(Some(Step::Fold { erased: false }))
    }

    /// Moves one more page of the block that is folded, in the same step. Returns whether there was one, and a place for it without a
    /// collection.
    pub(in crate::ftl) fn fold_more(&mut self, unit: u32, ops: &mut Ops) -> Result<bool, RunError> {
        let is_free = self.page.units[unit as usize].steps.victim.is_none() && self.takes_page(unit);
        let Some(block) = self.page.oldest_slc(unit).filter(|_| is_free) else { return Ok(false) };
        if self.page.first_valid(unit, block).is_none() {
            return Ok(false);
        }
        self.make_room(unit, ops)?;
        Ok(self.fold_pages(unit, block, 1, ops) > 0)
    }

    /// True if a main block takes a page, or one can be opened, without a collection.
    fn takes_page(&self, unit: u32) -> bool {
        let (free, reserve) = (self.free(unit), self.reserve(unit));
        let state = &self.page.units[unit as usize];
        let has_page = state.host.next.min(state.laid.open.next) < self.rules.pages_per_block;
        free > reserve || free == reserve && has_page
    }
}
