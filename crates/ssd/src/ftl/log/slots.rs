//! The blocks of a unit's log: who owns their pages, which of them are valid, and the order in which they were taken.
//!
//! A block of the log stands in a *slot*, and a page of it has a *position*, slot x pages of a block + page: the tables are
//! as large as the log and not as the unit. The queue has the blocks in the order in which they are to be collected; a
//! sequential log block stands in a slot, too, but not in the queue.

use serde::{Deserialize, Serialize};

use super::members::Members;
use crate::cow::CowVec;
use crate::divisor::Divisor;
use crate::ftl::blocks::pages_of;

/// Stands for "no slot".
pub(super) const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Slot {
    /// The physical block.
    block: u32,
    /// Its next page; pages of a block when it has no room.
    next: u32,
    /// Its valid pages.
    valid: u32,
    /// Neighbours in the queue.
    older: u32,
    newer: u32,
    /// Grows from the oldest to the newest of the queue; outside of it, more than that.
    entered: u64,
}

/// The log of a unit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Slots {
    pages_per_block: Divisor,
    words_per_block: usize,
    /// Made when first needed.
    all: Vec<Slot>,
    #[serde(with = "crate::raw")]
    unused: Vec<u32>,
    /// By position: the key of the page (stale where the page is not valid).
    owner: CowVec,
    /// One bit a position, each slot starting at a word of its own.
    #[serde(with = "crate::raw")]
    valid_bits: Vec<u64>,
    oldest: u32,
    newest: u32,
    len: u32,
    entered: u64,
    /// The oldest block of the queue with room.
    open: u32,
    /// No block of the queue older than this one has a valid page.
    walked: u32,
    /// Data blocks with pages in each slot, if it matters.
    pub(super) members: Option<Members>,
}

impl Slots {
    /// A log of at most `count` blocks, no block in it. `associativity`: of how many data blocks a block of it has pages
    /// at most; zero does not care.
    pub(super) fn new(count: u64, pages_per_block: Divisor, associativity: u32) -> Self {
        let words_per_block = pages_per_block.get().div_ceil(64) as usize;
        Self {
            pages_per_block,
            words_per_block,
            all: Vec::new(),
            unused: Vec::new(),
            owner: CowVec::new(count * pages_per_block.get()),
            valid_bits: vec![0; count as usize * words_per_block],
            oldest: NONE,
            newest: NONE,
            len: 0,
            entered: 0,
            open: NONE,
            walked: NONE,
            members: (associativity > 0).then(|| Members::new(count as usize, associativity)),
        }
    }

    /// Blocks in the queue.
    #[inline]
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    /// The oldest block of the queue.
    pub(super) fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    /// The block of the queue that is written: the oldest one with room.
    #[inline]
    pub(super) fn open(&self) -> Option<u32> {
        (self.open != NONE).then_some(self.open)
    }

    /// The physical block in a slot.
    pub(super) fn block(&self, slot: u32) -> u32 {
        self.all[slot as usize].block
    }

    /// The next page of a block.
    #[inline]
    pub(super) fn next(&self, slot: u32) -> u32 {
        self.all[slot as usize].next
    }

    /// True if a block takes no more pages.
    #[inline]
    pub(super) fn is_closed(&self, slot: u32) -> bool {
        u64::from(self.next(slot)) == self.pages_per_block.get()
    }

    /// Valid pages of a block.
    pub(super) fn valid(&self, slot: u32) -> u32 {
        self.all[slot as usize].valid
    }

    /// The key of the page at a position.
    pub(super) fn key(&self, position: u32) -> u32 {
        self.owner.get(position.into())
    }

    /// The physical page at a position.
    #[inline]
    pub(super) fn ppn(&self, position: u32) -> u32 {
        let (slot, page) = self.pages_per_block.split(position.into());
        self.all[slot as usize].block * self.pages_per_block.get() as u32 + page as u32
    }

    /// Puts an erased block into a slot, outside the queue.
    pub(super) fn occupy(&mut self, block: u32) -> u32 {
        let slot = Slot { block, next: 0, valid: 0, older: NONE, newer: NONE, entered: u64::MAX };
        if let Some(number) = self.unused.pop() {
            self.all[number as usize] = slot;
            return number;
        }
        self.all.push(slot);
        self.all.len() as u32 - 1
    }

    /// Empties a slot outside the queue that has no valid page left. Returns its block.
    pub(super) fn release(&mut self, slot: u32) -> u32 {
        debug_assert_eq!(self.valid(slot), 0, "no valid page is lost");
        self.unused.push(slot);
        self.block(slot)
    }

    /// Makes a block the newest of the queue.
    pub(super) fn push(&mut self, slot: u32) {
        self.entered += 1;
        let entry = &mut self.all[slot as usize];
        (entry.entered, entry.older, entry.newer) = (self.entered, self.newest, NONE);
        if self.newest == NONE {
            (self.oldest, self.walked) = (slot, slot);
        } else {
            self.all[self.newest as usize].newer = slot;
        }
        self.newest = slot;
        self.len += 1;
        if self.open == NONE && !self.is_closed(slot) {
            self.open = slot;
        }
        if let Some(members) = &mut self.members {
            members.show(slot);
        }
    }

    /// Takes a block out of the queue.
    pub(super) fn remove(&mut self, slot: u32) {
        let Slot { older, newer, .. } = self.all[slot as usize];
        self.all[slot as usize].entered = u64::MAX;
        if older == NONE {
            self.oldest = newer;
        } else {
            self.all[older as usize].newer = newer;
        }
        if newer == NONE {
            self.newest = older;
        } else {
            self.all[newer as usize].older = older;
        }
        self.len -= 1;
        if self.open == slot {
            self.open = newer;
        }
        if let Some(members) = &mut self.members {
            members.hide(slot);
        }
        if self.walked == slot {
            self.walked = if newer == NONE { older } else { newer };
        }
    }

    /// Gives up the room that a block has left.
    pub(super) fn close(&mut self, slot: u32) {
        self.all[slot as usize].next = self.pages_per_block.get() as u32;
        if self.open == slot {
            self.open = self.all[slot as usize].newer;
        }
        if let Some(members) = &mut self.members {
            members.hide(slot);
        }
    }

    /// Writes the next page of a block that has room. Returns its position.
    #[inline]
    pub(super) fn append(&mut self, slot: u32, key: u32) -> u32 {
        let pages_per_block = self.pages_per_block.get() as u32;
        let entry = &mut self.all[slot as usize];
        let page = entry.next;
        entry.next += 1;
        entry.valid += 1;
        let Slot { next, newer, entered, .. } = *entry;
        if next == pages_per_block && self.open == slot {
            // Those behind it have room: they were sequential log blocks.
            self.open = newer;
        }
        if self.walked != NONE && entered < self.all[self.walked as usize].entered {
            self.walked = slot;
        }
        if let Some(members) = &mut self.members {
            members.add(slot, self.pages_per_block.split(key.into()).0 as u32);
            if next == pages_per_block {
                members.hide(slot);
            }
        }
        let position = slot * pages_per_block + page;
        self.owner.set(position.into(), key);
        self.valid_bits[slot as usize * self.words_per_block + (page >> 6) as usize] |= 1 << (page & 63);
        position
    }

    /// The page at a position is not valid any more.
    #[inline]
    pub(super) fn invalidate(&mut self, position: u32) {
        let (slot, page) = self.pages_per_block.split(position.into());
        self.valid_bits[slot as usize * self.words_per_block + (page >> 6) as usize] &= !(1 << (page & 63));
        self.all[slot as usize].valid -= 1;
        if let Some(members) = &mut self.members {
            let key = self.owner.get(position.into());
            members.take(slot as u32, self.pages_per_block.split(key.into()).0 as u32);
        }
    }

    /// The first valid page of a block.
    pub(super) fn first_valid(&self, slot: u32) -> Option<u32> {
        let words = &self.valid_bits[slot as usize * self.words_per_block..][..self.words_per_block];
        let (word, bits) = words.iter().enumerate().find(|(_, bits)| **bits != 0)?;
        let page = word as u32 * 64 + bits.trailing_zeros();
        Some(slot * self.pages_per_block.get() as u32 + page)
    }

    /// The valid pages of a block.
    pub(super) fn valid_pages(&self, slot: u32) -> impl Iterator<Item = u32> + '_ {
        let words = &self.valid_bits[slot as usize * self.words_per_block..][..self.words_per_block];
        let first = slot * self.pages_per_block.get() as u32;
        (0..).zip(words).flat_map(move |(word, bits)| pages_of(*bits).map(move |bit| first + word * 64 + bit))
    }

    /// When a block of the queue entered it: grows from the oldest to the newest.
    pub(super) fn entered(&self, slot: u32) -> u64 {
        self.all[slot as usize].entered
    }

    /// The block that a position is in.
    pub(super) fn slot_of(&self, position: u32) -> u32 {
        self.pages_per_block.split(position.into()).0 as u32
    }

    /// The first valid page of the queue, from its oldest block on.
    pub(super) fn oldest_valid(&mut self) -> Option<u32> {
        while self.walked != NONE {
            let Slot { valid, newer, .. } = self.all[self.walked as usize];
            if valid > 0 {
                return self.first_valid(self.walked);
            }
            if newer == NONE {
                break;
            }
            self.walked = newer;
        }
        None
    }

    /// The queue, oldest first.
    #[cfg(test)]
    pub(super) fn queue(&self) -> Vec<u32> {
        let there = |slot: u32| (slot != NONE).then_some(slot);
        let newer = |slot: &u32| there(self.all[*slot as usize].newer);
        std::iter::successors(there(self.oldest), newer).collect()
    }

    /// A copy that shares what it can.
    pub(super) fn snapshot(&mut self) -> Self {
        let owner = self.owner.snapshot();
        Self {
            owner,
            all: self.all.clone(),
            unused: self.unused.clone(),
            valid_bits: self.valid_bits.clone(),
            members: self.members.clone(),
            ..*self
        }
    }
}
