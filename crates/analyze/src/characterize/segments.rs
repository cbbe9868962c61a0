//! A workload in parts, one after the other: large ones hide in their sums what they do in some phase (Yang 2009, section
//! 5.3). Parts of equal time where requests have times, else of equal numbers of requests.

use serde::Serialize;

use super::counts::{Counts, Shares};
use super::series::{Join, Series};
use super::suite::{self, Verdict};

/// Windows at most; segments begin and end at windows.
const WINDOWS: usize = 2048;
/// Maximum number of stretches in [`Finished::over_time`].
const STRETCHES: usize = 128;

/// Counts of a stretch of a workload.
#[derive(Clone, Debug, Default)]
pub(super) struct Stretch {
    pub(super) reads: Counts,
    pub(super) writes: Counts,
    /// Discards and flushes.
    pub(super) others: u64,
    requests: u64,
    first_ns: Option<u64>,
    last_ns: u64,
}

impl Stretch {
    #[inline]
    pub(super) fn meet(&mut self, time_ns: u64) {
        self.requests += 1;
        self.first_ns = self.first_ns.or(Some(time_ns));
        self.last_ns = time_ns;
    }

    pub(super) const fn requests(&self) -> u64 {
        self.requests
    }

    pub(super) const fn times_ns(&self) -> Option<(u64, u64)> {
        match self.first_ns {
            None => None,
            Some(first) => Some((first, self.last_ns)),
        }
    }
}

impl Join for Stretch {
    fn join(&mut self, later: &Self) {
        self.reads.join(&later.reads);
        self.writes.join(&later.writes);
        self.others += later.others;
        self.requests += later.requests;
        self.first_ns = self.first_ns.or(later.first_ns);
        self.last_ns = if later.first_ns.is_some() { later.last_ns } else { self.last_ns };
    }
}

/// The stretches of a workload by time and by request number; the current one is on its own until it ends.
pub(super) struct Stretches {
    by_time: Series<Stretch>,
    by_number: Series<Stretch>,
    current: Stretch,
    at: (u64, u64),
    /// Where the current one ends: time and number, exclusive.
    until: (u64, u64),
}

/// A part of a workload.
#[derive(Clone, Debug, Serialize)]
pub struct Segment {
    /// Where it begins, seconds after the first request; of a segment by requests, when its first one came.
    pub from_s: f64,
    /// Where it ends.
    pub to_s: f64,
    /// Requests of any operation.
    pub requests: u64,
    /// Its writes.
    pub writes: SegmentSide,
    /// Its reads.
    pub reads: SegmentSide,
    /// The suite that it would belong to by itself.
    pub suite: Verdict,
}

/// One operation in a part of a workload.
#[derive(Clone, Debug, Serialize)]
pub struct SegmentSide {
    /// Requests.
    pub requests: u64,
    /// Bytes.
    pub bytes: u64,
    /// Shares of the bytes. What was touched before was touched in this segment or an earlier one.
    #[serde(flatten)]
    pub shares: Shares,
}

/// Requests over time: columns of equal length, with one value for each stretch.
#[derive(Clone, Debug, Default, Serialize)]
pub struct OverTime {
    /// Unit in which stretches are equal, to within one window: `time` or `requests`.
    pub by: &'static str,
    /// Where each begins: seconds, or number of the first request.
    pub from: Vec<f64>,
    /// Where each ends.
    pub to: Vec<f64>,
    /// Reads.
    pub reads: Vec<u64>,
    /// Writes.
    pub writes: Vec<u64>,
    /// Discards and flushes.
    pub others: Vec<u64>,
    /// Bytes read.
    pub read_bytes: Vec<u64>,
    /// Bytes written.
    pub write_bytes: Vec<u64>,
    /// Share of the written bytes that is sequential.
    pub sequential_share: Vec<Option<f64>>,
    /// Share of the written bytes that are rewrites.
    pub rewrite_share: Vec<Option<f64>>,
}

impl Stretches {
    pub(super) fn new() -> Self {
        Self {
            by_time: Series::new(WINDOWS),
            by_number: Series::new(WINDOWS),
            current: Stretch::default(),
            at: (0, 0),
            until: (0, 0),
        }
    }

    /// The stretch that request `number`, at `time_ns`, belongs to. Times never go back.
    #[inline]
    pub(super) fn at(&mut self, time_ns: u64, number: u64) -> &mut Stretch {
        if time_ns >= self.until.0 || number >= self.until.1 {
            self.turn(time_ns, number);
        }
        self.current.meet(time_ns);
        &mut self.current
    }

    #[cold]
    fn turn(&mut self, time_ns: u64, number: u64) {
        self.flush();
        // Made now, so that widths are what they will be for this request.
        self.by_time.at(time_ns);
        self.by_number.at(number);
        let end = |series: &Series<Stretch>, position: u64| {
            (series.number(position) + 1).saturating_mul(series.width())
        };
        self.at = (time_ns, number);
        self.until = (end(&self.by_time, time_ns), end(&self.by_number, number));
    }

    fn flush(&mut self) {
        if self.current.requests == 0 {
            return;
        }
        let current = std::mem::take(&mut self.current);
        self.by_time.at(self.at.0).join(&current);
        self.by_number.at(self.at.1).join(&current);
    }

    /// The windows of equal time, or where all came at one time, of equal numbers of requests.
    pub(super) fn finish(mut self) -> Finished {
        self.flush();
        let timed = self.by_time.windows().len() > 1;
        Finished { series: if timed { self.by_time } else { self.by_number }, timed }
    }
}

/// Windows over a whole workload.
pub(super) struct Finished {
    pub(super) series: Series<Stretch>,
    /// True if windows are of time, in ns; false if they are of requests.
    pub(super) timed: bool,
}

impl Finished {
    /// Everything together.
    pub(super) fn sum(&self) -> Stretch {
        self.series.groups(1).pop().map(|(_, _, all)| all).unwrap_or_default()
    }

    /// Requests over time.
    pub(super) fn over_time(&self) -> OverTime {
        let unit = if self.timed { 1e-9 } else { 1.0 };
        let by = if self.timed { "time" } else { "requests" };
        let mut over_time = OverTime { by, ..OverTime::default() };
        for (from, to, stretch) in self.series.groups(STRETCHES) {
            let (reads, writes) = (stretch.reads.all(), stretch.writes.all());
            let shares = stretch.writes.shares(super::REWRITE, false);
            over_time.from.push(from as f64 * unit);
            over_time.to.push(to as f64 * unit);
            over_time.reads.push(reads.requests);
            over_time.writes.push(writes.requests);
            over_time.others.push(stretch.others);
            over_time.read_bytes.push(reads.bytes());
            over_time.write_bytes.push(writes.bytes());
            over_time.sequential_share.push(shares.sequential);
            over_time.rewrite_share.push(shares.again);
        }
        over_time
    }

    /// The workload in `parts`.
    pub(super) fn segments(&self, parts: usize) -> Vec<Segment> {
        let segments = self.series.groups(parts).into_iter().map(|(from, to, stretch)| {
            let (first_ns, last_ns) = stretch.times_ns().unwrap_or_default();
            let (from_ns, to_ns) = if self.timed { (from, to) } else { (first_ns, last_ns) };
            let side = |counts: &Counts, again| SegmentSide {
                requests: counts.all().requests,
                bytes: counts.all().bytes(),
                shares: counts.shares(again, false),
            };
            Segment {
                from_s: from_ns as f64 / 1e9,
                to_s: to_ns as f64 / 1e9,
                requests: stretch.requests(),
                writes: side(&stretch.writes, super::REWRITE),
                reads: side(&stretch.reads, super::REREAD),
                suite: suite::verdict(&stretch.writes),
            }
        });
        segments.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_add_up_to_the_whole() {
        let mut stretches = Stretches::new();
        for n in 0..100_000u64 {
            stretches.at(n * n, n).others += 1;
        }
        let finished = stretches.finish();
        assert!(finished.timed);
        let segments = finished.segments(4);
        assert_eq!(segments.iter().map(|segment| segment.requests).sum::<u64>(), 100_000);
        assert_eq!(finished.sum().requests(), 100_000);
        let half = segments[0].requests + segments[1].requests;
        let exact = (1e10f64 * segments[1].to_s * 1e9 / 1e10).sqrt();
        assert!((half as f64 - exact).abs() < 2.0, "{half} requests, {exact} expected");
    }

    #[test]
    fn without_times_segments_are_of_requests() {
        let mut stretches = Stretches::new();
        for n in 0..4096u64 {
            stretches.at(0, n).others += 1;
        }
        let finished = stretches.finish();
        assert!(!finished.timed);
        let requests: Vec<u64> = finished.segments(4).iter().map(|segment| segment.requests).collect();
        assert_eq!(requests, [1024; 4]);
    }
}
