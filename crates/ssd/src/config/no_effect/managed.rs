//! Settings of collection that amount to others of their slot.

use super::NoEffect;
use crate::config::{Clock, Config};
use crate::ftl::FtlConfig;
use crate::gc::PlannerConfig;
use crate::nand::Programs;

pub(super) const MANAGED: [NoEffect; 6] = [
    NoEffect {
        keys: "gc.planner=forwarding, clock=lock-step",
        reason: "with a common clock a collection stops every channel, so none runs dry meanwhile",
        applies: |config| {
            matches!(config.gc.planner, PlannerConfig::Forwarding(_)) && config.clock == Clock::LockStep
        },
        clear: |config| config.gc.planner = PlannerConfig::default(),
    },
    NoEffect {
        keys: "gc.planner=super-data-block, ftl.kind",
        reason: "only log-block, fast, bast and kast have data blocks to merge together: it is none",
        applies: |config| {
            matches!(config.gc.planner, PlannerConfig::SuperDataBlock(_)) && !config.ftl.maps_blocks()
        },
        clear: |config| config.gc.planner = PlannerConfig::default(),
    },
    NoEffect {
        keys: "gc.planner=selective-filling, ftl.kind",
        reason: "only the log blocks of log-block and fast have data blocks to choose among: it is cycle-filling",
        applies: |config| {
            config.gc.planner.selection(1).is_some()
                && !matches!(config.ftl, FtlConfig::Fast(_) | FtlConfig::LogBlock(_))
        },
        clear: |config| config.gc.planner = PlannerConfig::cycle_filling(),
    },
    NoEffect {
        keys: "gc.throttle, gc.planner=selective-filling",
        reason: "selective filling chooses by itself which data blocks are merged, and which pages are moved",
        applies: |config| config.gc.planner.selection(1).is_some() && config.gc.throttle > 0,
        clear: |config| config.gc.throttle = 0,
    },
    NoEffect {
        keys: "gc.copyback, nand.programs=foggy-fine",
        reason: "the fine pass needs the pages of its word line from the controller, so every copied page crosses the bus",
        applies: |config| config.nand.programs == Programs::FoggyFine && config.gc.copyback > 0,
        clear: |config| config.gc.copyback = 0,
    },
    NoEffect {
        keys: "gc.copyback, alloc.kind=superblock",
        reason: "a page that is moved goes to the die whose turn it is, so it crosses the bus",
        applies: |config: &Config| config.gc.copyback > 0 && config.alloc.has_superblocks(),
        clear: |config| config.gc.copyback = 0,
    },
];
