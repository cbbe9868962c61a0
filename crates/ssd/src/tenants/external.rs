//! An allocator that the run was given: a Python function, or whatever the caller of the engine has.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// No settings of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Config {}
