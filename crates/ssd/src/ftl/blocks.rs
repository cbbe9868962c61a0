//! The blocks of one unit: what is erased, what is full, how much of each is valid, and the index of full blocks that
//! the victim policy reads. All tables start as zeros, so that blocks never touched cost no memory.

use serde::{Deserialize, Serialize};

use retired::Retired;

/// Index of full blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Index {
    /// Buckets by number of valid pages.
    ByValid,
    /// A queue in the order of filling.
    ByAge,
    /// A dense list, for random access and scans.
    Unordered,
}

/// Stands for "no block" in the links, which count from 1.
const NONE: u32 = 0;

/// Fields that an invalidation touches, in one cache line. The lists are rings, so that a block enters and leaves
/// without a branch: a branch that waits for memory keeps the next invalidation from starting. An array, because a
/// vector of arrays of zeros is zeroed memory, which costs nothing until it is touched; one of a struct is written in
/// full.
type Node = [u32; 3];
/// Place of the number of valid pages in a [`Node`].
const VALID: usize = 0;
/// Places of the neighbours in the ring (block + 1, or the ring's head); in `Unordered`, `PREVIOUS` is that in `dense`.
const PREVIOUS: usize = 1;
const NEXT: usize = 2;

/// Block table of a unit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Blocks {
    kind: Index,
    /// Blocks from 1 on, then the heads of the rings: one a number of valid pages (`ByValid`), or one (`ByAge`).
    #[serde(with = "crate::raw")]
    nodes: Vec<Node>,
    #[serde(with = "crate::raw")]
    erases: Vec<u32>,
    /// Those of preconditioning; empty if it had none.
    #[serde(with = "crate::raw")]
    erases_before: Vec<u32>,
    /// Host page writes of the unit when the block was filled.
    #[serde(with = "crate::raw")]
    filled_at: Vec<u64>,
    #[serde(with = "crate::raw")]
    full: Vec<bool>,
    full_count: u64,
    pages_per_block: u32,
    /// No bucket below this one has a block.
    lowest: usize,
    #[serde(with = "crate::raw")]
    dense: Vec<u32>,
    most_erases: u32,
    /// The first blocks, which are kept in SLC mode and are neither free nor collected.
    kept: u32,
    /// Blocks from here on were never used.
    fresh: u32,
    count: u32,
    /// Blocks erased after use, oldest first.
    erased: std::collections::VecDeque<u32>,
    retired: Retired,
}

impl Blocks {
    pub(crate) fn new(count: u32, pages_per_block: u32, kind: Index) -> Self {
        let len = count as usize;
        let rings = match kind {
            Index::ByValid => pages_per_block as usize + 1,
            Index::ByAge => 1,
            Index::Unordered => 0,
        };
        // An empty ring is a head that is its own neighbour.
        let mut nodes: Vec<Node> = vec![[0; 3]; len + 1 + rings];
        for (at, head) in nodes.iter_mut().enumerate().skip(len + 1) {
            (head[PREVIOUS], head[NEXT]) = (at as u32, at as u32);
        }
        Self {
            kind,
            nodes,
            erases: vec![0; len],
            erases_before: Vec::new(),
            filled_at: vec![0; len],
            full: vec![false; len],
            full_count: 0,
            pages_per_block,
            lowest: 0,
            dense: Vec::new(),
            most_erases: 0,
            kept: 0,
            fresh: 0,
            count,
            erased: std::collections::VecDeque::new(),
            retired: Retired::default(),
        }
    }

    /// As these, but for the first ones, which are kept in SLC mode.
    pub(crate) fn keeping(self, kept: u32) -> Self {
        Self { kept, fresh: kept, ..self }
    }

    /// A block kept in SLC mode is erased.
    pub(crate) fn erase_kept(&mut self, block: u32) {
        self.erases[block as usize] += 1;
    }

    /// All blocks.
    pub(crate) fn count(&self) -> u64 {
        self.count.into()
    }

    /// Erased blocks.
    #[inline]
    pub(crate) fn free(&self) -> u64 {
        u64::from(self.count - self.fresh) + (self.erased.len() + self.retired.erased()) as u64
    }

    /// Of each block, by number: true if it is erased.
    pub(crate) fn erased_ones(&self) -> Vec<bool> {
        let mut found = vec![false; self.count as usize];
        found[self.fresh as usize..].fill(true);
        self.erased.iter().chain(self.retired.erased_ones()).for_each(|block| found[*block as usize] = true);
        found
    }

    /// Full blocks: those that a collection may take.
    pub(crate) fn full_count(&self) -> u64 {
        self.full_count
    }

    /// Valid pages of a block.
    #[inline]
    pub(crate) fn valid(&self, block: u32) -> u32 {
        self.nodes[block as usize + 1][VALID]
    }

    /// True if the unit has such a block.
    pub(crate) fn has(&self, block: u32) -> bool {
        block < self.count
    }

    /// True if a collection may take the block.
    pub(crate) fn is_full(&self, block: u32) -> bool {
        self.full[block as usize]
    }

    /// Times a block was erased.
    pub(crate) fn erases(&self, block: u32) -> u32 {
        self.erases[block as usize]
    }

    /// Erases of each block in preconditioning, and since the drive was new; without those kept in SLC mode.
    pub(crate) fn all_erases(&self) -> impl Iterator<Item = (u32, u32)> + Clone {
        let before = self.erases_before.iter().copied().chain(std::iter::repeat(0));
        before.zip(self.erases.iter().copied()).skip(self.kept as usize)
    }

    /// Preconditioning is over.
    pub(crate) fn end_preconditioning(&mut self) {
        if self.most_erases > 0 {
            self.erases_before.clone_from(&self.erases);
        }
    }

    /// Host page writes of the unit when the block was filled.
    pub(crate) fn filled_at(&self, block: u32) -> u64 {
        self.filled_at[block as usize]
    }

    /// The full block with the fewest valid pages. Needs [`Index::ByValid`].
    pub(crate) fn fewest_valid(&self) -> Option<u32> {
        debug_assert!(self.kind == Index::ByValid);
        let first_head = self.head(0) as usize;
        let rings = &self.nodes[first_head + self.lowest..];
        let at =
            rings.iter().zip(first_head + self.lowest..).position(|(head, at)| head[NEXT] as usize != at)?;
        Some(rings[at][NEXT] - 1)
    }

    /// The block filled longest ago. Needs [`Index::ByAge`].
    pub(crate) fn oldest(&self) -> Option<u32> {
        debug_assert!(self.kind == Index::ByAge);
        let head = self.head(0);
        let oldest = self.nodes[head as usize][NEXT];
        (oldest != head).then(|| oldest - 1)
    }

    /// All full blocks in no order. Needs [`Index::Unordered`].
    pub(crate) fn unordered(&self) -> &[u32] {
        debug_assert!(self.kind == Index::Unordered);
        &self.dense
    }

    /// All full blocks in the order of the index: from the fewest valid pages on, or from the oldest on.
    pub(super) fn in_order(&self) -> impl Iterator<Item = u32> + '_ {
        let first = self.head(0) as usize;
        let heads = if self.kind == Index::Unordered { first..first } else { first..self.nodes.len() };
        let of_ring = move |head: usize| {
            let next = move |at: &usize| Some(self.nodes[*at][NEXT] as usize);
            std::iter::successors(next(&head), next).take_while(move |at| *at != head).map(|at| at as u32 - 1)
        };
        self.dense.iter().copied().chain(heads.flat_map(of_ring))
    }

    /// The full block with the fewest erases, lowest number first.
    pub(crate) fn least_worn_full(&self) -> Option<u32> {
        (0..self.fresh).filter(|block| self.full[*block as usize]).min_by_key(|block| self.erases(*block))
    }

    /// The largest erase count of a block.
    pub(crate) fn most_erases(&self) -> u32 {
        self.most_erases
    }

    /// Takes an erased block: the one erased longest ago, or the least worn one.
    pub(crate) fn take_free(&mut self, least_worn: bool) -> Option<u32> {
        // A block never used is as little worn as can be, and was erased before all others.
        if self.fresh < self.count {
            self.fresh += 1;
            return Some(self.fresh - 1);
        }
        if !least_worn {
            return self.erased.pop_front().or_else(|| self.retired.use_once_more());
        }
        let at = (0..self.erased.len()).min_by_key(|at| self.erases(self.erased[*at]));
        at.and_then(|at| self.erased.remove(at)).or_else(|| self.retired.use_once_more())
    }

    /// Takes the most worn erased block, where cold data can rest.
    pub(crate) fn take_most_worn(&mut self) -> Option<u32> {
        let at = (0..self.erased.len()).max_by_key(|at| self.erases(self.erased[*at]));
        match at {
            Some(at) => self.erased.remove(at),
            None => self.take_free(true),
        }
    }

    /// One more valid page in a block that is being written.
    #[inline]
    pub(crate) fn add_valid(&mut self, block: u32, pages: u32) {
        self.nodes[block as usize + 1][VALID] += pages;
    }

    /// A stale page of a full block holds valid data again.
    pub(crate) fn revalidate(&mut self, block: u32) {
        let node = &mut self.nodes[block as usize + 1];
        node[VALID] += 1;
        let valid = node[VALID] as usize;
        if self.kind == Index::ByValid && node[NEXT] != NONE {
            self.unlink(block);
            self.link_after(self.head(valid), block);
        }
    }

    /// A page of a block became invalid.
    #[inline]
    pub(crate) fn invalidate(&mut self, block: u32) {
        let node = &mut self.nodes[block as usize + 1];
        node[VALID] -= 1;
        let valid = node[VALID] as usize;
        if self.kind == Index::ByValid && node[NEXT] != NONE {
            self.unlink(block);
            self.link_after(self.head(valid), block);
            self.lowest = self.lowest.min(valid);
        }
    }

    /// A block has been written to its end: collections may take it from now on.
    pub(crate) fn fill(&mut self, block: u32, now: u64) {
        let at = block as usize;
        self.full[at] = true;
        self.filled_at[at] = now;
        self.full_count += 1;
        match self.kind {
            Index::ByValid => {
                let valid = self.nodes[at + 1][VALID] as usize;
                self.link_after(self.head(valid), block);
                self.lowest = self.lowest.min(valid);
            }
            Index::ByAge => {
                let last = self.nodes[self.head(0) as usize][PREVIOUS];
                self.link_after(last, block);
            }
            Index::Unordered => {
                self.nodes[at + 1][PREVIOUS] = self.dense.len() as u32;
                self.dense.push(block);
            }
        }
    }

    /// A block that was filled before all others: collections may take it from now on.
    pub(crate) fn fill_oldest(&mut self, block: u32) {
        self.fill(block, 0);
        if self.kind == Index::ByAge {
            self.unlink(block);
            self.link_after(self.head(0), block);
        }
    }

    /// A full block is being collected: it leaves the index.
    pub(crate) fn claim(&mut self, block: u32) {
        let at = block as usize;
        debug_assert!(self.full[at], "only full blocks are collected");
        self.full[at] = false;
        self.full_count -= 1;
        match self.kind {
            Index::ByValid => {
                self.unlink(block);
                // Raised here only, once a collection: an invalidation must stay cheap.
                let highest = self.nodes.len() - 1 - self.head(0) as usize;
                while self.lowest < highest {
                    let head = self.head(self.lowest);
                    if self.nodes[head as usize][NEXT] != head {
                        break;
                    }
                    self.lowest += 1;
                }
            }
            Index::ByAge => self.unlink(block),
            Index::Unordered => {
                let place = self.nodes[at + 1][PREVIOUS] as usize;
                self.dense.swap_remove(place);
                if let Some(moved) = self.dense.get(place) {
                    self.nodes[*moved as usize + 1][PREVIOUS] = place as u32;
                }
            }
        }
    }

    /// A collected block is erased.
    pub(crate) fn erase(&mut self, block: u32) {
        let at = block as usize;
        self.nodes[at + 1][VALID] = 0;
        self.erases[at] += 1;
        self.most_erases = self.most_erases.max(self.erases[at]);
        if !self.retired.erase(block) {
            self.erased.push_back(block);
        }
    }

    /// Keeps full blocks in another index from now on.
    pub(crate) fn change_index(&mut self, kind: Index) {
        let mut other = Self::new(self.count, self.pages_per_block, kind);
        let mut full: Vec<u32> = (0..self.count).filter(|block| self.is_full(*block)).collect();
        full.sort_by_key(|block| self.filled_at(*block));
        for block in 0..self.count {
            other.add_valid(block, self.valid(block));
        }
        for block in full {
            other.fill(block, self.filled_at(block));
        }
        let Self { nodes, full, full_count, lowest, dense, .. } = other;
        (self.kind, self.nodes, self.full, self.full_count) = (kind, nodes, full, full_count);
        (self.lowest, self.dense) = (lowest, dense);
    }

    /// The head of a ring.
    #[inline]
    fn head(&self, ring: usize) -> u32 {
        self.count + 1 + ring as u32
    }

    /// Puts a block behind a node of a ring.
    #[inline]
    fn link_after(&mut self, node: u32, block: u32) {
        let next = self.nodes[node as usize][NEXT];
        self.nodes[node as usize][NEXT] = block + 1;
        self.nodes[next as usize][PREVIOUS] = block + 1;
        let linked = &mut self.nodes[block as usize + 1];
        (linked[PREVIOUS], linked[NEXT]) = (node, next);
    }

    /// Takes a block out of its ring.
    #[inline]
    fn unlink(&mut self, block: u32) {
        let node = &mut self.nodes[block as usize + 1];
        let (previous, next) = (node[PREVIOUS], node[NEXT]);
        (node[PREVIOUS], node[NEXT]) = (NONE, NONE);
        self.nodes[previous as usize][NEXT] = next;
        self.nodes[next as usize][PREVIOUS] = previous;
    }
}

/// The numbers of the bits that are set.
pub(super) fn pages_of(bits: u64) -> impl Iterator<Item = u32> {
    let clear_lowest = |bits: &u64| Some(bits & bits.wrapping_sub(1));
    std::iter::successors(Some(bits), clear_lowest).take_while(|bits| *bits != 0).map(u64::trailing_zeros)
}

mod retired;
#[cfg(test)]
mod tests;
