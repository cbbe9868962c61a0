//! The reference: a bare page-mapped FTL. Arrays, greedy victims, nothing else: no time, no statistics.
//!
//! It is what a simulator's inner loop could cost at best, so it is written to be fast: two maps, a count of valid
//! pages for each block, and the full blocks sorted by it in one array, where losing a page is one swap.

/// Marks a physical page that holds no valid data.
const INVALID: u32 = u32::MAX;

/// Pages moved and blocks erased so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Pages written by the host.
    pub(crate) writes: u64,
    /// Pages copied by collections.
    pub(crate) copies: u64,
    /// Blocks erased.
    pub(crate) erases: u64,
}

impl Counts {
    /// Reads, programs and erases: a copy is a read and a program.
    pub(crate) fn flash_operations(&self) -> u64 {
        self.writes + 2 * self.copies + self.erases
    }

    /// Pages programmed for each page written.
    pub(crate) fn write_amplification(&self) -> f64 {
        (self.writes + self.copies) as f64 / self.writes as f64
    }

    /// Difference from `earlier`.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            writes: self.writes - earlier.writes,
            copies: self.copies - earlier.copies,
            erases: self.erases - earlier.erases,
        }
    }
}

/// One FTL over `blocks` blocks, one of which is always erased or being filled.
pub(crate) struct BareFtl {
    pages_per_block: u32,
    block_bits: u32,
    /// Physical page of each logical page.
    physical: Vec<u32>,
    /// Logical page of each physical page, or [`INVALID`].
    logical: Vec<u32>,
    /// Valid pages of each block.
    valid: Vec<u32>,
    /// Full blocks, by valid pages; `rank` says where each stands.
    sorted: Vec<u32>,
    rank: Vec<u32>,
    /// Where in `sorted` the blocks with at least this many valid pages begin; the last entry is its length.
    first: Vec<u32>,
    /// Erased blocks, the next one last.
    erased: Vec<u32>,
    /// Next page of the open block, and its end.
    frontier: u32,
    frontier_end: u32,
    pub(crate) counts: Counts,
}

impl BareFtl {
    /// A drive of `logical_pages` that were written once in order, on `blocks` blocks of a power of two pages.
    pub(crate) fn full(logical_pages: u32, blocks: u32, pages_per_block: u32) -> Self {
        let mut ftl = Self {
            pages_per_block,
            block_bits: pages_per_block.ilog2(),
            physical: vec![INVALID; logical_pages as usize],
            logical: vec![INVALID; (blocks * pages_per_block) as usize],
            valid: vec![0; blocks as usize],
            sorted: Vec::with_capacity(blocks as usize),
            rank: vec![INVALID; blocks as usize],
            first: vec![0; pages_per_block as usize + 2],
            erased: (0..blocks).rev().collect(),
            frontier: 0,
            frontier_end: 0,
            counts: Counts::default(),
        };
        for page in 0..logical_pages {
            ftl.make_room();
            ftl.append(page);
        }
        ftl.counts = Counts::default();
        ftl
    }

    /// Overwrites one logical page.
    #[inline]
    pub(crate) fn write(&mut self, page: u32) {
        if self.frontier == self.frontier_end {
            self.make_room();
        }
        let old = self.physical[page as usize];
        self.logical[old as usize] = INVALID;
        self.lose_page(old >> self.block_bits);
        self.append(page);
        self.counts.writes += 1;
    }

    #[inline]
    fn append(&mut self, page: u32) {
        self.physical[page as usize] = self.frontier;
        self.logical[self.frontier as usize] = page;
        self.frontier += 1;
    }

    /// A block has one valid page less: if it stands in `sorted`, it changes places with the first of its equals.
    #[inline]
    fn lose_page(&mut self, block: u32) {
        let had = self.valid[block as usize] as usize;
        self.valid[block as usize] = had as u32 - 1;
        let from = self.rank[block as usize];
        if from == INVALID {
            return;
        }
        let to = self.first[had];
        let other = self.sorted[to as usize];
        self.sorted[to as usize] = block;
        self.sorted[from as usize] = other;
        self.rank[other as usize] = from;
        self.rank[block as usize] = to;
        self.first[had] = to + 1;
    }

    /// Opens a block when none has room, and collects until one erased block is left behind it.
    fn make_room(&mut self) {
        while self.frontier == self.frontier_end {
            if self.frontier_end > 0 {
                self.close_block();
            }
            let open = self.erased.pop().expect("the collector leaves an erased block");
            self.frontier = open * self.pages_per_block;
            self.frontier_end = self.frontier + self.pages_per_block;
            // While it is open a block counts as full; what it loses meanwhile is known when it closes.
            self.valid[open as usize] = self.pages_per_block;
            if self.erased.is_empty() {
                self.collect();
            }
        }
    }

    /// Sorts the open block in, behind its equals.
    fn close_block(&mut self) {
        let block = (self.frontier_end >> self.block_bits) - 1;
        let valid = self.valid[block as usize] as usize;
        self.sorted.push(block);
        let mut gap = self.sorted.len() as u32 - 1;
        // The gap moves down from the end, past one block of each higher count.
        for count in (valid + 1..=self.pages_per_block as usize).rev() {
            let first = self.first[count];
            if first < gap {
                let moved = self.sorted[first as usize];
                self.sorted[gap as usize] = moved;
                self.rank[moved as usize] = gap;
            }
            gap = first;
            self.first[count] = first + 1;
        }
        self.first[self.pages_per_block as usize + 1] += 1;
        self.sorted[gap as usize] = block;
        self.rank[block as usize] = gap;
    }

    /// Copies what is valid in the block with the fewest valid pages, and erases it.
    fn collect(&mut self) {
        let victim = self.take_first();
        let start = victim * self.pages_per_block;
        for physical in start..start + self.pages_per_block {
            let page = self.logical[physical as usize];
            if page != INVALID {
                self.append(page);
            }
        }
        self.counts.copies += u64::from(self.valid[victim as usize]);
        self.counts.erases += 1;
        self.valid[victim as usize] = 0;
        self.erased.push(victim);
    }

    /// Takes the first block out of `sorted`; its place goes to the last of its equals, and so on upwards.
    fn take_first(&mut self) -> u32 {
        let victim = self.sorted[0];
        let mut gap = 0;
        for first in &mut self.first[self.valid[victim as usize] as usize + 1..] {
            *first -= 1;
            if *first > gap {
                let moved = self.sorted[*first as usize];
                self.sorted[gap as usize] = moved;
                self.rank[moved as usize] = gap;
                gap = *first;
            }
        }
        self.sorted.pop();
        self.rank[victim as usize] = INVALID;
        victim
    }
}
