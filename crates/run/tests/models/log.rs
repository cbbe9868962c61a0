//! The log-block translation layer of the lock-step model: data blocks, all full, and a page-mapped log in FIFO order.

use std::collections::VecDeque;

/// A page that is nowhere in the log, or a place of the log that holds no valid page.
const NONE: u32 = u32::MAX;

/// A log block: the page that each of its programmed places holds, or [`NONE`] once that is stale.
#[derive(Clone, Debug, Default)]
struct Block {
    pages: Vec<u32>,
    valid: u32,
}

/// One unit's log. Pages and data blocks are the unit's own numbers.
#[derive(Debug)]
pub(crate) struct Log {
    per_block: u32,
    /// For each logical page: log block and place in it of its newest copy.
    home: Vec<(u32, u32)>,
    blocks: Vec<Block>,
    /// Written log blocks, the oldest first; the last one is open while it has room.
    order: VecDeque<u32>,
    free: Vec<u32>,
}

impl Log {
    /// An empty log over full data blocks.
    pub(crate) fn new(data_blocks: u32, log_blocks: u32, per_block: u32) -> Self {
        Self {
            per_block,
            home: vec![(NONE, NONE); (data_blocks * per_block) as usize],
            blocks: vec![Block::default(); log_blocks as usize],
            order: VecDeque::new(),
            free: (0..log_blocks).rev().collect(),
        }
    }

    /// True if a page can be appended without a collection.
    pub(crate) fn has_room(&self) -> bool {
        !self.free.is_empty() || self.open().is_some()
    }

    /// The open log block, if it has room.
    fn open(&self) -> Option<u32> {
        let &last = self.order.back()?;
        ((self.blocks[last as usize].pages.len() as u32) < self.per_block).then_some(last)
    }

    /// Writes a page to the open log block. The log must have room.
    pub(crate) fn append(&mut self, page: u32) {
        let open = self.open().unwrap_or_else(|| {
            let fresh = self.free.pop().expect("the caller collects first");
            self.order.push_back(fresh);
            fresh
        });
        self.invalidate(page);
        let block = &mut self.blocks[open as usize];
        self.home[page as usize] = (open, block.pages.len() as u32);
        block.pages.push(page);
        block.valid += 1;
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

    /// The oldest valid page of the oldest log block.
    pub(crate) fn oldest_in_victim(&self) -> Option<u32> {
        let &victim = self.order.front()?;
        self.first_valid(victim)
    }

    /// The oldest valid page of the whole log.
    pub(crate) fn oldest(&self) -> Option<u32> {
        self.order.iter().find_map(|&block| self.first_valid(block))
    }

    fn first_valid(&self, block: u32) -> Option<u32> {
        let block = &self.blocks[block as usize];
        if block.valid == 0 { None } else { block.pages.iter().copied().find(|&page| page != NONE) }
    }

    /// The data block of a page.
    pub(crate) fn data_block(&self, page: u32) -> u32 {
        page / self.per_block
    }

    /// Merges a data block: whatever it has in the log is stale from now on.
    pub(crate) fn merge(&mut self, data_block: u32) {
        for page in data_block * self.per_block..(data_block + 1) * self.per_block {
            self.invalidate(page);
        }
    }

    /// True if a page is in the log.
    pub(crate) fn holds(&self, page: u32) -> bool {
        self.home[page as usize].0 != NONE
    }

    /// Log blocks that are erased.
    pub(crate) fn free_blocks(&self) -> usize {
        self.free.len()
    }

    /// Erases the oldest log block, after moving what is still valid in it to the newest one. Returns how many pages
    /// that were. (The relocated pages go to the erased block outside the log, whose place the victim takes: as many free
    /// places as if the victim were erased first.)
    pub(crate) fn erase_oldest(&mut self) -> u32 {
        let victim = self.order.pop_front().expect("only a full log is collected");
        let moved: Vec<u32> =
            self.blocks[victim as usize].pages.iter().copied().filter(|&page| page != NONE).collect();
        for &page in &moved {
            self.invalidate(page);
        }
        self.blocks[victim as usize] = Block::default();
        self.free.push(victim);
        for &page in &moved {
            self.append(page);
        }
        moved.len() as u32
    }

    /// Erases the oldest of the full log blocks that hold nothing valid, if there is one.
    pub(crate) fn erase_empty(&mut self) -> bool {
        let empty = self.order.iter().position(|&block| {
            let block = &self.blocks[block as usize];
            block.valid == 0 && block.pages.len() as u32 == self.per_block
        });
        let Some(block) = empty.and_then(|at| self.order.remove(at)) else { return false };
        self.blocks[block as usize] = Block::default();
        self.free.push(block);
        true
    }
}
