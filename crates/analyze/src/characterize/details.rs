//! All that is not macroscopic, together: the microscopic view of each operation (Yang 2009, section 5.2), and what users
//! of a trace look for besides.

use serde::Serialize;

use super::Settings;
use super::life::Lives;
use super::life_report::Life;
use super::map::{AddressMap, Map};
use super::pieces::CHUNK;
use super::rates::{Rate, Rates};
use super::reuse::{Reuse, ReuseDistance};
use super::seek::{SeekDistance, Seeks};
use super::segments::OverTime;
use super::working_set::WorkingSet;
use flashweir_trace::{Op, Request, SECTOR_BYTES};

/// The microscopic view of one operation.
#[derive(Clone, Debug, Serialize)]
pub struct Microscopic {
    /// From the end of a request to the start of the next.
    pub seek: SeekDistance,
    /// Life cycles of touched sectors, and the time between two touches.
    pub life: Life,
    /// Where requests start, over their numbers.
    pub map: AddressMap,
}

/// The microscopic view.
#[derive(Clone, Debug, Serialize)]
pub struct BothMicroscopic {
    /// Of writes.
    pub writes: Microscopic,
    /// Of reads.
    pub reads: Microscopic,
}

/// All results but the macroscopic ones.
#[derive(Clone, Debug, Serialize)]
pub struct Detail {
    /// Distances, life cycles, places.
    pub microscopic: BothMicroscopic,
    /// Requests over time.
    pub over_time: OverTime,
    /// Arrival rate of requests.
    pub rate: Rate,
    /// Working set over time.
    pub working_set: WorkingSet,
    /// Reuse distances of blocks.
    pub reuse: ReuseDistance,
}

struct Side {
    seeks: Seeks,
    lives: Lives,
    map: Map,
    number: u64,
}

/// Everything but the macroscopic view, in progress.
pub(super) struct Details {
    reads: Side,
    writes: Side,
    rates: Rates,
    reuse: Reuse,
    chunk_bytes: u64,
}

impl Side {
    fn new(settings: &Settings) -> Self {
        Self {
            seeks: Seeks::new(),
            lives: Lives::new(settings.unit_bytes / (CHUNK * SECTOR_BYTES)),
            map: Map::new(),
            number: 0,
        }
    }

    fn observe(&mut self, request: &Request, time_ns: u64) {
        self.seeks.observe(request);
        self.lives.observe(request, time_ns);
        self.map.observe(self.number, request.lba);
        self.number += 1;
    }

    fn finish(&self, chunk_bytes: u64) -> Microscopic {
        Microscopic {
            seek: self.seeks.finish(chunk_bytes),
            life: self.lives.finish(),
            map: self.map.finish(),
        }
    }
}

impl Details {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            reads: Side::new(settings),
            writes: Side::new(settings),
            rates: Rates::new(),
            reuse: Reuse::new(settings.sampling),
            chunk_bytes: settings.chunk_bytes,
        }
    }

    /// Looks up what a request will need soon.
    #[inline]
    pub(super) fn look(&self, request: &Request) -> u64 {
        let lives = match request.op {
            Op::Read => &self.reads.lives,
            Op::Write => &self.writes.lives,
            _ => return 0,
        };
        lives.look(request) ^ self.reuse.look(request)
    }

    /// A request, `number` of all, comes `time_ns` after the first.
    pub(super) fn observe(&mut self, request: &Request, time_ns: u64, number: u64) {
        self.rates.observe(time_ns);
        match request.op {
            Op::Read => self.reads.observe(request, time_ns),
            Op::Write => self.writes.observe(request, time_ns),
            _ => return,
        }
        self.reuse.observe(request, time_ns, number);
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.reads.lives.memory_bytes() + self.writes.lives.memory_bytes() + self.reuse.memory_bytes()
    }

    /// Sums up, with what segments say `over_time`; `timed` as they are.
    pub(super) fn finish(self, over_time: OverTime, timed: bool) -> Detail {
        let (reuse, working_set) = self.reuse.finish(timed);
        Detail {
            microscopic: BothMicroscopic {
                writes: self.writes.finish(self.chunk_bytes),
                reads: self.reads.finish(self.chunk_bytes),
            },
            over_time,
            rate: self.rates.finish(),
            working_set,
            reuse,
        }
    }
}
