//! Planners that need more than units.

use super::Row;
use crate::config::{Clock, Config};
use crate::gc::PlannerConfig;
use crate::refusal::Refusal;

pub(super) static MANAGED: [Row; 2] = [
    Row {
        refusal: Refusal::new(
            "gc.planner=super-data-block or cycle-stealing, clock=async",
            "what others do while one collects is counted in common cycles: set clock=lock-step, or gc.planner=cycle-filling",
        ),
        applies: |config: &Config| config.gc.planner.needs_lock_step() && config.clock == Clock::Async,
    },
    Row {
        refusal: Refusal::new(
            "gc.planner=super-data-block, ftl.kind",
            "only where blocks are mapped are there data blocks to merge: set ftl.kind=log-block, fast, bast or kast",
        ),
        applies: |config: &Config| {
            matches!(config.gc.planner, PlannerConfig::SuperDataBlock(_)) && !config.ftl.maps_blocks()
        },
    },
];
