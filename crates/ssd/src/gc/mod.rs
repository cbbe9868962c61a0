//! Garbage collection. `victim/` picks the block; the FTL moves its pages and erases it. When to collect is decided by
//! one rule here: a unit collects when its write frontier is full and it has no erased block to spare.

pub(crate) mod victim;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use victim::VictimConfig;

/// Which block a collection takes, into what its pages go, and how many blocks stay erased.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GcConfig {
    /// Which block to collect.
    #[serde(flatten)]
    pub victim: VictimConfig,
    /// Write frontiers of a unit: 1 (host and collected pages share one) or 2 (collected pages have their own).
    #[schemars(range(min = 1, max = 2))]
    pub frontiers: u32,
    /// Erased blocks that each unit keeps. The first lies outside op_ratio, the others come out of the spare blocks.
    #[schemars(range(min = 1))]
    pub free_blocks: u32,
}

impl Default for GcConfig {
    fn default() -> Self {
        Self { victim: VictimConfig::default(), frontiers: 1, free_blocks: 1 }
    }
}
