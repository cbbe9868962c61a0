//! Erased blocks of superblocks: a block of a unit is erased until its first page is programmed, though its superblock is open.

use serde::{Deserialize, Serialize};

use crate::alloc::Superblocks;
use crate::geometry::Geometry;

/// Erased blocks by unit, as the commands that were made count them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Erased {
    free: Vec<u32>,
    /// Blocks opened by pages that were there before the run, and that no command has counted.
    owed: Vec<u32>,
    /// Blocks of each unit.
    blocks: u32,
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
        Self { free, owed: vec![0; units], blocks, open: vec![false; units * blocks as usize] }
    }

    /// Erased blocks of a unit.
    pub(super) fn of(&self, unit: u32) -> u64 {
        self.free[unit as usize].into()
    }

    /// True if a page of a block is programmed.
    pub(super) fn is_open(&self, unit: u32, block: u32) -> bool {
        self.open[(unit * self.blocks + block) as usize]
    }

    /// A page of a block is programmed. Returns the blocks that the command opens, those owed included.
    #[inline]
    pub(super) fn open(&mut self, unit: u32, block: u32) -> u8 {
        let open = &mut self.open[(unit * self.blocks + block) as usize];
        let opens = u32::from(!std::mem::replace(open, true));
        let owed = &mut self.owed[unit as usize];
        let counted = (*owed).min(u32::from(u8::MAX) - opens);
        *owed -= counted;
        self.free[unit as usize] -= opens + counted;
        (opens + counted) as u8
    }

    /// As [`Erased::open`], where no command is made for the page.
    pub(super) fn owe(&mut self, unit: u32, block: u32) {
        let open = &mut self.open[(unit * self.blocks + block) as usize];
        self.owed[unit as usize] += u32::from(!std::mem::replace(open, true));
    }

    /// An erased block is retired.
    pub(super) fn retire(&mut self, unit: u32) {
        self.owed[unit as usize] += 1;
    }

    /// A block is erased.
    pub(super) fn erase(&mut self, unit: u32, block: u32) {
        self.open[(unit * self.blocks + block) as usize] = false;
        self.free[unit as usize] += 1;
    }
}
