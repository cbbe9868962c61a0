//! What is moved by drives that map blocks and keep a log, and by drives whose page map is on flash (`reference` follows them).

use super::reference::{Managed, NOTHING, Range};

/// What the data blocks of a block map hold. A block that is written in order from its beginning takes pages in place.
struct Data {
    block_pages: u64,
    /// Pages of each block that were written in place, in order.
    in_place: Vec<u32>,
    /// Pages of each block that there are: only these are copied.
    there: Vec<u32>,
    written: Vec<bool>,
}

impl Data {
    fn new(range: &Range) -> Self {
        let blocks = (range.pages / range.block + 1) as usize;
        Self {
            block_pages: range.block,
            in_place: vec![0; blocks],
            there: vec![0; blocks],
            written: vec![false; range.pages as usize],
        }
    }

    /// Block of a page, and the page's place in it.
    fn place(&self, page: u32) -> (usize, u32) {
        ((u64::from(page) / self.block_pages) as usize, (u64::from(page) % self.block_pages) as u32)
    }

    /// Notes that a page is written; whether that is in place.
    fn take(&mut self, page: u32) -> bool {
        let (block, at) = self.place(page);
        self.there[block] += u32::from(!std::mem::replace(&mut self.written[page as usize], true));
        let in_place = self.in_place[block] == at;
        self.in_place[block] += u32::from(in_place);
        in_place
    }

    /// Writes a block anew; pages that are copied.
    fn merge(&mut self, block: usize) -> u64 {
        self.in_place[block] = self.block_pages as u32;
        u64::from(self.there[block])
    }
}

/// Each block that is written to out of order has a log of its own as long as there are logs; the one written to longest ago is merged.
pub(super) struct OwnLogs {
    data: Data,
    logs: usize,
    /// Block, pages in its log, and whether they are in order so far; the one written to last is the last.
    open: Vec<(usize, u32, bool)>,
    moved: u64,
}

impl OwnLogs {
    pub(super) fn new(range: &Range, space: f64) -> Self {
        let logs = ((range.pages as f64 * space) as u64 / range.block).clamp(2, 256) as usize;
        Self { data: Data::new(range), logs, open: Vec::new(), moved: 0 }
    }

    fn merge(&mut self, (block, filled, in_order): (usize, u32, bool)) {
        let copied = self.data.merge(block);
        self.moved += if in_order { copied.saturating_sub(filled.into()) } else { copied };
    }
}

impl Managed for OwnLogs {
    fn write(&mut self, page: u32) {
        let (block, at) = self.data.place(page);
        if self.data.take(page) {
            return;
        }
        let place = self.open.iter().rposition(|open| open.0 == block);
        let mut log = match place {
            Some(place) => self.open.remove(place),
            None => (block, 0, true),
        };
        if place.is_none() && self.open.len() >= self.logs {
            let oldest = self.open.remove(0);
            self.merge(oldest);
        }
        log.2 &= log.1 == at;
        log.1 += 1;
        if u64::from(log.1) == self.data.block_pages {
            self.merge(log);
        } else {
            self.open.push(log);
        }
    }

    fn moved(&self) -> u64 {
        self.moved
    }
}

/// All writes go to logs in turn; when there is none left, all blocks with a page that counts in the oldest one are merged.
pub(super) struct SharedLogs {
    data: Data,
    /// Pages in the logs, oldest first: as many as the logs hold.
    ring: Vec<u32>,
    next: usize,
    /// Where in the ring each page was last written.
    latest: Vec<u32>,
    moved: u64,
}

impl SharedLogs {
    pub(super) fn new(range: &Range, space: f64) -> Self {
        let logs = ((range.pages as f64 * space) as u64 / range.block).max(2);
        Self {
            data: Data::new(range),
            ring: vec![NOTHING; (logs * range.block) as usize],
            next: 0,
            latest: vec![NOTHING; range.pages as usize],
            moved: 0,
        }
    }

    /// Merges what the log at `next` holds.
    fn merge(&mut self) {
        let block_pages = self.data.block_pages as usize;
        let places = self.next..self.next + block_pages;
        let first = self.ring[self.next];
        let whole = first != NOTHING
            && (first as usize).is_multiple_of(block_pages)
            && self.ring[places.clone()].iter().zip(first..).all(|(page, expected)| *page == expected);
        for place in places {
            let page = std::mem::replace(&mut self.ring[place], NOTHING);
            if page == NOTHING || self.latest[page as usize] != place as u32 {
                continue;
            }
            let (block, _) = self.data.place(page);
            let copied = self.data.merge(block);
            self.moved += if whole { 0 } else { copied };
            // What later logs hold of the block went into it too.
            let from = block * block_pages;
            let to = (from + block_pages).min(self.latest.len());
            self.latest[from..to].fill(NOTHING);
        }
    }
}

impl Managed for SharedLogs {
    fn write(&mut self, page: u32) {
        if self.data.take(page) {
            return;
        }
        if self.next == self.ring.len() {
            self.next = 0;
        }
        if self.next.is_multiple_of(self.data.block_pages as usize) {
            self.merge();
        }
        self.ring[self.next] = page;
        self.latest[page as usize] = self.next as u32;
        self.next += 1;
    }

    fn moved(&self) -> u64 {
        self.moved
    }
}

/// A page map on flash: a page whose entry is not among the last ones used costs moving an entry in and another one out. What is moved
/// are entries.
pub(super) struct CachedMap {
    entries: u32,
    now: u32,
    last: Vec<u32>,
    missed: u64,
}

impl CachedMap {
    pub(super) fn new(range: &Range, entries: f64) -> Self {
        Self { entries: entries as u32, now: 0, last: vec![NOTHING; range.pages as usize], missed: 0 }
    }
}

impl Managed for CachedMap {
    fn write(&mut self, page: u32) {
        let last = std::mem::replace(&mut self.last[page as usize], self.now);
        let hit = last != NOTHING && self.now - last < self.entries;
        self.missed += u64::from(!hit && self.now >= self.entries);
        self.now += 1;
    }

    fn moved(&self) -> u64 {
        self.missed
    }
}
