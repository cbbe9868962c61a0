//! Block-level LRU with LRU compensation (BPLRU, Kim and Ahn 2008): blocks that were written in order to their end first,
//! since they are not likely to be written again; then the block whose latest write is the oldest.

use super::{Group, Rank};

pub(super) fn rank(block: &Group) -> Rank {
    (u64::from(!block.is_in_order), block.latest_write)
}
