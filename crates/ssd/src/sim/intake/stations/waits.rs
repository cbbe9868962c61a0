//! The time of stations, and the waits of pages of the buffer for them: for the account of where latencies go.

use serde::{Deserialize, Serialize};

use super::{Kind, STATION_TAG, Stations};
use crate::content::Content;
use crate::nand::TimePath;
use crate::sim::intake::Intake;
use crate::stats::{Cause, Parts, Spent};

/// Present or last activity of a station, and all before it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Doing {
    before: Spent,
    cause: Cause,
    from_ns: u64,
    until_ns: u64,
}

impl Default for Doing {
    fn default() -> Self {
        Self { before: Spent::default(), cause: Cause::Write, from_ns: 0, until_ns: 0 }
    }
}

impl Doing {
    /// Activity of the station up to then, ns by cause.
    fn spent(&self, time_ns: u64) -> Spent {
        let mut spent = self.before;
        spent.add(self.cause, time_ns.clamp(self.from_ns, self.until_ns) - self.from_ns);
        spent
    }

    fn begin(&mut self, from_ns: u64, cause: Cause) {
        *self = Self { before: self.spent(self.until_ns), cause, from_ns, until_ns: u64::MAX };
    }
}

/// The wait of a group of commands for the common clock.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Waited {
    since_ns: u64,
    since: Spent,
    /// Known once the station does something else.
    until: Option<Spent>,
    pub(super) parts: Parts,
}

impl Waited {
    /// A group that waits from now on.
    pub(super) fn new(doing: &Doing, now_ns: u64) -> Self {
        Self { since_ns: now_ns, since: doing.spent(now_ns), until: None, parts: Parts::default() }
    }

    /// The group starts.
    pub(super) fn end(&mut self, doing: &Doing, now_ns: u64) {
        let spent = self.until.unwrap_or_else(|| doing.spent(now_ns)).since(&self.since);
        // Whatever no station is busy with is reads.
        self.parts = Parts::waited(&spent, now_ns - self.since_ns);
    }
}

/// A write cycle of a station.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Cycle {
    is_under_way: bool,
    decided_ns: u64,
    start_ns: u64,
    /// Activity of the station before it.
    spent: Spent,
    /// End of the last of its pages so far, ns, and where the time of that one went.
    latest: (u64, Parts),
}

impl Cycle {
    /// Its commands, or those of a collection, start.
    pub(super) fn start(&mut self, now_ns: u64) {
        self.start_ns = now_ns;
        self.latest = (now_ns, Parts::default());
    }
}

/// Accounts of the entries of the buffer, by slot; empty where nobody asks.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Waits {
    /// Activity of the entry's station when the last page came in.
    entered: Vec<Spent>,
    /// Where the time went from then until it was on flash.
    parts: Vec<Parts>,
}

impl Waits {
    /// Where the time of an entry went that is on flash.
    pub(super) fn of(&self, slot: u32) -> Parts {
        self.parts.get(slot as usize).copied().unwrap_or_default()
    }
}

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
