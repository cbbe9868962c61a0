//! Destage ahead: when the whole drive is idle, pages of the buffer go to flash, so that a burst finds room there and a power
//! cut less to lose. Whoever waits for room, or for a flush, has them written at once anyway.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Kind, View, Wish};
use crate::quantity::Bound;

/// When pages of the buffer go to flash though nobody waits for that.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// Source of the decisions on when pages leave.
    pub kind: Kind,
    /// For kind=external: the function, as `FILE.py:FUNCTION` (docs/guide/python-policies.md). Empty: given to `simulate`.
    pub file: String,
    /// Time for which the drive is idle before; none: never.
    pub after: Bound,
}

impl Config {
    pub(super) fn wish(&self, view: &View) -> Wish {
        if view.dirty_pages > 0 { view.once_idle(self.after) } else { Wish::Nothing }
    }
}
