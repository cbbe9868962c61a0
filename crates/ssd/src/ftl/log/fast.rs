//! FAST.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What becomes of a sequential log block that can't be switched in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SwFull {
    /// It goes on as a log block for random writes, with the pages that it still has free.
    #[default]
    Reuse,
    /// It is completed with copies and takes the data block's place.
    PartialMerge,
}

/// FAST.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// What becomes of a sequential log block that can't be switched in.
    pub sw_full: SwFull,
}
