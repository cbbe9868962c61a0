//! Commands to zones: the transitions that they make, and the drive's work for them.

use flashweir_trace::{Op, Request};
use serde::{Deserialize, Serialize};

use super::Core;
use super::zones::ZoneRules;
use crate::alloc::Home;
use crate::content::Content;
use crate::ftl::zones::Finish;
use crate::stats::ZoneCounts;
use crate::zones::{Action, Change, Status, ZoneState};

/// Work of the drive for a command to zones; the request names its pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ZoneWork {
    /// Pages of the host go to the flash.
    Write(Request),
    /// Pages of the host stay in the random write area of their zone.
    Hold(Request),
    /// Pages of a random write area go to the flash; those that were not written are programmed without data.
    Commit(Request),
    /// Programs the rest of a zone, which is full then.
    Finish(Request),
    /// The rest of a zone has no data.
    Mark(Request),
    /// The pages of a zone are forgotten, and its blocks erased.
    Reset(Request),
}

impl ZoneRules {
    /// Does what a request asks of the zones. Returns the drive's work for it.
    fn take(
        &mut self,
        request: &Request,
        page_sectors: u64,
        counts: &mut ZoneCounts,
    ) -> Result<Vec<ZoneWork>, Status> {
        let (lba, sectors) = (request.lba, u64::from(request.sectors));
        let (page, pages) = (lba / page_sectors, sectors / page_sectors);
        let is_of_pages = lba.is_multiple_of(page_sectors) && sectors.is_multiple_of(page_sectors);
        match request.op {
            Op::Read | Op::Flush => Ok(Vec::new()),
            Op::Trim => self.trim(request, page_sectors, counts),
            Op::Write | Op::Append | Op::Commit if !is_of_pages => Err(Status::InvalidField),
            Op::Write => {
                let change = self.table.write(page, pages)?;
                if !change.before.has_zrwa {
                    return Ok(vec![ZoneWork::Write(*request)]);
                }
                let committed = self.committed(&change, request, page_sectors);
                counts.implicit_commits += u64::from(committed.is_some());
                Ok([ZoneWork::Hold(*request)].into_iter().chain(committed).collect())
            }
            Op::Append => {
                let (at, _) = self.table.append(page, pages)?;
                Ok(vec![ZoneWork::Write(Request { op: Op::Write, lba: at * page_sectors, ..*request })])
            }
            Op::Commit => {
                let zone_pages = u64::from(self.pages);
                if page / zone_pages != (page + pages - 1) / zone_pages {
                    return Err(Status::ZoneBoundary);
                }
                let change = self.table.commit(page + pages - 1)?;
                counts.commits += 1;
                Ok(Vec::from_iter(self.committed(&change, request, page_sectors)))
            }
            Op::Open => self.manage(Action::Open { zrwa: false }, request, page_sectors, counts),
            Op::OpenZrwa => self.manage(Action::Open { zrwa: true }, request, page_sectors, counts),
            Op::Close => self.manage(Action::Close, request, page_sectors, counts),
            Op::Finish => self.manage(Action::Finish, request, page_sectors, counts),
            Op::Reset => self.manage(Action::Reset, request, page_sectors, counts),
            Op::Offline => self.manage(Action::Offline, request, page_sectors, counts),
        }
    }

    /// Pages of a zone, the first and the one behind the last, as the range of a request.
    fn range(&self, zone: u32, pages: (u64, u64), request: &Request, page_sectors: u64) -> Request {
        let lba = (self.table.start_of(zone) + pages.0) * page_sectors;
        Request { lba, sectors: ((pages.1 - pages.0) * page_sectors) as u32, ..*request }
    }

    /// The work for a write pointer that moved over a random write area.
    fn committed(&self, change: &Change, request: &Request, page_sectors: u64) -> Option<ZoneWork> {
        let pages = (change.before.written, change.after.written);
        let moved = pages.1 > pages.0;
        moved.then(|| ZoneWork::Commit(self.range(change.zone, pages, request, page_sectors)))
    }

    /// Resets whole zones, all or none of them. Deallocating a part of a zone is a hint, which moves no write pointer.
    fn trim(
        &mut self,
        request: &Request,
        page_sectors: u64,
        counts: &mut ZoneCounts,
    ) -> Result<Vec<ZoneWork>, Status> {
        let zone_sectors = page_sectors * u64::from(self.pages);
        if !(request.lba.is_multiple_of(zone_sectors) && request.end().is_multiple_of(zone_sectors)) {
            return Ok(Vec::new());
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
        Ok(vec![ZoneWork::Reset(*request)])
    }

    /// Manages the zone that a request names; all of them (Select All), if its range is that of the drive, or the longest that begins
    /// at 0.
    fn manage(
        &mut self,
        action: Action,
        request: &Request,
        page_sectors: u64,
        counts: &mut ZoneCounts,
    ) -> Result<Vec<ZoneWork>, Status> {
        let (lba, sectors) = (request.lba, u64::from(request.sectors));
        let zone_sectors = page_sectors * u64::from(self.pages);
        let zones = u64::from(self.table.layout().zones);
        let all = zones > 1 && lba == 0 && sectors == (zones * zone_sectors).min(u32::MAX.into());
        if !all && (!lba.is_multiple_of(zone_sectors) || sectors != zone_sectors) {
            return Err(Status::InvalidField);
        }
        let changes = self.table.manage(action, lba / page_sectors, all)?;
        let work = |change: Change| {
            let end = u64::from(self.pages);
            let pages = |first: u64| self.range(change.zone, (first, end), request, page_sectors);
            match action {
                Action::Reset => {
                    counts.resets += 1;
                    Some(ZoneWork::Reset(pages(0)))
                }
                Action::Finish => {
                    counts.finished += 1;
                    let rest = pages(change.before.written);
                    let marks = self.finish == Finish::Mark && !change.before.has_zrwa;
                    Some(if marks { ZoneWork::Mark(rest) } else { ZoneWork::Finish(rest) })
                }
                _ => None,
            }
        };
        Ok(changes.into_iter().filter_map(work).collect())
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
    pub(crate) fn admit(&mut self, request: &Request) -> Vec<ZoneWork> {
        let Some(rules) = &mut self.zones else { return Vec::new() };
        let (closed, counts) = (rules.table.closed(), &mut self.counters.zones);
        let outcome = rules.take(request, self.page_sectors.get(), counts);
        counts.closed += rules.table.closed() - closed;
        let mut works = outcome.unwrap_or_else(|status| {
            self.fail(request, status);
            Vec::new()
        });
        // Nothing is programmed, so nothing has to take its turn.
        works.retain(|work| {
            if let ZoneWork::Mark(rest) = work {
                self.end_zone(rest);
            }
            !matches!(work, ZoneWork::Mark(_))
        });
        works
    }

    /// A request fails.
    fn fail(&mut self, request: &Request, status: Status) {
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
    pub(super) fn fails_offline(&mut self, request: &Request) -> bool {
        let fails = self.reads_offline(request);
        if fails {
            self.fail(request, Status::ZoneOffline);
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
            rules.table.fail(zone, has_data);
        }
    }
}
