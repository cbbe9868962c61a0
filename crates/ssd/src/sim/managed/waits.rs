//! What stations do with their time, and what pages of the buffer wait for meanwhile: for the account of where latencies go.

use super::{ManagedDrive, Reverse};
use crate::content::Content;
use crate::nand::Probe;
use crate::stats::{Cause, Parts, Spent};

/// What a station is or was last busy with, and what it did before.
#[derive(Clone, Copy, Debug)]
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
    /// What the station has done by then, ns by cause.
    fn spent(&self, time_ns: u64) -> Spent {
        let mut spent = self.before;
        spent.add(self.cause, time_ns.clamp(self.from_ns, self.until_ns) - self.from_ns);
        spent
    }

    fn begin(&mut self, from_ns: u64, until_ns: u64, cause: Cause) {
        *self = Self { before: self.spent(self.until_ns), cause, from_ns, until_ns };
    }
}

/// What is kept of the entries of the buffer, by slot; empty where nobody asks.
#[derive(Clone, Debug, Default)]
pub(super) struct Waits {
    /// What the entry's station had done when the last page came in.
    entered: Vec<Spent>,
    /// Where the time went from then until it was on flash.
    parts: Vec<Parts>,
}

impl<P: Probe, C: Content> ManagedDrive<P, C> {
    /// The station is busy with something until its dies are free. Returns when, ns.
    pub(super) fn occupy(&mut self, station: u32, cause: Cause) -> u64 {
        let end = self.free_ns(station);
        let place = &mut self.stations[station as usize];
        place.busy = true;
        place.doing.begin(self.now_ns, end, cause);
        self.events.push(Reverse((end, station)));
        end
    }

    /// A page has come into an entry of the buffer that will go to a unit.
    pub(super) fn entered(&mut self, slot: u32, unit: u32) {
        if self.ledger.parts.is_none() {
            return;
        }
        let spent = self.stations[self.station_of(unit) as usize].doing.spent(self.now_ns);
        let Waits { entered, parts } = &mut self.waits;
        if entered.len() <= slot as usize {
            entered.resize(slot as usize + 1, Spent::default());
            parts.resize(slot as usize + 1, Parts::default());
        }
        entered[slot as usize] = spent;
    }

    /// A station has been set to write its entries from `start_ns` to `end_ns`: says where their time goes. What they waited for
    /// while their station did nothing stays with the time before, in the buffer or in front of it.
    pub(super) fn written(&mut self, station: u32, start_ns: u64, end_ns: u64) {
        if self.ledger.parts.is_none() {
            return;
        }
        let mut cycle = self.line.latest_parts;
        cycle.wait_write += (end_ns - start_ns).saturating_sub(cycle.total());
        // With a common clock, writing starts when the reads under way are done.
        cycle.wait_read += start_ns - self.now_ns;
        let station = &self.stations[station as usize];
        let spent = station.doing.spent(self.now_ns);
        for slot in &station.serving {
            let mut parts = Parts::waited(&spent.since(&self.waits.entered[*slot as usize]), 0);
            parts.add(&cycle);
            self.waits.parts[*slot as usize] = parts;
        }
    }

    /// What commands wait for until `start_ns`, when a common clock lets them start: what is under way.
    pub(super) fn wait_for_clock(&self, start_ns: u64) -> Parts {
        let doing = &self.stations[0].doing;
        let spent = doing.spent(start_ns).since(&doing.spent(self.now_ns));
        // What no station is busy with are reads.
        Parts::waited(&spent, start_ns - self.now_ns)
    }

    /// Where the time of an entry went that is on flash.
    pub(super) fn parts_of_entry(&self, slot: u32) -> Parts {
        self.waits.parts.get(slot as usize).copied().unwrap_or_default()
    }
}
