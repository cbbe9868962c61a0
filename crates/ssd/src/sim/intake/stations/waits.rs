//! The time of stations, and the waits of pages of the buffer for them: for the account of where latencies go.

use super::busy::{Cycle, Waits};
use super::{Kind, STATION_TAG, Stations};
use crate::content::Content;
use crate::nand::{Probe, TimePath};
use crate::sim::intake::Intake;
use crate::stats::{Cause, Parts, Spent};

impl Stations {
    /// A station begins something: closes the account of what it did before.
    #[inline(never)]
    fn account(&mut self, station: u32, now_ns: u64, cause: Cause, kind: Kind) {
        let place = &mut self.all[station as usize];
        let until = place.doing.spent(place.doing.until_ns);
        self.groups.waits().for_each(|waited| _ = waited.until.get_or_insert(until));
        if kind == Kind::Cycle {
            place.cycle.spent = place.doing.spent(now_ns);
            place.cycle.latest = (now_ns, Parts::default());
        }
        place.doing.begin(now_ns, cause);
    }

    /// A page that a station writes is on flash.
    fn end_page(&mut self, station: u32, end_ns: u64, parts: Parts) {
        let latest = &mut self.of(station).cycle.latest;
        *latest = (*latest).max((end_ns, parts));
    }
}

impl<A: TimePath, C: Content> Intake<A, C> {
    /// The station is busy from now on, until all commands are done that its dies have.
    pub(super) fn occupy(&mut self, station: u32, cause: Cause, kind: Kind) {
        let now = self.array.now_ns();
        if self.ledger.parts.is_some() {
            self.stations.account(station, now, cause, kind);
        }
        let Stations { all, lock_step, .. } = &mut self.stations;
        let place = &mut all[station as usize];
        place.busy = true;
        place.cycle.start_ns = now;
        if kind == Kind::Cycle {
            (place.cycle.is_under_way, place.cycle.decided_ns) = (true, now);
            if let Some(times) = lock_step {
                times.write_cycles += 1;
            }
        }
        if <A::Probe as Probe>::ON && kind == Kind::Collect {
            self.stations.record(station, now);
        }
        if self.stations.has_clock() {
            self.push_group(kind);
        } else {
            self.fence_station(station, STATION_TAG + station);
        }
    }

    /// Hands a tag out when all commands are done that the dies of a station have.
    pub(super) fn fence_station(&mut self, station: u32, tag: u32) {
        if self.stations.sets.is_empty() {
            self.array.fence(self.stations.own_dies(station), tag);
        } else {
            self.array.fence(self.stations.dies_of(station), tag);
        }
    }

    /// A station is idle from now on: closes the account of what it did.
    pub(super) fn rest(&mut self, station: u32) {
        let now = self.array.now_ns();
        let keeps = self.ledger.parts.is_some();
        let Stations { all, lock_step, waits, .. } = &mut self.stations;
        let place = &mut all[station as usize];
        place.busy = false;
        place.doing.until_ns = now;
        let start_ns = place.cycle.start_ns;
        let is_under_way = std::mem::replace(&mut place.cycle.is_under_way, false);
        if let Some(times) = lock_step {
            let time = if is_under_way { &mut times.serving_ns } else { &mut times.collecting_ns };
            *time += now - start_ns;
        }
        if !is_under_way || !keeps {
            return;
        }
        let Cycle { decided_ns, spent, latest: (_, mut cycle), .. } = place.cycle;
        cycle.wait_write += (now - start_ns).saturating_sub(cycle.total());
        // With a common clock, writing starts when the outstanding reads are done.
        cycle.wait_read += start_ns - decided_ns;
        for slot in &place.serving {
            let mut parts = Parts::waited(&spent.since(&waits.entered[*slot as usize]), 0);
            parts.add(&cycle);
            waits.parts[*slot as usize] = parts;
        }
    }

    /// A page that a station writes is on flash.
    pub(in crate::sim) fn end_page(&mut self, station: u32, parts: Option<Parts>) {
        if let Some(parts) = parts {
            self.stations.end_page(station, self.array.now_ns(), parts);
        }
    }

    /// A page has come into an entry of the buffer that will go to a unit. One that gets its unit later waits for no station.
    #[inline]
    pub(in crate::sim) fn entered(&mut self, slot: u32, unit: u32) {
        if self.stations.are_managed() && self.ledger.parts.is_some() && !self.binds_late() {
            self.note_entry(slot, unit);
        }
    }

    /// A page has got its unit.
    pub(super) fn found_unit(&mut self, slot: u32, station: u32) {
        if self.ledger.parts.is_some() {
            self.note_entry(slot, self.stations.units_of(station).start);
        }
    }

    #[cold]
    fn note_entry(&mut self, slot: u32, unit: u32) {
        let station = self.stations.station_of(unit);
        let spent = self.stations.of(station).doing.spent(self.array.now_ns());
        let Waits { entered, parts } = &mut self.stations.waits;
        if entered.len() <= slot as usize {
            entered.resize(slot as usize + 1, Spent::default());
            parts.resize(slot as usize + 1, Parts::default());
        }
        entered[slot as usize] = spent;
    }
}
