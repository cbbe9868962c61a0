//! Selective filling: cycle filling in which a collection merges only the data blocks that have the most pages in the log, and
//! moves the pages of the others to the newest log block, at most a share of its victim. A merge costs the same however
//! many log pages it frees; a page that was moved is met again when its data block has more of them, or was overwritten by
//! then. While the initiator moves pages, so do the followers that are there in their own victim.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Action;
use crate::op::Step;

/// Limits between merging and moving. The defaults were chosen on four generated workloads; see
/// docs/concepts/channels.md.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// Pages that a data block has in the log when it is merged, in percent of a block.
    #[schemars(range(min = 1, max = 100), extend("x-unit" = "%"))]
    pub merged_percent: u32,
    /// Most pages of a victim that are moved instead of merged, in percent of a block.
    #[schemars(range(min = 0, max = 95), extend("x-unit" = "%"))]
    pub moved_percent: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { merged_percent: 15, moved_percent: 50 }
    }
}

pub(super) fn follow(step: Step) -> Action {
    match step {
        Step::Merge { .. } | Step::Copy | Step::Fold { erased: false } => Action::Copy,
        Step::Move => Action::Move,
        Step::Erase | Step::Fold { erased: true } => Action::Erase,
    }
}
