//! First in, first out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// No settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Config {}
