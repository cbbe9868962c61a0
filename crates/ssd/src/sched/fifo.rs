//! First in, first out.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Queued;

/// No settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Config {}

#[inline]
pub(super) fn pick(_: &VecDeque<Queued>) -> usize {
    0
}
