//! What drives of known management would have to move under the same writes: page maps with more or less spare space that collect the
//! emptiest block, the oldest or any, and block maps with more or less space for logs. They know addresses only, no times, and are what
//! a drive's own slowing down is held against: random writing over a full drive costs the best of drives copies, rewriting in a
//! small range costs it hardly any.

use super::blocks::{CachedMap, OwnLogs, SharedLogs};
use super::log::{Log, Write};

/// Bytes of a block where there are not too many of them: as coarse as flash was in 2009, finer than it is today.
const BLOCK_BYTES: u64 = 512 * 1024;
/// Blocks beyond which they are taken larger: what is chosen among them takes as long as there are many.
const MOST_BLOCKS: u64 = 2048;
/// Pages written and moved from which on no more is followed, because it would take long: 16 GiB of 4 KiB.
const MOST_PAGES: u64 = 1 << 22;
pub(super) const NOTHING: u32 = u32::MAX;

/// Which block is collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Victim {
    /// That with the fewest pages that count.
    Emptiest,
    /// That which was written first.
    Oldest,
    /// One drawn at random.
    Any,
}

/// How a drive is managed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// A page map. The space that it has, in multiples of the range of addresses that were written.
    Pages(f64, Victim),
    /// A block map with logs that each belong to one block; space for logs, in shares of that range.
    OwnLogs(f64),
    /// The same with logs that any block's writes go to.
    SharedLogs(f64),
    /// A page map on flash, of which so many entries are in memory.
    CachedMap(f64),
}

/// What was written in a part of the log, and what had to be moved meanwhile; pages.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Work {
    pub(super) pages: f64,
    pub(super) moved: f64,
}

/// The addresses between the first and the last that were written, in pages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    sectors: u64,
    low: u64,
    pub(super) pages: u64,
    /// Pages of a block.
    pub(super) block: u64,
}

impl Range {
    fn of(log: &Log, page_bytes: u64) -> Option<Self> {
        let sectors = page_bytes / flashweir_trace::SECTOR_BYTES;
        let low = log.writes.iter().map(|write| write.lba).min()? / sectors;
        let end = log
            .writes
            .iter()
            .map(|write| write.lba.saturating_add(write.bytes / flashweir_trace::SECTOR_BYTES))
            .max()?;
        let pages = end.div_ceil(sectors) - low;
        let block = (BLOCK_BYTES / page_bytes).max(pages.div_ceil(MOST_BLOCKS)).next_power_of_two();
        Some(Self { sectors, low, pages, block })
    }

    /// Pages of a write, counted from the lowest.
    fn of_write(&self, write: &Write) -> std::ops::RangeInclusive<u64> {
        let first = write.lba / self.sectors - self.low;
        let last =
            (write.lba + (write.bytes / flashweir_trace::SECTOR_BYTES).max(1) - 1) / self.sectors - self.low;
        first..=last.min(self.pages - 1)
    }
}

/// The work of each part of the log; `parts` says with which write each part ends. `None` if there is nothing to follow, or the range is
/// too long. Parts behind what is followed are empty.
pub(super) fn work(log: &Log, page_bytes: u64, kind: Kind, parts: &[usize]) -> Option<Vec<Work>> {
    let range = Range::of(log, page_bytes)?;
    if range.pages > MOST_PAGES {
        return None;
    }
    let mut drive = managed(kind, &range);
    let (mut found, mut from, mut written) = (vec![Work::default(); parts.len()], 0, 0);
    for (part, to) in found.iter_mut().zip(parts) {
        if written + drive.moved() > MOST_PAGES {
            break;
        }
        let before = drive.moved();
        for write in &log.writes[from..*to] {
            let pages = range.of_write(write);
            let count = pages.end() + 1 - pages.start();
            written += count;
            part.pages += count as f64;
            for page in pages {
                drive.write(page as u32);
            }
        }
        part.moved = (drive.moved() - before) as f64;
        from = *to;
    }
    Some(found)
}

/// What each write would cost, ns, on a drive that takes `page_ns` for a page and `moved_ns` for one that it moves, and whose buffer holds
/// so many bytes: a write waits for the flash as far as more is left to do than the buffer holds. One request at a time, as logs
/// of drives that are tried out have it.
pub(super) fn costs(
    log: &Log,
    page_bytes: u64,
    kind: Kind,
    (page_ns, moved_ns): (f64, f64),
    buffer_bytes: u64,
) -> Vec<f64> {
    let Some(range) = Range::of(log, page_bytes).filter(|range| range.pages <= MOST_PAGES) else {
        return Vec::new();
    };
    let mut drive = managed(kind, &range);
    let held_ns = (buffer_bytes / page_bytes) as f64 * page_ns;
    let (mut left_ns, mut written) = (0.0, 0);
    let mut found = Vec::with_capacity(log.writes.len());
    for write in &log.writes {
        if written + drive.moved() > MOST_PAGES {
            break;
        }
        let before = drive.moved();
        let pages = range.of_write(write);
        let count = pages.end() + 1 - pages.start();
        written += count;
        for page in pages {
            drive.write(page as u32);
        }
        left_ns += count as f64 * page_ns + (drive.moved() - before) as f64 * moved_ns;
        let waits_ns = f64::max(left_ns - held_ns, 0.0);
        left_ns -= waits_ns;
        found.push(waits_ns);
    }
    found
}

fn managed(kind: Kind, range: &Range) -> Box<dyn Managed> {
    match kind {
        Kind::Pages(space, victim) => Box::new(PageMap::new(range, space, victim)),
        Kind::OwnLogs(space) => Box::new(OwnLogs::new(range, space)),
        Kind::SharedLogs(space) => Box::new(SharedLogs::new(range, space)),
        Kind::CachedMap(entries) => Box::new(CachedMap::new(range, entries)),
    }
}

/// A drive that takes pages and moves others.
pub(super) trait Managed {
    fn write(&mut self, page: u32);
    fn moved(&self) -> u64;
}

struct PageMap {
    victim: Victim,
    block_pages: usize,
    /// Physical page of each logical one.
    map: Vec<u32>,
    /// Logical page that each physical one was last written with.
    owner: Vec<u32>,
    /// Pages that count, of each block.
    valid: Vec<u32>,
    /// Blocks in the order in which they were begun; the last one is being filled.
    used: Vec<u32>,
    free: Vec<u32>,
    filled: usize,
    copies: u64,
    drawn: u64,
}

impl PageMap {
    fn new(range: &Range, space: f64, victim: Victim) -> Self {
        let block_pages = range.block as usize;
        // One is being filled, one is kept for copies, and there must be something to gain.
        let least = (range.pages as usize).div_ceil(block_pages) + 3;
        let blocks = ((range.pages as f64 * space) as usize).div_ceil(block_pages).max(least);
        Self {
            victim,
            block_pages,
            map: vec![NOTHING; range.pages as usize],
            owner: vec![NOTHING; blocks * block_pages],
            valid: vec![0; blocks],
            used: vec![0],
            free: (1..blocks as u32).rev().collect(),
            filled: 0,
            copies: 0,
            drawn: 1,
        }
    }

    /// Begins a block; collects until one more is free, for copies.
    fn next_block(&mut self) {
        self.begin();
        while self.free.is_empty() {
            let at = self.choose();
            let block = self.used.remove(at);
            self.collect(block);
        }
        if self.filled == self.block_pages {
            self.begin();
        }
    }

    fn begin(&mut self) {
        if let Some(block) = self.free.pop() {
            self.used.push(block);
            self.filled = 0;
        }
    }

    /// Place of the victim among the used ones, of which the last is not one.
    fn choose(&mut self) -> usize {
        let count = self.used.len() - 1;
        let emptiest =
            |used: &[u32], valid: &[u32]| (0..count).min_by_key(|at| valid[used[*at] as usize]).unwrap_or(0);
        let chosen = match self.victim {
            Victim::Emptiest => emptiest(&self.used, &self.valid),
            Victim::Oldest => 0,
            Victim::Any => {
                self.drawn = self
                    .drawn
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                (self.drawn >> 33) as usize % count.max(1)
            }
        };
        if self.valid[self.used[chosen] as usize] as usize == self.block_pages {
            return emptiest(&self.used, &self.valid);
        }
        chosen
    }

    fn collect(&mut self, block: u32) {
        let from = block as usize * self.block_pages;
        let mut kept = Vec::with_capacity(self.valid[block as usize] as usize);
        for place in from..from + self.block_pages {
            let page = self.owner[place];
            if page != NOTHING && self.map[page as usize] == place as u32 {
                self.map[page as usize] = NOTHING;
                kept.push(page);
            }
            self.owner[place] = NOTHING;
        }
        self.valid[block as usize] = 0;
        self.free.insert(0, block);
        self.copies += kept.len() as u64;
        for page in kept {
            if self.filled == self.block_pages {
                self.begin();
            }
            self.place(page);
        }
    }

    fn place(&mut self, page: u32) {
        let old = self.map[page as usize];
        if old != NOTHING {
            self.valid[old as usize / self.block_pages] -= 1;
        }
        let block = self.used[self.used.len() - 1];
        let place = block as usize * self.block_pages + self.filled;
        self.filled += 1;
        self.map[page as usize] = place as u32;
        self.owner[place] = page;
        self.valid[block as usize] += 1;
    }
}

impl Managed for PageMap {
    fn write(&mut self, page: u32) {
        if self.filled == self.block_pages {
            self.next_block();
        }
        self.place(page);
    }

    fn moved(&self) -> u64 {
        self.copies
    }
}
