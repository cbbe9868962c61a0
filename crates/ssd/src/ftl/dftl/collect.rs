//! Collections of a drive whose map lies on flash.
//!
//! Victims hold data or translation pages, never both (`victim.rs` chooses them). Relocated pages go to the frontier of their
//! kind; with two frontiers for data, to that of collected data. An entry of a moved
//! data page that is cached is only marked as changed (*lazy copying*); of all others the translation pages are written,
//! each once, when the victim's last page has been moved and before it is erased. Step by step, each of these updates is
//! a step of its own: a read and a program, as a copy is, so that steps of different units stay aligned. A victim that is
//! let go leaves its updates to the next one, as long as a block has room for those of both.
//!
//! Why a collection can always be completed. A victim of data takes at most one new block for its pages and one for its
//! updates, a victim of translation pages one. Between operations a unit has at least two erased blocks more than it may
//! give away ([`Dftl::reserve`]), and as many more as translation pages lack of `map_blocks`: those that hold all of them,
//! and one more. After a victim of data it may have one less; but then translation pages have more than `map_blocks`, so
//! one of their full blocks has an invalid page, and its collection takes at most the one that is left. Where units share a
//! map, `shared.rs` has the rest.

use super::victim::Next;
use super::{Dftl, Frontier, MapWork, RunError, SOON};
use crate::alloc::Home;
use crate::op::{Ops, Step, Work};

impl Dftl {
    /// True if the unit can't take a page before a block is erased.
    #[inline]
    pub(in crate::ftl) fn must_collect(&self, unit: u32) -> bool {
        if self.page.has_slc() { self.must_empty(unit) } else { self.is_short(unit, true) }
    }

    /// True if a block has to be erased before a page is written past the SLC cache, or into it (`past`).
    #[inline]
    pub(super) fn is_short(&self, unit: u32, past: bool) -> bool {
        let (free, reserve) = (self.free(unit), self.reserve(unit));
        let data = &self.page.units[unit as usize];
        let data = past && data.host.next.min(data.laid.open.next) == self.rules.pages_per_block;
        // A write may first have to write an entry back.
        free < reserve + u64::from(data) + u64::from(self.needs_map_block(unit))
    }

    /// True if the next translation page takes a block beyond those that translation pages can always have.
    pub(super) fn needs_map_block(&self, unit: u32) -> bool {
        let state = &self.units[unit as usize];
        state.frontier.next == self.rules.pages_per_block && state.blocks >= self.rules.map_blocks
    }

    /// True if a step can be made ahead: without the blocks that a collection keeps for itself.
    pub(in crate::ftl) fn can_step_ahead(&self, unit: u32) -> bool {
        let takes = self.page.frontier_of_moves(unit).next < self.rules.pages_per_block;
        let opens = self.free(unit) > self.reserve(unit);
        // The block of the host, where it is that of relocated pages, too, has room then or may be opened.
        !self.is_short(unit, true) && (takes || opens || !self.page.rules.two_frontiers)
    }

    /// True if a collection was begun and not ended, or has left updates.
    pub(in crate::ftl) fn is_collecting(&self, unit: u32) -> bool {
        self.page.is_collecting(unit) || !self.units[unit as usize].pending.is_empty()
    }

    /// The page that the next write of a page of the host takes, if no collection comes before it.
    pub(in crate::ftl) fn next_page(&self, home: Home, handle: u8) -> Option<u32> {
        self.page.next_page(home, handle)
    }

    /// The page that a block begins with that the host opens next.
    pub(in crate::ftl) fn page_opened_next(&self, unit: u32) -> u32 {
        self.page.page_opened_next(unit, self.reserve(unit))
    }

    /// True if the next step of a collection moves a page, or updates a translation page for those that were moved.
    pub(in crate::ftl) fn moves_next(&self, unit: u32) -> bool {
        let steps = &self.page.units[unit as usize].steps;
        if steps.victim.is_some() {
            return steps.emptied.is_empty();
        }
        let (state, map) = (&self.units[unit as usize], self.map(unit));
        steps.emptied.len() == 1 && state.pending.iter().any(|page| map.pending[*page as usize] > 0)
    }

    /// Blocks that the unit may still open for the host.
    pub(in crate::ftl) fn spare_blocks(&self, unit: u32) -> u64 {
        self.free(unit).saturating_sub(self.reserve(unit))
    }

    /// Makes the next step: erases a victim that is finished, updates a translation page, or moves a page; or folds a block of the SLC
    /// cache that a page of the host waits for. A victim to level wear is the least worn block.
    pub(in crate::ftl) fn collect_step(
        &mut self,
        unit: u32,
        work: Work,
        ops: &mut Ops,
    ) -> Result<Option<Step>, RunError> {
        if work == Work::Collect
            && !self.page.is_collecting(unit)
            && let Some(step) = self.fold_first(unit, ops)?
        {
            return Ok(Some(step));
        }
        self.main_step(unit, work, ops)
    }

    /// As [`Dftl::collect_step`], without folding.
    fn main_step(&mut self, unit: u32, work: Work, ops: &mut Ops) -> Result<Option<Step>, RunError> {
        // Goes round once more where a victim has nothing valid left, which is only found when a page is to be moved, and where the
        // open block of the SLC cache, or that of old data, has to become one that may be collected.
        for _ in 0..4 {
            if self.erase_finished(unit, ops)? {
                return Ok(Some(Step::Erase));
            }
            if self.has_updates(unit) {
                self.update(unit, self.last_emptied(unit), ops)?;
                return Ok(Some(Step::Copy));
            }
            match self.take_victim(unit, work, false) {
                Next::Victim => {}
                Next::Update => {
                    self.update(unit, self.last_emptied(unit), ops)?;
                    return Ok(Some(Step::Copy));
                }
                Next::Nothing if work == Work::Collect && self.page.retire_slc(unit) => continue,
                Next::Nothing
                    if work == Work::Collect && self.must_make_up(unit) && self.page.close_beside(unit) =>
                {
                    continue;
                }
                Next::Nothing => return Ok(None),
            }
            if self.move_one(unit, ops) {
                return Ok(Some(Step::Copy));
            }
        }
        Err(self.stuck(unit))
    }

    /// Moves a page of the victim, as one operation. Returns false if it has none, or there is no room for it.
    #[inline]
    fn move_one(&mut self, unit: u32, ops: &mut Ops) -> bool {
        let in_slc = self.victim_is_slc(unit);
        let moved = self.move_page(unit, false, ops);
        ops.of_slc(in_slc);
        ops.copies(unit, moved.into());
        ops.of_slc(false);
        moved
    }

    /// True if the victim of the unit's collection is in SLC mode.
    fn victim_is_slc(&self, unit: u32) -> bool {
        let victim = self.page.units[unit as usize].steps.victim;
        victim.is_some_and(|victim| self.page.is_slc_block(unit, victim))
    }

    /// Writes one of the entries back that have to make room soon. `None`: they have not changed.
    pub(in crate::ftl) fn write_back_step(
        &mut self,
        unit: u32,
        ops: &mut Ops,
    ) -> Result<Option<Step>, RunError> {
        // Of a shared map a unit writes the translation pages back that lie on it.
        let among = SOON * self.order.len().max(1);
        let is_own = |key| self.unit_of(self.page_of(key), unit) == unit;
        let Some(key) = self.map(unit).cache.oldest_dirty(among, is_own) else { return Ok(None) };
        self.write_back(unit, key, ops)?;
        Ok(Some(Step::Copy))
    }

    /// Moves a page of what would be collected next, or updates a translation page.
    pub(in crate::ftl) fn follow_copy(&mut self, unit: u32, ops: &mut Ops) -> Result<bool, RunError> {
        // Each turn but the last finds a victim without valid pages; there are no more of them than blocks.
        loop {
            if self.has_updates(unit) {
                self.update(unit, self.last_emptied(unit), ops)?;
                return Ok(true);
            }
            match self.take_victim(unit, Work::Collect, true) {
                Next::Victim => {}
                Next::Update => {
                    self.update(unit, self.last_emptied(unit), ops)?;
                    return Ok(true);
                }
                Next::Nothing => return Ok(false),
            }
            if self.move_one(unit, ops) {
                return Ok(true);
            }
            if self.page.units[unit as usize].steps.victim.is_some() {
                return Ok(false);
            }
        }
    }

    /// Erases a victim that is finished.
    pub(in crate::ftl) fn follow_erase(&mut self, unit: u32, ops: &mut Ops) -> Result<bool, RunError> {
        self.page.find_empty(unit);
        self.erase_finished(unit, ops)
    }

    /// Lets go of a victim that still has valid pages. What it leaves to update is done with the next one's updates, or
    /// before the next one is taken if there is no room for both.
    pub(in crate::ftl) fn suspend(&mut self, unit: u32) {
        if !self.is_shared() || self.can_let_go(unit) {
            self.page.suspend(unit);
        }
    }

    /// Gives the unit a host frontier with at least one free page, and as many erased blocks as it keeps.
    #[inline]
    pub(super) fn make_room(&mut self, unit: u32, ops: &mut Ops) -> Result<(), RunError> {
        let mut levels = true;
        loop {
            let (free, reserve) = (self.free(unit), self.reserve(unit));
            let state = &mut self.page.units[unit as usize];
            if state.host.next < self.rules.pages_per_block && free >= reserve {
                return Ok(());
            }
            if free > reserve
                && let Some(block) = state.blocks.take_free(self.rules.least_worn_first)
            {
                state.host = Frontier { block, next: 0 };
                ops.opened(unit);
                return Ok(());
            }
            if free >= reserve && self.page.take_laid(unit, ops) {
                return Ok(());
            }
            levels &= self.collect(unit, levels, true, ops)?;
        }
    }

    /// Makes sure that a translation page can be written and the unit still keeps as many erased blocks as it has to.
    pub(super) fn make_map_room(&mut self, unit: u32, ops: &mut Ops) -> Result<(), RunError> {
        if self.is_shared() {
            return self.make_shared_room(unit, ops);
        }
        let mut levels = true;
        loop {
            let (free, reserve) = (self.free(unit), self.reserve(unit));
            if free >= reserve + u64::from(self.needs_map_block(unit)) {
                return Ok(());
            }
            levels &= self.collect(unit, levels, false, ops)?;
        }
    }

    /// Collects one block, or completes what was begun step by step. `levels`: the least worn block goes first where the gap
    /// of wear is too large. `for_host`: the host writes a page next. Returns false if all of the victim was valid.
    pub(super) fn collect(
        &mut self,
        unit: u32,
        levels: bool,
        for_host: bool,
        ops: &mut Ops,
    ) -> Result<bool, RunError> {
        let steps = &self.page.units[unit as usize].steps;
        if steps.victim.is_some() || !steps.emptied.is_empty() || self.pending(unit) > 0 {
            loop {
                match self.main_step(unit, Work::Collect, ops)? {
                    Some(Step::Erase) => return Ok(true),
                    Some(_) => {}
                    None => return Err(self.stuck(unit)),
                }
            }
        }
        let levels = levels && self.take_cold(unit);
        if !levels && self.take_by_policy(unit, false) != Next::Victim {
            return if self.page.close_beside(unit) { Ok(true) } else { Err(self.stuck(unit)) };
        }
        if levels && for_host {
            self.open_for_cold(unit, ops);
        }
        let (mut moved, in_slc) = (0, self.victim_is_slc(unit));
        while self.move_page(unit, levels, ops) {
            moved += 1;
        }
        ops.of_slc(in_slc);
        ops.copies(unit, moved);
        ops.of_slc(false);
        while self.has_updates(unit) {
            self.update(unit, self.last_emptied(unit), ops)?;
        }
        if self.erase_finished(unit, ops)? {
            Ok(moved < self.rules.pages_per_block)
        } else {
            Err(self.stuck(unit))
        }
    }

    /// With one frontier for data, the host goes on in the block where cold data rests, even if none of it is left.
    fn open_for_cold(&mut self, unit: u32, ops: &mut Ops) {
        let is_data =
            self.page.units[unit as usize].steps.victim.is_some_and(|block| !self.holds_map(unit, block));
        let data = &mut self.page.units[unit as usize];
        if is_data
            && !self.page.rules.two_frontiers
            && data.host.next == self.rules.pages_per_block
            && let Some(block) = data.blocks.take_most_worn()
        {
            data.host = Frontier { block, next: 0 };
            ops.opened(unit);
        }
    }

    /// True if a victim has nothing left and waits for translation pages to be updated.
    fn has_updates(&mut self, unit: u32) -> bool {
        let pending = self.pending(unit);
        let steps = &self.page.units[unit as usize].steps;
        pending > 0 && steps.victim.is_none() && !steps.emptied.is_empty()
    }

    /// The victim of the unit that was emptied last and is not erased.
    fn last_emptied(&self, unit: u32) -> Option<u32> {
        self.page.units[unit as usize].steps.emptied.back().copied()
    }

    /// Updates a translation page for relocated pages, those of block `last` among them, which is erased after it.
    pub(super) fn update(&mut self, unit: u32, last: Option<u32>, ops: &mut Ops) -> Result<(), RunError> {
        let Some(page) = self.units[unit as usize].pending.pop_front() else { return Ok(()) };
        let at = self.unit_of(page, unit);
        if self.is_shared() {
            self.make_map_room(at, ops)?;
        }
        let clears = last.filter(|_| at != unit).map(|block| (unit, block));
        self.write_page(at, page, (MapWork::Update, clears), ops)
    }

    /// Erases the victim finished longest ago. The one emptied last is not, as long as there are updates to make.
    fn erase_finished(&mut self, unit: u32, ops: &mut Ops) -> Result<bool, RunError> {
        let unfinished = usize::from(self.has_updates(unit));
        let emptied = &self.page.units[unit as usize].steps.emptied;
        let Some(block) = emptied.front().copied().filter(|_| emptied.len() > unfinished) else {
            return Ok(false);
        };
        if self.holds_map(unit, block) {
            self.units[unit as usize].blocks -= 1;
            self.hold_back(unit);
        }
        self.page.erase_emptied(unit, ops)
    }

    /// Moves the first valid page of the victim. Returns false if it has none, or there is no room for it. `worn`: data goes
    /// to the most worn erased block, if one has to be opened, because it rests there.
    #[inline]
    pub(super) fn move_page(&mut self, unit: u32, worn: bool, ops: &mut Ops) -> bool {
        let Some(from) = self.page.page_to_move(unit) else { return false };
        let rules = self.rules;
        let page_rules = &self.page.rules;
        let data = &mut self.page.units[unit as usize];
        let state = &mut self.units[unit as usize];
        let key = data.owner.get(from.into());
        let is_map = key >= rules.logical;
        let mut frontier = if is_map { state.frontier } else { *data.frontier_of_moves(page_rules) };
        if frontier.next == rules.pages_per_block {
            let block = if worn && !is_map {
                data.blocks.take_most_worn()
            } else {
                data.blocks.take_free(rules.least_worn_first)
            };
            let Some(block) = block else { return false };
            frontier = Frontier { block, next: 0 };
            state.blocks += u64::from(is_map);
            ops.opened(unit);
        }
        let next = self.page.move_to(unit, (from, key), frontier, ops);
        if is_map {
            self.units[unit as usize].frontier = next;
            self.hold_back(unit);
            ops.moved_map();
            return true;
        }
        *self.page.units[unit as usize].frontier_of_moves(&self.page.rules) = next;
        self.note_moved(unit, key);
        true
    }

    /// The page of a key was moved within the unit: its entry is changed if it is cached, else its translation page waits to be
    /// written.
    #[inline]
    pub(super) fn note_moved(&mut self, unit: u32, key: u32) {
        let page = self.page_of(key);
        let map = self.map_mut(unit);
        // Of a shared map another unit may have listed it as well: neither victim goes before it is written.
        if !map.cache.change(key) && std::mem::replace(&mut map.pending[page as usize], unit + 1) != unit + 1
        {
            self.units[unit as usize].pending.push_back(page);
        }
    }
}
