//! The log blocks that data blocks have of their own, or prefer.

use serde::{Deserialize, Serialize};

/// The log blocks of data blocks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Own {
    /// By data block: the slot that took its last page, with 1 added; zero is none.
    #[serde(with = "crate::raw")]
    slots: Vec<u32>,
    /// The log block that has no room left. There is one at most.
    pub(super) full: Option<u32>,
    /// The physical block that was a data block until a completed log block took its place; it waits to be erased.
    pub(super) replaced: Option<u32>,
}

impl Own {
    /// For so many data blocks; none if log blocks belong to nobody.
    pub(super) fn new(data_blocks: usize) -> Self {
        Self { slots: vec![0; data_blocks], full: None, replaced: None }
    }

    /// The log block of a data block.
    #[inline]
    pub(super) fn slot(&self, block: u32) -> Option<u32> {
        self.slots.get(block as usize)?.checked_sub(1)
    }

    /// A log block that has to be collected before the unit writes any page.
    #[inline]
    pub(super) fn full(&self) -> Option<u32> {
        self.full
    }

    pub(super) fn set_slot(&mut self, block: u32, slot: u32) {
        self.slots[block as usize] = slot + 1;
    }

    /// A data block has no log block any more, if this is its one.
    pub(super) fn forget(&mut self, block: u32, slot: u32) {
        if self.slot(block) == Some(slot) {
            self.slots[block as usize] = 0;
        }
        self.full.take_if(|full| *full == slot);
    }
}
