//! Places of pages that were there before the run, in blocks of their own.
//!
//! A block is filled in the order of first reads. A superblock is so page by page of a *turn*, which ends where the next page of flash lies
//! on the same die again: a page goes to the die that its address has in a sequential fill, whenever it is read.

use serde::{Deserialize, Serialize};

use super::{Frontier, NO_BLOCK, Ops, Rules, Unit};
use crate::ftl::blocks::Blocks;

/// Blocks of old data of a unit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::ftl) struct Laid {
    /// The block that is being filled, and the page behind the last one of it that was taken.
    pub(in crate::ftl) open: Frontier,
    /// Blocks opened so far, and how often each had been erased then.
    blocks: Vec<(u32, u32)>,
    /// Mapping units laid or passed over at each page of flash of a turn: those of the first block, of the second, and so on.
    taken: Vec<u32>,
    /// Block at which the last stale page was found, by page of flash of a turn.
    stale: Vec<u32>,
}

impl Laid {
    pub(super) fn new(pages_per_block: u32) -> Self {
        Self {
            open: Frontier { block: NO_BLOCK, next: pages_per_block },
            blocks: Vec::new(),
            taken: Vec::new(),
            stale: Vec::new(),
        }
    }

    /// The block at which the search for a stale page at a key's place begins.
    pub(super) fn last_stale(&self, rules: &Rules, key: u32) -> u32 {
        self.stale.get(rules.place_in_turn(key) as usize).copied().unwrap_or(0)
    }

    pub(super) fn note_stale(&mut self, rules: &Rules, key: u32, block: u32) {
        self.stale.resize(rules.turn as usize, 0);
        self.stale[rules.place_in_turn(key) as usize] = block;
    }

    /// There is no open block any more. Returns what was.
    pub(super) fn close(&mut self, pages_per_block: u32) -> Frontier {
        std::mem::replace(self, Self::new(pages_per_block)).open
    }
}

impl Rules {
    /// Page of flash of a turn that a key has.
    #[inline]
    pub(super) fn place_in_turn(&self, key: u32) -> u32 {
        (key / self.per_page) % self.turn
    }

    /// Mapping units of a block at a page of flash of its turns.
    fn units_at(&self, place: u32) -> u32 {
        let pages = self.pages_per_block.get() as u32 / self.per_page;
        (pages - place).div_ceil(self.turn) * self.per_page
    }
}

impl Unit {
    /// The next page for the key in blocks of old data. One is opened if need be, where more than `kept` are erased.
    pub(super) fn next_laid(
        &mut self,
        rules: &Rules,
        (unit, key): (u32, u32),
        kept: u64,
        ops: &mut Ops,
    ) -> Option<u32> {
        let pages_per_block = rules.pages_per_block.get() as u32;
        if self.laid.taken.is_empty() {
            self.laid.taken = vec![0; rules.turn as usize];
        }
        let place = rules.place_in_turn(key);
        let units = rules.units_at(place);
        loop {
            let taken = self.laid.taken[place as usize];
            let (number, nth) = (taken / units, taken % units);
            if number as usize == self.laid.blocks.len() {
                let opens = self.blocks.free() > kept;
                let block = opens.then(|| self.blocks.take_free(rules.least_worn_first))??;
                self.fill_laid(pages_per_block);
                self.laid.open = Frontier { block, next: 0 };
                self.laid.blocks.push((block, self.blocks.erases(block)));
                // The first page tells blocks of data from those of a map on flash, whether it is valid or not.
                self.owner.set(u64::from(block) * u64::from(pages_per_block), key);
                ops.opened(unit);
            }
            let (block, erases) = self.laid.blocks[number as usize];
            if !is_as_laid(&self.blocks, block, erases, self.laid.open.block) {
                self.laid.taken[place as usize] = (number + 1) * units;
                continue;
            }
            self.laid.taken[place as usize] += 1;
            let page = (place + nth / rules.per_page * rules.turn) * rules.per_page + nth % rules.per_page;
            let word = self.valid_bits[block as usize * rules.words_per_block + (page >> 6) as usize];
            if word & (1 << (page & 63)) != 0 {
                continue;
            }
            if block == self.laid.open.block {
                self.laid.open.next = self.laid.open.next.max(page + 1);
            }
            return Some(block * pages_per_block + page);
        }
    }

    /// The host goes on in the open block of old data. Returns it, if there is one. What was passed over in its last turn, of each
    /// die, was there as well: pages of a block are programmed in order.
    pub(super) fn close_laid(&mut self, rules: &Rules, unit: u32, ops: &mut Ops) -> Option<Frontier> {
        let pages_per_block = rules.pages_per_block.get() as u32;
        if self.laid.open.next == pages_per_block {
            return None;
        }
        let open = self.laid.close(pages_per_block);
        let bits = &self.valid_bits[open.block as usize * rules.words_per_block..];
        let is_valid = |page: u32| bits[(page >> 6) as usize] & (1 << (page & 63)) != 0;
        let pages = open.next.div_ceil(rules.per_page);
        let last_turn = if rules.turn == 1 { pages..pages } else { pages.saturating_sub(rules.turn)..pages };
        for page in last_turn {
            for page in page * rules.per_page..open.next.min((page + 1) * rules.per_page) {
                if !is_valid(page) {
                    ops.laid(unit, open.block * pages_per_block + page, true);
                }
            }
        }
        Some(open)
    }

    /// There is no open block of old data any more: it counts as full. Returns whether there was one.
    pub(super) fn close_laid_as_full(&mut self, rules: &Rules) -> bool {
        let pages_per_block = rules.pages_per_block.get() as u32;
        let is_open = self.laid.open.next < pages_per_block;
        self.fill_laid(pages_per_block);
        self.laid.open = Frontier { block: NO_BLOCK, next: pages_per_block };
        is_open
    }

    /// The open block of old data counts as full. Its erased pages wait for data of their places.
    fn fill_laid(&mut self, pages_per_block: u32) {
        let Frontier { block, next } = self.laid.open;
        if next < pages_per_block {
            self.blocks.fill_oldest(block);
        }
    }
}

/// True if a block that was opened for old data has not become another one since.
fn is_as_laid(blocks: &Blocks, block: u32, erases: u32, open: u32) -> bool {
    block == open || (blocks.is_full(block) && blocks.erases(block) == erases)
}
