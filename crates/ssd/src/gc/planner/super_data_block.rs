//! Super data block: the data blocks of the same number in all units are merged together, as synchronized channels would,
//! whether or not they have pages in the log. Nobody but the initiator can erase a log block at the end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Action;
use crate::op::Step;

/// No settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Config {}

pub(super) fn follow(step: Step) -> Action {
    match step {
        Step::Merge { block } => Action::Merge { block },
        Step::Copy | Step::Move | Step::Erase | Step::Fold { .. } => Action::Idle,
    }
}
