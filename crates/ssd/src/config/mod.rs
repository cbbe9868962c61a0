//! The configuration of a drive. Each slot declares its own part; this file only composes them.
//!
//! A configuration is built in layers (default, preset, file, single settings) by [`layers`]; combinations that make no
//! sense are refused by [`refusals`] before a run.

mod bad_blocks;
mod bounds;
mod counts;
mod engine;
pub mod keys;
pub mod layers;
pub mod no_effect;
pub mod presets;
pub mod ranges;
pub mod refusals;
pub mod renamed;
mod sections;
mod shape;
mod size;
mod table;

pub use size::Share;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ageing::AgeingConfig;
use crate::alloc::AllocConfig;
use crate::buffer::{BufferConfig, DestageConfig};
use crate::external::Files;
use crate::ftl::{FtlConfig, Upkeep};
use crate::gc::{GcConfig, PlannerConfig};
use crate::geometry::MAX_PAGE_SECTORS;
use crate::host::{FirmwareConfig, HostConfig};
use crate::nand::{Cell, EnergyConfig, NandConfig, Programs, TimingConfig, Transfer};
use crate::quantity::{Auto, Bytes};
use crate::sched::SchedConfig;
use crate::slc::SlcConfig;
use crate::task::{BackgroundConfig, Kind};
use crate::tenants::TenantsConfig;
use crate::trim::TrimConfig;
use crate::wear::WearConfig;

/// State of the drive when the run starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Precondition {
    /// As new: nothing was ever written. A read of a page that the run has not written is answered without flash.
    Empty,
    /// Every logical page written once, in order.
    Full,
    /// A page that is read before it is written was there before the run, where filling the drive in order puts it (as SSDsim does
    /// before a run). It takes room when it is first read, and no time. All else was never written.
    #[default]
    OnRead,
    /// Full, then overwritten, untimed, by the workload's own addresses (for traces: uniform) with another seed, for at
    /// least twice the capacity and until write amplification over two successive capacities differs by under 0.5%.
    Steady,
}

/// Computation of times. Both engines give the same times where both apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// Busy-until times where they are exact, events elsewhere.
    #[default]
    Auto,
    /// Busy-until times; refused where they are not exact.
    BusyUntil,
    /// Events.
    Event,
}

/// Channels that make a parallel unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Units {
    /// Every channel works on its own.
    #[default]
    Independent,
    /// All channels always act together: one unit, with pages and blocks as many times as large.
    Synchronized,
}

/// Clock of the channels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// Every unit goes on as soon as it can.
    #[default]
    Async,
    /// All units go on together: a flush of the buffer is one cycle, and a collection stops the drive.
    LockStep,
}

/// A simulated drive and how its host uses it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// Channels: buses that work independently.
    #[schemars(range(min = 1, max = 4096))]
    pub channels: u32,
    /// Chips on each channel.
    #[schemars(range(min = 1, max = 1024))]
    pub chips: u32,
    /// Dies in each chip: each runs one command at a time.
    #[schemars(range(min = 1, max = 1024))]
    pub dies: u32,
    /// Planes in each die: each is a parallel unit with an FTL instance of its own, unless they are bound.
    #[schemars(range(min = 1, max = 64))]
    pub planes: u32,
    /// Parallel units: each channel on its own, or all channels together.
    pub units: Units,
    /// True: the planes of a die are one unit, with pages and blocks as many times as large.
    pub planes_bound: bool,
    /// Clock of the channels.
    pub clock: Clock,
    /// Page size.
    #[schemars(range(min = 512, max = 262_144), extend("multipleOf" = 512))]
    pub page: Bytes,
    /// Pages in each block.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub pages_per_block: u32,
    /// Logical capacity; rounded up to whole pages in each unit. Where blocks_per_unit and over-provisioning are given it follows.
    #[schemars(range(max = 1_152_921_504_606_846_976_u64))]
    pub capacity: Bytes,
    /// Over-provisioning: spare / logical. The block that each unit keeps erased does not count.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub op_ratio: f64,
    /// Over-provisioning as a share of raw: spare / all blocks, those kept erased included. Instead of op_ratio, which then follows.
    #[schemars(range(min = 0.0, max = 0.99))]
    pub op_raw: Auto<f64>,
    /// Blocks of each unit, those kept erased included: capacity follows, or over-provisioning if a capacity is given.
    #[schemars(range(min = 1))]
    pub blocks_per_unit: Auto<u32>,
    /// State of the drive when the run starts.
    pub precondition: Precondition,
    /// Share of the logical pages that hold data when the run starts: 0.9 is a drive that is 90% full. The rest was never written.
    /// Below 1 it implies `precondition=full` where no precondition is set. It has no effect with `empty` and `on-read`.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub fill: f64,
    /// Computation of times: busy-until times or events.
    pub engine: Engine,
    /// Times of the flash and of its bus.
    pub timing: TimingConfig,
    /// Transfers out of the flash.
    pub nand: NandConfig,
    /// Energy of operations, transfers and idle dies.
    pub energy: EnergyConfig,
    /// Translation of logical pages.
    pub ftl: FtlConfig,
    /// Parallel unit of a logical page.
    pub alloc: AllocConfig,
    /// Garbage collection.
    pub gc: GcConfig,
    /// The write buffer.
    pub buffer: BufferConfig,
    /// Order of the commands of a die.
    pub sched: SchedConfig,
    /// When requests reach the drive, and over which link.
    pub host: HostConfig,
    /// Times of the drive's processor for commands.
    pub firmware: FirmwareConfig,
    /// Channels of the tenants' pages.
    pub tenants: TenantsConfig,
    /// Blocks written in SLC mode.
    pub slc: SlcConfig,
    /// Ranges that TRIM forgets, and when.
    pub trim: TrimConfig,
    /// Wear levelling.
    pub wear: WearConfig,
    /// Bit errors, and their correction.
    pub ageing: AgeingConfig,
    /// Work that the drive does before it must.
    pub background: BackgroundConfig,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            channels: 8,
            chips: 1,
            dies: 1,
            planes: 1,
            units: Units::default(),
            planes_bound: false,
            clock: Clock::default(),
            page: Bytes(4096),
            pages_per_block: 128,
            capacity: Bytes(16 << 30),
            op_ratio: 0.10,
            op_raw: Auto(None),
            blocks_per_unit: Auto(None),
            precondition: Precondition::default(),
            fill: 1.0,
            engine: Engine::default(),
            timing: TimingConfig::default(),
            nand: NandConfig::default(),
            energy: EnergyConfig::default(),
            ftl: FtlConfig::default(),
            alloc: AllocConfig::default(),
            gc: GcConfig::default(),
            buffer: BufferConfig::default(),
            sched: SchedConfig::default(),
            host: HostConfig::default(),
            firmware: FirmwareConfig::default(),
            tenants: TenantsConfig::default(),
            slc: SlcConfig::default(),
            trim: TrimConfig::default(),
            wear: WearConfig::default(),
            ageing: AgeingConfig::default(),
            background: BackgroundConfig::default(),
        }
    }
}

impl Config {
    /// Pages of the write buffer, or mapping units where these are smaller; 0 is none.
    pub(crate) fn buffer_pages(&self) -> u64 {
        let page = self.page.0.max(1);
        self.buffer.bytes.0 / self.ftl.map_unit().map_or(page, |unit| unit.clamp(1, page))
    }

    /// Pages of a unit in a mapping unit. To be called where `ftl.map_unit` is known to fit.
    pub(crate) fn mapped_pages(&self) -> u32 {
        let page = self.page.0.max(1) * u64::from(self.bound_pages());
        self.ftl.map_unit().map_or(1, |unit| (unit / page).clamp(1, MAX_PAGE_SECTORS.into()) as u32)
    }

    /// Bytes of the smallest transfer of a part of a mapping unit.
    pub(crate) fn codeword_bytes(&self) -> u64 {
        if self.nand.transfer == Transfer::Page { self.page.0 } else { self.nand.codeword.0 }
    }

    /// Mapping units in a page of a unit. To be called where `ftl.map_unit` is known to divide it.
    pub(crate) fn units_per_page(&self) -> u32 {
        let page = self.page.0 * u64::from(self.bound_pages());
        self.ftl.map_unit().map_or(1, |unit| (page / unit.max(1)).clamp(1, MAX_PAGE_SECTORS.into()) as u32)
    }

    /// Of so many logical pages those that preconditioning writes: the first ones, at least one.
    #[expect(clippy::cast_sign_loss, reason = "a share that is not negative")]
    pub fn filled_pages(&self, logical_pages: u64) -> u64 {
        ((logical_pages as f64 * self.fill).round() as u64).clamp(1, logical_pages)
    }

    /// Pages of flash that a page of a unit is made of: bound channels and planes, one of each.
    pub(crate) fn bound_pages(&self) -> u32 {
        self.bound_channels().saturating_mul(self.bound_planes())
    }

    /// Channels that act as one.
    pub(crate) fn bound_channels(&self) -> u32 {
        if self.units == Units::Synchronized { self.channels } else { 1 }
    }

    /// Planes of a die that act as one.
    pub(crate) fn bound_planes(&self) -> u32 {
        if self.planes_bound { self.planes } else { 1 }
    }

    /// Settings by which the translation layers collect and level blocks.
    pub(crate) fn upkeep(&self) -> Upkeep<'_> {
        Upkeep {
            victim: &self.gc.victim,
            division: self.gc.division(),
            frontiers: self.ftl.frontiers(self.gc.frontiers),
            classifier: self.ftl.classifier(),
            groups: self.ftl.groups(),
            isolated: self.ftl.is_isolated(),
            open_time: self.ftl.open_time(),
            throttle: self.gc.throttle,
            selection: self.gc.planner.selection(self.pages_per_block),
            wear: &self.wear,
            max_retired: self.ageing.max_retired.0,
            slc: self.slc.rules(self.timing.page_types(&self.nand)),
        }
    }

    /// Bits of a cell, as far as its errors are concerned.
    pub(crate) fn ageing_bits(&self) -> u32 {
        let Self { ageing, nand, timing, .. } = self;
        let of_flash = || match timing.page_types(nand) {
            1 if nand.cell == Cell::Auto => 3,
            bits => bits,
        };
        ageing.cell.bits().unwrap_or_else(of_flash)
    }

    /// True if errors of cells are others than without `nand.cell`.
    pub(crate) fn ageing_heeds_nand_cell(&self) -> bool {
        let nand = NandConfig { cell: Cell::Auto, ..self.nand.clone() };
        self.ageing.is_on() && self.ageing_bits() != Self { nand, ..self.clone() }.ageing_bits()
    }

    /// True if the channels are managed: by a planner, or by a common clock.
    pub fn is_managed(&self) -> bool {
        self.clock == Clock::LockStep || self.gc.planner != PlannerConfig::default()
    }

    /// True if all pages of a cycle come to flash at one time: with a common clock, each unit in a time of its own bus and of one length.
    pub(crate) fn ends_cycles_at_once(&self) -> bool {
        let Config { timing, nand, .. } = self;
        let has_lists = timing.read.0.len() > 1 || timing.program.0.len() > 1;
        let is_typed = has_lists || nand.programs != Programs::Page || nand.spreads() || self.slc.is_on();
        let shares_bus = self.chips.saturating_mul(self.dies) > 1 && !self.bus_is_free();
        let apart = self.planes > 1 && !self.planes_bound;
        self.clock == Clock::LockStep && !is_typed && !shares_bus && !apart
    }

    /// True if the drive works though no request needs it.
    pub fn works_ahead(&self) -> bool {
        let folds = self.slc.fold_after.0.is_some();
        let destages = self.buffer.destage != DestageConfig::default();
        self.background != BackgroundConfig::default() || folds || destages
    }

    /// The policies outside the engine that it names.
    pub fn external(&self) -> Files<'_> {
        let background = &self.background;
        Files {
            victim: self.gc.victim.file(),
            planner: self.gc.planner.file(),
            background: (background.kind == Kind::External).then_some(&background.file),
            destage: self.buffer.destage.file(),
            classifier: self.ftl.classifier_file(),
            channels: self.tenants.channels.file(),
        }
    }

    /// True if requests are commands to zones, which a drive refuses if they break a rule.
    pub fn takes_zone_commands(&self) -> bool {
        self.ftl.is_zoned()
    }

    /// True if there is never more than one request outstanding.
    pub(crate) fn is_one_at_a_time(&self) -> bool {
        self.host.max_outstanding() == 1
    }

    /// True if a request takes time, or waits, between the host and the drive's work for it.
    pub fn has_interface(&self) -> bool {
        self.host.has_interface(&self.firmware)
    }

    /// True if transfers take no time.
    pub(crate) fn bus_is_free(&self) -> bool {
        self.timing.bus == 0.0 && self.timing.command.0 == 0
    }

    /// True if the drive draws from a seed, so that two seeds may give two results for the same requests.
    pub fn draws(&self) -> bool {
        self.precondition == Precondition::Steady || self.gc.victim.draws()
    }

    /// The JSON Schema of a device file: every key with its type, unit, default and meaning.
    pub fn schema() -> serde_json::Value {
        let mut schema = schemars::schema_for!(Config).to_value();
        if let Some(object) = schema.as_object_mut() {
            object.insert("title".into(), "flashweir device".into());
            // The same keys once more, flat, as `--set` takes them.
            object.insert("x-keys".into(), serde_json::json!(keys::keys()));
            let live = keys::keys().iter().filter(|key| keys::is_live(&key.name)).map(|key| &key.name);
            object.insert("x-live".into(), live.map(String::as_str).collect());
            object.insert("x-model-inputs".into(), serde_json::json!(crate::tenants::INPUTS));
        }
        schema
    }
}
