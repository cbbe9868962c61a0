//! Flash-aware buffer (FAB, Jo et al. 2006): the block of which most pages wait, of several the one whose latest write is
//! the oldest.

use super::{Group, Rank};

pub(super) fn rank(block: &Group) -> Rank {
    (u64::MAX - block.pages, block.latest_write)
}
