//! Map write-back ahead: of a map on flash, the changed entries used longest ago are written when the unit is idle, so that a
//! later miss finds a clean one in its place and has nothing to write.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{View, Wish};
use crate::quantity::Bound;

/// When a unit writes changed entries of its map though none has to make room.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// Time for which a unit's die is idle before; none: never.
    pub after: Bound,
}

impl Config {
    pub(super) fn wish(&self, view: &View) -> Wish {
        view.once_idle(self.after)
    }
}
