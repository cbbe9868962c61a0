//! Replacement policies of the write buffer: the page that leaves next, of those that wait for a unit.
//!
//! The contract. A policy is a pure function from what is known of a group of waiting pages ([`Group`]) to a [`Rank`]; the
//! group of the smallest rank leaves first, its pages in ascending order, and no other group leaves in between.
//! [`Replacement::gathers`] says what a group is: one page, or the pages of one logical block. A group is ranked again after
//! each of its writes and when one of its pages has left. Pages older than a flush that waits leave by entry, whatever their
//! rank. The queue (`buffer/waiting.rs`) keeps pages and ranks; a policy keeps nothing.

mod block_lru;
mod fab;
mod lru;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Next page to leave the buffer among those that wait for a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Replacement {
    /// The one that entered first.
    #[default]
    Fifo,
    /// The one that was written least recently.
    Lru,
    /// All pages of the logical block that was written least recently, one after the other; one that was written in order to its
    /// end goes first (block-level LRU and LRU compensation of BPLRU, Kim and Ahn 2008; pages that the buffer does not hold
    /// are not padded).
    BlockLru,
    /// All pages of the logical block of which most pages wait, the least recently written of several (FAB, Jo et al. 2006).
    Fab,
}

/// Pages that leave together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gathers {
    /// None: pages leave by entry, and nothing is ranked.
    Nothing,
    /// The versions of one page.
    Pages,
    /// All pages of one logical block.
    Blocks,
}

/// The state of a group of waiting pages, as a policy sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Group {
    /// Pages that wait; several versions of one page count apart.
    pub(super) pages: u64,
    /// Number of the latest write to it, counted over all writes of the queue.
    pub(super) latest_write: u64,
    /// Its pages were written in order, from the first to the last.
    pub(super) is_in_order: bool,
}

/// The smallest leaves first; of several groups of one rank, the one with the lowest number.
pub(super) type Rank = (u64, u64);

impl Replacement {
    /// The groups that the policy ranks.
    pub(super) fn gathers(self) -> Gathers {
        match self {
            Replacement::Fifo => Gathers::Nothing,
            Replacement::Lru => Gathers::Pages,
            Replacement::BlockLru | Replacement::Fab => Gathers::Blocks,
        }
    }

    /// The rank of a group.
    pub(super) fn rank(self, group: &Group) -> Rank {
        match self {
            Replacement::Fifo => Rank::default(),
            Replacement::Lru => lru::rank(group),
            Replacement::BlockLru => block_lru::rank(group),
            Replacement::Fab => fab::rank(group),
        }
    }
}
