//! Zones: the drive keeps no map of pages. A zone has its place on the flash, its pages follow each other there, and nothing moves:
//! a reset erases the blocks of the zone that were written, and a finish programs the pages that are left. Zones are blocks of the units that the layer sees: of a plane, or with
//! `alloc.kind=superblock` of all planes of `alloc.superblock_dies` dies.
//!
//! With `ftl.host=log` the host writes anywhere through a log-structured layer of its own: a page map over zones, collected by
//! `gc.victim`. That layer is [`super::PageFtl`]: what it moves is the host's work (NVMe's Copy command: data stay in the drive),
//! and what it erases are resets. `core/zones.rs` holds both against the rules of zones.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::block_map::{BlockCell, OfUnit};
use super::wear::{Wear, of_tables};
use super::{Ops, Written};
use crate::alloc::Home;
use crate::divisor::Divisor;
use crate::error::RunError;
use crate::ftl::classifier::{Classifier, MAX_GROUPS};
use crate::geometry::Geometry;
use crate::quantity::{Auto, Bytes};
use crate::zones::Zrwa;

/// Software between the workload and the zones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Host {
    /// A log-structured layer: the workload writes anywhere, the layer appends to open zones, and collects zones.
    #[default]
    Log,
    /// None: a write goes to the write pointer of its zone, and a TRIM of a whole zone resets it. Others fail, and are counted.
    None,
}

/// Data that the host's log keeps in zones of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Separate {
    /// New pages and relocated ones share a zone. With `gc.frontiers=2` they don't.
    None,
    /// Relocated pages have a zone of their own.
    #[default]
    Relocated,
    /// The same, and so have the new pages of each placement handle.
    Handles,
}

/// Work of the drive when a zone is finished that is not full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Finish {
    /// It programs the pages that are left, without data.
    #[default]
    Pad,
    /// It notes that the zone is full; its blocks stay as they are until the zone is reset.
    Mark,
}

/// Mapping of zones to parallel units: to planes, or to sets of dies with `alloc.kind=superblock`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ZoneMap {
    /// By the number of the zone: the one after lies on the unit after.
    #[default]
    Static,
    /// When a zone is first written: to the unit where the fewest zones are being written, of those to the one with the fewest.
    Dynamic,
}

/// Zones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// Software between the workload and the zones.
    pub host: Host,
    /// Data that the host's log keeps in zones of their own.
    pub separate: Separate,
    /// Handles that `ftl.separate=handles` keeps apart; one beyond them is handle 0.
    #[schemars(range(min = 1, max = MAX_GROUPS))]
    pub handles: u32,
    /// Mapping unit of the host's log: what one entry of its map stands for. As `ftl.map_unit` of a page map.
    pub log_unit: Auto<Bytes>,
    /// Zones that may be open at a time: one that a write has opened is closed for the next. `auto`: all.
    #[schemars(range(min = 1))]
    pub max_open: Auto<u32>,
    /// Zones that may be active at a time: open, or closed and not full. A write to one more fails. `auto`: all.
    #[schemars(range(min = 1))]
    pub max_active: Auto<u32>,
    /// Work of the drive when a zone is finished.
    pub finish: Finish,
    /// Mapping of zones to dies.
    pub zone_map: ZoneMap,
    /// Size of the random write area (ZRWA) of a zone that is opened with one: so far from the write pointer on, pages may be written in
    /// any order, and again, before they go to the flash. 0: no zone has one.
    pub zrwa_size: Bytes,
    /// Part of a random write area that is committed at a time (flush granularity, ZRWAFG). `auto`: a page.
    pub zrwa_granularity: Auto<Bytes>,
    /// Zones that may have a random write area at a time (NUMZRWA). `auto`: all.
    #[schemars(range(min = 1))]
    pub zrwa_resources: Auto<u32>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            host: Host::default(),
            separate: Separate::default(),
            handles: 8,
            log_unit: Auto(None),
            max_open: Auto(None),
            max_active: Auto(None),
            finish: Finish::default(),
            zone_map: ZoneMap::default(),
            zrwa_size: Bytes(0),
            zrwa_granularity: Auto(None),
            zrwa_resources: Auto(None),
        }
    }
}

impl Config {
    /// The random write areas in pages, of so many bytes each, if there are any.
    pub(crate) fn zrwa(&self, page_bytes: u64) -> Option<Zrwa> {
        (self.zrwa_size.0 > 0).then(|| Zrwa {
            size: self.zrwa_size.0 / page_bytes,
            granularity: self.zrwa_granularity.0.map_or(1, |bytes| bytes.0 / page_bytes),
            resources: self.zrwa_resources.0.unwrap_or(u32::MAX),
        })
    }

    /// The classifier of the host's log.
    pub(super) fn classifier(&self) -> Classifier {
        match (self.host, self.separate) {
            (Host::None, _) | (_, Separate::None) => Classifier::One,
            (Host::Log, Separate::Relocated) => Classifier::HostAndCollected,
            (Host::Log, Separate::Handles) => Classifier::Stream,
        }
    }
}

/// Pages programmed and erases of each block of a unit.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Unit {
    #[serde(with = "crate::raw")]
    written: Vec<u32>,
    /// Pages from this one on have no data: the zone was finished before it was full.
    #[serde(with = "crate::raw")]
    ends: Vec<u32>,
    #[serde(with = "crate::raw")]
    erases: Vec<u32>,
    /// Those of preconditioning.
    #[serde(with = "crate::raw")]
    erases_before: Vec<u32>,
    /// Blocks of which nothing is written.
    empty: u64,
}

impl Unit {
    /// Pages of a block that have data.
    fn data_of(&self, block: usize) -> u32 {
        self.written[block].min(self.ends[block])
    }
}

/// Zones of all units.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ZoneFtl {
    pages_per_block: Divisor,
    units: Vec<Unit>,
}

impl ZoneFtl {
    pub(super) fn new(geometry: &Geometry) -> Self {
        let unit = |unit: u32| {
            let blocks = geometry.unit_blocks(unit);
            let tables = || vec![0; blocks as usize];
            let ends = vec![geometry.pages_per_block; blocks as usize];
            Unit { written: tables(), ends, erases: tables(), erases_before: tables(), empty: blocks }
        };
        Self {
            pages_per_block: Divisor::new(geometry.pages_per_block.into()),
            units: (0..geometry.units()).map(unit).collect(),
        }
    }

    fn split(&self, key: u32) -> (usize, u32) {
        let (block, page) = self.pages_per_block.split(key.into());
        (block as usize, page as u32)
    }

    /// A page has its place: it is there once it has been programmed.
    pub(super) fn lookup(&self, home: Home) -> Option<u32> {
        let (block, page) = self.split(home.key);
        (page < self.units[home.unit as usize].data_of(block)).then_some(home.key)
    }

    /// The zone of a page is finished when it has so many pages of data.
    pub(super) fn end(&mut self, home: Home, pages: u32) {
        let (block, _) = self.split(home.key);
        self.units[home.unit as usize].ends[block] = pages;
    }

    /// Programs the page that follows those of its zone.
    pub(super) fn write(&mut self, home: Home, ops: &mut Ops) -> Result<Written, RunError> {
        let (block, page) = self.split(home.key);
        let unit = &mut self.units[home.unit as usize];
        let next = unit.written[block];
        if page != next {
            let (unit, block) = (home.unit, block as u32);
            return Err(RunError::ZoneOrder { unit, block, page, next });
        }
        if page == 0 {
            unit.empty -= 1;
            ops.opened(home.unit);
        }
        unit.written[block] = page + 1;
        Ok(Written { ppn: home.key, old: None })
    }

    /// Pages of a zone are trimmed in order, all of them: with the last one its block is erased, if anything is written there. Returns
    /// whether the page was written.
    pub(super) fn trim(&mut self, home: Home, ops: &mut Ops) -> bool {
        let (block, page) = self.split(home.key);
        let last = self.pages_per_block.get() as u32 - 1;
        let unit = &mut self.units[home.unit as usize];
        let data = unit.data_of(block);
        if page == last {
            unit.ends[block] = last + 1;
            if std::mem::take(&mut unit.written[block]) > 0 {
                unit.erases[block] += 1;
                unit.empty += 1;
                ops.reset(home.unit, block as u32);
            }
        }
        page < data
    }

    /// The blocks of each unit, one by one.
    pub(super) fn cells(&self) -> impl Iterator<Item = OfUnit<'_>> {
        let last = self.pages_per_block.get() as u32;
        self.units.iter().map(move |unit| {
            let cells = unit.written.iter().enumerate().map(move |(block, written)| BlockCell {
                blocks: 1,
                free: (*written == 0).into(),
                open: ((1..last).contains(written) && unit.ends[block] == last).into(),
                valid: unit.data_of(block).into(),
                erases: unit.erases[block].into(),
            });
            OfUnit { count: unit.written.len() as u64, cells: Box::new(cells) }
        })
    }

    pub(super) fn free_blocks(&self, unit: u32) -> u64 {
        self.units[unit as usize].empty
    }

    pub(super) fn erases(&self, unit: u32, block: u32) -> u32 {
        self.units[unit as usize].erases[block as usize]
    }

    pub(super) fn end_preconditioning(&mut self) {
        for unit in &mut self.units {
            unit.erases_before.clone_from(&unit.erases);
        }
    }

    pub(super) fn wear(&self) -> Wear {
        let of_unit = |unit: &Unit| {
            unit.erases_before.iter().copied().zip(unit.erases.iter().copied()).collect::<Vec<_>>()
        };
        of_tables(&self.units.iter().flat_map(of_unit).collect::<Vec<_>>())
    }
}
