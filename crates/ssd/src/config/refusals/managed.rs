//! Combinations that make no sense where channels are managed: by a planner, by a common clock, or by being bound.

use super::Refusal;
use crate::buffer::{Ack, Order, Replacement};
use crate::config::{Clock, Config, Units};
use crate::ftl::FtlConfig;
use crate::gc::{GcConfig, PlannerConfig};
use crate::wear::WearConfig;

fn is(config: &Config, planner: fn(&PlannerConfig) -> bool) -> bool {
    planner(&config.gc.planner)
}

pub(super) const MANAGED: [Refusal; 31] = [
    Refusal {
        keys: "gc.planner=super-data-block or cycle-stealing, clock=async",
        reason: "what others do while one collects is counted in common cycles: set clock=lock-step, or gc.planner=cycle-filling",
        applies: |config| config.gc.planner.needs_lock_step() == Some(true) && config.clock == Clock::Async,
    },
    Refusal {
        keys: "gc.planner=forwarding, cycle-filling or selective-filling, clock=lock-step",
        reason: "with a common clock a collection stops every channel, so none runs dry: set clock=async, or \
                 gc.planner=cycle-stealing",
        applies: |config| {
            config.gc.planner.needs_lock_step() == Some(false) && config.clock == Clock::LockStep
        },
    },
    Refusal {
        keys: "gc.planner, units=synchronized",
        reason: "synchronized channels are one unit, so there is no other one to plan for: set units=independent, or \
                 gc.planner=none",
        applies: |config| {
            config.units == Units::Synchronized
                && config.channels > 1
                && config.gc.planner != PlannerConfig::default()
        },
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
        keys: "gc.planner=selective-filling, ftl.kind",
        reason: "it chooses among data blocks with pages in one log: set ftl.kind=fast or log-block",
        applies: |config| {
            config.gc.planner.selection(1).is_some()
                && !matches!(config.ftl, FtlConfig::Fast(_) | FtlConfig::LogBlock(_))
        },
    },
    Refusal {
        keys: "gc.planner=selective-filling, gc.throttle",
        reason: "it limits what is moved, not what is merged: leave gc.throttle out",
        applies: |config| config.gc.planner.selection(1).is_some() && config.gc.throttle > 0,
    },
    Refusal {
        keys: "gc.merged_percent, gc.moved_percent",
        reason: "expected 1 to 100, and 0 to 95, percent of a block",
        applies: |config| {
            matches!(&config.gc.planner, PlannerConfig::SelectiveFilling(config)
                if !(1..=100).contains(&config.merged_percent) || config.moved_percent > 95)
        },
    },
    Refusal {
        keys: "gc.planner=forwarding, buffer.bytes=0",
        reason: "a channel collects ahead when the write buffer is full: set buffer.bytes",
        applies: |config| {
            is(config, |planner| matches!(planner, PlannerConfig::Forwarding(_)))
                && config.buffer.bytes.0 == 0
        },
    },
    Refusal {
        keys: "gc.planner=forwarding, buffer.ack=flash",
        reason: "pages that are acknowledged from flash leave the buffer at once, so it does not fill up while others collect: set buffer.ack=buffer",
        applies: |config| {
            is(config, |planner| matches!(planner, PlannerConfig::Forwarding(_)))
                && config.buffer.ack == Ack::Flash
        },
    },
    Refusal {
        keys: "gc.planner=forwarding, planes, planes_bound=false",
        reason: "a die runs one type of command at a time, so its planes can't collect one by one: set planes_bound=true, or \
                 gc.planner=cycle-filling",
        applies: |config| {
            is(config, |planner| matches!(planner, PlannerConfig::Forwarding(_)))
                && config.planes > 1
                && !config.planes_bound
        },
    },
    Refusal {
        keys: "gc.spare_blocks, gc.planner",
        reason: "the threshold acts only with a planner that collects before it must: set gc.planner=forwarding or cycle-filling",
        applies: |config| {
            config.gc.spare_blocks != GcConfig::default().spare_blocks
                && !config.gc.planner.heeds_spare_blocks()
        },
    },
    Refusal {
        keys: "buffer.order=in-order, clock=async",
        reason: "an order among channels needs a common clock: set clock=lock-step",
        applies: |config| config.buffer.order == Order::InOrder && config.clock == Clock::Async,
    },
    Refusal {
        keys: "buffer.order=in-order, buffer.bytes=0",
        reason: "without a buffer requests are written one by one anyway: set buffer.bytes",
        applies: |config| config.buffer.order == Order::InOrder && config.buffer.bytes.0 == 0,
    },
    Refusal {
        keys: "buffer.order=in-order, buffer.ack=flash, host.queue_depth=1 or host.slots=1",
        reason: "each write is on flash before the next comes, so there is nothing to overtake: leave buffer.order out",
        applies: |config| {
            let one_at_a_time = config.is_one_at_a_time();
            config.buffer.order == Order::InOrder && config.buffer.ack == Ack::Flash && one_at_a_time
        },
    },
    Refusal {
        keys: "buffer.order=in-order, timing.read or timing.program",
        reason: "pages of several types are not programmed in the same time, so a cycle would not end at once: give one time each",
        applies: |config| {
            config.buffer.order == Order::InOrder
                && (config.timing.read.0.len() > 1 || config.timing.program.0.len() > 1)
        },
    },
    Refusal {
        keys: "buffer.order=in-order, planes, planes_bound=false",
        reason: "a die writes in part of its planes after the others, so a cycle would not end at once: set planes_bound=true",
        applies: |config| config.buffer.order == Order::InOrder && config.planes > 1 && !config.planes_bound,
    },
    Refusal {
        keys: "gc.throttle, ftl.kind",
        reason: "only where a log block has pages of any number of data blocks is that to be limited: set ftl.kind=log-block or \
                 fast",
        applies: |config| {
            config.gc.throttle > 0 && !matches!(config.ftl, FtlConfig::LogBlock(_) | FtlConfig::Fast(_))
        },
    },
    Refusal {
        keys: "ftl.kind that maps blocks, gc.victim, gc.frontiers, gc.free_blocks, wear.*",
        reason: "a log is collected from its oldest block on, into the one block kept erased: leave these keys out",
        applies: |config| {
            let default = GcConfig::default();
            config.ftl.maps_blocks()
                && (config.gc.victim != default.victim
                    || config.gc.frontiers != default.frontiers
                    || config.gc.free_blocks != default.free_blocks
                    || config.wear != WearConfig::default())
        },
    },
    Refusal {
        keys: "ftl.kind that maps blocks, alloc.kind=dynamic",
        reason: "a data block holds pages of one unit, at their places: use alloc.kind=striped, or ftl.kind=page",
        applies: |config| config.ftl.maps_blocks() && config.alloc.binds_late(),
    },
    Refusal {
        keys: "planes_bound=true, timing.multi_plane=true",
        reason: "bound planes run every command together as it is: leave timing.multi_plane out",
        applies: |config| config.planes_bound && config.timing.multi_plane,
    },
    Refusal {
        keys: "planes_bound=true, planes=1",
        reason: "a die of one plane has nothing to bind: set planes",
        applies: |config| config.planes_bound && config.planes == 1,
    },
    Refusal {
        keys: "buffer.replacement, buffer.order=in-order",
        reason: "in order the oldest page leaves first: leave buffer.replacement out",
        applies: |config| {
            config.buffer.replacement != Replacement::Fifo && config.buffer.order == Order::InOrder
        },
    },
    Refusal {
        keys: "buffer.replacement, buffer.ack=flash, host.queue_depth=1 or host.slots=1",
        reason: "each write is on flash before the next comes, so there is nothing to choose from: leave buffer.replacement out",
        applies: |config| {
            let one_at_a_time = config.is_one_at_a_time();
            config.buffer.replacement != Replacement::Fifo && config.buffer.ack == Ack::Flash && one_at_a_time
        },
    },
    Refusal {
        keys: "buffer.replacement, buffer.bytes=0",
        reason: "without a buffer nothing waits that could be chosen: set buffer.bytes",
        applies: |config| config.buffer.replacement != Replacement::Fifo && config.buffer.bytes.0 == 0,
    },
    Refusal {
        keys: "buffer.coalesce=false, buffer.order=in-order",
        reason: "in order no write joins an older one anyway: leave buffer.coalesce out",
        applies: |config| !config.buffer.coalesce && config.buffer.order == Order::InOrder,
    },
    Refusal {
        keys: "buffer.coalesce=false, buffer.ack=flash, host.queue_depth=1 or host.slots=1",
        reason: "each write is on flash before the next comes, so nothing waits that it could join: leave buffer.coalesce out",
        applies: |config| {
            let one_at_a_time = config.is_one_at_a_time();
            !config.buffer.coalesce && config.buffer.ack == Ack::Flash && one_at_a_time
        },
    },
    Refusal {
        keys: "buffer.coalesce=false, buffer.bytes=0",
        reason: "without a buffer nothing waits that a write could join: set buffer.bytes",
        applies: |config| !config.buffer.coalesce && config.buffer.bytes.0 == 0,
    },
    Refusal {
        keys: "gc.planner or clock=lock-step, chips x dies, timing.bus",
        reason: "managed channels have one die each, or a bus that takes no time: set chips=1 and dies=1, or timing.bus=0 and \
                 timing.command=0",
        applies: |config| {
            config.is_managed() && config.chips.saturating_mul(config.dies) > 1 && !config.bus_is_free()
        },
    },
    Refusal {
        keys: "gc.planner or clock=lock-step, ftl.kind=direct or alloc.kind=dynamic",
        reason: "managed channels are about pages that have their channel, and about collecting: use alloc.kind=striped and an \
                 ftl.kind that collects",
        applies: |config| {
            config.is_managed() && (matches!(config.ftl, FtlConfig::Direct(_)) || config.alloc.binds_late())
        },
    },
    Refusal {
        keys: "gc.planner or clock=lock-step, gc.frontiers=2 or wear.static_gap",
        reason: "a collection made step by step has one frontier and takes the victim of gc.victim: leave these keys out",
        applies: |config| config.is_managed() && (config.gc.frontiers != 1 || config.wear.static_gap > 0),
    },
    Refusal {
        keys: "gc.planner or clock=lock-step, sched.kind or timing.cache_program",
        reason: "managed channels run the commands of a die in their order, one at a time: leave these keys out",
        applies: |config| config.is_managed() && (config.sched.reorders() || config.timing.cache_program),
    },
];
