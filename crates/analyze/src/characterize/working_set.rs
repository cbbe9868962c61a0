//! Working set: distinct blocks by window, and all so far.
//!
//! Windows join while a workload goes on, and how many distinct blocks two windows have together can't be said from how
//! many each has. So each window counts its blocks by how far back their last touch lies: by how often windows have to be
//! doubled until both lie in one. When that happens they are no longer counted, and sums stay exact.

use serde::Serialize;

use super::series::{Join, Series};

/// Bytes of a block.
pub(super) const BLOCK_BYTES: u64 = 4096;
/// Windows at most.
const WINDOWS: usize = 256;
/// Maximum number of doublings of a window.
const LEVELS: usize = 65;

/// When a block was touched.
#[derive(Clone, Copy, Default)]
pub(super) struct Touched {
    pub(super) time_ns: u64,
    pub(super) number: u64,
}

/// Blocks that were touched in a window.
#[derive(Clone)]
struct Window {
    /// By the number of doublings after which the touch before lies in the same window; from 1.
    again: [f64; LEVELS],
    fresh: f64,
}

impl Default for Window {
    fn default() -> Self {
        Self { again: [0.0; LEVELS], fresh: 0.0 }
    }
}

impl Window {
    fn blocks(&self) -> f64 {
        self.fresh + self.again.iter().sum::<f64>()
    }
}

impl Join for Window {
    fn join(&mut self, later: &Self) {
        self.fresh += later.fresh;
        for (level, more) in self.again.iter_mut().zip(&later.again) {
            *level += more;
        }
    }

    /// Touches that were one doubling away are now in the same window.
    fn doubled(&mut self) {
        self.again.copy_within(1.., 0);
        self.again[0] = 0.0;
        self.again[LEVELS - 1] = 0.0;
    }
}

/// Working sets by time and by request number.
pub(super) struct WorkingSets {
    by_time: Series<Window>,
    by_number: Series<Window>,
}

/// Working set, window by window.
#[derive(Clone, Debug, Serialize)]
pub struct WorkingSet {
    /// Unit in which windows are equal: `time` or `requests`.
    pub by: &'static str,
    /// Width of a window: seconds, or requests.
    pub window: f64,
    /// Share of the blocks that was followed; 1 is all, and exact.
    pub followed_share: f64,
    /// Bytes of the distinct 4 KiB blocks that reads and writes touch in each window.
    pub bytes: Vec<f64>,
    /// Bytes of those that they have touched by its end.
    pub so_far_bytes: Vec<f64>,
}

impl WorkingSets {
    pub(super) const fn new() -> Self {
        Self { by_time: Series::new(WINDOWS), by_number: Series::new(WINDOWS) }
    }

    /// A block is touched for the first time.
    pub(super) fn fresh(&mut self, now: Touched, weight: f64) {
        self.by_time.at(now.time_ns).fresh += weight;
        self.by_number.at(now.number).fresh += weight;
    }

    /// A repeated touch of a block.
    #[inline]
    pub(super) fn again(&mut self, last: Touched, now: Touched, weight: f64) {
        again(&mut self.by_time, last.time_ns, now.time_ns, weight);
        again(&mut self.by_number, last.number, now.number, weight);
    }

    pub(super) fn finish(&self, timed: bool, rate: f64) -> WorkingSet {
        let (series, by, unit) =
            if timed { (&self.by_time, "time", 1e-9) } else { (&self.by_number, "requests", 1.0) };
        let block = BLOCK_BYTES as f64;
        let mut so_far = 0.0;
        let sum = |window: &Window| {
            so_far += window.fresh * block;
            so_far
        };
        WorkingSet {
            by,
            window: series.width() as f64 * unit,
            followed_share: rate,
            bytes: series.windows().iter().map(|window| window.blocks() * block).collect(),
            so_far_bytes: series.windows().iter().map(sum).collect(),
        }
    }
}

#[inline]
fn again(series: &mut Series<Window>, last: u64, now: u64, weight: f64) {
    // First, because it may double windows.
    series.at(now);
    let apart = series.number(last) ^ series.number(now);
    if apart != 0 {
        series.at(now).again[1 + apart.ilog2() as usize] += weight;
    }
}
