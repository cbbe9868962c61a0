//! FAST as the asynchronous model uses it: one sequential (SW) log block and random (RW) log blocks in FIFO order,
//! fully associative, over data blocks that are all full.

use std::collections::VecDeque;

use crate::models::ftl::{Ftl, Spent};
use crate::models::lockstep::Times;

const NONE: u32 = u32::MAX;

/// Treatment of a sequential log block that can't be switched in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SwFull {
    /// It is a random log block from then on, with the pages that it still has free.
    Reuse,
    /// The rest of its data block is copied into it.
    PartialMerge,
}

#[derive(Clone, Debug, Default)]
struct Block {
    pages: Vec<u32>,
    valid: u32,
}

/// One unit's FAST. Pages and data blocks are the unit's own numbers.
#[derive(Debug)]
pub(crate) struct Fast {
    per_block: u32,
    times: Times,
    sw_full: SwFull,
    home: Vec<(u32, u32)>,
    blocks: Vec<Block>,
    /// RW log blocks, the oldest first.
    order: VecDeque<u32>,
    free: Vec<u32>,
    /// The SW log block and the data block that owns it.
    sequential: Option<(u32, u32)>,
}

impl Fast {
    /// An empty log over full data blocks.
    pub(crate) fn new(
        data_blocks: u32,
        log_blocks: u32,
        per_block: u32,
        times: Times,
        sw_full: SwFull,
    ) -> Self {
        Self {
            per_block,
            times,
            sw_full,
            home: vec![(NONE, NONE); (data_blocks * per_block) as usize],
            blocks: vec![Block::default(); log_blocks as usize],
            order: VecDeque::new(),
            free: (0..log_blocks).rev().collect(),
            sequential: None,
        }
    }

    fn written(&self, block: u32) -> u32 {
        self.blocks[block as usize].pages.len() as u32
    }

    /// The RW log block that is filled now: the oldest that has room.
    fn open(&self) -> Option<u32> {
        // Those with room are at the end of the order.
        let with_room = self.order.iter().rev().take_while(|&&block| self.written(block) < self.per_block);
        with_room.last().copied()
    }

    fn invalidate(&mut self, page: u32) {
        let (block, place) = self.home[page as usize];
        if block != NONE {
            let block = &mut self.blocks[block as usize];
            block.pages[place as usize] = NONE;
            block.valid -= 1;
            self.home[page as usize] = (NONE, NONE);
        }
    }

    fn program(&mut self, block: u32, page: u32) {
        self.invalidate(page);
        let place = self.written(block);
        let log = &mut self.blocks[block as usize];
        log.pages.push(page);
        log.valid += 1;
        self.home[page as usize] = (block, place);
    }

    fn reset(&mut self, block: u32) {
        self.blocks[block as usize] = Block::default();
        self.free.push(block);
    }

    /// True if the RW log can have another block. Where SW log blocks are merged, one log block is for them alone.
    fn can_grow(&self) -> bool {
        !self.free.is_empty()
            && (self.sw_full == SwFull::Reuse || self.sequential.is_some() || self.free.len() > 1)
    }

    fn forget(&mut self, data_block: u32) {
        for page in data_block * self.per_block..(data_block + 1) * self.per_block {
            self.invalidate(page);
        }
    }

    /// Makes the SW log block, which holds the newest pages of the first part of its owner, the data block.
    fn partial_merge(&mut self) -> u64 {
        let (block, owner) = self.sequential.take().expect("there is a sequential log block");
        let missing = self.per_block - self.written(block);
        self.forget(owner);
        // The old data block is erased and takes the SW log block's place among the log blocks.
        self.reset(block);
        u64::from(missing) * self.times.copy() + self.times.erase
    }

    /// True if a new SW log block can be opened: one is free, or merging the present one will free it. If not, a page 0
    /// goes to the RW log like any other.
    fn can_open(&self) -> bool {
        !self.free.is_empty() || (self.sw_full == SwFull::PartialMerge && self.sequential.is_some())
    }

    /// Ends the SW log block for a write that it can't take. `offset`: that write's, if it is the owner's own.
    fn close(&mut self, offset: Option<u32>) -> u64 {
        let Some((block, owner)) = self.sequential else { return 0 };
        if self.sw_full == SwFull::Reuse {
            self.sequential = None;
            self.order.push_back(block);
            return 0;
        }
        if offset.is_some_and(|offset| offset < self.written(block)) {
            // Full merge of the SW log block: the data block is built anew, both old ones are erased.
            self.sequential = None;
            self.forget(owner);
            self.reset(block);
            return u64::from(self.per_block) * self.times.copy() + 2 * self.times.erase;
        }
        self.partial_merge()
    }

    /// Merges the data block of a page.
    fn merge(&mut self, page: u32) -> u64 {
        let data_block = page / self.per_block;
        if self.sequential.is_some_and(|(_, owner)| owner == data_block) {
            return self.partial_merge();
        }
        self.forget(data_block);
        u64::from(self.per_block) * self.times.copy() + self.times.erase
    }

    fn first_valid(&self, block: u32) -> Option<u32> {
        let block = &self.blocks[block as usize];
        if block.valid == 0 { None } else { block.pages.iter().copied().find(|&page| page != NONE) }
    }
}

impl Ftl for Fast {
    fn has_room(&self, page: u32) -> bool {
        let (data_block, offset) = (page / self.per_block, page % self.per_block);
        // The SW log block goes on, or becomes a RW log block with room: before anything is collected.
        let goes_on = |(block, owner)| {
            self.sw_full == SwFull::Reuse || (owner == data_block && self.written(block) == offset)
        };
        self.can_grow()
            || self.open().is_some()
            || self.sequential.is_some_and(goes_on)
            || (offset == 0 && self.can_open())
    }

    fn write(&mut self, page: u32) -> Spent {
        let (data_block, offset) = (page / self.per_block, page % self.per_block);
        let mut gc = 0;
        if offset == 0 && self.can_open() {
            gc += self.close(self.sequential.and_then(|(_, owner)| (owner == data_block).then_some(0)));
            let fresh = self.free.pop().expect("there is one, or the merge freed it");
            self.sequential = Some((fresh, data_block));
            self.program(fresh, page);
            return Spent { gc, ..Spent::default() };
        }
        if let Some((block, owner)) = self.sequential
            && owner == data_block
        {
            if self.written(block) == offset {
                self.program(block, page);
                if offset + 1 == self.per_block {
                    // Switched in: the old data block is erased and becomes a log block.
                    self.sequential = None;
                    self.forget(data_block);
                    self.reset(block);
                    gc += self.times.erase;
                }
                return Spent { gc, ..Spent::default() };
            }
            gc += self.close(Some(offset));
        }
        if self.sw_full == SwFull::Reuse && self.open().is_none() && self.free.is_empty() {
            gc += self.close(None);
        }
        let open = self.open().unwrap_or_else(|| {
            let fresh = self.free.pop().expect("the caller collects first");
            self.order.push_back(fresh);
            fresh
        });
        self.program(open, page);
        Spent { gc, ..Spent::default() }
    }

    fn spare(&self) -> usize {
        self.free.len()
    }

    fn begin(&mut self) {}

    fn collect_step(&mut self) -> Option<u64> {
        let &victim = self.order.front()?;
        let page = self.first_valid(victim)?;
        Some(self.merge(page))
    }

    fn fill_step(&mut self) -> Option<u64> {
        let page = self.order.iter().find_map(|&block| self.first_valid(block))?;
        Some(self.merge(page))
    }

    fn has_victim(&self) -> bool {
        !self.order.is_empty()
    }

    fn can_erase(&self) -> bool {
        self.order.front().is_some_and(|&victim| self.blocks[victim as usize].valid == 0)
    }

    fn erase(&mut self) {
        let victim = self.order.pop_front().expect("there is a victim");
        self.reset(victim);
    }
}
