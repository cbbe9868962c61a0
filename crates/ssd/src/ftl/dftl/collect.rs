//! Collections of a drive whose map lies on flash.
//!
//! Victims hold data or translation pages, never both. Moved pages go to the frontier of their kind. An entry of a moved
//! data page that is cached is only marked as changed (*lazy copying*); of all others the translation pages are written,
//! each once, when the victim's last page has been moved and before it is erased. Step by step, each of these updates is
//! a step of its own: a read and a program, as a copy is, so that steps of different units stay aligned. A victim that is
//! let go leaves its updates to the next one, as long as a block has room for those of both.
//!
//! Why a collection can always be completed. A victim of data takes at most one new block for its pages and one for its
//! updates, a victim of translation pages one. Between operations a unit has at least two erased blocks more than it may
//! give away ([`Dftl::reserve`]), and as many more as translation pages lack of `map_blocks`: those that hold all of them,
//! and one more. After a victim of data it may have one less; but then translation pages have more than `map_blocks`, so
//! one of their full blocks has an invalid page, and its collection takes at most the one that is left.

use serde::{Deserialize, Serialize};

use super::{Dftl, Frontier, MapWork, RunError};
use crate::gc::victim::VictimView;
use crate::op::{Ops, Step};

/// Next step of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Next {
    /// There is a victim.
    Victim,
    /// Translation pages have to be updated before there can be one.
    Update,
    /// There is nothing to collect.
    Nothing,
}

impl Dftl {
    /// True if the unit can't take a page before a block is erased.
    #[inline]
    pub(in crate::ftl) fn must_collect(&self, unit: u32) -> bool {
        let (free, reserve) = (self.page.free_blocks(unit), self.reserve(unit));
        let data = &self.page.units[unit as usize];
        let data = data.host.next.min(data.laid.next) == self.rules.pages_per_block;
        let state = &self.units[unit as usize];
        // A write may first have to write an entry back.
        let map = state.frontier.next == self.rules.pages_per_block && state.blocks >= self.rules.map_blocks;
        free < reserve + u64::from(data) + u64::from(map)
    }

    /// True if a collection was begun and not ended, or has left updates.
    pub(in crate::ftl) fn is_collecting(&self, unit: u32) -> bool {
        self.page.is_collecting(unit) || !self.units[unit as usize].pending.is_empty()
    }

    /// Blocks that the unit may still open for the host.
    pub(in crate::ftl) fn spare_blocks(&self, unit: u32) -> u64 {
        self.page.free_blocks(unit).saturating_sub(self.reserve(unit))
    }

    /// Makes the next step: erases a victim that is finished, updates a translation page, or moves a page.
    pub(in crate::ftl) fn collect_step(
        &mut self,
        unit: u32,
        ops: &mut Ops,
    ) -> Result<Option<Step>, RunError> {
        // Goes round once more where a victim has nothing valid left, which is only found when a page is to be moved.
        for _ in 0..2 {
            if self.erase_finished(unit, ops)? {
                return Ok(Some(Step::Erase));
            }
            if self.has_updates(unit) {
                self.update(unit, ops)?;
                return Ok(Some(Step::Copy));
            }
            match self.take_victim(unit, false) {
                Next::Victim => {}
                Next::Update => {
                    self.update(unit, ops)?;
                    return Ok(Some(Step::Copy));
                }
                Next::Nothing => return Ok(None),
            }
            if self.move_page(unit, ops) {
                ops.copies(unit, 1);
                return Ok(Some(Step::Copy));
            }
        }
        Err(self.stuck(unit))
    }

    /// Moves a page of what would be collected next, or updates a translation page.
    pub(in crate::ftl) fn follow_copy(&mut self, unit: u32, ops: &mut Ops) -> Result<bool, RunError> {
        // Each turn but the last finds a victim without valid pages; there are no more of them than blocks.
        loop {
            if self.has_updates(unit) {
                self.update(unit, ops)?;
                return Ok(true);
            }
            match self.take_victim(unit, true) {
                Next::Victim => {}
                Next::Update => {
                    self.update(unit, ops)?;
                    return Ok(true);
                }
                Next::Nothing => return Ok(false),
            }
            if self.move_page(unit, ops) {
                ops.copies(unit, 1);
                return Ok(true);
            }
            if self.page.units[unit as usize].steps.victim.is_some() {
                return Ok(false);
            }
        }
    }

    /// Erases a victim that is finished.
    pub(in crate::ftl) fn follow_erase(&mut self, unit: u32, ops: &mut Ops) -> Result<bool, RunError> {
        self.erase_finished(unit, ops)
    }

    /// Lets go of a victim that still has valid pages. What it leaves to update is done with the next one's updates, or
    /// before the next one is taken if there is no room for both.
    pub(in crate::ftl) fn suspend(&mut self, unit: u32) {
        self.page.suspend(unit);
    }

    /// Gives the unit a host frontier with at least one free page, and as many erased blocks as it keeps.
    #[inline]
    pub(super) fn make_room(&mut self, unit: u32, ops: &mut Ops) -> Result<(), RunError> {
        loop {
            let (free, reserve) = (self.page.free_blocks(unit), self.reserve(unit));
            let state = &mut self.page.units[unit as usize];
            if state.host.next < self.rules.pages_per_block && free >= reserve {
                return Ok(());
            }
            if free > reserve
                && let Some(block) = state.blocks.take_free(self.rules.least_worn_first)
            {
                state.host = Frontier { block, next: 0 };
                ops.opened();
                return Ok(());
            }
            if free >= reserve && self.page.take_laid(unit) {
                return Ok(());
            }
            self.collect(unit, ops)?;
        }
    }

    /// Makes sure that a translation page can be written and the unit still keeps as many erased blocks as it has to.
    pub(super) fn make_map_room(&mut self, unit: u32, ops: &mut Ops) -> Result<(), RunError> {
        loop {
            let (free, reserve) = (self.page.free_blocks(unit), self.reserve(unit));
            let state = &self.units[unit as usize];
            let needs_block =
                state.frontier.next == self.rules.pages_per_block && state.blocks >= self.rules.map_blocks;
            if free >= reserve + u64::from(needs_block) {
                return Ok(());
            }
            self.collect(unit, ops)?;
        }
    }

    /// Collects one block, or completes what was begun step by step.
    fn collect(&mut self, unit: u32, ops: &mut Ops) -> Result<(), RunError> {
        let steps = &self.page.units[unit as usize].steps;
        if steps.victim.is_some() || !steps.emptied.is_empty() || self.pending(unit) > 0 {
            loop {
                match self.collect_step(unit, ops)? {
                    Some(Step::Erase) => return Ok(()),
                    Some(_) => {}
                    None => return Err(self.stuck(unit)),
                }
            }
        }
        if self.take_victim(unit, false) != Next::Victim {
            return Err(self.stuck(unit));
        }
        let mut moved = 0;
        while self.move_page(unit, ops) {
            moved += 1;
        }
        ops.copies(unit, moved);
        while self.has_updates(unit) {
            self.update(unit, ops)?;
        }
        if self.erase_finished(unit, ops)? { Ok(()) } else { Err(self.stuck(unit)) }
    }

    /// Translation pages that do not know yet where some of their pages were moved; at least, as some may be there twice.
    fn pending(&mut self, unit: u32) -> u64 {
        let state = &mut self.units[unit as usize];
        // Some were written back meanwhile.
        while let Some(page) = state.pending.front()
            && !state.is_pending[*page as usize]
        {
            state.pending.pop_front();
        }
        state.pending.len() as u64
    }

    /// True if a victim has nothing left and waits for translation pages to be updated.
    fn has_updates(&mut self, unit: u32) -> bool {
        let pending = self.pending(unit);
        let steps = &self.page.units[unit as usize].steps;
        pending > 0 && steps.victim.is_none() && !steps.emptied.is_empty()
    }

    fn update(&mut self, unit: u32, ops: &mut Ops) -> Result<(), RunError> {
        let Some(page) = self.units[unit as usize].pending.pop_front() else { return Ok(()) };
        self.write_page(unit, page, MapWork::Update, ops)
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
        }
        self.page.erase_emptied(unit, ops)
    }

    /// True if a block that was written to holds translation pages.
    fn holds_map(&self, unit: u32, block: u32) -> bool {
        let first = u64::from(block) * u64::from(self.rules.pages_per_block);
        self.page.units[unit as usize].owner.get(first) >= self.rules.logical
    }

    /// Makes sure that there is a victim: the policy's, or, if there is no room to collect that or nothing is gained by it,
    /// the block of translation pages with the fewest valid ones, if it has an invalid one. (Moving data makes translation
    /// pages invalid: a policy that only ever takes data that is all valid would move it for ever.) `gains`: only a victim
    /// with an invalid page will do.
    fn take_victim(&mut self, unit: u32, gains: bool) -> Next {
        let pages_per_block = self.rules.pages_per_block;
        let state = &self.page.units[unit as usize];
        if state.steps.victim.is_some() {
            return Next::Victim;
        }
        let view = VictimView { unit, blocks: &state.blocks, pages_per_block, now: state.writes };
        let Some(mut block) = self.page.rules.victim.pick(&view, &mut self.page.rng) else {
            return Next::Nothing;
        };
        let is_full =
            |ftl: &Self, block| ftl.page.units[unit as usize].blocks.valid(block) == pages_per_block;
        let pending = self.pending(unit);
        let fits = self.fits(unit, block, pending);
        if !fits && pending > 0 {
            return Next::Update;
        }
        if !fits || is_full(self, block) {
            match self.emptiest_map_block(unit) {
                Some(other) => block = other,
                None if !fits => return Next::Nothing,
                None => {}
            }
        }
        if is_full(self, block) && (gains || !self.can_gain(unit)) {
            return if pending > 0 { Next::Update } else { Next::Nothing };
        }
        let state = &mut self.page.units[unit as usize];
        state.blocks.claim(block);
        state.steps.victim = Some(block);
        Next::Victim
    }

    /// True if the erased blocks suffice, in the worst case, to collect this block and to make `pending` updates
    /// besides.
    fn fits(&self, unit: u32, block: u32, pending: u64) -> bool {
        let state = &self.page.units[unit as usize];
        let valid = u64::from(state.blocks.valid(block));
        let left = |frontier: Frontier| u64::from(self.rules.pages_per_block - frontier.next);
        let map_left = left(self.units[unit as usize].frontier);
        let (data, map) = if self.holds_map(unit, block) {
            (false, pending + valid)
        } else {
            (valid > left(state.host), (pending + valid).min(self.rules.translation_pages))
        };
        // Of what is begun, a block at most may be left to write, as the host writes in between.
        let is_one_block = map <= u64::from(self.rules.pages_per_block);
        is_one_block && u64::from(data) + u64::from(map > map_left) <= state.blocks.free()
    }

    /// The full block of translation pages with the fewest valid ones, if it has an invalid one and can be collected.
    fn emptiest_map_block(&self, unit: u32) -> Option<u32> {
        let blocks = &self.page.units[unit as usize].blocks;
        let candidates =
            (0..blocks.count() as u32).filter(|block| blocks.is_full(*block) && self.holds_map(unit, *block));
        let block = candidates.min_by_key(|block| blocks.valid(*block))?;
        let pending = self.units[unit as usize].pending.len() as u64;
        (blocks.valid(block) < self.rules.pages_per_block && self.fits(unit, block, pending)).then_some(block)
    }

    /// True if some full block has an invalid page.
    fn can_gain(&self, unit: u32) -> bool {
        let state = &self.page.units[unit as usize];
        let frontiers = [state.host, state.laid, self.units[unit as usize].frontier];
        let written: u64 = frontiers
            .iter()
            .filter(|frontier| frontier.next < self.rules.pages_per_block)
            .map(|frontier| u64::from(state.blocks.valid(frontier.block)))
            .sum();
        state.valid_pages - written < state.blocks.full_count() * u64::from(self.rules.pages_per_block)
    }

    /// Moves the first valid page of the victim. Returns false if it has none, or there is no room for it.
    fn move_page(&mut self, unit: u32, ops: &mut Ops) -> bool {
        let Some(from) = self.page.page_to_move(unit) else { return false };
        let rules = self.rules;
        let data = &mut self.page.units[unit as usize];
        let state = &mut self.units[unit as usize];
        let key = data.owner.get(from.into());
        let is_map = key >= rules.logical;
        let frontier = if is_map { &mut state.frontier } else { &mut data.host };
        if frontier.next == rules.pages_per_block {
            let Some(block) = data.blocks.take_free(rules.least_worn_first) else { return false };
            *frontier = Frontier { block, next: 0 };
            state.blocks += u64::from(is_map);
            ops.opened();
        }
        let frontier = *frontier;
        let next = self.page.move_to(unit, from, frontier, ops);
        if is_map {
            state.frontier = next;
            ops.moved_map();
            return true;
        }
        self.page.units[unit as usize].host = next;
        if !state.cache.change(key) {
            let page = rules.entries.split(key.into()).0;
            if !std::mem::replace(&mut state.is_pending[page as usize], true) {
                state.pending.push_back(page as u32);
            }
        }
        true
    }
}
