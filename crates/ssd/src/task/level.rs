//! Static wear levelling ahead: the data of the least worn block moves when the unit is idle, instead of with the next
//! collection. The gap is that of `wear.static_gap`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{View, Wish};
use crate::quantity::Bound;

/// When a unit moves cold data though it does not collect.
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
