//! Rules of zones: each program, reset, TRIM and managing command goes to a zoned namespace, which refuses what a real one
//! would.
//!
//! Without a layer of the host ([`FtlConfig::is_zoned`]) requests are checked when the drive takes them ([`Core::admit`]): one that
//! breaks a rule fails, and does nothing. With the host's log what that layer does is checked as it does it; it keeps the rules, so a
//! refusal there ends the run with an error.

use flashweir_trace::{Op, Request};
use serde::{Deserialize, Serialize};

use super::Core;
use crate::content::Content;
use crate::error::RunError;
use crate::ftl::FtlConfig;
use crate::ftl::zones::Finish;
use crate::geometry::Geometry;
use crate::nand::Executor;
use crate::op::{Effect, Stage};
use crate::stats::ZoneCounts;
use crate::zones::{Action, Layout, Status, Zones};

/// The zones of a drive, in pages of flash.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ZoneRules {
    table: Zones,
    /// True if requests are commands to zones.
    takes_requests: bool,
    /// Zones of a unit, where the host's log numbers them unit by unit.
    unit_zones: u32,
    /// Pages of a zone as they are mapped, and of them in a page of flash.
    pages: u32,
    per_page: u32,
    /// Work of a finish.
    finish: Finish,
    /// The first rule that the host's log broke.
    broken: Option<(u32, Status)>,
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
            zrwa: None,
        });
        Some(Self { table, takes_requests, unit_zones, pages, per_page, finish: own.finish, broken: None })
    }

    /// The host's log has programmed a page of a unit.
    fn programmed(&mut self, unit: u32, ppn: u32) {
        let zone = unit * self.unit_zones + ppn / self.pages;
        let page = u64::from(ppn % self.pages / self.per_page);
        // Mapping units fill a page of flash one after the other.
        if self.table.report()[zone as usize].written == page + 1 {
            return;
        }
        let at = self.table.start_of(zone) + page;
        let outcome = self.table.write(at, 1).map(drop);
        self.keep(zone, outcome);
    }

    /// A page that was there before the run is the next one of its zone, or takes the place of one that is stale.
    fn laid(&mut self, unit: u32, ppn: u32) {
        let zone = unit * self.unit_zones + ppn / self.pages;
        let page = u64::from(ppn % self.pages / self.per_page);
        if page >= self.table.report()[zone as usize].written {
            self.programmed(unit, ppn);
        }
    }

    /// The host's log resets a zone.
    fn erased(&mut self, unit: u32, block: u32) {
        let zone = unit * self.unit_zones + block;
        let outcome = self.table.manage(Action::Reset, self.table.start_of(zone), false).map(drop);
        self.keep(zone, outcome);
    }

    fn keep(&mut self, zone: u32, outcome: Result<(), Status>) {
        if let (Err(status), None) = (outcome, self.broken) {
            self.broken = Some((zone, status));
        }
    }

    /// Does what a request asks of the zones. Returns the drive's work for it, if there is any: of an append the write that it
    /// becomes, of a finish the pages to pad.
    fn take(
        &mut self,
        request: &Request,
        page_sectors: u64,
        counts: &mut ZoneCounts,
    ) -> Result<Option<Request>, Status> {
        let (lba, sectors) = (request.lba, u64::from(request.sectors));
        let zone_sectors = page_sectors * u64::from(self.pages);
        match request.op {
            Op::Write | Op::Append
                if !(lba.is_multiple_of(page_sectors) && sectors.is_multiple_of(page_sectors)) =>
            {
                Err(Status::InvalidField)
            }
            Op::Write => self.table.write(lba / page_sectors, sectors / page_sectors).map(|_| Some(*request)),
            Op::Append => {
                let (at, _) = self.table.append(lba / page_sectors, sectors / page_sectors)?;
                Ok(Some(Request { op: Op::Write, lba: at * page_sectors, ..*request }))
            }
            // Deallocating a part of a zone is a hint, which moves no write pointer.
            Op::Trim if !(lba.is_multiple_of(zone_sectors) && sectors.is_multiple_of(zone_sectors)) => {
                Ok(None)
            }
            Op::Trim => {
                let zones = lba / zone_sectors..(lba + sectors) / zone_sectors;
                for zone in zones {
                    let changes =
                        self.table.manage(Action::Reset, self.table.start_of(zone as u32), false)?;
                    counts.resets += changes.len() as u64;
                }
                Ok(Some(*request))
            }
            Op::Read | Op::Flush => Ok(Some(*request)),
            _ if !lba.is_multiple_of(zone_sectors) || sectors != zone_sectors => Err(Status::InvalidField),
            Op::Open => self.manage(Action::Open { zrwa: false }, request, page_sectors, counts),
            Op::Close => self.manage(Action::Close, request, page_sectors, counts),
            Op::Finish => self.manage(Action::Finish, request, page_sectors, counts),
            Op::Reset => self.manage(Action::Reset, request, page_sectors, counts),
            Op::Offline => self.manage(Action::Offline, request, page_sectors, counts),
        }
    }

    /// Manages the zone that a request names. Returns the drive's work for it, if there is any.
    fn manage(
        &mut self,
        action: Action,
        request: &Request,
        page_sectors: u64,
        counts: &mut ZoneCounts,
    ) -> Result<Option<Request>, Status> {
        let changes = self.table.manage(action, request.lba / page_sectors, false)?;
        let Some(change) = changes.first() else { return Ok(None) };
        match action {
            Action::Reset => {
                counts.resets += 1;
                Ok(Some(*request))
            }
            Action::Finish => {
                counts.finished += 1;
                let written = change.before.written * page_sectors;
                let work = Request {
                    lba: request.lba + written,
                    sectors: request.sectors - written as u32,
                    ..*request
                };
                Ok(Some(work))
            }
            _ => Ok(None),
        }
    }
}

impl<C: Content> Core<C> {
    /// True if requests are commands to zones.
    #[inline]
    pub(crate) fn takes_zone_commands(&self) -> bool {
        self.zones.as_ref().is_some_and(|zones| zones.takes_requests)
    }

    /// The drive takes a request. Returns its work for it; none if the request fails, or asks for nothing.
    #[cold]
    #[inline(never)]
    pub(crate) fn admit(&mut self, request: &Request) -> Option<Request> {
        let Some(rules) = &mut self.zones else { return Some(*request) };
        let (closed, counts) = (rules.table.closed(), &mut self.counters.zones);
        let outcome = rules.take(request, self.page_sectors.get(), counts);
        let marks = request.op == Op::Finish && rules.finish == Finish::Mark;
        counts.closed += rules.table.closed() - closed;
        let work = outcome.unwrap_or_else(|status| {
            counts.refuse(status);
            if request.op.writes() {
                counts.refused_bytes += request.bytes();
            }
            None
        });
        if let Some(work) = work.filter(|_| marks) {
            self.end_zone(&work);
            return None;
        }
        work
    }

    /// The turn of a finish: its zone has no data from the first page on that it pads.
    pub(crate) fn end_zone(&mut self, work: &Request) {
        let first = work.lba / self.page_sectors.get();
        let pages = self.zones.as_ref().map_or(1, |rules| u64::from(rules.pages));
        if let Some(home) = self.alloc.locate(first) {
            self.ftl.end_zone(home, (first % pages) as u32);
        }
    }

    /// Programs pages that a finish leaves without data; the request of a tag waits for them.
    pub(crate) fn pad(
        &mut self,
        now_ns: u64,
        tag: u32,
        work: &Request,
        executor: &mut impl Executor,
    ) -> Result<(), RunError> {
        self.end_zone(work);
        for part in self.parts(work) {
            self.counters.zones.padded_pages += 1;
            if !self.write(now_ns, tag, part, None, Stage::Padding, executor)? {
                return Err(RunError::NoRoom { waiting: 1 });
            }
        }
        self.flush(now_ns, executor);
        Ok(())
    }

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

    /// A page of the host has got this place in a zone. An error if a rule is broken.
    #[inline]
    pub(super) fn note_in_zone(&mut self, unit: u32, ppn: u32) -> Result<(), RunError> {
        if self.zones.is_some() { self.check_in_zone(unit, ppn) } else { Ok(()) }
    }

    #[cold]
    #[inline(never)]
    fn check_in_zone(&mut self, unit: u32, ppn: u32) -> Result<(), RunError> {
        let Some(rules) = self.zones.as_mut().filter(|rules| !rules.takes_requests) else { return Ok(()) };
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
