//! The plain log: pages are appended in the order in which they come, and every merge is a full one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// No settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Config {}
