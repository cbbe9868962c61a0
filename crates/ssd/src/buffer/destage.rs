//! When pages leave the write buffer though it is not full and no flush waits: the settings. The rules are `task/destage.rs`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::Nanos;

/// Time at which pages leave the buffer. A write that finds no room, and a flush, send pages on under every policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "destage", rename_all = "kebab-case")]
pub enum DestageConfig {
    /// Only when a write finds no room, or a flush waits.
    Full(Full),
    /// Between two marks: from the high one on, down to the low one.
    Marks(Marks),
    /// As soon as a unit is free.
    Eager(Eager),
    /// When the drive is idle.
    Idle(Idle),
    /// When they have waited for some time.
    Age(Age),
    /// When a function in Python says so.
    External(Outside),
}

/// Without settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Full {}

/// Without settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Eager {}

/// The marks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Marks {
    /// Share of the buffer's pages that wait from which on pages leave it.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub high_mark: f64,
    /// Share of the buffer's pages that wait down to which pages leave it, once they do.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub low_mark: f64,
}

impl Default for Marks {
    fn default() -> Self {
        Self { high_mark: 0.75, low_mark: 0.5 }
    }
}

/// The patience.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Idle {
    /// Time for which all dies have been idle before pages leave the buffer.
    pub idle_after: Nanos,
}

impl Default for Idle {
    fn default() -> Self {
        Self { idle_after: Nanos(1_000_000) }
    }
}

/// The age.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Age {
    /// Time for which a page waits in the buffer, from its first write on, before it leaves.
    pub max_age: Nanos,
}

impl Default for Age {
    fn default() -> Self {
        Self { max_age: Nanos(1_000_000) }
    }
}

/// The function.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Outside {
    /// The function, as `FILE.py:FUNCTION` (docs/guide/python-policies.md). Empty: given to `simulate`.
    pub destage_file: String,
}

impl Default for DestageConfig {
    fn default() -> Self {
        DestageConfig::Full(Full {})
    }
}

impl DestageConfig {
    /// The file of a function outside the engine.
    pub(crate) fn file(&self) -> Option<&str> {
        if let DestageConfig::External(own) = self { Some(&own.destage_file) } else { None }
    }

    /// True if its marks are no range.
    pub(crate) fn marks_cross(&self) -> bool {
        matches!(self, DestageConfig::Marks(own) if own.low_mark >= own.high_mark)
    }
}
