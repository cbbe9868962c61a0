//! Page mapping with the whole map in memory: one write frontier, and the block with the fewest valid pages is
//! collected.

use crate::models::ftl::{Ftl, Spent};
use crate::models::lockstep::Times;

const NONE: u32 = u32::MAX;

#[derive(Clone, Debug, Default)]
struct Block {
    pages: Vec<u32>,
    valid: u32,
}

/// One unit's page mapping. Pages are the unit's own numbers.
#[derive(Debug)]
pub(crate) struct PageMap {
    per_block: u32,
    times: Times,
    home: Vec<(u32, u32)>,
    blocks: Vec<Block>,
    open: Option<u32>,
    /// Erased blocks, the one that only collections may take included.
    free: Vec<u32>,
    victim: Option<u32>,
}

impl PageMap {
    /// All logical pages written once, in order; `spare_blocks` erased, and one more that is kept back for collections.
    pub(crate) fn new(data_blocks: u32, spare_blocks: u32, per_block: u32, times: Times) -> Self {
        let all = data_blocks + spare_blocks + 1;
        let mut map = Self {
            per_block,
            times,
            home: vec![(NONE, NONE); (data_blocks * per_block) as usize],
            blocks: vec![Block::default(); all as usize],
            open: None,
            free: (0..all).rev().collect(),
            victim: None,
        };
        for page in 0..data_blocks * per_block {
            map.program(page);
        }
        map
    }

    fn open_has_room(&self) -> bool {
        self.open.is_some_and(|open| (self.blocks[open as usize].pages.len() as u32) < self.per_block)
    }

    /// True if a collection can still copy a page.
    fn can_copy(&self) -> bool {
        self.open_has_room() || !self.free.is_empty()
    }

    fn program(&mut self, page: u32) {
        if !self.open_has_room() {
            self.open = Some(self.free.pop().expect("there is room"));
        }
        let (block, place) = self.home[page as usize];
        if block != NONE {
            let block = &mut self.blocks[block as usize];
            block.pages[place as usize] = NONE;
            block.valid -= 1;
        }
        let open = self.open.expect("opened above");
        let block = &mut self.blocks[open as usize];
        self.home[page as usize] = (open, block.pages.len() as u32);
        block.pages.push(page);
        block.valid += 1;
    }

    /// The full block with the fewest valid pages that has anything to reclaim, except for `not`.
    fn best(&self, not: Option<u32>) -> Option<u32> {
        let full = (0..self.blocks.len() as u32).filter(|&block| {
            let Block { pages, valid } = &self.blocks[block as usize];
            pages.len() as u32 == self.per_block && *valid < self.per_block && Some(block) != not
        });
        full.min_by_key(|&block| self.blocks[block as usize].valid)
    }

    /// Copies the first valid page of a block.
    fn copy_from(&mut self, block: u32) -> Option<u64> {
        let page = self.blocks[block as usize].pages.iter().copied().find(|&page| page != NONE)?;
        self.program(page);
        Some(self.times.copy())
    }
}

impl Ftl for PageMap {
    fn has_room(&self, _page: u32) -> bool {
        // Unless one is kept back, the open block is the one that was: collections need the rest of it.
        self.free.len() > 1 || (self.free.len() == 1 && self.open_has_room())
    }

    fn write(&mut self, page: u32) -> Spent {
        self.program(page);
        Spent::default()
    }

    fn spare(&self) -> usize {
        self.free.len().saturating_sub(1)
    }

    fn begin(&mut self) {
        self.victim = self.best(None);
    }

    fn collect_step(&mut self) -> Option<u64> {
        self.copy_from(self.victim?)
    }

    fn fill_step(&mut self) -> Option<u64> {
        if !self.can_copy() {
            return None;
        }
        let victim = self.victim?;
        self.copy_from(victim).or_else(|| {
            let second = self.best(Some(victim))?;
            self.copy_from(second)
        })
    }

    fn has_victim(&self) -> bool {
        self.best(None).is_some()
    }

    fn can_erase(&self) -> bool {
        self.victim.is_some_and(|victim| self.blocks[victim as usize].valid == 0)
    }

    fn erase(&mut self) {
        let victim = self.victim.take().expect("there is a victim");
        self.blocks[victim as usize] = Block::default();
        self.free.push(victim);
    }
}
