//! What a workload is like: one pass over its requests, in memory that grows with what they touch and not with how many
//! they are. A file a metric, each with `observe` and `finish`.
//!
//! The macroscopic and microscopic metrics are those of Yang 2009 ("SSD Benchmarks and Performance Analysis"), chapter 5,
//! for writes as there, and for reads. docs/reference/characterize.md defines every number. Nothing here knows drives.

mod counts;
mod ranges;
mod recent;
mod segments;
mod series;
mod side;
mod sizes;
mod suite;
mod table;

pub use counts::Shares;
pub use segments::{Segment, SegmentSide};
pub use side::Macroscopic;
pub use sizes::{CommonSize, SizeBin};
pub use suite::{Suite, Verdict};

use serde::Serialize;

use crate::{Op, Request, SECTOR_BYTES, TraceError};
use segments::Stretches;
use side::Side;

/// What touching a second time is called.
const REWRITE: &str = "rewrite";
const REREAD: &str = "reread";

/// What may be chosen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Settings {
    /// How many other requests may come between two of a sequential run, K.
    pub gap: usize,
    /// Longest request that counts as small, bytes.
    pub small_bytes: u64,
    /// What requests are aligned to, bytes.
    pub align_bytes: u64,
    /// How far apart requests may be and still be near, bytes.
    pub chunk_bytes: u64,
    /// Into how many parts a workload is cut.
    pub segments: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { gap: 10, small_bytes: 4096, align_bytes: 4096, chunk_bytes: 9_728_000, segments: 10 }
    }
}

impl Settings {
    /// Refuses what makes no sense.
    pub fn check(&self) -> Result<(), TraceError> {
        let refuse = |what: &str, found: u64, expected: &str| {
            Err(TraceError::Spec { what: what.into(), found: found.to_string(), expected: expected.into() })
        };
        let sectors = |bytes: u64| bytes > 0 && bytes.is_multiple_of(SECTOR_BYTES);
        if self.gap > 1000 {
            return refuse("gap", self.gap as u64, "expected a number of requests from 0 to 1000");
        }
        if !(1..=1000).contains(&self.segments) {
            return refuse("segments", self.segments as u64, "expected a number from 1 to 1000");
        }
        for (what, bytes) in
            [("small", self.small_bytes), ("align", self.align_bytes), ("chunk", self.chunk_bytes)]
        {
            if !sectors(bytes) {
                return refuse(what, bytes, "expected a positive multiple of 512 bytes");
            }
        }
        Ok(())
    }
}

/// What a workload is like.
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
    /// What segments are equal in: `time` or `requests`.
    pub segments_by: &'static str,
    /// Its parts, one after the other.
    pub segments: Vec<Segment>,
    /// What was chosen.
    pub settings: Settings,
}

/// Looks at requests, one after the other.
pub struct Characterizer {
    settings: Settings,
    reads: Side,
    writes: Side,
    stretches: Stretches,
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
    /// [`TraceError::Spec`] if a setting makes no sense.
    pub fn new(settings: Settings) -> Result<Self, TraceError> {
        settings.check()?;
        Ok(Self {
            reads: Side::new(&settings, REREAD),
            writes: Side::new(&settings, REWRITE),
            stretches: Stretches::new(),
            number: 0,
            start_ns: 0,
            last_ns: 0,
            trims: 0,
            flushes: 0,
            settings,
        })
    }

    /// Looks at the next request. One whose time goes back counts as simultaneous with the one before.
    pub fn observe(&mut self, request: &Request) {
        if self.number == 0 {
            (self.start_ns, self.last_ns) = (request.time_ns, request.time_ns);
        }
        self.last_ns = self.last_ns.max(request.time_ns);
        let stretch = self.stretches.at(self.last_ns - self.start_ns, self.number);
        self.number += 1;
        let (side, counts) = match request.op {
            // No source makes requests without sectors; a caller that does loses them and nothing else.
            Op::Read | Op::Write if request.sectors == 0 => return,
            Op::Read => (&mut self.reads, &mut stretch.reads),
            Op::Write => (&mut self.writes, &mut stretch.writes),
            Op::Trim | Op::Flush => {
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
        self.reads.memory_bytes() + self.writes.memory_bytes()
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
            settings: self.settings,
        }
    }
}
