//! Least recently used: the page whose latest write is the oldest.

use super::{Group, Rank};

pub(super) fn rank(page: &Group) -> Rank {
    (0, page.latest_write)
}
