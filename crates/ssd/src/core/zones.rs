//! Rules of zones: each program, reset, TRIM and managing command goes to a zoned namespace, which refuses what a real one
//! would.
//!
//! Without a layer of the host ([`FtlConfig::is_zoned`]) requests are checked when the drive takes them ([`Core::admit`]): one that
//! breaks a rule fails, and does nothing. With the host's log what that layer does is checked as it does it; it keeps the rules, so a
//! refusal there ends the run with an error.

use flashweir_trace::SECTOR_BYTES;
use serde::{Deserialize, Serialize};

use super::Core;
use super::zone_areas::Held;
use crate::alloc::Home;
use crate::content::Content;
use crate::error::RunError;
use crate::ftl::FtlConfig;
use crate::ftl::zones::Finish;
use crate::geometry::Geometry;
use crate::op::Effect;
use crate::zones::{Action, Layout, Status, Zones};

/// The zones of a drive, in pages of flash.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ZoneRules {
    pub(super) table: Zones,
    /// True if requests are commands to zones.
    pub(super) takes_requests: bool,
    /// Zones of a unit, where the host's log numbers them unit by unit.
    unit_zones: u32,
    /// Pages of a zone as they are mapped, and of them in a page of flash.
    pub(super) pages: u32,
    per_page: u32,
    /// Work of a finish.
    pub(super) finish: Finish,
    /// The first rule that the host's log broke.
    broken: Option<(u32, Status)>,
    /// By unit: the zone that is being filled with pages that were there before the run.
    laid: Vec<Option<u32>>,
    /// Pages in random write areas.
    pub(super) held: Held,
}

impl ZoneRules {
    /// `shape`: the drive as the translation layer has it.
    pub(super) fn new(ftl: &FtlConfig, shape: &Geometry) -> Option<Self> {
        let own = ftl.zones()?;
        let (pages, per_page) = (shape.pages_per_block, shape.units_per_page);
        let unit_zones = shape.max_unit_blocks() as u32;
        let takes_requests = ftl.is_zoned();
        let zones = if takes_requests {
            (shape.logical_pages / u64::from(pages)) as u32
        } else {
            unit_zones * shape.units()
        };
        let capacity = u64::from(pages / per_page);
        let table = Zones::new(Layout {
            zones,
            size: capacity,
            capacity,
            max_open: own.max_open.0,
            max_active: own.max_active.0,
            max_append: None,
            reads_across: true,
            zrwa: own.zrwa(u64::from(shape.page_sectors) * SECTOR_BYTES).filter(|_| takes_requests),
        });
        Some(Self {
            table,
            takes_requests,
            unit_zones,
            pages,
            per_page,
            finish: own.finish,
            broken: None,
            laid: vec![None; if takes_requests { 0 } else { shape.units() as usize }],
            held: Held::default(),
        })
    }

    /// The host's log has programmed a page of a unit.
    fn programmed(&mut self, unit: u32, ppn: u32) {
        let zone = unit * self.unit_zones + ppn / self.pages;
        let page = u64::from(ppn % self.pages / self.per_page);
        self.laid[unit as usize].take_if(|laid| *laid == zone);
        // Mapping units fill a page of flash one after the other.
        if self.written(zone) != page + 1 {
            self.write(zone, page);
        }
    }

    /// A page that was there before the run lies in its zone, or takes the place of one that is stale. What it passes over in the
    /// zone was there as well; and the rest of the zone before, if the host does not go on there.
    fn laid(&mut self, unit: u32, ppn: u32) {
        let zone = unit * self.unit_zones + ppn / self.pages;
        let page = u64::from(ppn % self.pages / self.per_page);
        if page < self.written(zone) {
            return;
        }
        let before = self.laid[unit as usize].replace(zone).filter(|before| *before != zone);
        if let Some(before) = before {
            self.write_to(before, u64::from(self.pages / self.per_page));
        }
        self.write_to(zone, page + 1);
    }

    /// Pages of a zone up to its write pointer.
    fn written(&self, zone: u32) -> u64 {
        self.table.report()[zone as usize].written
    }

    /// Writes pages at the write pointer of a zone up to one.
    fn write_to(&mut self, zone: u32, end: u64) {
        for page in self.written(zone)..end {
            self.write(zone, page);
        }
    }

    fn write(&mut self, zone: u32, page: u64) {
        let outcome = self.table.write(self.table.start_of(zone) + page, 1).map(drop);
        self.keep(zone, outcome);
    }

    /// The host's log resets a zone.
    fn erased(&mut self, unit: u32, block: u32) {
        let zone = unit * self.unit_zones + block;
        self.laid[unit as usize].take_if(|laid| *laid == zone);
        let outcome = self.table.manage(Action::Reset, self.table.start_of(zone), false).map(drop);
        self.keep(zone, outcome);
    }

    fn keep(&mut self, zone: u32, outcome: Result<(), Status>) {
        if let (Err(status), None) = (outcome, self.broken) {
            self.broken = Some((zone, status));
        }
    }
}

impl<C: Content> Core<C> {
    /// The translation layer has made these operations: with the host's log they are commands to zones.
    #[cold]
    #[inline(never)]
    pub(super) fn note_zones(&mut self) {
        let Some(rules) = self.zones.as_mut().filter(|rules| !rules.takes_requests) else { return };
        let closed = rules.table.closed();
        for op in self.ops.list() {
            match &op.effect {
                Effect::Moved(range) => {
                    self.ops.moves(range).iter().for_each(|(_, to)| rules.programmed(op.unit, *to));
                }
                Effect::Laid { ppn, .. } => rules.laid(op.unit, *ppn),
                Effect::Erased { block } => {
                    rules.erased(op.unit, *block);
                    self.counters.zones.resets += 1;
                }
                _ => {}
            }
        }
        self.counters.zones.closed += rules.table.closed() - closed;
    }

    /// A block was retired, erased: behind a log of the host that is a zone.
    pub(super) fn lose_zone(&mut self, unit: u32, block: u32) {
        if let Some(rules) = self.zones.as_mut().filter(|rules| !rules.takes_requests) {
            rules.table.fail(unit * rules.unit_zones + block, false);
        }
    }

    /// A page of the host has got this place in a zone. An error if a rule is broken.
    #[inline]
    pub(super) fn note_in_zone(&mut self, unit: u32, ppn: u32) -> Result<(), RunError> {
        if self.zones.is_some() { self.check_in_zone(unit, ppn) } else { Ok(()) }
    }

    #[cold]
    #[inline(never)]
    fn check_in_zone(&mut self, unit: u32, ppn: u32) -> Result<(), RunError> {
        let Some(rules) = self.zones.as_mut() else { return Ok(()) };
        if rules.takes_requests {
            if let Some(zones) = self.alloc.zoned().filter(|_| (ppn + 1).is_multiple_of(rules.pages)) {
                zones.fill(Home { unit, key: ppn });
            }
            return Ok(());
        }
        let closed = rules.table.closed();
        rules.programmed(unit, ppn);
        self.counters.zones.closed += rules.table.closed() - closed;
        rules.broken.map_or(Ok(()), |(zone, status)| Err(RunError::Zone { zone, status }))
    }

    /// The zones, if there are any.
    pub(crate) fn zones(&self) -> Option<&Zones> {
        self.zones.as_ref().map(|rules| &rules.table)
    }
}
