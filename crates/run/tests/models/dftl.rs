//! Page mapping whose map lies on flash: a cache of entries in memory, translation pages in blocks of their own.

use std::collections::{BTreeMap, BTreeSet};

use crate::models::ftl::{Ftl, Spent};
use crate::models::lockstep::Times;

const NONE: u32 = u32::MAX;

/// The frontiers that pages are written to.
const DATA: usize = 0;
const TRANSLATION: usize = 1;

#[derive(Clone, Debug, Default)]
struct Block {
    pages: Vec<u32>,
    valid: u32,
}

/// An entry of the cache.
#[derive(Clone, Copy, Debug)]
struct Entry {
    used: u64,
    dirty: bool,
}

/// One unit's DFTL. Pages are the unit's own numbers; translation pages come after all logical ones.
#[derive(Debug)]
pub(crate) struct Dftl {
    per_block: u32,
    logical: u32,
    /// Entries of a translation page.
    entries: u32,
    times: Times,
    home: Vec<(u32, u32)>,
    blocks: Vec<Block>,
    open: [Option<u32>; 2],
    free: Vec<u32>,
    victim: Option<u32>,
    cache: BTreeMap<u32, Entry>,
    order: BTreeMap<u64, u32>,
    capacity: usize,
    clock: u64,
    /// Translation pages to be rewritten, since pages moved whose entries are not in the cache.
    stale: BTreeSet<u32>,
}

/// Blocks kept back: a collection may need a block for data and one for translation pages.
const KEPT_BACK: u32 = 2;

/// Sizes of one unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) data_blocks: u32,
    pub(crate) spare_blocks: u32,
    pub(crate) per_block: u32,
    /// Bytes of a (super) page.
    pub(crate) page_bytes: u32,
    /// Entries that the cache holds.
    pub(crate) cached: usize,
}

impl Dftl {
    /// All logical pages written once, in order, and their map on flash.
    pub(crate) fn new(shape: Shape, times: Times) -> Self {
        let logical = shape.data_blocks * shape.per_block;
        let entries = shape.page_bytes / 4;
        let translation = logical.div_ceil(entries);
        // One of the blocks kept back lies outside the over-provisioning.
        let all = shape.data_blocks + shape.spare_blocks + 1;
        let mut ftl = Self {
            per_block: shape.per_block,
            logical,
            entries,
            times,
            home: vec![(NONE, NONE); (logical + translation) as usize],
            blocks: vec![Block::default(); all as usize],
            open: [None; 2],
            free: (0..all).rev().collect(),
            victim: None,
            cache: BTreeMap::new(),
            order: BTreeMap::new(),
            capacity: shape.cached,
            clock: 0,
            stale: BTreeSet::new(),
        };
        for page in 0..logical + translation {
            ftl.program(page);
        }
        ftl
    }

    fn frontier(&self, page: u32) -> usize {
        if page < self.logical { DATA } else { TRANSLATION }
    }

    fn has_open(&self, frontier: usize) -> bool {
        self.open[frontier]
            .is_some_and(|open| (self.blocks[open as usize].pages.len() as u32) < self.per_block)
    }

    fn program(&mut self, page: u32) {
        let frontier = self.frontier(page);
        if !self.has_open(frontier) {
            self.open[frontier] = Some(self.free.pop().expect("there is room"));
        }
        let (block, place) = self.home[page as usize];
        if block != NONE {
            let block = &mut self.blocks[block as usize];
            block.pages[place as usize] = NONE;
            block.valid -= 1;
        }
        let open = self.open[frontier].expect("opened above");
        let block = &mut self.blocks[open as usize];
        self.home[page as usize] = (open, block.pages.len() as u32);
        block.pages.push(page);
        block.valid += 1;
    }

    /// Reads and rewrites a translation page, with all entries that are newer in the cache.
    fn rewrite(&mut self, translation: u32) -> u64 {
        let first = translation * self.entries;
        for (_, entry) in self.cache.range_mut(first..first + self.entries) {
            entry.dirty = false;
        }
        self.stale.remove(&translation);
        self.program(self.logical + translation);
        self.times.copy()
    }

    /// Looks up an entry to change it. Returns the time of the translation pages read and written.
    fn look_up(&mut self, page: u32) -> u64 {
        let mut time = 0;
        if let Some(entry) = self.cache.remove(&page) {
            self.order.remove(&entry.used);
        } else {
            if self.cache.len() == self.capacity {
                let (_, oldest) = self.order.pop_first().expect("the cache is full");
                let evicted = self.cache[&oldest];
                if evicted.dirty {
                    time += self.rewrite(oldest / self.entries);
                }
                self.cache.remove(&oldest);
            }
            time += self.times.read;
        }
        self.clock += 1;
        self.order.insert(self.clock, page);
        self.cache.insert(page, Entry { used: self.clock, dirty: true });
        time
    }

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
        if page < self.logical {
            match self.cache.get_mut(&page) {
                Some(entry) => entry.dirty = true,
                None => _ = self.stale.insert(page / self.entries),
            }
        }
        Some(self.times.copy())
    }
}

impl Ftl for Dftl {
    fn has_room(&self, _page: u32) -> bool {
        let needed = [DATA, TRANSLATION].into_iter().filter(|&frontier| !self.has_open(frontier)).count();
        self.free.len() >= needed + KEPT_BACK as usize
    }

    fn write(&mut self, page: u32) -> Spent {
        let mapping = self.look_up(page);
        self.program(page);
        Spent { mapping, ..Spent::default() }
    }

    fn spare(&self) -> usize {
        self.free.len().saturating_sub(KEPT_BACK as usize)
    }

    fn begin(&mut self) {
        self.victim = self.best(None);
    }

    fn collect_step(&mut self) -> Option<u64> {
        let copied = self.copy_from(self.victim?);
        copied.or_else(|| {
            let translation = self.stale.first().copied()?;
            Some(self.rewrite(translation))
        })
    }

    fn fill_step(&mut self) -> Option<u64> {
        if self.free.is_empty() && !(self.has_open(DATA) && self.has_open(TRANSLATION)) {
            return None;
        }
        self.collect_step().or_else(|| {
            let second = self.best(self.victim)?;
            self.copy_from(second)
        })
    }

    fn has_victim(&self) -> bool {
        self.best(None).is_some()
    }

    fn can_erase(&self) -> bool {
        self.stale.is_empty() && self.victim.is_some_and(|victim| self.blocks[victim as usize].valid == 0)
    }

    fn erase(&mut self) {
        let victim = self.victim.take().expect("there is a victim");
        self.blocks[victim as usize] = Block::default();
        self.free.push(victim);
    }
}
