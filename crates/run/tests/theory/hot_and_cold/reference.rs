//! A page-mapped FTL in the plainest terms, for write amplification only: what the simulator is compared with where no
//! closed form exists. Victims are found by looking at every block.

use crate::theory::drive::Shape;

/// A physical page without valid data.
const NONE: usize = usize::MAX;

/// The block that a frontier writes, and how many of its pages are written.
#[derive(Clone, Copy)]
struct Frontier {
    block: usize,
    used: usize,
}

/// The drive and its hot and cold writes.
pub(crate) struct Reference {
    pages_per_block: usize,
    held_back: usize,
    two_frontiers: bool,
    /// Candidates of a collection; none takes the block with the fewest valid pages of all.
    choices: Option<u32>,
    /// Share of the writes that go to cold pages, and of the pages that are hot.
    cold_permille: usize,
    physical: Vec<usize>,
    logical: Vec<usize>,
    valid: Vec<usize>,
    /// When a block last lost a page or was filled: of equals, greedy takes the latest.
    changed: Vec<u64>,
    full: Vec<usize>,
    erased: Vec<usize>,
    frontiers: [Frontier; 2],
    clock: u64,
    programs: u64,
    random: u64,
}

impl Reference {
    /// A full drive of one unit of that shape.
    pub(crate) fn new(
        shape: &Shape,
        two_frontiers: bool,
        choices: Option<u32>,
        cold_permille: usize,
    ) -> Self {
        let blocks = (shape.blocks + shape.held_back) as usize;
        let pages_per_block = shape.pages_per_block as usize;
        let unopened = Frontier { block: NONE, used: pages_per_block };
        let mut drive = Self {
            pages_per_block,
            held_back: shape.held_back as usize,
            two_frontiers,
            choices,
            cold_permille,
            physical: vec![NONE; shape.logical_pages() as usize],
            logical: vec![NONE; blocks * pages_per_block],
            valid: vec![0; blocks],
            changed: vec![0; blocks],
            full: Vec::new(),
            erased: (0..blocks).collect(),
            frontiers: [unopened; 2],
            clock: 0,
            programs: 0,
            random: 0x9E37_79B9_7F4A_7C15,
        };
        for page in 0..drive.physical.len() {
            drive.write(page);
        }
        drive
    }

    /// Overwrites as many pages as so many capacities have, and returns the amplification meanwhile.
    pub(crate) fn write_capacities(&mut self, capacities: u64) -> f64 {
        let before = self.programs;
        let (pages, writes) = (self.physical.len(), capacities as usize * self.physical.len());
        let hot_pages = pages * self.cold_permille / 1000;
        for _ in 0..writes {
            let page = if self.below(1000) >= self.cold_permille {
                self.below(hot_pages)
            } else {
                hot_pages + self.below(pages - hot_pages)
            };
            self.write(page);
        }
        (self.programs - before) as f64 / writes as f64
    }

    /// Marsaglia's xorshift with a multiplier (xorshift64*).
    fn below(&mut self, limit: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let high = self.random.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32;
        ((high * limit as u64) >> 32) as usize
    }

    fn write(&mut self, page: usize) {
        while self.frontiers[0].used == self.pages_per_block && self.erased.len() <= self.held_back {
            self.collect();
        }
        let old = std::mem::replace(&mut self.physical[page], NONE);
        if old != NONE {
            self.logical[old] = NONE;
            let block = old / self.pages_per_block;
            self.valid[block] -= 1;
            self.clock += 1;
            self.changed[block] = self.clock;
        }
        self.append(0, page);
    }

    fn append(&mut self, frontier: usize, page: usize) {
        if self.frontiers[frontier].used == self.pages_per_block {
            let block = self.erased.pop().expect("blocks are held back for this");
            self.frontiers[frontier] = Frontier { block, used: 0 };
        }
        let Frontier { block, used } = &mut self.frontiers[frontier];
        let physical = *block * self.pages_per_block + *used;
        *used += 1;
        self.physical[page] = physical;
        self.logical[physical] = page;
        self.valid[*block] += 1;
        self.programs += 1;
        if *used == self.pages_per_block {
            self.full.push(*block);
            self.clock += 1;
            self.changed[*block] = self.clock;
        }
    }

    fn collect(&mut self) {
        let place = if let Some(choices) = self.choices {
            let picks: Vec<usize> = (0..choices).map(|_| self.below(self.full.len())).collect();
            picks.into_iter().min_by_key(|place| self.valid[self.full[*place]])
        } else {
            let order = |block: usize| (self.valid[block], u64::MAX - self.changed[block]);
            (0..self.full.len()).min_by_key(|place| order(self.full[*place]))
        };
        let victim = self.full.swap_remove(place.expect("a drive that collects has full blocks"));
        for physical in victim * self.pages_per_block..(victim + 1) * self.pages_per_block {
            let page = std::mem::replace(&mut self.logical[physical], NONE);
            if page != NONE {
                self.append(usize::from(self.two_frontiers), page);
            }
        }
        self.valid[victim] = 0;
        self.erased.push(victim);
    }
}
