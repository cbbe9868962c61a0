//! A shared FIFO of pages. A write to a page that waits joins it; a page leaves when its program is done. Each unit has
//! at most one page of the buffer under way (under dynamic allocation there is one queue for all units).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::geometry::MAX_PAGE_SECTORS;

const WORDS: usize = MAX_PAGE_SECTORS as usize / 64;

/// Which sectors of a page are present.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SectorMask([u64; WORDS]);

impl SectorMask {
    /// Sectors `first` to `end`, `end` excluded.
    pub(crate) fn range(first: u32, end: u32) -> Self {
        let mut mask = Self::default();
        mask.insert(first, end);
        mask
    }

    /// Adds sectors.
    pub(crate) fn insert(&mut self, first: u32, end: u32) {
        for sector in first..end {
            self.0[sector as usize / 64] |= 1 << (sector % 64);
        }
    }

    /// Whether all sectors of the range are present.
    pub(crate) fn covers(&self, first: u32, end: u32) -> bool {
        (first..end).all(|sector| self.0[sector as usize / 64] >> (sector % 64) & 1 == 1)
    }
}

/// A page in the buffer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    pub(crate) lpn: u64,
    pub(crate) mask: SectorMask,
    /// Order of entry.
    pub(crate) sequence: u64,
    /// Being programmed: nothing may join it any more.
    pub(crate) in_flight: bool,
    queue: u32,
    /// The channel that it will go to, once that is decided; for the probe, as is the next one.
    pub(crate) channel: Option<u32>,
    /// Number of the request that brought it in.
    pub(crate) request: u64,
    /// Requests that wait until it is on flash.
    pub(crate) waiters: Vec<u32>,
    /// Entries that go with this one in a command of several planes.
    pub(crate) companions: Vec<u32>,
}

/// The shared FIFO.
#[derive(Clone, Debug)]
pub(crate) struct WriteBuffer {
    capacity: usize,
    entries: Vec<Entry>,
    free: Vec<u32>,
    /// The youngest entry of each page.
    by_lpn: BTreeMap<u64, u32>,
    /// Waiting entries, oldest first; a queue a unit, or one.
    queues: Vec<VecDeque<u32>>,
    /// Whether a queue's unit has an entry under way.
    under_way: Vec<bool>,
    /// Sequence numbers of all entries.
    live: BTreeSet<u64>,
    next_sequence: u64,
}

impl WriteBuffer {
    /// A buffer of `capacity` pages over `queues` queues.
    pub(crate) fn new(capacity: u64, queues: u32) -> Self {
        Self {
            capacity: usize::try_from(capacity).unwrap_or(usize::MAX),
            entries: Vec::new(),
            free: Vec::new(),
            by_lpn: BTreeMap::new(),
            queues: vec![VecDeque::new(); queues as usize],
            under_way: vec![false; queues as usize],
            live: BTreeSet::new(),
            next_sequence: 0,
        }
    }

    /// Pages in the buffer, those under way included.
    pub(crate) fn used(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Number that the next entry gets: all before it are older.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// An entry that is in the buffer.
    pub(crate) fn entry(&mut self, slot: u32) -> &mut Entry {
        &mut self.entries[slot as usize]
    }

    /// The youngest entry of a page.
    pub(crate) fn find(&self, lpn: u64) -> Option<(u32, &Entry)> {
        self.by_lpn.get(&lpn).map(|slot| (*slot, &self.entries[*slot as usize]))
    }

    /// Joins sectors to a waiting entry of the page. Returns its slot, or `None` if there is none.
    pub(crate) fn join(&mut self, lpn: u64, first: u32, end: u32) -> Option<u32> {
        let slot = *self.by_lpn.get(&lpn)?;
        let entry = &mut self.entries[slot as usize];
        if entry.in_flight {
            return None;
        }
        entry.mask.insert(first, end);
        Some(slot)
    }

    /// Takes in a page. Returns its slot, or `None` if the buffer is full.
    pub(crate) fn insert(&mut self, lpn: u64, first: u32, end: u32, queue: u32) -> Option<u32> {
        if self.used() >= self.capacity {
            return None;
        }
        let entry = Entry {
            lpn,
            mask: SectorMask::range(first, end),
            sequence: self.next_sequence,
            queue,
            ..Entry::default()
        };
        self.live.insert(self.next_sequence);
        self.next_sequence += 1;
        let slot = if let Some(slot) = self.free.pop() {
            self.entries[slot as usize] = entry;
            slot
        } else {
            self.entries.push(entry);
            self.entries.len() as u32 - 1
        };
        self.by_lpn.insert(lpn, slot);
        self.queues[queue as usize].push_back(slot);
        Some(slot)
    }

    /// Queues whose unit could take a page now, with their oldest entry.
    pub(crate) fn ready(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let free = self.queues.iter().enumerate().filter(|(queue, _)| !self.under_way[*queue]);
        free.filter_map(|(queue, waiting)| waiting.front().map(|slot| (queue as u32, *slot)))
    }

    /// The oldest entry of a queue starts. `exclusive`: nothing else of that queue may until it is done.
    pub(crate) fn start(&mut self, queue: u32, exclusive: bool) {
        if let Some(slot) = self.queues[queue as usize].pop_front() {
            self.entries[slot as usize].in_flight = true;
            self.under_way[queue as usize] = exclusive;
        }
    }

    /// An entry is on flash: its place is free. Returns it.
    pub(crate) fn finish(&mut self, slot: u32) -> Entry {
        let entry = std::mem::take(&mut self.entries[slot as usize]);
        self.under_way[entry.queue as usize] = false;
        if self.by_lpn.get(&entry.lpn) == Some(&slot) {
            self.by_lpn.remove(&entry.lpn);
        }
        self.live.remove(&entry.sequence);
        self.free.push(slot);
        entry
    }

    /// Forgets a page (TRIM): nothing is read from the buffer any more. Returns the entry if it waited, with its slot;
    /// one under way stays until it is done.
    pub(crate) fn forget(&mut self, lpn: u64) -> Option<(u32, Entry)> {
        let slot = self.by_lpn.remove(&lpn)?;
        if self.entries[slot as usize].in_flight {
            return None;
        }
        let queue = &mut self.queues[self.entries[slot as usize].queue as usize];
        queue.retain(|waiting| *waiting != slot);
        let under_way = self.under_way[self.entries[slot as usize].queue as usize];
        let entry = self.finish(slot);
        self.under_way[entry.queue as usize] = under_way;
        Some((slot, entry))
    }

    /// Whether an entry older than `sequence` is still in the buffer.
    pub(crate) fn holds_older_than(&self, sequence: u64) -> bool {
        self.live.first().is_some_and(|oldest| *oldest < sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coalesces_until_under_way_and_frees_its_place() {
        let mut buffer = WriteBuffer::new(2, 2);
        let first = buffer.insert(10, 0, 4, 0).expect("room");
        assert_eq!(buffer.join(10, 4, 8), Some(first));
        assert!(buffer.entry(first).mask.covers(0, 8));
        assert_eq!(buffer.ready().collect::<Vec<_>>(), [(0, first)]);
        buffer.start(0, true);
        assert_eq!(buffer.join(10, 0, 1), None);
        let second = buffer.insert(10, 0, 8, 0).expect("room");
        assert_eq!(buffer.ready().count(), 0, "one page a unit at a time");
        assert_eq!(buffer.insert(11, 0, 8, 1), None, "full");
        assert_eq!(buffer.find(10).map(|(slot, _)| slot), Some(second));
        assert!(buffer.holds_older_than(1));
        buffer.finish(first);
        assert!(!buffer.holds_older_than(1));
        assert_eq!(buffer.ready().collect::<Vec<_>>(), [(0, second)]);
        assert!(buffer.forget(10).is_some());
        assert_eq!(buffer.used(), 0);
    }

    #[test]
    fn masks_cover_what_was_inserted() {
        let mut mask = SectorMask::range(60, 70);
        assert!(mask.covers(60, 70) && !mask.covers(59, 61));
        mask.insert(0, 60);
        assert!(mask.covers(0, 70));
    }
}
