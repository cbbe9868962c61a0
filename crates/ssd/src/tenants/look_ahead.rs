//! Value of knowing the future: every candidate is tried on a copy of the drive with the requests of the next windows,
//! and the one with the least sum of latencies is taken. No bound on what is possible: where data was put stays.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Depth of the look-ahead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// Windows that are tried ahead: 1, or 2 with every pair of candidates.
    #[schemars(range(min = 1, max = 2))]
    pub depth: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { depth: 1 }
    }
}
