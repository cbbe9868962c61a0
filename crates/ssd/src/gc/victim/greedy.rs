//! Greedy: the full block with the fewest valid pages. Among equals, the one whose count changed last.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::VictimView;
use crate::ftl::blocks::Blocks;

/// No settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Config {}

pub(super) fn pick(view: &VictimView<'_>) -> Option<u32> {
    view.first(Blocks::fewest_valid)
}
