//! Energy of flash operations, transfers and idle dies. All 0 by default: parts differ widely, so each drive says its own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Energy of operations, and power over time. 0: not counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EnergyConfig {
    /// Energy of the array for the read of a page of one plane.
    #[schemars(range(min = 0.0, max = 1_000_000.0), extend("x-unit" = "uJ"))]
    pub read_uj: f64,
    /// Energy of the array for the program of a page of one plane.
    #[schemars(range(min = 0.0, max = 1_000_000.0), extend("x-unit" = "uJ"))]
    pub program_uj: f64,
    /// Energy of the array for the erase of a block of one plane.
    #[schemars(range(min = 0.0, max = 1_000_000.0), extend("x-unit" = "uJ"))]
    pub erase_uj: f64,
    /// Power of a channel's bus, both ends, while it transfers: one byte takes this power for `timing.bus`.
    #[schemars(range(min = 0.0, max = 1_000_000.0), extend("x-unit" = "mW"))]
    pub bus_mw: f64,
    /// Power of a die that does nothing.
    #[schemars(range(min = 0.0, max = 1_000_000.0), extend("x-unit" = "mW"))]
    pub idle_mw: f64,
}
