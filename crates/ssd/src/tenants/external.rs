//! An allocator outside the engine: a function of a file, or whatever the caller of the engine has.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where the allocator is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// The function, as `FILE.py:FUNCTION` (docs/guide/allocators.md). Empty: given to `simulate`, or by `--allocator`.
    pub channels_file: String,
}
