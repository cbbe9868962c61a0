//! Pages that were there before the run. They take room when they are first read (`precondition=on-read`), and no time.
//!
//! They have an open block of their own (`laid.rs`), so that old data is not mixed with what the host writes. The host takes that block
//! over before its unit collects, so a block of old data never costs a collection. Without an erased block to open, a page takes the place
//! of a stale one: had it been there, that one would have been collected before. Nothing is moved and nothing erased.
//!
//! Why there always is such a place. Where every full block is all valid, no more than `held_back` blocks are erased or about
//! to be, and no open block may take a page, the unit holds more than `Rules::room` valid pages. It never does.

use super::{Frontier, NO_BLOCK, Ops, PageFtl};
use crate::alloc::Home;
use crate::cow::CowVec;

/// Blocks that are searched for a stale page on a die, before one on another die does.
const MAX_SEARCHED: usize = 16;

impl PageFtl {
    /// Gives a page of which there is no version a physical page. Returns false if there is none.
    pub(in crate::ftl) fn lay(&mut self, home: Home, ops: &mut Ops) -> bool {
        // Blocks that wait to be erased need nothing for it.
        let waiting = self.units[home.unit as usize].steps.emptied.len() as u64;
        if self.lay_apart(home, self.rules.held_back.saturating_sub(waiting), ops) {
            return true;
        }
        let found = self.stale_of_die(home, CowVec::EMPTY).or_else(|| self.stale_page(home.unit));
        let found = found.or_else(|| self.stale_page_of_victim(home.unit));
        let found = found.or_else(|| self.next_of_host(home.unit, ops));
        let found = found.or_else(|| self.page_of_emptied(home.unit));
        let Some(ppn) = found else { return self.lay_after_fold(home, ops) };
        self.hold(home, ppn);
        ops.laid(home.unit, ppn, false);
        true
    }

    /// Blocks in SLC mode may hold what is erased otherwise: the oldest one is folded, until the page finds a place.
    #[cold]
    fn lay_after_fold(&mut self, home: Home, ops: &mut Ops) -> bool {
        self.retire_slc(home.unit);
        let folds = self.oldest_slc(home.unit).is_some();
        folds && self.fold_oldest(home.unit, ops).is_ok() && self.lay(home, ops)
    }

    /// As [`PageFtl::lay`] in the block of old data, which is opened if more than `kept` blocks are erased.
    pub(in crate::ftl) fn lay_apart(&mut self, home: Home, kept: u64, ops: &mut Ops) -> bool {
        let unit = &mut self.units[home.unit as usize];
        let Some(ppn) = unit.next_laid(&self.rules, (home.unit, home.key), kept, ops) else { return false };
        self.hold(home, ppn);
        ops.laid(home.unit, ppn, false);
        true
    }

    /// As [`PageFtl::lay`] in place of a stale page on the die that the page has by its address, in a superblock of data: keys from
    /// `logical` on are translation pages. Returns false if there is none.
    pub(in crate::ftl) fn lay_on_die(&mut self, home: Home, logical: u32, ops: &mut Ops) -> bool {
        let Some(ppn) = self.stale_of_die(home, logical) else { return false };
        self.hold(home, ppn);
        ops.laid(home.unit, ppn, false);
        true
    }

    /// Puts a page into the open block of the host, which has room.
    pub(in crate::ftl) fn lay_at_host(&mut self, home: Home, ops: &mut Ops) {
        if self.rules.per_page > 1 {
            let padded = self.close_page(home.unit);
            ops.padded(padded);
        }
        let Frontier { block, next } = self.units[home.unit as usize].host;
        let ppn = block * self.rules.pages_per_block.get() as u32 + next;
        self.units[home.unit as usize].host.next += 1;
        self.hold(home, ppn);
        ops.laid(home.unit, ppn, false);
    }

    /// The host goes on in the open block of old data, if there is one. Returns whether there is.
    pub(in crate::ftl) fn take_laid(&mut self, unit: u32, ops: &mut Ops) -> bool {
        let pages_per_block = self.rules.pages_per_block.get() as u32;
        let state = &mut self.units[unit as usize];
        let Some(open) = state.close_laid(&self.rules, unit, ops) else { return false };
        state.host = open;
        (state.host, _) = state.pad(&self.rules, state.host);
        state.host.next < pages_per_block
    }

    /// A stale page of a superblock of data on the die that the page has by its address, of the next few from the one that had such a
    /// page last. Keys from `logical` on are no data.
    fn stale_of_die(&mut self, Home { unit, key }: Home, logical: u32) -> Option<u32> {
        if self.rules.turn == 1 {
            return None;
        }
        let state = &self.units[unit as usize];
        let count = state.blocks.count() as u32;
        let from = state.laid.last_stale(&self.rules, key);
        let pages_per_block = self.rules.pages_per_block.get();
        let full = |block: &u32| {
            let owner = state.owner.get(u64::from(*block) * pages_per_block);
            !(logical..CowVec::EMPTY).contains(&owner)
                && state.blocks.is_full(*block)
                && !self.is_slc_block(unit, *block)
        };
        let mut next = (from..count).chain(0..from).take(MAX_SEARCHED).filter(full);
        let found = next.find_map(|block| Some((block, self.stale_in_turn(unit, block, key)?)));
        let block = found.map_or((from + MAX_SEARCHED as u32) % count, |(block, _)| block);
        self.units[unit as usize].laid.note_stale(&self.rules, key, block);
        Some(found?.1)
    }

    /// A stale page of a full block: of the one that had one last, or the next one.
    fn stale_page(&mut self, unit: u32) -> Option<u32> {
        let pages_per_block = self.rules.pages_per_block.get() as u32;
        let state = &self.units[unit as usize];
        let count = state.blocks.count() as u32;
        let has_one = |block: &u32| {
            let holds_stale = state.blocks.is_full(*block) && state.blocks.valid(*block) < pages_per_block;
            holds_stale && !self.is_slc_block(unit, *block)
        };
        let from = state.searched;
        let block = (from..count).chain(0..from).find(has_one)?;
        self.units[unit as usize].searched = block;
        self.first_stale(unit, block)
    }

    /// A stale page of the victim of a collection, if what is valid there still fits into the block that it goes to.
    fn stale_page_of_victim(&self, unit: u32) -> Option<u32> {
        let pages_per_block = self.rules.pages_per_block.get() as u32;
        let state = &self.units[unit as usize];
        let victim = state.steps.victim.filter(|victim| !self.is_slc_block(unit, *victim))?;
        let to = if self.rules.two_frontiers { state.collected.next } else { state.host.next };
        let valid = state.blocks.valid(victim);
        let fits = state.blocks.free() >= self.rules.held_back
            || self.rules.page_from(to) + self.rules.packed(valid + 1) <= pages_per_block;
        if valid < pages_per_block && fits { self.first_stale(unit, victim) } else { None }
    }

    /// The next page of the open block of the host, if a collection does not need it.
    fn next_of_host(&mut self, unit: u32, ops: &mut Ops) -> Option<u32> {
        let pages_per_block = self.rules.pages_per_block.get() as u32;
        if self.rules.per_page > 1 {
            let padded = self.close_page(unit);
            ops.padded(padded);
        }
        let state = &mut self.units[unit as usize];
        let Frontier { block, next } = state.host;
        let free = state.blocks.free();
        let erased =
            if state.steps.victim.is_none() { free + state.steps.emptied.len() as u64 } else { free };
        if next == pages_per_block || erased < self.rules.held_back {
            return None;
        }
        state.host.next += 1;
        Some(block * pages_per_block + next)
    }

    /// A page of a block that waits to be erased, if there are more of them than the unit has to keep. It is full again then.
    fn page_of_emptied(&mut self, unit: u32) -> Option<u32> {
        let state = &mut self.units[unit as usize];
        if state.blocks.free() + state.steps.emptied.len() as u64 <= self.rules.held_back {
            return None;
        }
        let block = *state.steps.emptied.back()?;
        if self.is_slc_block(unit, block) {
            return None;
        }
        let state = &mut self.units[unit as usize];
        state.steps.emptied.pop_back();
        state.blocks.fill(block, state.blocks.filled_at(block));
        self.first_stale(unit, block)
    }

    /// The first stale page of a block at the place of a key in a turn.
    fn stale_in_turn(&self, unit: u32, block: u32, key: u32) -> Option<u32> {
        let pages_per_block = self.rules.pages_per_block.get() as u32;
        let bits = &self.units[unit as usize].valid_bits[block as usize * self.rules.words_per_block..];
        let (place, per_page) = (self.rules.place_in_turn(key), self.rules.per_page);
        let pages = (place..pages_per_block / per_page).step_by(self.rules.turn as usize);
        let of_place = pages.flat_map(|page| page * per_page..(page + 1) * per_page);
        let mut stale = of_place.filter(|page| bits[(page >> 6) as usize] & (1 << (page & 63)) == 0);
        Some(block * pages_per_block + stale.next()?)
    }

    /// The first stale page of a block that has one.
    fn first_stale(&self, unit: u32, block: u32) -> Option<u32> {
        let pages_per_block = self.rules.pages_per_block.get() as u32;
        let words = self.rules.words_per_block;
        let bits = &self.units[unit as usize].valid_bits[block as usize * words..][..words];
        let (word, bits) = (0..).zip(bits).find(|(_, bits)| **bits != u64::MAX)?;
        let page = word * 64 + bits.trailing_ones();
        (page < pages_per_block).then_some(block * pages_per_block + page)
    }

    /// The physical page holds the logical one from now on. Closes its block if that was its last page.
    fn hold(&mut self, home: Home, ppn: u32) {
        let pages_per_block = self.rules.pages_per_block.get() as u32;
        let map = self.map_of(home.unit);
        let (block, page) = (ppn / pages_per_block, ppn % pages_per_block);
        let unit = &mut self.units[home.unit as usize];
        unit.owner.set(ppn.into(), home.key);
        unit.valid_bits[block as usize * self.rules.words_per_block + (page >> 6) as usize] |=
            1 << (page & 63);
        unit.steps.search_again();
        unit.valid_pages += 1;
        if unit.blocks.is_full(block) {
            unit.blocks.revalidate(block);
        } else {
            unit.blocks.add_valid(block, 1);
            if unit.steps.victim == Some(block) || page + 1 < pages_per_block {
                // Neither is complete.
            } else if unit.laid.open.block == block {
                unit.blocks.fill_oldest(block);
                unit.laid.open.block = NO_BLOCK;
            } else {
                unit.blocks.fill(block, unit.writes);
            }
        }
        self.maps[map].set(home.key.into(), ppn);
    }
}
