//! Page mapping collected step by step, where others may get in between: one page is moved at a time, and between two of them the unit
//! may write pages of the host.
//!
//! Relocated pages go to the host's frontier, or to that of collected pages if it is another one. When that is full and no other block is free, they go into the block kept
//! erased; from then on the unit serves nobody before a block is erased in its place ([`PageFtl::must_collect`]).

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{Blocks, Frontier, Ops, PageFtl, Rules, RunError, Step, Unit, Victim};
use crate::op::Work;

/// A collection made step by step.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::ftl) struct Steps {
    /// Left the index of full blocks; has valid pages still, or will be found to have none.
    pub(in crate::ftl) victim: Option<u32>,
    /// Were victims, have nothing left, and wait to be erased.
    pub(in crate::ftl) emptied: VecDeque<u32>,
    /// Pages moved since the last erase, padding included.
    moved: u32,
    /// Page of flash that the last step read to its end, though it only moved a part of what is valid there.
    pub(super) read: Option<u32>,
    /// A victim, and how many words of its valid bits, from the first on, were found to have none.
    searched: (u32, u32),
    /// Erases in a row that gained nothing.
    fruitless: u64,
    /// Victim that is moved because of its bit errors: nothing has to be gained by it.
    refreshed: Option<u32>,
}

impl PageFtl {
    /// True if the unit can't take a page before a block is erased.
    #[inline]
    pub(in crate::ftl) fn must_collect(&self, unit: u32) -> bool {
        let state = &self.units[unit as usize];
        let free = state.blocks.free();
        let full = state.open == 0 && self.rules.is_full(state.host) && self.rules.is_full(state.laid.open);
        let full = full || self.some_group_is_full(unit, false);
        let kept = self.kept(unit);
        if self.slc.is_some() && free >= kept {
            let main_is_full = full && free == kept;
            let waits = !self.slc_takes(unit) && (self.must_fold(unit) || main_is_full);
            return waits || self.must_release(unit).is_some();
        }
        free < kept || (full && free == kept)
    }

    /// Blocks that the unit may still open for the host.
    pub(in crate::ftl) fn spare_blocks(&self, unit: u32) -> u64 {
        let state = &self.units[unit as usize];
        state.blocks.free().saturating_sub(self.kept(unit) + state.beside)
    }

    /// Moves a page of the victim, or erases it when it has none left. A victim to level wear is the least worn block.
    pub(in crate::ftl) fn collect_step(
        &mut self,
        unit: u32,
        work: Work,
        ops: &mut Ops,
    ) -> Result<Option<Step>, RunError> {
        if self.erase_emptied(unit, ops)? {
            return Ok(Some(Step::Erase));
        }
        if work == Work::Collect
            && let Some(step) = self.fold_first(unit, ops)?
        {
            return Ok(Some(step));
        }
        if self.rules.per_page > 1 {
            self.retire_open(unit);
        }
        while !self.take_victim(unit, work, false) {
            if work != Work::Collect || !self.must_make_up(unit) || !self.close_beside(unit) {
                return Ok(None);
            }
        }
        if self.move_page(unit, ops) {
            return Ok(Some(Step::Copy));
        }
        // The victim had nothing valid to begin with.
        Ok(self.erase_emptied(unit, ops)?.then_some(Step::Erase))
    }

    /// Moves a page of what would be collected next.
    pub(in crate::ftl) fn follow_copy(&mut self, unit: u32, ops: &mut Ops) -> bool {
        // Each turn but the last finds a victim without valid pages; there are no more of them than blocks.
        while self.take_victim(unit, Work::Collect, true) {
            if self.move_page(unit, ops) {
                return true;
            }
            if self.units[unit as usize].steps.victim.is_some() {
                return false;
            }
        }
        false
    }

    /// Erases a victim that has nothing left, also one that had nothing to copy before.
    pub(in crate::ftl) fn follow_erase(&mut self, unit: u32, ops: &mut Ops) -> Result<bool, RunError> {
        self.find_empty(unit);
        self.erase_emptied(unit, ops)
    }

    /// Where no victim waits to be erased, the one in progress, or else the next one, does if it has nothing valid.
    pub(in crate::ftl) fn find_empty(&mut self, unit: u32) {
        let steps = &self.units[unit as usize].steps;
        if !steps.emptied.is_empty() {
            return;
        }
        let Some(block) = steps.victim.or_else(|| self.choose(unit, Work::Collect)) else { return };
        let state = &mut self.units[unit as usize];
        if state.blocks.valid(block) == 0 {
            if state.steps.victim.take().is_none() {
                state.blocks.claim(block);
            }
            state.steps.emptied.push_back(block);
        }
    }

    /// Lets go of a victim that still has valid pages: the next step picks the best one then. A FIFO goes on with the same,
    /// and so does a refresh, and a unit whose pages go into the block kept erased: another victim might not fit there.
    pub(in crate::ftl) fn suspend(&mut self, unit: u32) {
        let state = &mut self.units[unit as usize];
        if !matches!(self.rules.victim, Victim::Fifo)
            && state.steps.refreshed.is_none()
            && state.blocks.free() >= self.rules.held_back
            && let Some(block) = state.steps.victim.take()
        {
            state.blocks.fill(block, state.blocks.filled_at(block));
            state.steps.read = None;
            state.steps.search_again();
        }
    }

    /// Makes sure that there is a victim. `gains`: only one with an invalid page will do.
    fn take_victim(&mut self, unit: u32, work: Work, gains: bool) -> bool {
        if self.units[unit as usize].steps.victim.is_some() {
            return true;
        }
        if work == Work::Refresh {
            return false;
        }
        // As in a collection that is one event: cold data first, if that is due and the last victim was worth it.
        let levels = !gains && self.units[unit as usize].steps.is_fruitful() && self.wear_gap_exceeded(unit);
        let work = if levels { Work::Level } else { work };
        let Some(block) = self.choose(unit, work) else { return false };
        let full = self.rules.gains_nothing(self.units[unit as usize].blocks.valid(block));
        if full && work == Work::Collect && (gains || !self.can_gain(unit)) {
            return false;
        }
        let state = &mut self.units[unit as usize];
        state.blocks.claim(block);
        state.steps.victim = Some(block);
        true
    }

    /// Moves the first valid page of the victim; of mapping units, as many as a page of flash takes. Returns false if it has none,
    /// or there is no room for it.
    fn move_page(&mut self, unit: u32, ops: &mut Ops) -> bool {
        let Some(from) = self.page_to_move(unit) else { return false };
        self.place_moved(unit, from);
        if self.rules.per_page > 1 && !self.rules.two_frontiers {
            let padded = self.close_page(unit);
            ops.padded(padded);
        }
        let state = &mut self.units[unit as usize];
        let mut frontier = *state.frontier_of_moves(&self.rules);
        if self.rules.per_page > 1 {
            (frontier, _) = state.pad(&self.rules, frontier);
        }
        if u64::from(frontier.next) == self.rules.pages_per_block.get() {
            // Not the most worn block, even to level wear: pages of the host may go there, too.
            let Some(block) = state.blocks.take_free(self.rules.least_worn_first) else { return false };
            frontier = Frontier { block, next: 0 };
            ops.opened(unit);
            self.opened_block(unit, block, true);
        }
        let (frontier, moved) = self.move_packed(unit, from, frontier, ops);
        *self.units[unit as usize].frontier_of_moves(&self.rules) = frontier;
        ops.of_slc(self.is_slc(unit, from));
        ops.copies(unit, moved);
        ops.of_slc(false);
        true
    }

    /// True if a step can be made ahead: without the block that a collection keeps for itself.
    pub(in crate::ftl) fn can_step_ahead(&self, unit: u32) -> bool {
        let state = &self.units[unit as usize];
        let full = self.rules.is_full(self.frontier_of_moves(unit)) || self.some_group_is_full(unit, true);
        !full || state.blocks.free() > self.kept(unit)
    }

    /// The block that takes pages moved one by one.
    pub(in crate::ftl) fn frontier_of_moves(&self, unit: u32) -> Frontier {
        let state = &self.units[unit as usize];
        if self.rules.two_frontiers { state.collected } else { state.host }
    }

    /// True if a collection was begun and not ended.
    pub(in crate::ftl) fn is_collecting(&self, unit: u32) -> bool {
        let steps = &self.units[unit as usize].steps;
        steps.victim.is_some() || !steps.emptied.is_empty()
    }

    /// True if the next step of a collection moves a page.
    pub(in crate::ftl) fn moves_next(&self, unit: u32) -> bool {
        let steps = &self.units[unit as usize].steps;
        steps.victim.is_some() && steps.emptied.is_empty()
    }

    /// The first valid page of the victim. A victim that has none waits to be erased from now on.
    #[inline]
    pub(in crate::ftl) fn page_to_move(&mut self, unit: u32) -> Option<u32> {
        let words = self.rules.words_per_block;
        let state = &mut self.units[unit as usize];
        let victim = state.steps.victim?;
        let bits = &state.valid_bits[victim as usize * words..(victim as usize + 1) * words];
        let searched = if state.steps.searched.0 == victim { state.steps.searched.1 as usize } else { 0 };
        let Some(word) = (searched..words).find(|word| bits[*word] != 0) else {
            state.steps.victim = None;
            state.steps.emptied.push_back(victim);
            return None;
        };
        state.steps.searched = (victim, word as u32);
        let page = word as u32 * 64 + bits[word].trailing_zeros();
        Some(victim * self.rules.pages_per_block.get() as u32 + page)
    }

    /// Moves page `from` of the victim, of that key, to the next page of a block that is being written, in a collection made step by
    /// step. Returns the page after that.
    #[inline]
    pub(in crate::ftl) fn move_to(
        &mut self,
        unit: u32,
        (from, key): (u32, u32),
        frontier: Frontier,
        ops: &mut Ops,
    ) -> Frontier {
        let after = self.relocate(unit, (from, key), frontier, ops);
        let state = &mut self.units[unit as usize];
        state.steps.moved += 1;
        if let Some(victim) = state.steps.victim
            && state.blocks.valid(victim) == 0
        {
            state.steps.victim = None;
            state.steps.emptied.push_back(victim);
        }
        after
    }

    /// The key of a page that is valid, behind the page: as what moves pages takes it.
    #[inline]
    pub(super) fn with_key(&self, unit: u32, from: u32) -> (u32, u32) {
        (from, self.units[unit as usize].owner.get(from.into()))
    }

    /// Moves valid page `from`, of that key, to the next page of a block that is being written. Returns the page after that.
    #[inline]
    pub(super) fn relocate(
        &mut self,
        unit: u32,
        (from, key): (u32, u32),
        frontier: Frontier,
        ops: &mut Ops,
    ) -> Frontier {
        let after = self.carry(unit, (from, key), frontier, ops);
        if self.groups.is_some() {
            let block = self.rules.pages_per_block.split(from.into()).0;
            self.moved_out(unit, block as u32, key);
        }
        after
    }

    /// As [`PageFtl::relocate`], for no group of relocated pages.
    #[inline]
    pub(in crate::ftl) fn carry(
        &mut self,
        unit: u32,
        (from, key): (u32, u32),
        frontier: Frontier,
        ops: &mut Ops,
    ) -> Frontier {
        let pages_per_block = self.rules.pages_per_block.get() as u32;
        let words = self.rules.words_per_block;
        let map = self.map_of(unit);
        let (victim, page) = self.rules.pages_per_block.split(from.into());
        let state = &mut self.units[unit as usize];
        let Frontier { block, next } = frontier;
        let to = block * pages_per_block + next;
        state.owner.set(to.into(), key);
        self.maps[map].set(key.into(), to);
        state.valid_bits[victim as usize * words + (page >> 6) as usize] &= !(1 << (page & 63));
        state.valid_bits[block as usize * words + (next >> 6) as usize] |= 1 << (next & 63);
        let victim = victim as u32;
        state.blocks.invalidate(victim);
        state.blocks.add_valid(block, 1);
        if next + 1 == pages_per_block {
            state.blocks.fill(block, state.writes);
        }
        ops.moved(from, to);
        Frontier { block, next: next + 1 }
    }

    /// Erases the victim that has had nothing left for longest. Returns whether there was one.
    pub(in crate::ftl) fn erase_emptied(&mut self, unit: u32, ops: &mut Ops) -> Result<bool, RunError> {
        let pages_per_block = self.rules.pages_per_block.get() as u32;
        let state = &mut self.units[unit as usize];
        let most_fruitless = 64 * state.blocks.count();
        let Some(block) = state.steps.emptied.pop_front() else { return Ok(false) };
        state.blocks.erase(block);
        state.steps.read = None;
        state.steps.search_again();
        self.erased_block(unit, block);
        let state = &mut self.units[unit as usize];
        let gained = std::mem::take(&mut state.steps.moved) < pages_per_block;
        if state.steps.refreshed.take_if(|refreshed| *refreshed == block).is_none() {
            state.steps.fruitless = if gained { 0 } else { state.steps.fruitless + 1 };
        }
        if state.steps.fruitless > most_fruitless {
            return Err(self.stuck(unit, self.rules.held_back));
        }
        ops.of_slc(self.leave_slc(unit, block));
        ops.erased(unit, block);
        ops.of_slc(false);
        ops.collected();
        self.retire(unit, ops);
        Ok(true)
    }
}

impl Steps {
    /// Pages before those that were moved may be valid.
    pub(super) fn search_again(&mut self) {
        self.searched = (0, 0);
    }

    /// So many units of the victim were moved, the last one from this word of its valid bits.
    pub(super) fn note_moved(&mut self, units: u32, (victim, word): (u32, u32), blocks: &Blocks) {
        self.moved += units;
        self.searched = (victim, word);
        if blocks.valid(victim) == 0 {
            self.victim = None;
            self.emptied.push_back(victim);
        }
    }

    /// Units of a page of flash that nothing was moved to.
    pub(super) fn add_padding(&mut self, units: u32) {
        self.moved += units;
    }

    /// A block is the victim from now on, because of its bit errors.
    pub(in crate::ftl) fn begin_refresh(&mut self, block: u32) {
        (self.victim, self.refreshed) = (Some(block), Some(block));
    }

    /// True if a block is moved because of its bit errors, or waits to be erased after that.
    pub(in crate::ftl) fn refreshes(&self, block: u32) -> bool {
        self.refreshed == Some(block)
    }

    /// True if the block erased last had an invalid page.
    pub(in crate::ftl) fn is_fruitful(&self) -> bool {
        self.fruitless == 0
    }
}

impl Unit {
    /// The block that takes pages moved one by one.
    pub(in crate::ftl) fn frontier_of_moves(&mut self, rules: &Rules) -> &mut Frontier {
        if rules.two_frontiers { &mut self.collected } else { &mut self.host }
    }
}
