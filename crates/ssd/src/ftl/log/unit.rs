//! Where the pages of a unit are: in the data blocks, or in the log.

use serde::{Deserialize, Serialize};

use super::own::Own;
use super::slots::Slots;
use super::{CowVec, Kind, Ops, Page, Rules, RunError, Step};
use crate::ftl::blocks::{Blocks, Index};
use crate::geometry::Geometry;

/// The physical block of a data block, with 1 added, and its next page. Zeros: it is not there. An array, because a vector
/// of arrays of zeros is zeroed memory, which costs nothing until it is touched.
type DataBlock = [u32; 2];
const BLOCK: usize = 0;
const NEXT: usize = 1;

/// 64 pages of a data block, a bit each: whether the newest version is in the data block, or in the log. Neither: the
/// page does not exist.
type PageBits = [u64; 2];
pub(super) const IN_DATA: usize = 0;
pub(super) const IN_LOG: usize = 1;

/// A unit's tables.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Unit {
    pub(super) number: u32,
    pub(super) pages_per_block: u32,
    pub(super) words_per_block: usize,
    /// Erased blocks and erase counts.
    pub(super) blocks: Blocks,
    #[serde(with = "crate::raw")]
    data: Vec<DataBlock>,
    /// Each data block starts at a word of its own.
    #[serde(with = "crate::raw")]
    pub(super) pages: Vec<PageBits>,
    /// By key: the position in the log (stale where the page is not there).
    pub(super) map: CowVec,
    pub(super) log: Slots,
    /// Most blocks of the log, without a sequential one.
    pub(super) log_blocks: u32,
    /// The log block for sequential writes, which is not in the log's queue.
    pub(super) sequential: Option<Sequential>,
    /// The log blocks that data blocks write to, if each has its own or prefers one.
    pub(super) own: Own,
    /// Merges that the collection in progress has made.
    pub(super) merges: u32,
    /// Of the victim, where data blocks are merged only if it is worth it.
    pub(super) plan: Plan,
}

/// The sequential log block.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Sequential {
    /// Its slot in the log.
    pub(super) slot: u32,
    /// The data block whose first pages it holds, each at its own offset.
    pub(super) owner: u32,
}

/// Plan for a victim.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Plan {
    /// When the victim entered the log: its name.
    pub(super) victim: u64,
    /// Data blocks to merge, the first one last.
    pub(super) merges: Vec<u32>,
}

/// Where the next version of a page goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    /// The data block: the page is free there, and the next one in order.
    Data,
    /// The open block of the log.
    Log,
    /// The sequential log block, as its next page.
    Sequential { slot: u32 },
    /// A new sequential log block, as its first page.
    NewSequential,
}

impl Unit {
    pub(super) fn new(number: u32, geometry: &Geometry, rules: &Rules) -> Self {
        let pages_per_block = geometry.pages_per_block;
        let words_per_block = pages_per_block.div_ceil(64) as usize;
        let (data_blocks, unit_blocks) = (geometry.unit_data_blocks(), geometry.unit_blocks(number));
        Self {
            number,
            pages_per_block,
            words_per_block,
            blocks: Blocks::new(unit_blocks as u32, pages_per_block, Index::Unordered),
            data: vec![[0; 2]; data_blocks as usize],
            pages: vec![[0; 2]; data_blocks as usize * words_per_block],
            map: CowVec::new(geometry.unit_logical_pages),
            log: Slots::new(unit_blocks - data_blocks, rules.pages_per_block, rules.associativity()),
            log_blocks: geometry.unit_log_blocks(number) as u32,
            sequential: None,
            own: Own::new(if rules.kind.has_own_log_blocks() { data_blocks as usize } else { 0 }),
            merges: 0,
            plan: Plan::default(),
        }
    }

    pub(super) fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    pub(super) fn blocks_mut(&mut self) -> &mut Blocks {
        &mut self.blocks
    }

    /// The words of a data block.
    pub(super) fn words(&self, block: u32) -> std::ops::Range<usize> {
        let first = block as usize * self.words_per_block;
        first..first + self.words_per_block
    }

    /// The word of a page, and its bit there.
    #[inline]
    fn bit_of(&self, page: Page) -> (usize, u64) {
        let word = page.block as usize * self.words_per_block + (page.offset >> 6) as usize;
        (word, 1 << (page.offset & 63))
    }

    pub(super) fn has_data_block(&self, block: u32) -> bool {
        self.data.get(block as usize).is_some_and(|data| data[BLOCK] > 0)
    }

    /// The physical block of a data block.
    pub(super) fn physical(&self, block: u32) -> Option<u32> {
        self.data[block as usize][BLOCK].checked_sub(1)
    }

    /// Gives a data block another physical block, written up to before page `next`; or none.
    pub(super) fn set_data_block(&mut self, block: u32, physical: Option<u32>, next: u32) {
        self.data[block as usize] = physical.map_or([0; 2], |physical| [physical + 1, next]);
    }

    /// The physical page at an offset of a data block that is there.
    #[inline]
    pub(super) fn data_ppn(&self, block: u32, offset: u32) -> u32 {
        (self.data[block as usize][BLOCK] - 1) * self.pages_per_block + offset
    }

    #[inline]
    pub(super) fn lookup(&self, page: Page) -> Option<u32> {
        let (word, bit) = self.bit_of(page);
        let bits = self.pages[word];
        if bits[IN_LOG] & bit != 0 {
            Some(self.log.ppn(self.map.get(page.key.into())))
        } else if bits[IN_DATA] & bit != 0 {
            Some(self.data_ppn(page.block, page.offset))
        } else {
            None
        }
    }

    #[inline]
    pub(super) fn peek(&self, page: Page) -> u64 {
        let bits = self.pages[self.bit_of(page).0];
        let data = self.data[page.block as usize];
        bits[IN_LOG] ^ bits[IN_DATA] ^ u64::from(data[BLOCK]) ^ u64::from(self.map.get(page.key.into()))
    }

    #[inline]
    fn route(&self, rules: &Rules, page: Page) -> Route {
        if self.data[page.block as usize][NEXT] == page.offset {
            return Route::Data;
        }
        if rules.kind.has_sequential() {
            if page.offset == 0 {
                let must_wait = self.sequential_joins_log(rules) && self.spare_blocks() == 0;
                let waits = must_wait && self.log_slot(rules, page).is_some();
                return if waits { Route::Log } else { Route::NewSequential };
            }
            if let Some(slot) = self.sequential_slot_for(page) {
                return Route::Sequential { slot };
            }
        }
        Route::Log
    }

    /// The block of the log that takes the page, unless it needs a new one.
    #[inline]
    fn log_slot(&self, rules: &Rules, page: Page) -> Option<u32> {
        match rules.kind {
            Kind::LogBlock | Kind::Fast(_) => self.log.open(),
            Kind::Bast => self.own.slot(page.block),
            Kind::Kast { .. } => self.shared_slot(page),
        }
    }

    /// Blocks that the log may still take.
    #[inline]
    pub(super) fn spare_blocks(&self) -> u32 {
        // One too many while pages that were moved out of a victim wait for it to be erased.
        self.log_blocks.saturating_sub(self.log.len())
    }

    /// True if a collection must come before the next version of the page.
    #[inline]
    pub(super) fn must_collect(&self, rules: &Rules, page: Page) -> bool {
        if self.own.full().is_some() {
            return true;
        }
        if self.spare_blocks() > 0 {
            return false;
        }
        match self.route(rules, page) {
            Route::Data | Route::Sequential { .. } => false,
            Route::Log => self.log_slot(rules, page).is_none(),
            Route::NewSequential => self.sequential_joins_log(rules),
        }
    }

    /// Writes a page, after the collection that it needs. Returns its physical page, and that of the version before.
    #[inline]
    pub(super) fn write(
        &mut self,
        rules: &Rules,
        page: Page,
        ops: &mut Ops,
    ) -> Result<(u32, Option<u32>), RunError> {
        self.switch_if_complete(ops);
        while self.must_collect(rules, page) {
            self.collect(rules, ops)?;
        }
        let slot = match self.route(rules, page) {
            Route::Data => return self.write_in_place(page, ops),
            Route::Log => {
                self.leave_sequential(rules, page, ops)?;
                match self.log_slot(rules, page) {
                    Some(slot) => slot,
                    None => self.open_log(ops)?,
                }
            }
            Route::Sequential { slot } => slot,
            Route::NewSequential => self.open_sequential(rules, page, ops)?,
        };
        let position = self.log.append(slot, page.key);
        let (word, bit) = self.bit_of(page);
        let bits = &mut self.pages[word];
        let old = if bits[IN_LOG] & bit != 0 {
            let before = self.map.replace(page.key.into(), position);
            self.log.invalidate(before);
            Some(self.log.ppn(before))
        } else {
            self.map.set(page.key.into(), position);
            bits[IN_LOG] |= bit;
            let was_in_data = bits[IN_DATA] & bit != 0;
            bits[IN_DATA] &= !bit;
            was_in_data.then(|| self.data_ppn(page.block, page.offset))
        };
        match rules.kind {
            Kind::LogBlock | Kind::Fast(_) => {}
            Kind::Bast => self.wrote_to_own(page.block, slot),
            Kind::Kast { .. } => self.own.set_slot(page.block, slot),
        }
        Ok((self.log.ppn(position), old))
    }

    /// Writes the next page of a data block.
    #[inline]
    fn write_in_place(&mut self, page: Page, ops: &mut Ops) -> Result<(u32, Option<u32>), RunError> {
        if !self.has_data_block(page.block) {
            let physical = self.take(ops)?;
            self.set_data_block(page.block, Some(physical), 0);
        }
        self.data[page.block as usize][NEXT] += 1;
        let (word, bit) = self.bit_of(page);
        let bits = &mut self.pages[word];
        bits[IN_DATA] |= bit;
        let old = (bits[IN_LOG] & bit != 0).then(|| {
            bits[IN_LOG] &= !bit;
            let before = self.map.get(page.key.into());
            self.log.invalidate(before);
            self.log.ppn(before)
        });
        Ok((self.data_ppn(page.block, page.offset), old))
    }

    /// A page that does not exist was there before the run: in its data block, at its own offset, with those before it.
    pub(super) fn lay(&mut self, page: Page, ops: &mut Ops) -> Result<(), RunError> {
        if !self.has_data_block(page.block) {
            let physical = self.take(ops)?;
            self.set_data_block(page.block, Some(physical), 0);
        }
        let next = &mut self.data[page.block as usize][NEXT];
        *next = (*next).max(page.offset + 1);
        let (word, bit) = self.bit_of(page);
        self.pages[word][IN_DATA] |= bit;
        ops.laid(self.number, self.data_ppn(page.block, page.offset), false);
        Ok(())
    }

    /// Makes a whole collection.
    #[cold]
    fn collect(&mut self, rules: &Rules, ops: &mut Ops) -> Result<(), RunError> {
        loop {
            match self.collect_step(rules, ops)? {
                Some(Step::Erase) => return Ok(()),
                Some(_) => {}
                None => return Err(self.stuck()),
            }
        }
    }

    /// Gives the log another block.
    pub(super) fn open_log(&mut self, ops: &mut Ops) -> Result<u32, RunError> {
        let block = self.take(ops)?;
        let slot = self.log.occupy(block);
        self.log.push(slot);
        Ok(slot)
    }

    /// Takes an erased block.
    pub(super) fn take(&mut self, ops: &mut Ops) -> Result<u32, RunError> {
        if self.blocks.free() == 0 {
            // A collection has left its erase for later: pages were moved out of its victim, or a log block became data.
            self.erase_if_empty(false, ops);
        }
        ops.opened(self.number);
        self.blocks.take_free(false).ok_or_else(|| self.stuck())
    }

    /// Forgets a page. Returns whether it existed.
    pub(super) fn trim(&mut self, page: Page) -> bool {
        let (word, bit) = self.bit_of(page);
        let bits = &mut self.pages[word];
        let existed = (bits[IN_DATA] | bits[IN_LOG]) & bit != 0;
        bits[IN_DATA] &= !bit;
        if bits[IN_LOG] & bit != 0 {
            bits[IN_LOG] &= !bit;
            self.log.invalidate(self.map.get(page.key.into()));
        }
        existed
    }

    /// Never to be seen: the log always has a block to collect, and a collection always frees a page.
    #[cold]
    pub(super) fn stuck(&self) -> RunError {
        let pages = self.pages.iter().map(|bits| u64::from((bits[IN_DATA] | bits[IN_LOG]).count_ones()));
        let there = (0..self.data.len() as u32).filter(|block| self.has_data_block(*block)).count();
        RunError::Stuck {
            unit: self.number,
            free: self.blocks.free(),
            closed: there as u64 + u64::from(self.log.len()),
            valid: pages.sum(),
            pages: self.pages.len() as u64 * u64::from(self.pages_per_block),
            held_back: 1,
        }
    }

    pub(super) fn snapshot(&mut self) -> Self {
        Self {
            blocks: self.blocks.clone(),
            data: self.data.clone(),
            pages: self.pages.clone(),
            map: self.map.snapshot(),
            log: self.log.snapshot(),
            own: self.own.clone(),
            plan: self.plan.clone(),
            ..*self
        }
    }
}
