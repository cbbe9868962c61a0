//! Merges of data blocks, and collections made of them.

use super::unit::{IN_DATA, IN_LOG, Unit};
use super::{Kind, Ops, Rules, RunError, Step};
use crate::ftl::MergeKind;
use crate::ftl::blocks::pages_of;

impl Unit {
    /// Brings a data block up to date: into a log block that can be completed, or else in full.
    pub(super) fn merge(&mut self, rules: &Rules, block: u32, ops: &mut Ops) -> Result<(), RunError> {
        let Some(slot) = self.completable(rules, block) else {
            return self.merge_in_full(rules, block, ops);
        };
        let (old, pages) = self.complete(rules, block, slot, ops);
        if let Some(old) = old {
            self.erase(old, ops);
        }
        ops.merged(if pages > 0 { MergeKind::Partial } else { MergeKind::Switch });
        Ok(())
    }

    /// The log block that can become the data block, once pages that it lacks are copied into it: it holds the first pages in
    /// order, and those of them that exist are nowhere newer.
    pub(super) fn completable(&self, rules: &Rules, block: u32) -> Option<u32> {
        let slot = match rules.kind {
            Kind::Bast => self.own_in_order(block)?,
            _ => self.sequential.filter(|sequential| sequential.owner == block)?.slot,
        };
        let next = self.log.next(slot);
        let mut existing = 0;
        for (number, word) in (0..).zip(self.words(block)) {
            let wanted = next.saturating_sub(number * 64);
            let wanted = 1u64.checked_shl(wanted).map_or(u64::MAX, |bit| bit - 1);
            let [in_data, in_log] = self.pages[word];
            existing += ((in_data | in_log) & wanted).count_ones();
        }
        (existing == self.log.valid(slot)).then_some(slot)
    }

    /// Completes a log block with copies, and lets it take the place of its data block. Returns the physical block that is to
    /// be erased, and the number of copies.
    pub(super) fn complete(
        &mut self,
        rules: &Rules,
        block: u32,
        slot: u32,
        ops: &mut Ops,
    ) -> (Option<u32>, u32) {
        let written = self.log.next(slot);
        let pages = self.copy_to(rules, block, written, self.log.block(slot), ops);
        let next = self.absorb(block).max(written);
        if pages > 0 {
            ops.copies(self.number, pages);
        }
        if self.sequential.take_if(|sequential| sequential.slot == slot).is_none() {
            self.log.remove(slot);
            self.own.forget(block, slot);
        }
        (self.replace_data_block(block, slot, next), pages)
    }

    /// The block of a slot without valid pages becomes a data block. Returns the old one.
    pub(super) fn replace_data_block(&mut self, block: u32, slot: u32, next: u32) -> Option<u32> {
        let old = self.physical(block);
        let new = self.log.release(slot);
        self.set_data_block(block, Some(new), next);
        old
    }

    /// Copies the newest versions of all pages of a data block into an erased one, and erases the old one (and its
    /// sequential log block, which has no valid page left).
    pub(super) fn merge_in_full(&mut self, rules: &Rules, block: u32, ops: &mut Ops) -> Result<(), RunError> {
        let old = self.physical(block);
        let exists = self.words(block).any(|word| self.pages[word] != [0; 2]);
        let new = if exists { Some(self.take(ops)?) } else { None };
        if let Some(new) = new {
            let pages = self.copy_to(rules, block, 0, new, ops);
            ops.copies(self.number, pages);
        }
        let next = self.absorb(block);
        self.set_data_block(block, new, next);
        if let Some(old) = old {
            self.erase(old, ops);
        }
        self.erase_sequential_of(block, ops);
        ops.merged(MergeKind::Full);
        Ok(())
    }

    /// Copies the newest versions of the pages of a data block from offset `first` on to the same offsets of a
    /// physical block. Returns how many.
    pub(super) fn copy_to(&mut self, rules: &Rules, block: u32, first: u32, to: u32, ops: &mut Ops) -> u32 {
        let mut count = 0;
        for (number, word) in (0..).zip(self.words(block)) {
            let [in_data, in_log] = self.pages[word];
            // Of this word, the pages from `first` on.
            let skipped = first.saturating_sub(number * 64);
            let wanted = u64::MAX.checked_shl(skipped).unwrap_or(0);
            let bits = (in_data | in_log) & wanted;
            count += bits.count_ones();
            if ops.follows_pages() {
                for bit in pages_of(bits) {
                    let offset = number * 64 + bit;
                    let from = self.lookup(rules.page(block * self.pages_per_block + offset));
                    let from = from.unwrap_or_default();
                    ops.moved(from, to * self.pages_per_block + offset);
                }
            }
        }
        count
    }

    /// All pages of a data block that are in the log are in the data block from now on. Returns the offset after its last
    /// page.
    pub(super) fn absorb(&mut self, block: u32) -> u32 {
        let mut next = 0;
        for (number, word) in (0..).zip(self.words(block)) {
            let in_log = std::mem::take(&mut self.pages[word][IN_LOG]);
            for bit in pages_of(in_log) {
                let key = block * self.pages_per_block + number * 64 + bit;
                self.log.invalidate(self.map.get(key.into()));
            }
            let in_data = &mut self.pages[word][IN_DATA];
            *in_data |= in_log;
            if *in_data != 0 {
                next = number * 64 + u64::BITS - in_data.leading_zeros();
            }
        }
        next
    }

    pub(super) fn erase(&mut self, physical: u32, ops: &mut Ops) {
        self.blocks.erase(physical);
        ops.erased(self.number, physical);
    }

    /// Makes the next step of a collection of the log's oldest block. `None`: that is still being written, or there is none.
    pub(super) fn collect_step(&mut self, rules: &Rules, ops: &mut Ops) -> Result<Option<Step>, RunError> {
        if rules.kind == Kind::Bast {
            return self.collect_own_step(rules, ops);
        }
        let Some(victim) = self.log.oldest() else { return Ok(None) };
        if !self.log.is_closed(victim) {
            if self.spare_blocks() > 0 {
                return Ok(None);
            }
            // Blocks of the log have room, but not for the page that is to be written.
            self.log.close(victim);
        }
        let Some(position) = self.log.first_valid(victim) else {
            self.erase_slot(victim, ops);
            return Ok(Some(Step::Erase));
        };
        if let Some(selection) = rules.selection {
            return self.empty_selectively(rules, victim, selection, ops).map(Some);
        }
        if rules.throttle > 0 && self.merges >= rules.throttle {
            self.move_rest(victim, ops)?;
            return Ok(Some(Step::Move));
        }
        let block = rules.page(self.log.key(position)).block;
        self.merge(rules, block, ops)?;
        self.merges += 1;
        Ok(Some(Step::Merge { block }))
    }

    /// Moves the valid pages of a victim to the newest block of the log.
    pub(super) fn move_rest(&mut self, victim: u32, ops: &mut Ops) -> Result<(), RunError> {
        let mut moved = 0;
        while let Some(position) = self.log.first_valid(victim) {
            let slot = match self.log.open() {
                Some(slot) => slot,
                None => self.open_log(ops)?,
            };
            let key = self.log.key(position);
            let to = self.log.append(slot, key);
            self.map.set(key.into(), to);
            self.log.invalidate(position);
            if ops.follows_pages() {
                ops.moved(self.log.ppn(position), self.log.ppn(to));
            }
            moved += 1;
        }
        ops.copies(self.number, moved);
        Ok(())
    }

    /// Merges the data block of the oldest valid page in the log's queue. Returns whether there is one.
    pub(super) fn merge_oldest(&mut self, rules: &Rules, ops: &mut Ops) -> Result<bool, RunError> {
        let Some(position) = self.log.oldest_valid() else { return Ok(false) };
        let block = rules.page(self.log.key(position)).block;
        self.merge(rules, block, ops)?;
        Ok(true)
    }

    /// Erases what a collection has left over, or the block of the log that is to be collected next, if it is closed (or
    /// `open` ones will do) and holds no valid page. Returns whether it did.
    pub(super) fn erase_if_empty(&mut self, open: bool, ops: &mut Ops) -> bool {
        if self.erase_replaced(ops) {
            return true;
        }
        let Some(slot) = self.own.full().or(self.log.oldest()) else { return false };
        if self.log.valid(slot) > 0 || !(open || self.log.is_closed(slot)) {
            return false;
        }
        self.erase_slot(slot, ops);
        true
    }

    /// Erases a block of the queue that holds no valid page: its collection is over.
    pub(super) fn erase_slot(&mut self, slot: u32, ops: &mut Ops) {
        self.own.forget(self.owner_of(slot), slot);
        self.log.remove(slot);
        let physical = self.log.release(slot);
        self.erase(physical, ops);
        self.merges = 0;
        ops.collected();
    }
}
