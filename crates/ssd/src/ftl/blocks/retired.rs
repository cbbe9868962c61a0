//! Blocks that are retired: they are used no more once their data has moved and the unit has erased blocks enough without them.

use serde::{Deserialize, Serialize};

use super::Blocks;

/// Blocks of a unit on their way out of use, few at a time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Retired {
    /// To be retired, in the order in which they were found.
    worn: Vec<u32>,
    /// Those of them that are erased.
    erased: Vec<u32>,
}

impl Retired {
    /// Blocks to be retired that are erased.
    #[inline]
    pub(super) fn erased(&self) -> usize {
        self.erased.len()
    }

    pub(super) fn erased_ones(&self) -> &[u32] {
        &self.erased
    }

    /// A block is erased. Returns false if it is not to be retired.
    #[inline]
    pub(super) fn erase(&mut self, block: u32) -> bool {
        let is_worn = !self.worn.is_empty() && self.worn.contains(&block);
        if is_worn {
            self.erased.push(block);
        }
        is_worn
    }

    /// The unit has no other erased block.
    #[cold]
    pub(super) fn use_once_more(&mut self) -> Option<u32> {
        self.erased.pop()
    }
}

impl Blocks {
    /// A block is to be retired.
    pub(crate) fn wear_out(&mut self, block: u32) {
        self.retired.worn.push(block);
        if let Some(at) = self.erased.iter().position(|erased| *erased == block) {
            self.erased.remove(at);
            self.retired.erased.push(block);
        }
    }

    /// Blocks that are to be retired and still in use, or erased.
    #[inline]
    pub(crate) fn worn(&self) -> u64 {
        self.retired.worn.len() as u64
    }

    /// The full block that was found first of those that are to be retired.
    pub(crate) fn worn_and_full(&self) -> Option<u32> {
        self.retired.worn.iter().copied().find(|block| self.is_full(*block))
    }

    /// Takes an erased block out of use that is to be retired, if more than `kept` blocks are erased.
    #[inline]
    pub(crate) fn retire(&mut self, kept: u64) -> Option<u32> {
        if self.retired.erased.is_empty() || self.free() <= kept {
            return None;
        }
        let block = self.retired.erased.pop()?;
        self.retired.worn.retain(|worn| *worn != block);
        Some(block)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Index;
    use super::Blocks;

    #[test]
    fn a_worn_block_is_the_last_one_to_be_used_and_retires_when_there_are_others() {
        let mut blocks = Blocks::new(3, 4, Index::ByValid);
        let all: Vec<_> = (0..3).map(|_| blocks.take_free(false).expect("one of three")).collect();
        assert_eq!((all, blocks.take_free(false)), (vec![0, 1, 2], None));
        blocks.wear_out(1);
        blocks.fill(1, 1);
        assert_eq!((blocks.worn(), blocks.worn_and_full()), (1, Some(1)));
        blocks.claim(1);
        blocks.erase(1);
        assert_eq!((blocks.free(), blocks.retire(1)), (1, None), "no other one is erased");
        assert_eq!(blocks.take_free(true), Some(1));
        blocks.erase(1);
        blocks.erase(0);
        assert_eq!((blocks.free(), blocks.erased_ones()), (2, vec![true, true, false]));
        assert_eq!((blocks.retire(1), blocks.retire(0)), (Some(1), None));
        assert_eq!((blocks.free(), blocks.worn()), (1, 0));
        // One that is erased when it is found worn.
        blocks.wear_out(0);
        blocks.erase(2);
        assert_eq!((blocks.take_free(false), blocks.take_free(false)), (Some(2), Some(0)));
    }
}
