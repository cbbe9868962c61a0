//! Commands to zones: the transitions that they make, and the drive's work for them.

use std::collections::VecDeque;

use flashweir_trace::{Op, Request};
use serde::{Deserialize, Serialize};

use super::Core;
use super::zones::ZoneRules;
use crate::alloc::Home;
use crate::content::Content;
use crate::failure::Failure;
use crate::ftl::zones::Finish;
use crate::stats::ZoneCounts;
use crate::zones::{Action, Change, Status, ZoneState};

/// Work of the drive for a command to zones: pages of the host that go to the flash, or steps. Requests name pages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ZoneWork {
    /// Pages of the host that go to the flash.
    pub(crate) write: Option<Request>,
    /// Steps that are left, in their order.
    pub(crate) steps: VecDeque<ZoneStep>,
}

impl ZoneWork {
    /// True if there is nothing to do.
    pub(crate) fn is_empty(&self) -> bool {
        self.write.is_none() && self.steps.is_empty()
    }

    fn of_write(write: Request) -> Self {
        Self { write: Some(write), ..Self::default() }
    }

    fn of_steps(steps: impl IntoIterator<Item = ZoneStep>) -> Self {
        Self { write: None, steps: steps.into_iter().collect() }
    }
}

/// Step of a command to zones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ZoneStep {
    /// Pages of the host stay in the random write area of their zone.
    Hold(Request),
    /// Pages of a random write area go to the flash; those that were not written are programmed without data.
    Commit(Request),
    /// Programs the rest of a zone, which is full then.
    Finish(Request),
    /// The pages of a zone are forgotten, and its blocks erased.
    Reset(Request),
}

impl ZoneRules {
    /// Does what a request asks of the zones. Returns the drive's work for it; `marked` takes the rests of zones that have no data
    /// from now on, where nothing is programmed there.
    fn take(
        &mut self,
        request: &Request,
        page_sectors: u64,
        counts: &mut ZoneCounts,
        marked: &mut Vec<Request>,
    ) -> Result<ZoneWork, Status> {
        let none = ZoneWork::default();
        let (lba, sectors) = (request.lba, u64::from(request.sectors));
        let (page, pages) = (lba / page_sectors, sectors / page_sectors);
        let is_of_pages = lba.is_multiple_of(page_sectors) && sectors.is_multiple_of(page_sectors);
        match request.op {
            Op::Read | Op::Flush => Ok(none),
            Op::Trim => self.trim(request, page_sectors, counts),
            Op::Write | Op::Append | Op::Commit if !is_of_pages => Err(Status::InvalidField),
            Op::Write => {
                let change = self.table.write(page, pages)?;
                if !change.before.has_zrwa {
                    return Ok(ZoneWork::of_write(*request));
                }
                let committed = self.committed(&change, request, page_sectors);
                counts.implicit_commits += u64::from(committed.is_some());
                Ok(ZoneWork::of_steps([ZoneStep::Hold(*request)].into_iter().chain(committed)))
            }
            Op::Append => {
                let (at, _) = self.table.append(page, pages)?;
                Ok(ZoneWork::of_write(Request { op: Op::Write, lba: at * page_sectors, ..*request }))
            }
            Op::Commit => {
                let zone_pages = u64::from(self.pages);
                if page / zone_pages != (page + pages - 1) / zone_pages {
                    return Err(Status::ZoneBoundary);
                }
                let change = self.table.commit(page + pages - 1)?;
                counts.commits += 1;
                Ok(ZoneWork::of_steps(self.committed(&change, request, page_sectors)))
            }
            Op::Open => self.manage(Action::Open { zrwa: false }, request, page_sectors).map(|_| none),
            Op::OpenZrwa => self.manage(Action::Open { zrwa: true }, request, page_sectors).map(|_| none),
            Op::Close => self.manage(Action::Close, request, page_sectors).map(|_| none),
            Op::Finish => {
                let changes = self.manage(Action::Finish, request, page_sectors)?;
                counts.finished += changes.len() as u64;
                let rest = |change: &Change| {
                    self.range(change.zone, (change.before.written, self.pages.into()), request, page_sectors)
                };
                // Pages of a random write area are programmed.
                let marks = |change: &&Change| self.finish == Finish::Mark && !change.before.has_zrwa;
                marked.extend(changes.iter().filter(marks).map(rest));
                let programs = changes.iter().filter(|change| !marks(change));
                Ok(ZoneWork::of_steps(programs.map(rest).map(ZoneStep::Finish)))
            }
            Op::Reset => {
                let changes = self.manage(Action::Reset, request, page_sectors)?;
                counts.resets += changes.len() as u64;
                let pages =
                    |change: &Change| self.range(change.zone, (0, self.pages.into()), request, page_sectors);
                Ok(ZoneWork::of_steps(changes.iter().map(pages).map(ZoneStep::Reset)))
            }
            Op::Offline => self.manage(Action::Offline, request, page_sectors).map(|_| none),
        }
    }

    /// Pages of a zone, the first and the one behind the last, as the range of a request.
    fn range(&self, zone: u32, pages: (u64, u64), request: &Request, page_sectors: u64) -> Request {
        let lba = (self.table.start_of(zone) + pages.0) * page_sectors;
        Request { lba, sectors: ((pages.1 - pages.0) * page_sectors) as u32, ..*request }
    }

    /// The work for a write pointer that moved over a random write area.
    fn committed(&self, change: &Change, request: &Request, page_sectors: u64) -> Option<ZoneStep> {
        let pages = (change.before.written, change.after.written);
        let moved = pages.1 > pages.0;
        moved.then(|| ZoneStep::Commit(self.range(change.zone, pages, request, page_sectors)))
    }

    /// Resets whole zones, all or none of them. Deallocating a part of a zone is a hint, which moves no write pointer.
    fn trim(
        &mut self,
        request: &Request,
        page_sectors: u64,
        counts: &mut ZoneCounts,
    ) -> Result<ZoneWork, Status> {
        let zone_sectors = page_sectors * u64::from(self.pages);
        if !(request.lba.is_multiple_of(zone_sectors) && request.end().is_multiple_of(zone_sectors)) {
            return Ok(ZoneWork::default());
        }
        let zones = (request.lba / zone_sectors) as u32..(request.end() / zone_sectors) as u32;
        let is_failed = |zone: u32| {
            matches!(self.table.report()[zone as usize].state, ZoneState::ReadOnly | ZoneState::Offline)
        };
        if zones.clone().any(is_failed) {
            return Err(Status::InvalidTransition);
        }
        for zone in zones {
            let changes = self.table.manage(Action::Reset, self.table.start_of(zone), false)?;
            counts.resets += changes.len() as u64;
        }
        Ok(ZoneWork::of_steps([ZoneStep::Reset(*request)]))
    }

    /// Manages the zone that a request names; all of them (Select All), if its range is that of the drive, or the longest that begins
    /// at 0. Returns the transitions.
    fn manage(
        &mut self,
        action: Action,
        request: &Request,
        page_sectors: u64,
    ) -> Result<Vec<Change>, Status> {
        let (lba, sectors) = (request.lba, u64::from(request.sectors));
        let zone_sectors = page_sectors * u64::from(self.pages);
        let zones = u64::from(self.table.layout().zones);
        let all = zones > 1 && lba == 0 && sectors == (zones * zone_sectors).min(u32::MAX.into());
        if !all && (!lba.is_multiple_of(zone_sectors) || sectors != zone_sectors) {
            return Err(Status::InvalidField);
        }
        self.table.manage(action, lba / page_sectors, all)
    }
}

impl<C: Content> Core<C> {
    /// True if requests are commands to zones.
    #[inline]
    pub(crate) fn takes_zone_commands(&self) -> bool {
        self.zones.as_ref().is_some_and(|zones| zones.takes_requests)
    }

    /// The drive takes a request, by number if it is one of the run. Returns its work for it; none if the request fails, or asks for
    /// nothing.
    #[cold]
    #[inline(never)]
    pub(crate) fn admit(&mut self, number: Option<u64>, request: &Request) -> ZoneWork {
        let Some(rules) = &mut self.zones else { return ZoneWork::default() };
        let (closed, counts) = (rules.table.closed(), &mut self.counters.zones);
        let mut marked = Vec::new();
        let outcome = rules.take(request, self.page_sectors.get(), counts, &mut marked);
        counts.closed += rules.table.closed() - closed;
        // Nothing is programmed, so nothing has to take its turn.
        for rest in &marked {
            self.end_zone(rest);
        }
        outcome.unwrap_or_else(|status| {
            self.fail(number, request, status);
            ZoneWork::default()
        })
    }

    /// A request fails.
    fn fail(&mut self, number: Option<u64>, request: &Request, status: Status) {
        self.failing.extend(number.map(|number| (number, Failure::Zone(status))));
        let counts = &mut self.counters.zones;
        counts.refuse(status);
        counts.refused_bytes += if request.op.writes() { request.bytes() } else { 0 };
    }

    /// True if a read touches an offline zone.
    pub(crate) fn reads_offline(&self, request: &Request) -> bool {
        let Some(rules) = self.zones.as_ref().filter(|rules| rules.takes_requests) else { return false };
        if request.op != Op::Read {
            return false;
        }
        let (first, _) = self.page_sectors.split(request.lba);
        let (last, _) = self.page_sectors.split(request.end() - 1);
        rules.table.read(first, last - first + 1) == Err(Status::ZoneOffline)
    }

    /// True if a read touches an offline zone; counts it as failed.
    #[cold]
    #[inline(never)]
    pub(super) fn fails_offline(&mut self, number: u64, request: &Request) -> bool {
        let fails = self.reads_offline(request);
        if fails {
            self.fail(Some(number), request, Status::ZoneOffline);
        }
        fails
    }

    /// A block of a unit can't be programmed or erased any more: its zone is read-only, or offline if nothing is written there.
    pub(super) fn fail_zone(&mut self, unit: u32, block: u32) {
        let Some(rules) = &mut self.zones else { return };
        let pages = u64::from(rules.pages);
        let of_block = Home { unit, key: block * rules.pages };
        let zones = rules.table.layout().zones;
        let place = |zone: u32| self.alloc.locate(u64::from(zone) * pages);
        if let Some(zone) = (0..zones).find(|zone| place(*zone) == Some(of_block)) {
            let has_data = rules.table.report()[zone as usize].state != ZoneState::Empty;
            // With dynamic mapping an empty zone waits for its reset only, and has another block then.
            let is_dynamic = self.alloc.zoned().is_some_and(|zones| zones.is_dynamic());
            if has_data || !is_dynamic {
                rules.table.fail(zone, has_data);
            }
        }
        if let Some(zones) = self.alloc.zoned() {
            zones.wear_out(unit, block);
        }
        self.fail_zones_without_blocks();
    }

    /// A page of a zone has been forgotten, in a reset: with the last one the zone gives its block back, if the mapping is dynamic.
    pub(super) fn free_zone(&mut self, lpn: u64) {
        if self.alloc.zoned().is_some_and(|zones| zones.forget(lpn)) {
            self.fail_zones_without_blocks();
        }
    }

    /// Takes empty zones offline, the last ones first, as long as there are more than good blocks for them. If all are opened
    /// already, a zone gets a worn block.
    fn fail_zones_without_blocks(&mut self) {
        let (Some(zones), Some(rules)) = (self.alloc.zoned(), &mut self.zones) else { return };
        while zones.is_short() {
            let pages = u64::from(rules.pages);
            let free = |zone: &u32| zones.locate(u64::from(*zone) * pages).is_none();
            let report = rules.table.report();
            let is_empty = |zone: &u32| report[*zone as usize].state == ZoneState::Empty && free(zone);
            let Some(zone) = (0..rules.table.layout().zones).rev().find(is_empty) else { return };
            rules.table.fail(zone, false);
            zones.fail();
        }
    }
}
