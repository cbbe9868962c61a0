//! Settings that change nothing on a drive, because of others: a grid over many keys may cross them. They are set back to
//! their defaults, and the result says so; a drive that has such a setting is the one that does not.

mod ageing;
mod background;
mod flash;
mod host;
mod managed;
mod placement;
mod slc;
mod trim;
mod zones;

use super::{Config, Precondition, Units};
use crate::alloc::AllocConfig;
use crate::buffer::{Ack, BufferConfig, Order, Replacement};
use crate::ftl::FtlConfig;
use crate::gc::{GcConfig, PlannerConfig};
use crate::geometry::Geometry;
use crate::host::HostMode;
use crate::task::BackgroundConfig;
use crate::tenants::{Applies, ChannelsConfig, TenantsConfig, Turns};
use crate::wear::WearConfig;

/// A combination in which the first keys have no effect.
#[derive(Clone, Copy, Debug)]
pub struct NoEffect {
    /// The keys without effect, and those because of which they have none.
    pub keys: &'static str,
    /// Why.
    pub reason: &'static str,
    applies: fn(&Config) -> bool,
    clear: fn(&mut Config),
}

/// All of them.
pub fn all() -> impl Iterator<Item = &'static NoEffect> {
    // These set back what others are about.
    zones::ZONES
        .iter()
        .chain(&slc::CELLS)
        .chain(&ageing::AGEING)
        .chain(&placement::PLACEMENT)
        .chain(&managed::MANAGED)
        .chain(&TABLE)
        .chain(&background::TABLE)
        .chain(&host::HOST)
        .chain(&flash::FLASH)
        .chain(&slc::SLC)
        .chain(&trim::TRIM)
}

/// Sets back what has no effect. Returns why, in the order of the table.
pub(crate) fn clear(config: &mut Config) -> Vec<&'static NoEffect> {
    let mut found = Vec::new();
    for entry in all() {
        if (entry.applies)(config) {
            (entry.clear)(config);
            found.push(entry);
        }
    }
    found
}

/// A buffer of which no page is chosen; the rest has notes of its own.
fn unordered(buffer: &BufferConfig) -> BufferConfig {
    let BufferConfig { bytes, ack, protected, .. } = *buffer;
    let (destage, backpressure) = (buffer.destage.clone(), buffer.backpressure.clone());
    BufferConfig { bytes, ack, protected, destage, backpressure, ..BufferConfig::default() }
}

fn is_direct(config: &Config) -> bool {
    matches!(config.ftl, FtlConfig::Direct(_))
}

/// True if every write is on flash before the next one arrives.
fn writes_one_by_one(config: &Config) -> bool {
    let is_cut = config.host.max_transfer.0 > 0;
    config.buffer.ack == Ack::Flash && config.is_one_at_a_time() && !is_cut
}

const TABLE: [NoEffect; 24] = [
    NoEffect {
        keys: "buffer.bytes, page, ftl.map_unit",
        reason: "a buffer smaller than a page, or a mapping unit, holds none",
        applies: |config| config.buffer.bytes.0 > 0 && config.buffer_pages() == 0,
        clear: |config| config.buffer.bytes.0 = 0,
    },
    NoEffect {
        keys: "buffer.*, buffer.bytes=0",
        reason: "there is no buffer",
        applies: |config| {
            let none = BufferConfig { bytes: config.buffer.bytes, ..BufferConfig::default() };
            config.buffer.bytes.0 == 0 && config.buffer != none
        },
        clear: |config| {
            config.buffer = BufferConfig { bytes: config.buffer.bytes, ..BufferConfig::default() };
        },
    },
    NoEffect {
        keys: "buffer.order, buffer.replacement, buffer.coalesce, buffer.ack=flash, host.queue_depth=1 or host.slots=1",
        reason: "each write is on flash before the next comes, so no page waits in the buffer",
        applies: |config| writes_one_by_one(config) && config.buffer != unordered(&config.buffer),
        clear: |config| config.buffer = unordered(&config.buffer),
    },
    NoEffect {
        keys: "buffer.replacement, buffer.order=in-order",
        reason: "in order the oldest page leaves first",
        applies: |config| {
            config.buffer.order == Order::InOrder && config.buffer.replacement != Replacement::default()
        },
        clear: |config| config.buffer.replacement = Replacement::default(),
    },
    NoEffect {
        keys: "buffer.coalesce=false, buffer.order=in-order",
        reason: "in order no write joins an older one",
        applies: |config| config.buffer.order == Order::InOrder && !config.buffer.coalesce,
        clear: |config| config.buffer.coalesce = true,
    },
    NoEffect {
        keys: "wear.dynamic=true, gc.free_blocks=1, gc.frontiers=1",
        reason: "each plane has a single erased block, so there is nothing to choose from",
        applies: |config| {
            // A map on flash keeps a block more.
            let upkeep = config.upkeep();
            let single = upkeep.frontiers == 1 && upkeep.groups().is_none();
            let keeps_one = !config.ftl.has_map_on_flash() && !config.slc.has_dynamic();
            config.wear.dynamic && single && keeps_one && Geometry::kept_blocks(config) == Some(1)
        },
        clear: |config| config.wear.dynamic = false,
    },
    NoEffect {
        keys: "gc.*, wear.*, background.collect, precondition, ftl.kind=direct",
        reason: "with physical addresses nothing is collected, worn or preconditioned",
        applies: |config| {
            is_direct(config)
                && (config.gc != GcConfig::default()
                    || config.wear != WearConfig::default()
                    || config.background.collect != BackgroundConfig::default().collect
                    || !matches!(config.precondition, Precondition::Empty | Precondition::OnRead))
        },
        clear: |config| {
            (config.gc, config.wear) = (GcConfig::default(), WearConfig::default());
            config.background.collect = BackgroundConfig::default().collect;
            config.precondition = Precondition::default();
        },
    },
    NoEffect {
        keys: "fill, precondition=empty or on-read",
        reason: "only precondition=full and steady write data before the run",
        applies: |config| {
            config.fill < 1.0 && matches!(config.precondition, Precondition::Empty | Precondition::OnRead)
        },
        clear: |config| config.fill = 1.0,
    },
    NoEffect {
        keys: "gc.victim, gc.frontiers, gc.free_blocks, wear.*, ftl.kind that maps blocks",
        reason: "a log is collected from its oldest block on, into the one block kept erased",
        applies: |config| config.ftl.maps_blocks() && *config != without_victims(config),
        clear: |config| *config = without_victims(config),
    },
    NoEffect {
        keys: "alloc.kind=dynamic or hybrid, tenants.channels, ftl.kind that maps blocks, precondition=full or steady, fill=1",
        reason: "data blocks have had their units since the drive was filled",
        applies: |config| {
            let is_full = matches!(config.precondition, Precondition::Full | Precondition::Steady);
            config.ftl.maps_blocks() && config.binds_late() && is_full && config.fill >= 1.0
        },
        clear: |config| {
            config.alloc = config.alloc.filled([config.chips, config.dies, config.planes]);
            config.tenants.channels = ChannelsConfig::default();
        },
    },
    NoEffect {
        keys: "gc.throttle, ftl.kind",
        reason: "only the log blocks of log-block and fast have pages of any number of data blocks",
        applies: |config| {
            config.gc.throttle > 0 && !matches!(config.ftl, FtlConfig::LogBlock(_) | FtlConfig::Fast(_))
        },
        clear: |config| config.gc.throttle = 0,
    },
    NoEffect {
        keys: "gc.planner, units=synchronized",
        reason: "synchronized channels are one unit, so there is no other one to plan for",
        applies: |config| {
            let one = config.units == Units::Synchronized && config.channels > 1;
            one && config.gc.planner != PlannerConfig::default()
        },
        clear: |config| config.gc.planner = PlannerConfig::default(),
    },
    NoEffect {
        keys: "gc.planner, alloc.kind=superblock, alloc.superblock_dies",
        reason: "superblocks over all dies make one unit of the drive, so there is no other one to plan for",
        applies: |config| {
            let channels = config.channels / config.bound_channels();
            let dies = channels.saturating_mul(config.chips).saturating_mul(config.dies);
            config.alloc.is_one_set_of(dies) && config.gc.planner != PlannerConfig::default()
        },
        clear: |config| config.gc.planner = PlannerConfig::default(),
    },
    NoEffect {
        keys: "gc.planner=forwarding, buffer.bytes=0 or buffer.ack=flash",
        reason: "a unit collects ahead when the buffer is full, which it never is",
        applies: |config| {
            let fills = config.buffer.bytes.0 > 0 && config.buffer.ack == Ack::Buffer;
            matches!(config.gc.planner, PlannerConfig::Forwarding(_)) && !fills
        },
        clear: |config| config.gc.planner = PlannerConfig::default(),
    },
    NoEffect {
        keys: "gc.spare_blocks, gc.planner",
        reason: "only forwarding, cycle-filling and selective-filling heed it",
        applies: |config| {
            config.gc.spare_blocks != GcConfig::default().spare_blocks
                && !config.gc.planner.heeds_spare_blocks()
        },
        clear: |config| config.gc.spare_blocks = GcConfig::default().spare_blocks,
    },
    NoEffect {
        keys: "tenants.*, tenants.channels, channels=1 or units=synchronized",
        reason: "there is one channel, so there is nothing to choose",
        applies: |config| {
            config.tenants.are_on()
                && config.channels / config.bound_channels() == 1
                && !config.tenants.is_external()
        },
        clear: |config| config.tenants = TenantsConfig::default(),
    },
    NoEffect {
        keys: "tenants.*, tenants.channels=all",
        reason: "without an allocator there are no groups and no windows",
        applies: |config| !config.tenants.are_on() && config.tenants != without_windows(&config.tenants),
        clear: |config| config.tenants = without_windows(&config.tenants),
    },
    NoEffect {
        keys: "alloc.kind=hybrid, tenants.channels=all",
        reason: "there is one group, of everybody, and no window says if it mostly reads: allocation is dynamic",
        applies: |config| matches!(config.alloc, AllocConfig::Hybrid(_)) && !config.tenants.are_on(),
        clear: |config| config.alloc = AllocConfig::dynamic(),
    },
    NoEffect {
        keys: "tenants.window_time, host.mode=closed",
        reason: "in a closed loop the times of the workload mean nothing, and windows end by requests",
        applies: |config| {
            let is_open = matches!(config.host.mode, HostMode::Open(_));
            !is_open && config.tenants.window_time != TenantsConfig::default().window_time
        },
        clear: |config| config.tenants.window_time = TenantsConfig::default().window_time,
    },
    NoEffect {
        keys: "tenants.min_channels, tenants.channels",
        reason: "only partially-isolated and ssdkeeper keep channels for a group",
        applies: |config| {
            config.tenants.min_channels != TenantsConfig::default().min_channels
                && !config.tenants.keeps_channels()
        },
        clear: |config| config.tenants.min_channels = TenantsConfig::default().min_channels,
    },
    NoEffect {
        keys: "tenants.applies=same, tenants.channels=look-ahead; or shared or isolated with alloc.kind=dynamic or striped",
        reason: "look-ahead knows the requests of its windows anyhow, and what the others give does not depend on the window",
        applies: |config| {
            let own = &config.tenants;
            let fixed = matches!(own.channels, ChannelsConfig::Shared(_) | ChannelsConfig::Isolated(_))
                && !matches!(config.alloc, AllocConfig::Hybrid(_));
            own.applies == Applies::Same && (fixed || own.looks_ahead().is_some())
        },
        clear: |config| config.tenants.applies = Applies::Next,
    },
    NoEffect {
        keys: "tenants.turns, alloc.kind=striped, buffer.bytes, gc.planner, clock, host.queue_depth=1 or host.slots=1",
        reason: "pages only wait for a channel under dynamic allocation without a buffer, planner or common clock, with several outstanding requests",
        applies: |config| {
            let waits =
                config.alloc.binds_late(false) && config.buffer.bytes.0 == 0 && !config.is_one_at_a_time();
            config.tenants.turns != Turns::Arrival && (!waits || config.is_managed())
        },
        clear: |config| config.tenants.turns = Turns::Arrival,
    },
    NoEffect {
        keys: "tenants.turns=shortest, tenants.channels=look-ahead",
        reason: "it tries both orders for each window",
        applies: |config| config.tenants.turns == Turns::Shortest && config.tenants.looks_ahead().is_some(),
        clear: |config| config.tenants.turns = Turns::Arrival,
    },
    NoEffect {
        keys: "tenants.max_late_share, tenants.turns",
        reason: "only turns=shortest-fair, or an allocator that says so, heeds it",
        applies: |config| {
            config.tenants.max_late_share.to_bits() != TenantsConfig::default().max_late_share.to_bits()
                && config.tenants.turns != Turns::ShortestFair
                && !config.tenants.is_external()
        },
        clear: |config| config.tenants.max_late_share = TenantsConfig::default().max_late_share,
    },
];

/// Copy with the settings of victim selection and wear levelling at their defaults.
fn without_victims(config: &Config) -> Config {
    let mut plain = config.clone();
    let default = GcConfig::default();
    plain.gc = GcConfig {
        victim: default.victim,
        frontiers: default.frontiers,
        free_blocks: default.free_blocks,
        ..plain.gc
    };
    plain.wear = WearConfig::default();
    plain
}

/// Copy with the settings of windows and groups at their defaults.
fn without_windows(tenants: &TenantsConfig) -> TenantsConfig {
    TenantsConfig { turns: tenants.turns, max_late_share: tenants.max_late_share, ..TenantsConfig::default() }
}

/// The allocation of pages where a key of it has no effect on this shape, and why.
pub(crate) fn clear_allocation(config: &mut Config) -> Option<(&'static str, String)> {
    let geometry = Geometry::new(config).ok()?;
    let found = config.alloc.inert_on(&geometry)?;
    match &mut config.alloc {
        AllocConfig::Dynamic(own) if found.0 == "alloc.mode" => own.mode = 0,
        alloc => *alloc = AllocConfig::default(),
    }
    Some(found)
}
