//! Choice of the block that a drive with its map on flash collects next.
//!
//! Static wear levelling (`wear.static_gap`) takes the least worn full block, be it of data or of translation pages, as
//! page mapping does, if there is room to collect it in the worst case. Moving cold data makes translation pages invalid,
//! whose collections wear blocks, too. So that wear levelling does not go on by itself for ever, a block of data is taken
//! ahead or step by step only if the host has written to the unit, or the policy has collected a block of data that had an
//! invalid page, since the last one.

use serde::{Deserialize, Serialize};

use super::{Dftl, Frontier};
use crate::op::Work;

/// Next step of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Next {
    /// There is a victim.
    Victim,
    /// Translation pages have to be updated before there can be one.
    Update,
    /// There is nothing to collect.
    Nothing,
}

impl Dftl {
    /// Translation pages that do not know yet where some of their pages were moved; at least, as some may be there twice.
    pub(super) fn pending(&mut self, unit: u32) -> u64 {
        let map = &self.maps[self.page.map_of(unit)];
        let pending = &mut self.units[unit as usize].pending;
        // Some were written back meanwhile.
        while let Some(page) = pending.front()
            && map.pending[*page as usize] == 0
        {
            pending.pop_front();
        }
        pending.len() as u64
    }

    /// Makes sure that there is a victim: the least worn block, to level wear, or that of [`Dftl::take_by_policy`].
    pub(super) fn take_victim(&mut self, unit: u32, work: Work, gains: bool) -> Next {
        let steps = &self.page.units[unit as usize].steps;
        if steps.victim.is_some() {
            return Next::Victim;
        }
        if work == Work::Refresh {
            return Next::Nothing;
        }
        // As in a collection that is one event: cold data first, if that is due and the last victim was worth it.
        let levels = work == Work::Level || !gains && steps.is_fruitful();
        if levels && self.may_level(unit) && self.take_cold(unit) {
            return Next::Victim;
        }
        if work == Work::Level { Next::Nothing } else { self.take_by_policy(unit, gains) }
    }

    /// True if something has changed since a block of data was the last one to be taken for its wear.
    fn may_level(&self, unit: u32) -> bool {
        self.units[unit as usize].levelled_at != Some(self.page.units[unit as usize].writes)
    }

    /// Takes the least worn full block, if the gap of wear is too large and there is room for what it holds.
    pub(super) fn take_cold(&mut self, unit: u32) -> bool {
        let Some(block) = self.page.choose(unit, Work::Level) else { return false };
        let pending = self.pending(unit);
        if !self.fits(unit, block, pending) {
            return false;
        }
        if !self.holds_map(unit, block) {
            self.units[unit as usize].levelled_at = Some(self.page.units[unit as usize].writes);
        }
        self.claim(unit, block);
        true
    }

    pub(super) fn claim(&mut self, unit: u32, block: u32) {
        let state = &mut self.page.units[unit as usize];
        state.blocks.claim(block);
        state.steps.victim = Some(block);
    }

    /// Takes the policy's victim, or, if there is no room to collect that or nothing is gained by it, the block of
    /// translation pages with the fewest valid ones, if it has an invalid one. (Moving data makes translation pages invalid:
    /// a policy that only ever takes data that is all valid would move it for ever.) `gains`: only a victim with an invalid
    /// page will do.
    pub(super) fn take_by_policy(&mut self, unit: u32, gains: bool) -> Next {
        let pages_per_block = self.rules.pages_per_block;
        let Some(mut block) = self.page.choose(unit, Work::Collect) else { return Next::Nothing };
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
        if !is_full(self, block) && !self.holds_map(unit, block) {
            self.units[unit as usize].levelled_at = None;
        }
        self.claim(unit, block);
        Next::Victim
    }

    /// True if the erased blocks suffice, in the worst case, to collect this block and to make `pending` updates
    /// besides.
    pub(super) fn fits(&self, unit: u32, block: u32, pending: u64) -> bool {
        if self.is_shared() {
            return self.fits_shared(unit, block);
        }
        let state = &self.page.units[unit as usize];
        let valid = u64::from(state.blocks.valid(block));
        let left = |frontier: Frontier| u64::from(self.rules.pages_per_block - frontier.next);
        let map_left = left(self.units[unit as usize].frontier);
        let (data, map) = if self.holds_map(unit, block) {
            (false, pending + valid)
        } else {
            (
                valid > left(self.page.frontier_of_moves(unit)),
                (pending + valid).min(self.rules.translation_pages),
            )
        };
        // Of what is begun, a block at most may be left to write, as the host writes in between.
        let is_one_block = map <= u64::from(self.rules.pages_per_block);
        is_one_block && u64::from(data) + u64::from(map > map_left) <= state.blocks.free()
    }

    /// The full block of translation pages with the fewest valid ones, if it has an invalid one and can be collected.
    pub(super) fn emptiest_map_block(&self, unit: u32) -> Option<u32> {
        let blocks = &self.page.units[unit as usize].blocks;
        let candidates =
            (0..blocks.count() as u32).filter(|block| blocks.is_full(*block) && self.holds_map(unit, *block));
        let block = candidates.min_by_key(|block| blocks.valid(*block))?;
        let pending = self.units[unit as usize].pending.len() as u64;
        (blocks.valid(block) < self.rules.pages_per_block && self.fits(unit, block, pending)).then_some(block)
    }

    /// True if some full block has an invalid page.
    fn can_gain(&self, unit: u32) -> bool {
        if self.page.has_slc() {
            return self.page.some_block_gains(unit);
        }
        let state = &self.page.units[unit as usize];
        let frontiers = [state.host, state.laid.open, state.collected, self.units[unit as usize].frontier];
        let written: u64 = frontiers
            .iter()
            .filter(|frontier| frontier.next < self.rules.pages_per_block)
            .map(|frontier| u64::from(state.blocks.valid(frontier.block)))
            .sum();
        state.valid_pages - written < state.blocks.full_count() * u64::from(self.rules.pages_per_block)
    }

    /// True if a block that was written to holds translation pages.
    pub(super) fn holds_map(&self, unit: u32, block: u32) -> bool {
        let first = u64::from(block) * u64::from(self.rules.pages_per_block);
        self.page.units[unit as usize].owner.get(first) >= self.rules.logical
    }
}
