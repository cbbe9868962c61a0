//! FIFO (LRU in Desnoyers 2012): the block filled longest ago, whatever it holds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::VictimView;
use crate::ftl::blocks::Blocks;

/// No settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Config {}

pub(super) fn pick(view: &VictimView<'_>) -> Option<u32> {
    view.first(Blocks::oldest)
}
