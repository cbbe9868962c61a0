//! Combinations that make no sense where channels are managed: by a planner, by a common clock, or by being bound.

use super::Refusal;
use crate::buffer::Order;
use crate::config::{Clock, Config};
use crate::gc::PlannerConfig;
use crate::nand::Programs;

fn is(config: &Config, planner: fn(&PlannerConfig) -> bool) -> bool {
    planner(&config.gc.planner)
}

pub(super) const MANAGED: [Refusal; 5] = [
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
        keys: "buffer.order=in-order, clock=async",
        reason: "an order among channels needs a common clock: set clock=lock-step",
        applies: |config| config.buffer.order == Order::InOrder && config.clock == Clock::Async,
    },
    Refusal {
        keys: "buffer.order=in-order, timing.read, timing.program, nand.programs, nand.spread, slc.kind, planes, chips or dies",
        reason: "pages of a cycle that are not programmed at once may come to flash in another order: give one time each \
                 (nand.programs=page, no spread, slc.kind=none), set planes_bound=true, and let no dies share a bus (chips=1 and dies=1, or timing.bus=0 and timing.command=0)",
        applies: |config| {
            let lists = config.timing.read.0.len() > 1 || config.timing.program.0.len() > 1;
            let typed = lists || config.nand.programs != Programs::Page || config.nand.spreads();
            let typed = typed || config.slc.is_on();
            let shares_bus = config.chips.saturating_mul(config.dies) > 1 && !config.bus_is_free();
            let apart = config.planes > 1 && !config.planes_bound;
            config.buffer.order == Order::InOrder && (typed || shares_bus || apart)
        },
    },
    Refusal {
        keys: "ftl.kind that maps blocks, alloc.kind=dynamic",
        reason: "a data block holds pages of one unit, at their places: use alloc.kind=striped, or ftl.kind=page",
        applies: |config| config.ftl.maps_blocks() && config.alloc.binds_late(),
    },
];
