//! The entries of a queue that wait, in the order that the replacement policy says (`replacement/`).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use super::replacement::{Gathers, Group, Rank, Replacement};

/// An entry that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Waiter {
    /// The entry.
    pub(super) slot: u32,
    /// Its order of entry.
    pub(super) sequence: u64,
    /// Its page.
    pub(super) place: Place,
}

/// Where a page belongs within its unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Place {
    /// The logical block.
    pub(crate) block: u64,
    /// The page of it.
    pub(crate) page: u32,
}

/// The waiting entries of one queue.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Waiting {
    /// Oldest first.
    Fifo(VecDeque<u32>),
    /// By blocks; where single pages are ranked, each page is one.
    Blocks(Blocks),
}

impl Waiting {
    pub(super) fn new(replacement: Replacement, pages_per_block: u32) -> Self {
        match replacement.gathers() {
            Gathers::Nothing => Waiting::Fifo(VecDeque::new()),
            Gathers::Pages | Gathers::Blocks => Waiting::Blocks(Blocks::new(replacement, pages_per_block)),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Waiting::Fifo(slots) => slots.len(),
            Waiting::Blocks(blocks) => blocks.by_age.len(),
        }
    }

    /// Next entry to leave; before `barrier`, if there is one, the oldest.
    #[inline]
    pub(super) fn next(&self, barrier: u64) -> Option<u32> {
        match self {
            Waiting::Fifo(slots) => slots.front().copied(),
            Waiting::Blocks(blocks) => blocks.next(barrier).map(|waiter| waiter.slot),
        }
    }

    /// Takes out the one that leaves next.
    #[inline]
    pub(super) fn take(&mut self, barrier: u64) -> Option<u32> {
        match self {
            Waiting::Fifo(slots) => slots.pop_front(),
            Waiting::Blocks(blocks) => blocks.take(barrier).map(|waiter| waiter.slot),
        }
    }

    #[inline]
    pub(super) fn push(&mut self, waiter: Waiter) {
        match self {
            Waiting::Fifo(slots) => slots.push_back(waiter.slot),
            Waiting::Blocks(blocks) => blocks.push(waiter),
        }
    }

    /// A page that waits was written again.
    #[inline]
    pub(super) fn touch(&mut self, place: Place) {
        if let Waiting::Blocks(blocks) = self {
            blocks.touch(place);
        }
    }

    /// One of them does not wait any more.
    pub(super) fn remove(&mut self, waiter: Waiter) {
        match self {
            Waiting::Fifo(slots) => slots.retain(|slot| *slot != waiter.slot),
            Waiting::Blocks(blocks) => blocks.remove(waiter),
        }
    }
}

/// Entries by the logical block of their pages.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Blocks {
    replacement: Replacement,
    pages_per_block: u32,
    by_number: BTreeMap<u64, Block>,
    /// Rank and number of every block: the first leaves next.
    by_rank: BTreeSet<(Rank, u64)>,
    /// By order of entry, with where they are.
    by_age: BTreeMap<u64, Waiter>,
    /// The block that is leaving: as long as any page of it waits, no other one does.
    leaving: Option<u64>,
    writes: u64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Block {
    /// Page and order of entry: older versions of a page first.
    pages: BTreeSet<(u32, u64)>,
    /// Its rank, once it has one.
    rank: Option<Rank>,
    /// Number of its latest write.
    latest_write: u64,
    /// The page that would go on with pages written in order from the first; none if they were not.
    next_in_order: Option<u32>,
}

impl Block {
    /// Ranks it as it is now. Its place among all others is by its number.
    fn rank_again(
        &mut self,
        number: u64,
        replacement: Replacement,
        pages_per_block: u32,
        by_rank: &mut BTreeSet<(Rank, u64)>,
    ) {
        let rank = replacement.rank(&Group {
            pages: self.pages.len() as u64,
            latest_write: self.latest_write,
            is_in_order: self.next_in_order == Some(pages_per_block),
        });
        if self.rank != Some(rank) {
            if let Some(before) = self.rank.replace(rank) {
                by_rank.remove(&(before, number));
            }
            by_rank.insert((rank, number));
        }
    }
}

impl Blocks {
    fn new(replacement: Replacement, pages_per_block: u32) -> Self {
        Self {
            replacement,
            pages_per_block,
            by_number: BTreeMap::new(),
            by_rank: BTreeSet::new(),
            by_age: BTreeMap::new(),
            leaving: None,
            writes: 0,
        }
    }

    /// Where single pages are ranked, each page is a block.
    fn of(&self, place: Place) -> Place {
        match self.replacement.gathers() {
            Gathers::Pages => Place {
                block: place.block * u64::from(self.pages_per_block) + u64::from(place.page),
                page: 0,
            },
            Gathers::Nothing | Gathers::Blocks => place,
        }
    }

    fn next(&self, barrier: u64) -> Option<Waiter> {
        if let Some((_, oldest)) = self.by_age.first_key_value().filter(|(sequence, _)| **sequence < barrier)
        {
            return Some(*oldest);
        }
        let block = self.leaving.or_else(|| self.by_rank.first().map(|(_, block)| *block))?;
        let (_, sequence) = *self.by_number.get(&block)?.pages.first()?;
        self.by_age.get(&sequence).copied()
    }

    fn take(&mut self, barrier: u64) -> Option<Waiter> {
        let waiter = self.next(barrier)?;
        if waiter.sequence >= barrier {
            self.leaving = Some(self.of(waiter.place).block);
        }
        self.remove(waiter);
        Some(waiter)
    }

    fn push(&mut self, waiter: Waiter) {
        let place = self.of(waiter.place);
        let block = self
            .by_number
            .entry(place.block)
            .or_insert_with(|| Block { next_in_order: Some(0), ..Block::default() });
        block.pages.insert((place.page, waiter.sequence));
        self.by_age.insert(waiter.sequence, waiter);
        self.touch(waiter.place);
    }

    fn touch(&mut self, place: Place) {
        let Place { block: number, page } = self.of(place);
        self.writes += 1;
        let Some(block) = self.by_number.get_mut(&number) else { return };
        block.next_in_order = match block.next_in_order {
            Some(next) if next == page => Some(page + 1),
            // The next sectors of the same page.
            Some(next) if next == page + 1 => Some(next),
            _ => None,
        };
        block.latest_write = self.writes;
        block.rank_again(number, self.replacement, self.pages_per_block, &mut self.by_rank);
    }

    fn remove(&mut self, waiter: Waiter) {
        let place = self.of(waiter.place);
        self.by_age.remove(&waiter.sequence);
        let Some(block) = self.by_number.get_mut(&place.block) else { return };
        block.pages.remove(&(place.page, waiter.sequence));
        if block.pages.is_empty() {
            if let Some(rank) = block.rank {
                self.by_rank.remove(&(rank, place.block));
            }
            self.by_number.remove(&place.block);
            self.leaving.take_if(|leaving| *leaving == place.block);
        } else {
            block.rank_again(place.block, self.replacement, self.pages_per_block, &mut self.by_rank);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages of blocks of four, in the order in which they are written; those that wait already are touched.
    fn order(replacement: Replacement, written: &[(u64, u32)], barrier: u64) -> Vec<(u64, u32)> {
        let mut waiting = Waiting::new(replacement, 4);
        let mut there: Vec<Place> = Vec::new();
        for (block, page) in written {
            let place = Place { block: *block, page: *page };
            if there.contains(&place) {
                waiting.touch(place);
            } else {
                there.push(place);
                let slot = there.len() as u32 - 1;
                waiting.push(Waiter { slot, sequence: u64::from(slot), place });
            }
        }
        assert_eq!(waiting.len(), there.len());
        let mut left = Vec::new();
        while let Some(slot) = waiting.next(barrier) {
            assert_eq!(waiting.take(barrier), Some(slot));
            left.push((there[slot as usize].block, there[slot as usize].page));
        }
        assert_eq!(waiting.len(), 0);
        left
    }

    const WRITTEN: [(u64, u32); 6] = [(1, 2), (2, 0), (1, 0), (3, 1), (3, 3), (2, 0)];

    #[test]
    fn fifo_goes_by_entry() {
        let expected = [(1, 2), (2, 0), (1, 0), (3, 1), (3, 3)];
        assert_eq!(order(Replacement::Fifo, &WRITTEN, 0), expected);
    }

    #[test]
    fn lru_goes_by_the_latest_write_of_a_page() {
        let expected = [(1, 2), (1, 0), (3, 1), (3, 3), (2, 0)];
        assert_eq!(order(Replacement::Lru, &WRITTEN, 0), expected);
    }

    #[test]
    fn block_lru_goes_by_the_latest_write_of_a_block_and_takes_all_of_it_in_order() {
        let expected = [(1, 0), (1, 2), (3, 1), (3, 3), (2, 0)];
        assert_eq!(order(Replacement::BlockLru, &WRITTEN, 0), expected);
    }

    #[test]
    fn a_block_written_in_order_to_its_end_goes_first() {
        let mut written = WRITTEN.to_vec();
        written.extend([(7, 0), (7, 1), (7, 1), (7, 2), (7, 3)]);
        let left = order(Replacement::BlockLru, &written, 0);
        assert_eq!(left[..4], [(7, 0), (7, 1), (7, 2), (7, 3)]);
        // Not if one was written again in between.
        written.extend([(8, 0), (8, 1), (8, 0), (8, 2), (8, 3)]);
        let left = order(Replacement::BlockLru, &written, 0);
        assert_eq!(left.last(), Some(&(8, 3)));
    }

    #[test]
    fn fab_takes_the_block_of_which_most_waits() {
        let written = [(1, 0), (2, 0), (3, 0), (2, 3), (3, 1), (2, 0)];
        let expected = [(3, 0), (3, 1), (2, 0), (2, 3), (1, 0)];
        assert_eq!(
            order(Replacement::Fab, &written, 0),
            expected,
            "of two of the same size the one that rests longer"
        );
    }

    #[test]
    fn what_is_older_than_a_barrier_goes_by_entry() {
        let expected = [(1, 2), (2, 0), (1, 0), (3, 1), (3, 3)];
        for replacement in [Replacement::Lru, Replacement::BlockLru, Replacement::Fab] {
            assert_eq!(order(replacement, &WRITTEN, u64::MAX), expected, "{replacement:?}");
        }
    }

    #[test]
    fn a_block_that_is_leaving_leaves_whole_whatever_is_written_meanwhile() {
        let mut waiting = Waiting::new(Replacement::BlockLru, 4);
        let waiter =
            |slot: u32, block, page| Waiter { slot, sequence: slot.into(), place: Place { block, page } };
        for (slot, block, page) in [(0, 1, 0), (1, 1, 2), (2, 2, 0)] {
            waiting.push(waiter(slot, block, page));
        }
        assert_eq!(waiting.take(0), Some(0));
        waiting.push(waiter(3, 1, 3));
        waiting.remove(waiter(1, 1, 2));
        assert_eq!(waiting.take(0), Some(3));
        assert_eq!(waiting.take(0), Some(2));
    }
}
