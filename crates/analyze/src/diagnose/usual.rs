//! Usual cost of a write on this drive, and the writes that cost much more: the anomalies, as Yang (2009, section 4.2)
//! calls them.
//!
//! Usual is measured over runs of consecutive writes and not over single ones, because a drive with a buffer takes most
//! writes in no time and pays for them in a few.

use super::log::{Log, Write};
use super::measure::{quantile, ratio, sorted};

/// Writes of a run: longer than the burst that fills a queue, much shorter than the log.
const RUN: usize = 64;
/// Of the runs, the share that is quicker than what counts as usual. Few, because a drive may stall most of the time, but more than
/// those in which an empty buffer fills.
const QUIET: f64 = 0.05;
/// Multiple of the usual cost of its length above which a write is an anomaly. Programming one flash page while a
/// buffer drains at the speed of many dies costs up to the number of dies, 8 to 16 on drives of the time; management
/// costs hundreds.
pub(super) const ANOMALY: f64 = 16.0;

/// Usual cost of writes on a drive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usual {
    /// Cost of a byte, ns.
    pub(super) per_byte_ns: f64,
    /// Bytes of a typical write; shorter ones may cost as much.
    bytes: f64,
}

impl Usual {
    pub(super) fn of(log: &Log) -> Self {
        let length = RUN.min(log.writes.len() / 16).max(1);
        let runs = sorted(run_costs(&log.writes, length).into_iter());
        let cost: f64 = log.writes.iter().map(|write| write.cost_ns as f64).sum();
        let mean = ratio(cost, log.bytes as f64);
        let per_byte_ns = quantile(&runs, QUIET).max(mean / 1000.0);
        let sizes = sorted(log.writes.iter().map(|write| write.bytes as f64));
        Self { per_byte_ns, bytes: quantile(&sizes, 0.5) }
    }

    /// Cost of a write as a multiple of the usual.
    pub(super) fn times(&self, write: &Write) -> f64 {
        ratio(write.cost_ns as f64, self.per_byte_ns * (write.bytes as f64).max(self.bytes))
    }

    pub(super) fn is_anomaly(&self, write: &Write) -> bool {
        self.times(write) > ANOMALY
    }

    /// Time that a write took beyond the usual, ns.
    pub(super) fn lost_ns(&self, write: &Write) -> f64 {
        (write.cost_ns as f64 - self.per_byte_ns * write.bytes as f64).max(0.0)
    }
}

/// Cost per byte of each run of so many writes, ns; what is left over at the end is no run.
pub(super) fn run_costs(writes: &[Write], length: usize) -> Vec<f64> {
    writes
        .chunks_exact(length)
        .map(|run| {
            let (cost, bytes) = run.iter().fold((0.0, 0.0), |(cost, bytes), write| {
                (cost + write.cost_ns as f64, bytes + write.bytes as f64)
            });
            ratio(cost, bytes)
        })
        .collect()
}
