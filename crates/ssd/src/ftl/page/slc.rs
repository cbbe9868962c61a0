//! Blocks in SLC mode. The host writes to an open block of the cache as long as that has an erased page or another block can be
//! opened; else to the blocks of multi-bit cells, the *main* ones.
//!
//! Blocks *kept* in SLC mode are the first ones of a unit: no collection takes them and none gets them. Any other block in SLC
//! mode is a full block with few valid pages to a collection, which turns it into a main one by erasing it; its pages behind
//! [`Slc::pages`] do not exist. `fold.rs` empties blocks of both kinds.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{Frontier, NO_BLOCK, Ops, PageFtl, RunError};
use crate::cow::CowVec;
use crate::geometry::Geometry;
use crate::slc::{SlcRules, SlcState};

/// Blocks of a unit in SLC mode.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct OfUnit {
    /// By block.
    #[serde(with = "crate::raw")]
    pub(super) mode: Vec<bool>,
    /// Blocks that take no page before they are erased, in the order in which they were filled.
    pub(super) filled: VecDeque<u32>,
    /// Blocks kept in SLC mode that are erased, and those in which all is stale.
    pub(super) erased: VecDeque<u32>,
    pub(super) stale: VecDeque<u32>,
    /// Blocks kept in SLC mode that are to be retired: written since their last erase, and erased.
    pub(super) worn: Vec<u32>,
    pub(super) leaving: Vec<u32>,
    /// Blocks in SLC mode that are not kept in it.
    dynamic: u32,
    /// The open block.
    frontier: Frontier,
    /// Mapping units that its open page still takes.
    open: u32,
    /// True if the last page of the host went to the cache.
    is_last: bool,
}

/// The SLC cache of all units.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Slc {
    pub(super) rules: SlcRules,
    /// Pages of a block in SLC mode.
    pages: u32,
    pub(super) units: Vec<OfUnit>,
    /// Placement handles of the pages in the cache, by unit, where a classifier divides pages of the host.
    handles: Vec<CowVec>,
    /// True while the drive is preconditioned: what is written then has been folded.
    is_bypassed: bool,
}

impl Slc {
    pub(super) fn new(rules: SlcRules, geometry: &Geometry, classifies: bool) -> Self {
        let pages = geometry.slc_pages_per_block(rules.bits);
        let unit = |unit: u32| {
            let mut mode = vec![false; geometry.unit_blocks(unit) as usize];
            mode.iter_mut().take(rules.kept as usize).for_each(|mode| *mode = true);
            OfUnit {
                mode,
                filled: VecDeque::new(),
                erased: (0..rules.kept).collect(),
                stale: VecDeque::new(),
                worn: Vec::new(),
                leaving: Vec::new(),
                dynamic: 0,
                frontier: Frontier { block: NO_BLOCK, next: pages },
                open: 0,
                is_last: false,
            }
        };
        let handles = |unit| CowVec::new(geometry.unit_blocks(unit) * u64::from(geometry.pages_per_block));
        Self {
            rules,
            pages,
            units: (0..geometry.units()).map(unit).collect(),
            handles: if classifies { (0..geometry.units()).map(handles).collect() } else { Vec::new() },
            is_bypassed: false,
        }
    }

    /// True if the block is kept in SLC mode.
    pub(super) fn keeps(&self, block: u32) -> bool {
        block < self.rules.kept
    }

    pub(super) fn snapshot(&mut self) -> Self {
        let handles = self.handles.iter_mut().map(CowVec::snapshot).collect();
        Self { units: self.units.clone(), handles, ..*self }
    }
}

impl PageFtl {
    /// Erased blocks that are kept in SLC mode.
    pub(super) fn erased_in_slc(&self, unit: u32) -> u64 {
        let erased = |own: &OfUnit| own.erased.len() + own.leaving.len();
        self.slc.as_ref().map_or(0, |slc| erased(&slc.units[unit as usize]) as u64)
    }

    /// True if pages of the host may go to the cache: there is one, and this is not preconditioning.
    pub(in crate::ftl) fn uses_slc(&self) -> bool {
        self.slc.as_ref().is_some_and(|slc| !slc.is_bypassed)
    }

    /// True if there is a cache.
    pub(in crate::ftl) fn has_slc(&self) -> bool {
        self.slc.is_some()
    }

    /// Blocks of a unit that are kept in SLC mode.
    pub(in crate::ftl) fn kept_in_slc(&self) -> u64 {
        self.slc.as_ref().map_or(0, |slc| slc.rules.kept.into())
    }

    /// True if the block is in SLC mode.
    #[inline]
    pub(in crate::ftl) fn is_slc_block(&self, unit: u32, block: u32) -> bool {
        self.slc.as_ref().is_some_and(|slc| slc.units[unit as usize].mode[block as usize])
    }

    /// True if the physical page is in a block in SLC mode.
    #[inline]
    pub(in crate::ftl) fn is_slc(&self, unit: u32, ppn: u32) -> bool {
        self.slc.is_some() && self.is_slc_block(unit, self.rules.pages_per_block.split(ppn.into()).0 as u32)
    }

    /// Writes in no time go past the cache while this is set.
    pub(in crate::ftl) fn bypass_slc(&mut self, bypassed: bool) {
        if let Some(slc) = &mut self.slc {
            slc.is_bypassed = bypassed;
        }
    }

    /// The next page of the cache for a page of the host, if the cache takes it.
    pub(super) fn slc_page(
        &mut self,
        unit: u32,
        handle: u8,
        ops: &mut Ops,
    ) -> Result<Option<Frontier>, RunError> {
        let takes = self.slc.as_ref().is_some_and(|slc| !slc.is_bypassed);
        if takes && !self.slc_is_open(unit) {
            while self.must_fold(unit) {
                self.fold_oldest(unit, ops)?;
            }
            self.open_slc(unit, ops);
        }
        let is_open = takes && self.slc_is_open(unit);
        let (per_page, per_block) = (self.rules.per_page, self.rules.pages_per_block.get());
        let Some(slc) = &mut self.slc else { return Ok(None) };
        let own = &mut slc.units[unit as usize];
        own.is_last = is_open;
        if !is_open {
            return Ok(None);
        }
        if own.open == 0 {
            own.open = per_page;
        }
        own.open -= 1;
        let at = own.frontier;
        own.frontier.next += 1;
        if let Some(handles) = slc.handles.get_mut(unit as usize) {
            handles.set(u64::from(at.block) * per_block + u64::from(at.next), handle.into());
        }
        Ok(Some(at))
    }

    /// True if the open block of the cache takes one more page.
    pub(in crate::ftl) fn slc_is_open(&self, unit: u32) -> bool {
        let Some(slc) = &self.slc else { return false };
        let own = &slc.units[unit as usize];
        own.open > 0 || own.frontier.next < slc.pages
    }

    /// True if the next page of the host goes to the cache, after folding if need be.
    pub(super) fn caches(&self, unit: u32) -> bool {
        self.uses_slc() && (self.slc_takes(unit) || self.must_fold(unit))
    }

    /// The next page of the open block of the cache, if that takes one more.
    pub(super) fn next_slc_page(&self, unit: u32) -> Option<u32> {
        let slc = self.slc.as_ref().filter(|_| self.slc_is_open(unit))?;
        let Frontier { block, next } = slc.units[unit as usize].frontier;
        Some(block * self.rules.pages_per_block.get() as u32 + next)
    }

    /// True if the cache takes a page of the host without folding.
    pub(in crate::ftl) fn slc_takes(&self, unit: u32) -> bool {
        self.slc_takes_beside(unit, 0)
    }

    /// As [`PageFtl::slc_takes`], after something else took so many erased blocks.
    pub(in crate::ftl) fn slc_takes_beside(&self, unit: u32, taken: u64) -> bool {
        let Some(slc) = self.slc.as_ref().filter(|slc| !slc.is_bypassed) else { return false };
        let own = &slc.units[unit as usize];
        let has_kept = !own.erased.is_empty() || !own.stale.is_empty();
        self.slc_is_open(unit) || has_kept || self.more_dynamic(unit, taken) > 0
    }

    /// Blocks that may be opened in SLC mode besides those kept in it, after something else took so many: their share of the blocks
    /// without data of main blocks.
    fn more_dynamic(&self, unit: u32, taken: u64) -> u64 {
        let Some(slc) = &self.slc else { return 0 };
        if slc.rules.share == 0.0 {
            return 0;
        }
        let dynamic = u64::from(slc.units[unit as usize].dynamic);
        let spare = self.spare_blocks(unit).saturating_sub(taken);
        let most = crate::quantity::round_to_u64((slc.rules.share * (spare + dynamic) as f64).floor());
        most.saturating_sub(dynamic).min(spare)
    }

    /// Opens a block of the cache, if one can be opened.
    fn open_slc(&mut self, unit: u32, ops: &mut Ops) {
        let dynamic = self.more_dynamic(unit, 0) > 0;
        let Some(slc) = &mut self.slc else { return };
        let own = &mut slc.units[unit as usize];
        if own.erased.is_empty()
            && let Some(block) = own.stale.front().copied()
        {
            self.release_slc(unit, block, ops);
        }
        let Some(slc) = &mut self.slc else { return };
        let own = &mut slc.units[unit as usize];
        let state = &mut self.units[unit as usize];
        let kept = own.erased.pop_front();
        let taken = || dynamic.then(|| state.blocks.take_free(self.rules.least_worn_first)).flatten();
        let Some(block) = kept.or_else(taken) else { return };
        own.mode[block as usize] = true;
        own.dynamic += u32::from(kept.is_none());
        own.frontier = Frontier { block, next: 0 };
        ops.opened(unit);
        self.opened_block(unit, block, false);
    }

    /// A page at the frontier of the cache has been written: if it was the last one, the block is full.
    pub(super) fn wrote_slc(&mut self, unit: u32, block: u32) {
        let Some(slc) = &mut self.slc else { return };
        let keeps = slc.keeps(block);
        let own = &mut slc.units[unit as usize];
        if own.frontier.next < slc.pages {
            return;
        }
        own.open = 0;
        own.filled.push_back(block);
        let state = &mut self.units[unit as usize];
        if !keeps {
            state.blocks.fill(block, state.writes);
        } else if state.blocks.valid(block) == 0 {
            own.note_stale(block);
        }
    }

    /// A page of a block became stale because the host wrote or trimmed it. A block kept in SLC mode in which all is stale can be
    /// erased at once.
    #[inline]
    pub(super) fn slc_page_is_stale(&mut self, unit: u32, ppn: u32) {
        if self.slc.is_some() {
            self.note_stale_slc(unit, ppn);
        }
    }

    #[inline(never)]
    fn note_stale_slc(&mut self, unit: u32, ppn: u32) {
        let block = self.rules.pages_per_block.split(ppn.into()).0 as u32;
        let Some(slc) = &mut self.slc else { return };
        if !slc.keeps(block) || self.units[unit as usize].blocks.valid(block) > 0 {
            return;
        }
        let own = &mut slc.units[unit as usize];
        if own.frontier.block != block || own.frontier.next >= slc.pages {
            own.note_stale(block);
        }
    }

    /// The page of the cache that is being filled is programmed as it is. Returns the mapping units that are padded.
    pub(super) fn close_slc_page(&mut self, unit: u32) -> u32 {
        let per_page = self.rules.per_page;
        let Some(slc) = &mut self.slc else { return 0 };
        let own = &mut slc.units[unit as usize];
        if std::mem::take(&mut own.open) == 0 {
            return 0;
        }
        let padded = own.frontier.next.next_multiple_of(per_page) - own.frontier.next;
        own.frontier.next += padded;
        let block = own.frontier.block;
        if padded > 0 {
            self.wrote_slc(unit, block);
        }
        padded
    }

    /// Number of the page of flash of the cache that is being filled, if it takes one more mapping unit.
    pub(super) fn open_slc_page(&self, unit: u32) -> Option<u32> {
        let own = &self.slc.as_ref()?.units[unit as usize];
        if own.open == 0 {
            return None;
        }
        let next = own.frontier.block * self.rules.pages_per_block.get() as u32 + own.frontier.next;
        Some((next - 1) / self.rules.per_page)
    }

    /// The page of flash that the last write is filling, wherever it is, is programmed as it is. Returns the mapping units that
    /// are padded.
    pub(in crate::ftl) fn close_last_page(&mut self, unit: u32) -> u32 {
        if self.wrote_to_slc(unit) { self.close_slc_page(unit) } else { self.close_page(unit) }
    }

    /// Number of the page of flash that the last write is filling, wherever it is.
    pub(in crate::ftl) fn open_last_page(&self, unit: u32) -> Option<u32> {
        if self.wrote_to_slc(unit) { self.open_slc_page(unit) } else { self.open_page_of(unit) }
    }

    fn wrote_to_slc(&self, unit: u32) -> bool {
        self.slc.as_ref().is_some_and(|slc| slc.units[unit as usize].is_last)
    }

    /// Placement handle of a page of the cache.
    pub(super) fn handle_in_slc(&self, unit: u32, ppn: u32) -> u8 {
        let handles = self.slc.as_ref().and_then(|slc| slc.handles.get(unit as usize));
        handles.map_or(0, |handles| handles.get(ppn.into()) as u8)
    }

    /// The open block of the cache takes no more pages, if it is one that a collection may take. Returns whether there was one.
    pub(in crate::ftl) fn retire_slc(&mut self, unit: u32) -> bool {
        let Some(slc) = &mut self.slc else { return false };
        let Frontier { block, next } = slc.units[unit as usize].frontier;
        if next >= slc.pages || slc.keeps(block) {
            return false;
        }
        slc.units[unit as usize].frontier.next = slc.pages;
        self.wrote_slc(unit, block);
        true
    }

    /// A block that was collected is erased: it is in SLC mode no more. Returns whether it was.
    pub(super) fn leave_slc(&mut self, unit: u32, block: u32) -> bool {
        let Some(slc) = &mut self.slc else { return false };
        let own = &mut slc.units[unit as usize];
        if !std::mem::take(&mut own.mode[block as usize]) {
            return false;
        }
        own.dynamic -= 1;
        own.filled.retain(|other| *other != block);
        true
    }

    /// A block of the cache that has nothing valid is erased.
    pub(in crate::ftl) fn release_slc(&mut self, unit: u32, block: u32, ops: &mut Ops) {
        let Some(slc) = &mut self.slc else { return };
        let state = &mut self.units[unit as usize];
        if slc.keeps(block) {
            let own = &mut slc.units[unit as usize];
            own.filled.retain(|other| *other != block);
            own.stale.retain(|other| *other != block);
            own.erase(block);
            state.blocks.erase_kept(block);
        } else {
            state.blocks.claim(block);
            state.blocks.erase(block);
            self.leave_slc(unit, block);
        }
        self.erased_block(unit, block);
        ops.of_slc(true);
        ops.erased(unit, block);
        ops.of_slc(false);
        self.retire(unit, ops);
    }

    /// Content of the cache.
    pub(in crate::ftl) fn slc_state(&self) -> Option<SlcState> {
        let slc = self.slc.as_ref()?;
        let mut sum = SlcState { min_erases: u32::MAX, ..SlcState::default() };
        for (unit, own) in (0..).zip(&slc.units) {
            let blocks = &self.units[unit as usize].blocks;
            let in_mode = (0..).zip(&own.mode).filter(|(_, mode)| **mode).map(|(block, _): (u32, _)| block);
            for block in in_mode {
                sum.blocks += 1;
                sum.valid += u64::from(blocks.valid(block));
            }
            for erases in (0..slc.rules.kept).map(|block| blocks.erases(block)) {
                sum.kept_blocks += 1;
                sum.erases += u64::from(erases);
                sum.min_erases = sum.min_erases.min(erases);
                sum.max_erases = sum.max_erases.max(erases);
            }
            let more = (own.erased.len() + own.stale.len()) as u64 + self.more_dynamic(unit, 0);
            let left = slc.pages - own.frontier.next;
            sum.room += more * u64::from(slc.pages) + u64::from(left);
        }
        if sum.kept_blocks == 0 {
            sum.min_erases = 0;
        }
        Some(sum)
    }
}
