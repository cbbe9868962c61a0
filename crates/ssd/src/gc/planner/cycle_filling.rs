//! Cycle filling: when a unit must collect, all units with few enough spare blocks collect with it at once, aligned step by
//! step, and stop when it is done. What they do in each step is what cycle stealing does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::task::View;

/// No settings of its own: the threshold is `gc.spare_blocks`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Config {}

pub(super) fn joins(view: &View, spare_blocks: u64) -> bool {
    view.spare_blocks <= spare_blocks
}
