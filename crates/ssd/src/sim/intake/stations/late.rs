//! Pages that get their unit when they are written: dynamic allocation, and channels of tenants.
//!
//! A station that has nothing to do takes pages that may go to its units, the oldest first, at most one a unit in a cycle;
//! the allocation policy keeps its turns. A unit that must collect before it can take a page begins as soon as one waits
//! that may go to it; meanwhile the pages go to other stations. A planner sees as a unit's pages all that may go to it.

use std::ops::Range;

use super::{Kind, PAGE_TAG, Stations};
use crate::buffer::WriteBuffer;
use crate::content::Content;
use crate::core::Cycle;
use crate::error::RunError;
use crate::nand::{Executor, Probe, TimePath};
use crate::op::Stage;
use crate::sim::intake::Intake;
use crate::stats::Cause;

impl Stations {
    /// Dies of a station, where they are not those of one set of superblocks.
    pub(super) fn own_dies(&self, station: u32) -> Range<u32> {
        station * self.dies_per_station..(station + 1) * self.dies_per_station
    }
}

impl<A: TimePath, C: Content> Intake<A, C> {
    /// True if pages get their unit when they are written.
    pub(super) fn binds_late(&self) -> bool {
        self.core.shares_map
    }

    /// True if a page of a tenant may go to a unit, room there or not.
    fn may_take(&self, stream: u16, lpn: u64, unit: u32) -> bool {
        let ftl = &self.core.ftl;
        self.core.alloc.may_take(stream, lpn, unit, &self.core.geometry, |unit| ftl.has_room(unit))
    }

    /// True if a page of a tenant finds room in a unit: there is some, or an earlier version is there.
    fn finds_room(&self, stream: u16, lpn: u64, unit: u32) -> bool {
        let replaces = || {
            let before = self.core.alloc.locate(lpn);
            before.is_some_and(|home| home.unit == unit && self.core.ftl.lookup(home).is_some())
        };
        self.may_take(stream, lpn, unit) && (self.core.ftl.has_room(unit) || replaces())
    }

    /// The oldest page that waits, is the next of its queue, and finds room in a unit.
    pub(super) fn next_late(&self, unit: u32) -> Option<u32> {
        let buffer = self.buffer.as_ref()?;
        let limit = self.leaves_before();
        let fits = |slot: &u32| {
            buffer.sequence(*slot) < limit && self.finds_room(buffer.stream(*slot), buffer.lpn(*slot), unit)
        };
        buffer.heads().map(|(_, slot)| slot).filter(fits).min_by_key(|slot| buffer.sequence(*slot))
    }

    /// True if a page might go to a unit of a station that must collect first.
    fn is_held_up(&self, station: u32, slot: u32) -> bool {
        let Some(buffer) = &self.buffer else { return false };
        let (stream, lpn) = (buffer.stream(slot), buffer.lpn(slot));
        let holds_up = |unit: u32| self.must_collect_late(unit, slot) && self.finds_room(stream, lpn, unit);
        self.stations.units_of(station).any(holds_up)
    }

    /// Pages that wait and may go to a unit, as far as the first of each queue tells.
    pub(in crate::sim::intake) fn waiting_late(&self, unit: u32) -> u32 {
        let Some(buffer) = self.buffer.as_ref() else { return 0 };
        let fits = |slot: u32| self.may_take(buffer.stream(slot), buffer.lpn(slot), unit);
        buffer.heads().filter(|(_, slot)| fits(*slot)).map(|(queue, _)| buffer.waiting(queue)).sum()
    }

    /// True if a unit must collect before it can take a page.
    pub(super) fn must_collect_late(&self, unit: u32, slot: u32) -> bool {
        let Some(buffer) = self.buffer.as_ref() else { return false };
        self.core.ftl.must_collect(self.core.alloc.home_in(buffer.lpn(slot), unit))
    }

    /// Writes pages to a station, at most one a unit; of mapping units, as many as it takes.
    pub(super) fn write_late(&mut self, station: u32) -> Result<(), RunError> {
        let mut cycle = Cycle { dies: self.stations.own_dies(station), taken: Vec::new() };
        for _ in self.stations.units_of(station) {
            let Some(unit) = self.write_next(station, &cycle, false)? else { break };
            cycle.taken.push(unit);
            for _ in 1..self.core.geometry.units_per_page {
                if self.write_next(station, &cycle, true)?.is_none() {
                    break;
                }
            }
        }
        if !cycle.taken.is_empty() {
            self.core.take_companions();
            self.end_of_group(station, Cause::Write, Kind::Cycle);
        }
        Ok(())
    }

    /// The oldest page that is the next of its queue and came in as number `from` or later, with its queue.
    fn oldest_head(&self, from: u64) -> Option<(u32, u32)> {
        let buffer = self.buffer.as_ref()?;
        let limit = self.leaves_before();
        let later = buffer.heads().filter(|(_, slot)| (from..limit).contains(&buffer.sequence(*slot)));
        later.min_by_key(|(_, slot)| buffer.sequence(*slot))
    }

    /// Writes the oldest page that finds a unit of the station, or goes into the page of flash that is being filled (`fills`).
    /// Returns its unit; none if no page does.
    fn write_next(&mut self, station: u32, cycle: &Cycle, fills: bool) -> Result<Option<u32>, RunError> {
        let (now, tag) = (self.array.now_ns(), PAGE_TAG + station);
        let page_sectors = self.core.page_sectors.get() as u32;
        let mut from = 0;
        while let Some((queue, slot)) = self.oldest_head(from) {
            from = self.buffer.as_ref().map_or(0, |buffer| buffer.sequence(slot)) + 1;
            if self.is_held_up(station, slot) {
                // In order nothing passes it.
                if self.buffer.as_ref().is_some_and(WriteBuffer::is_in_order) {
                    break;
                }
                continue;
            }
            let Some(buffer) = &mut self.buffer else { return Ok(None) };
            let entry = buffer.entry(slot);
            let (request, left) = (entry.request, self.core.codewords.left_by_mask(&entry.mask));
            let part = entry.whole(page_sectors);
            let stage = Stage::Buffer(slot);
            if fills && self.core.fills(&part, left.is_some()).is_none() {
                return Ok(None);
            }
            let to = (stage, Some(cycle));
            let written = if self.stations.has_clock() {
                let mut group = self.stations.groups.fill(&self.array);
                group.serve(request);
                self.core.write_on(now, tag, part, left, to, &mut group)?
            } else {
                self.array.serve(request);
                self.core.write_on(now, tag, part, left, to, &mut self.array)?
            };
            if written.is_some() {
                if let Some(buffer) = &mut self.buffer {
                    buffer.start(queue, false);
                }
                if A::Probe::ON && self.is_buffered {
                    self.bound(slot);
                }
                self.found_unit(slot, station);
                self.stations.of(station).serving.push(slot);
                return Ok(self.core.alloc.locate(part.lpn).map(|home| home.unit));
            }
            if self.buffer.as_ref().is_some_and(WriteBuffer::is_in_order) {
                break;
            }
        }
        Ok(None)
    }
}
