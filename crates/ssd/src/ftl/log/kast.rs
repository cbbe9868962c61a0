//! KAST: FAST whose log blocks for random writes hold pages of at most K data blocks each, so that a collection merges no
//! more than K of them (Cho et al. 2009).
//!
//! A page goes to the log block that took the last one of its data block, while that has room and holds one still. Otherwise
//! its data block joins another log block: a free one, or else the one with the fewest data blocks of those with
//! room that hold less than K. If there is none, the log block taken longest ago is collected. Sequential writes are those of
//! FAST with `ftl.sw_full=reuse`: a sequential log block that can't be switched in goes on as a log block of its data
//! block, which others may join.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Page;
use super::unit::Unit;

/// KAST.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// Most data blocks that a log block for random writes holds pages of.
    #[schemars(range(min = 1, max = 256))]
    pub associativity: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { associativity: 8 }
    }
}

impl Unit {
    /// The log block that takes a page, unless its data block gets a new one.
    pub(super) fn shared_slot(&self, page: Page) -> Option<u32> {
        let members = self.log.members.as_ref()?;
        let last = self.own.slot(page.block).filter(|slot| members.continues(*slot, page.block));
        if last.is_some() || self.spare_blocks() > 0 { last } else { members.fewest() }
    }
}
