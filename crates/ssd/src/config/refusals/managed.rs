//! Combinations that make no sense where channels are managed: by a planner, by a common clock, or by being bound.

use super::Refusal;
use crate::config::{Clock, Config};
use crate::gc::PlannerConfig;

fn is(config: &Config, planner: fn(&PlannerConfig) -> bool) -> bool {
    planner(&config.gc.planner)
}

pub(super) const MANAGED: [Refusal; 3] = [
    Refusal {
        keys: "gc.planner=super-data-block or cycle-stealing, clock=async",
        reason: "what others do while one collects is counted in common cycles: set clock=lock-step, or gc.planner=cycle-filling",
        applies: |config| config.gc.planner.needs_lock_step() && config.clock == Clock::Async,
    },
    Refusal {
        keys: "gc.planner=super-data-block, ftl.kind",
        reason: "only where blocks are mapped are there data blocks to merge: set ftl.kind=log-block, fast, bast or kast",
        applies: |config| {
            is(config, |planner| matches!(planner, PlannerConfig::SuperDataBlock(_)))
                && !config.ftl.maps_blocks()
        },
    },
    Refusal {
        keys: "ftl.kind that maps blocks, alloc.kind=dynamic",
        reason: "a data block holds pages of one unit, at their places: use alloc.kind=striped, or ftl.kind=page",
        applies: |config| config.ftl.maps_blocks() && config.alloc.binds_late(),
    },
];
