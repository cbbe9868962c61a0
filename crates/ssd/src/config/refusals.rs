//! The one table of combinations that make no sense, each with its reason. A setting at its default never refuses.

mod host;
mod managed;
mod tenants;

use super::{Config, Engine, Precondition};
use crate::alloc::AllocConfig;
use crate::buffer::Ack;
use crate::error::ConfigError;
use crate::ftl::FtlConfig;
use crate::ftl::dftl::CACHED_ENTRY_BYTES;
use crate::gc::GcConfig;
use crate::geometry::Geometry;
use crate::host::HostMode;
use crate::nand::timing::{LONGEST_NS, Timing};
use crate::sched::SchedPolicy;
use crate::task::BackgroundConfig;
use crate::wear::WearConfig;

/// A combination that is refused.
#[derive(Clone, Copy, Debug)]
pub struct Refusal {
    /// The keys that do not go together.
    pub keys: &'static str,
    /// Why.
    pub reason: &'static str,
    applies: fn(&Config) -> bool,
}

/// All refusals across slots that need no geometry.
pub fn all() -> impl Iterator<Item = &'static Refusal> {
    let all = REFUSALS.iter().chain(&managed::MANAGED).chain(&tenants::TENANTS);
    all.chain(&host::HOST)
}

const REFUSALS: [Refusal; 33] = [
    Refusal {
        keys: "gc.frontiers",
        reason: "expected 1 (host and collected pages share a block) or 2",
        applies: |config| !(1..=2).contains(&config.gc.frontiers),
    },
    Refusal {
        keys: "host.queue_depth",
        reason: "expected 1 to 1000000 requests under way",
        applies: |config| matches!(&config.host.mode, HostMode::Closed(closed) if !(1..=1_000_000).contains(&closed.queue_depth)),
    },
    Refusal {
        keys: "host.time_scale",
        reason: "expected a positive factor, at most 1e9",
        applies: |config| matches!(&config.host.mode, HostMode::Open(open) if !(open.time_scale > 0.0 && open.time_scale <= 1e9)),
    },
    Refusal {
        keys: "fill",
        reason: "expected a share of the drive above 0, up to 1: 0.9 is 90% full",
        applies: |config| !(config.fill > 0.0 && config.fill <= 1.0),
    },
    Refusal {
        keys: "fill, precondition=empty or on-read",
        reason: "only precondition=full and steady put data on the drive before the run: use one of them, or leave fill at 1",
        applies: |config| {
            config.fill < 1.0 && matches!(config.precondition, Precondition::Empty | Precondition::OnRead)
        },
    },
    Refusal {
        keys: "gc.choices",
        reason: "expected 1 to 1000 blocks to look at",
        applies: |config| {
            use crate::gc::VictimConfig::DChoices;
            matches!(&config.gc.victim, DChoices(choice) if !(1..=1000).contains(&choice.choices))
        },
    },
    Refusal {
        keys: "ftl.associativity",
        reason: "expected 1 to 256 data blocks",
        applies: |config| {
            let legal = 1..=crate::ftl::MOST_ASSOCIATIVITY;
            matches!(&config.ftl, FtlConfig::Kast(kast) if !legal.contains(&kast.associativity))
        },
    },
    Refusal {
        keys: "alloc.mode",
        reason: "expected 0 (any idle channel) or 1 (channel = LPN mod channels)",
        applies: |config| matches!(&config.alloc, AllocConfig::Dynamic(dynamic) if dynamic.mode > 1),
    },
    Refusal {
        keys: "buffer.bytes",
        reason: "a buffer smaller than one page holds nothing: use 0 for none, or at least `page`",
        applies: |config| config.buffer.bytes.0 > 0 && config.buffer_pages() == 0,
    },
    Refusal {
        keys: "buffer.ack=flash, buffer.bytes=0",
        reason: "without a buffer every write is acknowledged from flash: set buffer.bytes",
        applies: |config| config.buffer.ack == Ack::Flash && config.buffer.bytes.0 == 0,
    },
    Refusal {
        keys: "timing.multi_plane=true, planes=1",
        reason: "a command can't span planes where a die has only one: set planes",
        applies: |config| config.timing.multi_plane && config.planes == 1,
    },
    Refusal {
        keys: "timing.cache_program=true, timing.bus=0, timing.command=0",
        reason: "a transfer that takes no time needs no cache to hide in: set timing.bus or timing.command",
        applies: |config| config.timing.cache_program && config.bus_is_free(),
    },
    Refusal {
        keys: "timing.cache_program=true, alloc.kind=dynamic or hybrid",
        reason: "dynamic allocation gives a page to an idle die only, so a die is never programming when the next page comes",
        applies: |config| config.timing.cache_program && config.alloc.binds_late(),
    },
    Refusal {
        keys: "timing.cache_program=true, buffer.bytes, planes=1",
        reason: "a plane takes its next page from the buffer when the last one is programmed, so none is ever loaded ahead: \
                 set planes, or leave the buffer out",
        applies: |config| config.timing.cache_program && config.buffer.bytes.0 > 0 && config.planes == 1,
    },
    Refusal {
        keys: "sched.write_bound, sched.kind",
        reason: "only read-first and suspend hold reads back for writes: set sched.kind, or leave the bound at none",
        applies: |config| config.sched.write_bound.0.is_some() && !config.sched.bounds_writes(),
    },
    Refusal {
        keys: "sched.preempt_gc=true, sched.kind",
        reason: "only schedulers that prefer reads let them get in between: use read-first, read-priority or suspend",
        applies: |config| config.sched.preempt_gc && !config.sched.prefers_reads(),
    },
    Refusal {
        keys: "sched.preempt_gc=true, sched.kind=suspend",
        reason: "suspend lets reads get in between page copies as it is: leave it at false",
        applies: |config| config.sched.preempt_gc && matches!(config.sched.policy, SchedPolicy::Suspend(_)),
    },
    Refusal {
        keys: "sched.preempt_gc=true, ftl.kind=direct",
        reason: "with physical addresses nothing is collected: leave it at false",
        applies: |config| config.sched.preempt_gc && matches!(config.ftl, FtlConfig::Direct(_)),
    },
    Refusal {
        keys: "sched.write_weight",
        reason: "expected 0 (always suspend) to 1000",
        applies: |config| matches!(&config.sched.policy, SchedPolicy::Suspend(own) if !(0.0..=1000.0).contains(&own.write_weight)),
    },
    Refusal {
        keys: "sched.suspend_time, sched.resume_time",
        reason: "expected at most one hour",
        applies: |config| matches!(&config.sched.policy, SchedPolicy::Suspend(own) if own.suspend_time.max(own.resume_time).0 > LONGEST_NS),
    },
    Refusal {
        keys: "sched.bus_reads_first=false, chips=1, dies=1",
        reason: "no die ever waits for a bus of its own: set chips or dies (with a bus that takes time), or leave it at true",
        applies: |config| {
            let own_bus = config.chips * config.dies == 1 || config.bus_is_free();
            matches!(&config.sched.policy, SchedPolicy::Suspend(own) if !own.bus_reads_first) && own_bus
        },
    },
    Refusal {
        keys: "sched.window",
        reason: "expected 1 to 1024 commands to choose from",
        applies: |config| matches!(&config.sched.policy, SchedPolicy::OutOfOrder(own) if !(1..=1024).contains(&own.window)),
    },
    Refusal {
        keys: "sched.kind=out-of-order, chips=1, dies=1",
        reason: "no die ever waits for a bus of its own, so the oldest command can always start: set chips or dies (with a \
                 bus that takes time), or alloc.kind=dynamic",
        applies: |config| {
            let shares_bus = config.chips * config.dies > 1 && !config.bus_is_free();
            let is_striped = matches!(config.alloc, AllocConfig::Striped(_));
            matches!(config.sched.policy, SchedPolicy::OutOfOrder(_)) && !shares_bus && is_striped
        },
    },
    Refusal {
        keys: "wear.dynamic=true, gc.free_blocks=1, gc.frontiers=1",
        reason: "each plane then has a single erased block, so there is nothing to choose from: raise gc.free_blocks",
        applies: |config| {
            // A map on flash keeps a block more.
            config.wear.dynamic
                && config.gc.free_blocks == 1
                && config.gc.frontiers == 1
                && !config.ftl.has_map_on_flash()
        },
    },
    Refusal {
        keys: "ftl.kind=direct, gc.*, wear.*, background.collect, precondition",
        reason: "with physical addresses nothing is collected, worn or preconditioned: leave these keys at their defaults",
        applies: |config| {
            matches!(config.ftl, FtlConfig::Direct(_))
                && (config.gc != GcConfig::default()
                    || config.wear != WearConfig::default()
                    || config.background.collect != BackgroundConfig::default().collect
                    || config.precondition != Precondition::Empty)
        },
    },
    Refusal {
        keys: "ftl.kind=direct, alloc.kind=dynamic or hybrid",
        reason: "a physical address names its unit, so there is nothing to allocate",
        applies: |config| matches!(config.ftl, FtlConfig::Direct(_)) && config.alloc.binds_late(),
    },
    Refusal {
        keys: "ftl.kind=dftl, alloc.kind=dynamic or hybrid",
        reason: "dynamic allocation has one map for all units, and each unit keeps its own on its flash: use alloc.kind=striped",
        applies: |config| config.ftl.has_map_on_flash() && config.alloc.binds_late(),
    },
    Refusal {
        keys: "ftl.kind=dftl, gc.frontiers=2",
        reason: "the second frontier is that of the translation pages; host and collected pages share the other: use gc.frontiers=1",
        applies: |config| config.ftl.has_map_on_flash() && config.gc.frontiers == 2,
    },
    Refusal {
        keys: "background.collect.until, background.collect.after",
        reason: "expected at least 1 spare block, and a time in background.collect.after, without which no idle unit collects",
        applies: |config| {
            let own = &config.background.collect;
            own.until == 0
                || (own.after.0.is_none() && own.until != BackgroundConfig::default().collect.until)
        },
    },
    Refusal {
        keys: "background.level.after, wear.static_gap=0",
        reason: "no gap of wear is ever too large: set wear.static_gap",
        applies: |config| config.background.level.after.0.is_some() && config.wear.static_gap == 0,
    },
    Refusal {
        keys: "background.write_back.after, ftl.kind",
        reason: "only a map on flash has entries to write back: set ftl.kind=dftl",
        applies: |config| config.background.write_back.after.0.is_some() && !config.ftl.has_map_on_flash(),
    },
    Refusal {
        keys: "background.destage.after, buffer.bytes=0 or buffer.ack=flash",
        reason: "pages wait in no buffer, or leave it at once: set buffer.bytes, with buffer.ack=buffer",
        applies: |config| {
            let stays = config.buffer.bytes.0 > 0 && config.buffer.ack == Ack::Buffer;
            config.background.destage.after.0.is_some() && !stays
        },
    },
    Refusal {
        keys: "ftl.kind=dftl, wear.static_gap",
        reason: "cold data is only moved where the whole map is in RAM: use wear.static_gap=0, or ftl.kind=page",
        applies: |config| config.ftl.has_map_on_flash() && config.wear.static_gap > 0,
    },
];

/// Says why a configuration can't be simulated, if it can't.
pub fn check(config: &Config) -> Result<(), ConfigError> {
    for refusal in all() {
        if (refusal.applies)(config) {
            return Err(ConfigError::Refused { keys: refusal.keys.into(), reason: refusal.reason.into() });
        }
    }
    let geometry = Geometry::new(config)?;
    Timing::new(&config.timing, config.page.0, config.bound_planes())?;
    if let Some((key, reason)) = config.alloc.inert_on(&geometry) {
        return Err(ConfigError::Refused { keys: key.into(), reason });
    }
    if let FtlConfig::Dftl(dftl) = &config.ftl
        && dftl.unit_entries(&geometry) == 0
    {
        let least = CACHED_ENTRY_BYTES * u64::from(geometry.units());
        let reason = format!(
            "each of the {} units caches entries of {CACHED_ENTRY_BYTES} bytes, at least one: use at least {least}",
            geometry.units()
        );
        return Err(ConfigError::Refused {
            keys: format!("ftl.cache_bytes = {}", dftl.cache_bytes.0),
            reason,
        });
    }
    if config.alloc.binds_late() && geometry.logical_pages >= u64::from(u32::MAX) {
        let reason =
            format!("one map serves all units and holds 2^32 - 2 pages, not {}", geometry.logical_pages);
        return Err(ConfigError::Refused { keys: "alloc.kind=dynamic or hybrid, capacity".into(), reason });
    }
    tenants::check(config, &geometry)?;
    if config.engine == Engine::Timeline
        && let Some(reason) = config.needs_events()
    {
        let reason = format!("{reason}: use engine=auto or engine=event");
        return Err(ConfigError::Refused { keys: "engine=timeline".into(), reason });
    }
    Ok(())
}
