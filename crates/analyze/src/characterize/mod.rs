//! Characterizes a workload in one pass over its requests. Memory grows with the addresses touched and not with the
//! number of requests. Each metric has a file, with `observe` and `finish`.
//!
//! The macroscopic and microscopic metrics are those of Yang 2009 ("SSD Benchmarks and Performance Analysis"), chapter 5,
//! for writes as there, and for reads. docs/reference/characterize.md defines every number. Nothing here knows drives.

mod counts;
mod details;
mod distances;
mod life;
mod life_report;
mod map;
mod pieces;
mod powers;
mod ranges;
mod rates;
mod recent;
mod reuse;
mod sample;
mod seek;
mod segments;
mod series;
mod settings;
mod side;
mod sizes;
mod stamps;
mod suite;
mod table;
mod working_set;

pub use counts::Shares;
pub use details::{BothMicroscopic, Detail, Microscopic};
pub use distances::MissRatio;
pub use life_report::{Hottest, Life, LifeRow};
pub use map::AddressMap;
pub use powers::PowerBin;
pub use rates::{Rate, RateWindows};
pub use reuse::{DistanceBin, ReuseDistance, Sampling};
pub use seek::{SeekBin, SeekDistance, SeekWindow};
pub use segments::{OverTime, Segment, SegmentSide};
pub use settings::Settings;
pub use side::Macroscopic;
pub use sizes::{CommonSize, SizeBin};
pub use suite::{Suite, Verdict};
pub use working_set::WorkingSet;

use flashweir_trace::{Op, Request};
use serde::Serialize;

use crate::SettingError;
use details::Details;
use segments::Stretches;
use side::Side;

/// Names of a repeated touch.
const REWRITE: &str = "rewrite";
const REREAD: &str = "reread";

/// Requests that are looked up together.
const GROUP: usize = 16;

/// Characteristics of a workload.
#[derive(Clone, Debug, Serialize)]
pub struct Character {
    /// Requests of any operation.
    pub requests: u64,
    /// Discards.
    pub trims: u64,
    /// Flushes.
    pub flushes: u64,
    /// From the first to the last request, seconds.
    pub duration_s: f64,
    /// The suite that it belongs to.
    pub suite: Verdict,
    /// Its writes.
    pub writes: Macroscopic,
    /// Its reads.
    pub reads: Macroscopic,
    /// Unit in which segments are equal: `time` or `requests`.
    pub segments_by: &'static str,
    /// Its parts, one after the other.
    pub segments: Vec<Segment>,
    /// All that is not macroscopic, if it was looked at.
    #[serde(flatten)]
    pub detail: Option<Detail>,
    /// Settings that were chosen.
    pub settings: Settings,
}

/// Looks at requests, one after the other.
pub struct Characterizer {
    settings: Settings,
    reads: Side,
    writes: Side,
    stretches: Stretches,
    details: Option<Details>,
    number: u64,
    start_ns: u64,
    last_ns: u64,
    trims: u64,
    flushes: u64,
}

impl Characterizer {
    /// Nothing seen yet.
    ///
    /// # Errors
    /// [`SettingError`] if a setting makes no sense.
    pub fn new(settings: Settings) -> Result<Self, SettingError> {
        settings.check()?;
        Ok(Self {
            reads: Side::new(&settings, REREAD),
            writes: Side::new(&settings, REWRITE),
            stretches: Stretches::new(),
            details: (!settings.macroscopic).then(|| Details::new(&settings)),
            number: 0,
            start_ns: 0,
            last_ns: 0,
            trims: 0,
            flushes: 0,
            settings,
        })
    }

    /// Looks at the next requests, in order. Faster than one by one: a few are looked up together before they are looked at,
    /// so that the processor waits for memory once and not once a request.
    pub fn observe_all(&mut self, requests: &[Request]) {
        for group in requests.chunks(GROUP) {
            let looked = group.iter().fold(0, |sum, request| {
                let side = if request.op == Op::Read { &self.reads } else { &self.writes };
                sum ^ side.look(request) ^ self.details.as_ref().map_or(0, |details| details.look(request))
            });
            std::hint::black_box(looked);
            for request in group {
                self.observe(request);
            }
        }
    }

    /// Looks at the next request. One whose time goes back counts as simultaneous with the one before.
    pub fn observe(&mut self, request: &Request) {
        if self.number == 0 {
            (self.start_ns, self.last_ns) = (request.time_ns, request.time_ns);
        }
        self.last_ns = self.last_ns.max(request.time_ns);
        let (time_ns, number) = (self.last_ns - self.start_ns, self.number);
        let stretch = self.stretches.at(time_ns, number);
        self.number += 1;
        // No source makes reads or writes without sectors; a caller that does finds them among all requests, and nowhere else.
        if request.sectors == 0 && matches!(request.op, Op::Read | Op::Write) {
            return;
        }
        if let Some(details) = &mut self.details {
            details.observe(request, time_ns, number);
        }
        let (side, counts) = match request.op {
            Op::Read => (&mut self.reads, &mut stretch.reads),
            Op::Write => (&mut self.writes, &mut stretch.writes),
            // Of an append only its zone is known.
            _ => {
                stretch.others += 1;
                self.trims += u64::from(request.op == Op::Trim);
                self.flushes += u64::from(request.op == Op::Flush);
                return;
            }
        };
        let (traits, covered) = side.observe(request);
        counts.observe(traits, u64::from(request.sectors), covered);
    }

    /// Requests seen so far.
    pub const fn requests(&self) -> u64 {
        self.number
    }

    /// Bytes of memory that it takes, but for a constant.
    pub fn memory_bytes(&self) -> usize {
        let details = self.details.as_ref().map_or(0, Details::memory_bytes);
        self.reads.memory_bytes() + self.writes.memory_bytes() + details
    }

    /// Sums up.
    pub fn finish(self) -> Character {
        let stretches = self.stretches.finish();
        let sum = stretches.sum();
        Character {
            requests: self.number,
            trims: self.trims,
            flushes: self.flushes,
            duration_s: (self.last_ns - self.start_ns) as f64 / 1e9,
            suite: suite::verdict(&sum.writes),
            writes: self.writes.finish(&sum.writes),
            reads: self.reads.finish(&sum.reads),
            segments_by: if stretches.timed { "time" } else { "requests" },
            segments: stretches.segments(self.settings.segments),
            detail: self.details.map(|details| details.finish(stretches.over_time(), stretches.timed)),
            settings: self.settings,
        }
    }
}
