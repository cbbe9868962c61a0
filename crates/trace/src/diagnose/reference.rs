//! What a good drive would have to collect under the same writes: a page map with a fifth of spare space that collects the emptiest
//! block. It knows addresses only, no times, and is what the drive's own slowing down is held against: random writing over a full
//! drive costs the best of drives copies, rewriting in a small range costs it hardly any.

use super::log::Log;

/// Page, bytes, and pages of a block: as coarse as flash was in 2009, finer than it is today.
const PAGE_BYTES: u64 = 4096;
const BLOCK_PAGES: usize = 128;
/// Spare / logical: between consumer drives and those for servers.
const SPARE: f64 = 0.2;
/// Pages from which on it is left out, because it would take long: a log of 64 GiB of writes.
const MOST_PAGES: u64 = 1 << 24;
const NOTHING: u32 = u32::MAX;

/// Copies for each page written once the drive was full; `None` if the log never fills it, or is too long.
pub(super) fn copies_per_page(log: &Log) -> Option<f64> {
    let low = log.writes.iter().map(|write| write.lba).min()? / 8;
    let high = log.writes.iter().map(|write| write.lba.saturating_add(write.bytes / 512)).max()?.div_ceil(8);
    let (pages, written) = (high - low, log.bytes / PAGE_BYTES);
    if written > MOST_PAGES || written < pages {
        return None;
    }
    let mut drive = Drive::new(pages as usize);
    for write in &log.writes {
        let first = write.lba / 8 - low;
        let last = (write.lba + (write.bytes / 512).max(1) - 1) / 8 - low;
        for page in first..=last.min(pages - 1) {
            drive.write(page as usize);
        }
    }
    (drive.written_when_full > 0).then(|| drive.copies as f64 / drive.written_when_full as f64)
}

struct Drive {
    /// Physical page of each logical one.
    map: Vec<u32>,
    /// Logical page that each physical one was last written with.
    owner: Vec<u32>,
    valid: Vec<u16>,
    free: Vec<u32>,
    frontier: u32,
    filled: usize,
    copies: u64,
    written_when_full: u64,
}

impl Drive {
    fn new(pages: usize) -> Self {
        let blocks = ((pages as f64 * (1.0 + SPARE)) as usize).div_ceil(BLOCK_PAGES) + 2;
        Self {
            map: vec![NOTHING; pages],
            owner: vec![NOTHING; blocks * BLOCK_PAGES],
            valid: vec![0; blocks],
            free: (1..blocks as u32).rev().collect(),
            frontier: 0,
            filled: 0,
            copies: 0,
            written_when_full: 0,
        }
    }

    fn write(&mut self, page: usize) {
        if self.filled == BLOCK_PAGES {
            self.next_block();
        }
        self.written_when_full += u64::from(self.copies > 0 || self.free.len() <= 1);
        self.place(page);
    }

    /// The first free block; the last one is kept for what is copied.
    fn next_block(&mut self) {
        while self.free.len() <= 1 {
            let Some(victim) = (0..self.valid.len() as u32)
                .filter(|block| *block != self.frontier && !self.free.contains(block))
                .min_by_key(|block| self.valid[*block as usize])
            else {
                break;
            };
            self.collect(victim);
            if self.filled < BLOCK_PAGES {
                return;
            }
        }
        self.frontier = self.free.pop().unwrap_or(self.frontier);
        self.filled = 0;
    }

    fn collect(&mut self, victim: u32) {
        let from = victim as usize * BLOCK_PAGES;
        let kept: Vec<u32> = (from..from + BLOCK_PAGES)
            .filter(|place| {
                self.owner[*place] != NOTHING && self.map[self.owner[*place] as usize] == *place as u32
            })
            .map(|place| self.owner[place])
            .collect();
        self.owner[from..from + BLOCK_PAGES].fill(NOTHING);
        self.valid[victim as usize] = 0;
        if self.filled == BLOCK_PAGES {
            self.frontier = self.free.pop().unwrap_or(victim);
            self.filled = 0;
        }
        self.free.insert(0, victim);
        self.copies += kept.len() as u64;
        for page in kept {
            self.map[page as usize] = NOTHING;
            self.place(page as usize);
        }
    }

    fn place(&mut self, page: usize) {
        if self.map[page] != NOTHING {
            self.valid[self.map[page] as usize / BLOCK_PAGES] -= 1;
        }
        let place = self.frontier as usize * BLOCK_PAGES + self.filled;
        self.filled += 1;
        self.map[page] = place as u32;
        self.owner[place] = page as u32;
        self.valid[self.frontier as usize] += 1;
    }
}
