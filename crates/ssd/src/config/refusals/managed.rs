//! Planners that need more than units.

use super::Row;
use crate::config::Config;
use crate::gc::PlannerConfig;
use crate::refusal::Refusal;

pub(super) static MANAGED: [Row; 1] = [Row {
    refusal: Refusal::new(
        "gc.planner=super-data-block, ftl.kind",
        "only where blocks are mapped are there data blocks to merge: set ftl.kind=log-block, fast, bast or kast",
    ),
    applies: |config: &Config| {
        matches!(config.gc.planner, PlannerConfig::SuperDataBlock(_)) && !config.ftl.maps_blocks()
    },
}];
