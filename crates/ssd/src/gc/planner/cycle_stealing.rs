//! Cycle stealing: while the initiator merges a data block (page mapping: copies a page), every other unit does so with what
//! it would have to merge next, from its oldest valid page on; while the initiator erases its victim, each may erase one
//! log block that holds nothing valid. Nobody steals the time of pages moved because of the throttle.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Action;
use crate::op::Step;

/// No settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Config {}

pub(super) fn follow(step: Step) -> Action {
    match step {
        Step::Merge { .. } | Step::Copy | Step::Fold { erased: false } => Action::Copy,
        Step::Erase | Step::Fold { erased: true } => Action::Erase,
        Step::Move => Action::Idle,
    }
}
