//! A planner outside the engine (`crate::external`). Followers copy and erase as with cycle stealing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::external::{Outside, Units};

/// Where the planner is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// The function, as `FILE.py:FUNCTION` (docs/guide/python-policies.md). Empty: given to `simulate`.
    pub planner_file: String,
    /// true: one unit at a time collects because it must, and the function names the units that collect with it. false: each
    /// collects on its own, and the function names the units that collect ahead when they have nothing to
    /// write.
    pub planner_together: bool,
}

/// The planner in a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Asked {
    pub(super) together: bool,
    #[serde(skip)]
    pub(super) function: Outside<Units, Vec<u32>>,
}

impl Asked {
    pub(super) fn new(config: &Config) -> Self {
        Self { together: config.planner_together, function: Outside::default() }
    }
}
