//! Intensity of flows at one die (section 5.1 of the paper): low if the flow made fewer commands in the last interval than the
//! threshold. Determined when a command comes, for the interval that has ended by then.

use serde::{Deserialize, Serialize};

/// Thresholds by kind.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Thresholds {
    interval_ns: u64,
    /// Bytes in 10^9 intervals of the drive.
    low: [u128; 2],
    /// Bytes in 10^9 intervals of a page on one die, if each had as many.
    page: u128,
}

impl Thresholds {
    /// Of an interval, and of rates of the drive by kind, bytes a second; for so many dies, with pages of so many bytes.
    pub(super) fn new(interval_ns: u64, rates: [u64; 2], (dies, page_bytes): (u32, u64)) -> Self {
        let low = rates.map(|rate| u128::from(rate) * u128::from(interval_ns));
        let page = u128::from(dies) * u128::from(page_bytes) * 1_000_000_000;
        Self { interval_ns, low, page }
    }

    fn is_low(&self, kind: usize, pages: u64) -> bool {
        u128::from(pages) * self.page < self.low[kind]
    }
}

/// Commands of flows in the current interval, and their intensities by the last one.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Intensity {
    /// Number of the current interval.
    interval: u64,
    /// By flow and kind: pages in the current interval.
    pages: Vec<[u64; 2]>,
    /// The same of the last one.
    last: Vec<[u64; 2]>,
}

impl Intensity {
    /// True if a flow had low intensity in the last interval; another command of it, for so many pages, has come. In the first
    /// interval no flow has.
    pub(super) fn is_low_after(
        &mut self,
        (flow, kind): (usize, usize),
        pages: u64,
        now_ns: u64,
        thresholds: &Thresholds,
    ) -> bool {
        let interval = now_ns / thresholds.interval_ns;
        if interval > self.interval {
            std::mem::swap(&mut self.pages, &mut self.last);
            self.pages.clear();
            if interval > self.interval + 1 {
                self.last.clear();
            }
            self.interval = interval;
        }
        if flow >= self.pages.len() {
            self.pages.resize(flow + 1, [0; 2]);
        }
        self.pages[flow][kind] += pages;
        let last = self.last.get(flow).map_or(0, |pages| pages[kind]);
        interval > 0 && thresholds.is_low(kind, last)
    }
}
