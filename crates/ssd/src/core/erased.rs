//! Erased blocks, as the commands that were made count them. A block is erased until the first command for one of its pages, which
//! *opens* it: with superblocks that is later than its superblock is opened, and pages that were there before the run have no command.

use serde::{Deserialize, Serialize};

use crate::alloc::Superblocks;
use crate::geometry::Geometry;
use crate::op::BlockAt;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Erased {
    /// Blocks opened by pages that were there before the run, and that no command has counted.
    owed: Vec<BlockAt>,
    /// With superblocks: erased blocks by unit.
    free: Vec<u32>,
    /// With superblocks, by unit: retired blocks that no command has counted.
    retired: Vec<u32>,
    /// Blocks of each unit.
    blocks: u32,
    /// With superblocks: true for blocks of which a page was programmed.
    #[serde(with = "crate::raw")]
    open: Vec<bool>,
}

impl Erased {
    /// All blocks of a new drive; `shape` as the translation layer has it.
    pub(super) fn new(superblocks: &Superblocks, shape: &Geometry) -> Self {
        let sets = 0..superblocks.sets();
        let units = sets.clone().map(|set| superblocks.units_of(set).len()).sum::<usize>();
        let mut free = vec![0; units];
        for set in sets {
            superblocks
                .units_of(set)
                .iter()
                .for_each(|unit| free[*unit as usize] = shape.unit_blocks(set) as u32);
        }
        let blocks = shape.max_unit_blocks() as u32;
        let (retired, open) = (vec![0; units], vec![false; units * blocks as usize]);
        Self { owed: Vec::new(), free, retired, blocks, open }
    }

    /// Erased blocks of a unit.
    pub(super) fn of(&self, unit: u32) -> u64 {
        self.free[unit as usize].into()
    }

    /// True if a page of a block is programmed.
    pub(super) fn is_open(&self, unit: u32, block: u32) -> bool {
        self.open[(unit * self.blocks + block) as usize]
    }

    /// A page of a superblock is programmed. Returns the blocks that the command opens, those that are retired included.
    #[inline]
    pub(super) fn open(&mut self, at: BlockAt) -> u8 {
        let settled = self.settle(at);
        let opens = u32::from(self.opens(at));
        let retired = &mut self.retired[at.0 as usize];
        let counted = (*retired).min(u32::from(u8::MAX) - opens - u32::from(settled));
        *retired -= counted;
        self.free[at.0 as usize] -= opens + counted;
        (opens + counted) as u8 + settled
    }

    /// True if the block of a superblock was erased until now.
    fn opens(&mut self, (unit, block): BlockAt) -> bool {
        !std::mem::replace(&mut self.open[(unit * self.blocks + block) as usize], true)
    }

    /// A page of a superblock was there before the run.
    pub(super) fn lay(&mut self, at: BlockAt) {
        if self.opens(at) {
            self.owe(at);
        }
    }

    /// A block is opened by a page for which no command is made.
    pub(super) fn owe(&mut self, at: BlockAt) {
        self.owed.push(at);
    }

    /// A command touches a block. Returns the blocks that it opens by that.
    #[inline]
    pub(super) fn settle(&mut self, at: BlockAt) -> u8 {
        if self.owed.is_empty() { 0 } else { self.settle_owed(at) }
    }

    #[cold]
    fn settle_owed(&mut self, at: BlockAt) -> u8 {
        let Some(found) = self.owed.iter().position(|owed| *owed == at) else { return 0 };
        self.owed.swap_remove(found);
        if let Some(free) = self.free.get_mut(at.0 as usize) {
            *free -= 1;
        }
        1
    }

    /// Blocks of a unit that no command has counted.
    pub(super) fn owed(&self, unit: u32) -> u64 {
        self.owed.iter().filter(|owed| owed.0 == unit).count() as u64
    }

    /// An erased block is retired.
    pub(super) fn retire(&mut self, unit: u32) {
        self.retired[unit as usize] += 1;
    }

    /// A block of a superblock is erased.
    pub(super) fn erase(&mut self, unit: u32, block: u32) {
        self.open[(unit * self.blocks + block) as usize] = false;
        self.free[unit as usize] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_of_old_data_counts_with_the_first_command_for_it_and_for_no_other_of_its_unit() {
        let mut erased = Erased::default();
        erased.owe((1, 7));
        erased.owe((1, 3));
        let settled: Vec<_> = [(1, 2), (0, 7), (1, 7), (1, 7), (1, 3)].map(|at| erased.settle(at)).into();
        assert_eq!(settled, [0, 0, 1, 0, 1]);
    }

    #[test]
    fn a_retired_block_counts_with_the_next_program() {
        let mut erased =
            Erased { free: vec![4], retired: vec![0], blocks: 4, open: vec![false; 4], ..Erased::default() };
        erased.lay((0, 2));
        erased.retire(0);
        assert_eq!((erased.settle((0, 2)), erased.of(0)), (1, 3), "a read");
        assert_eq!((erased.open((0, 2)), erased.of(0)), (1, 2));
        assert_eq!((erased.open((0, 1)), erased.open((0, 1)), erased.of(0)), (1, 0, 1));
        erased.erase(0, 1);
        assert_eq!((erased.is_open(0, 1), erased.of(0)), (false, 2));
    }
}
