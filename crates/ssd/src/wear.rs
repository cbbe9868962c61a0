//! Wear levelling: which erased block is written next, and when cold data is moved off the least worn block.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Wear levelling, off by default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WearConfig {
    /// Dynamic: a new frontier takes the least worn erased block instead of the one erased longest ago.
    pub dynamic: bool,
    /// Static: when the most worn block of a unit has this many erases more than the least worn full one, the latter's
    /// data is moved to the most worn erased block. 0 is off.
    pub static_gap: u32,
}
