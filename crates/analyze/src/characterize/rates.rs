//! Arrival rate: requests in windows of fixed length, and inter-arrival times.

use serde::Serialize;

use super::powers::{PowerBin, Powers};

/// Lengths of windows, ns.
const LENGTHS_NS: [u64; 3] = [10_000_000, 1_000_000_000, 60_000_000_000];

/// Windows of one length.
struct Clocked {
    length_ns: u64,
    number: u64,
    count: u64,
    counts: Powers,
    most: u64,
    sum: u64,
    squares: f64,
}

/// Rates so far.
pub(super) struct Rates {
    clocked: [Clocked; 3],
    pauses: Powers,
    last_ns: Option<u64>,
    requests: u64,
}

/// Arrival rate of requests of all operations.
#[derive(Clone, Debug, Serialize)]
pub struct Rate {
    /// Mean over the whole duration; `None` where that is zero.
    pub mean_per_s: Option<f64>,
    /// Requests by the nanoseconds since the one before.
    pub pause_ns: Vec<PowerBin>,
    /// Rates in windows of fixed lengths, as far as there are two of them.
    pub windows: Vec<RateWindows>,
}

/// Requests in windows of one length, from the first request on, empty ones too.
#[derive(Clone, Debug, Serialize)]
pub struct RateWindows {
    /// Length of a window, seconds.
    pub window_s: f64,
    /// Most requests in a window, per second.
    pub max_per_s: f64,
    /// Variance of the requests in a window by their mean: 1 where they come at random, more in bursts, less when regular.
    pub dispersion: f64,
    /// Windows by how many requests they have.
    pub requests: Vec<PowerBin>,
}

impl Rates {
    pub(super) fn new() -> Self {
        let clocked = |length_ns| Clocked {
            length_ns,
            number: 0,
            count: 0,
            counts: Powers::new(),
            most: 0,
            sum: 0,
            squares: 0.0,
        };
        Self { clocked: LENGTHS_NS.map(clocked), pauses: Powers::new(), last_ns: None, requests: 0 }
    }

    /// A request comes at `time_ns` after the first one; times never go back.
    #[inline]
    pub(super) fn observe(&mut self, time_ns: u64) {
        self.requests += 1;
        if let Some(last) = self.last_ns.replace(time_ns) {
            self.pauses.add(time_ns - last, 1);
        }
        for clocked in &mut self.clocked {
            clocked.observe(time_ns);
        }
    }

    pub(super) fn finish(mut self) -> Rate {
        let last_ns = self.last_ns.unwrap_or(0);
        for clocked in &mut self.clocked {
            clocked.close(1);
        }
        let windows = self.clocked.iter().filter(|clocked| clocked.number > 0).map(Clocked::report);
        Rate {
            mean_per_s: (last_ns > 0).then(|| self.requests as f64 / (last_ns as f64 / 1e9)),
            pause_ns: self.pauses.finish(1),
            windows: windows.collect(),
        }
    }
}

impl Clocked {
    #[inline]
    fn observe(&mut self, time_ns: u64) {
        // Most requests come in the window of the one before, which needs no division to see.
        if time_ns - self.number * self.length_ns >= self.length_ns {
            let number = time_ns / self.length_ns;
            self.close(number - self.number);
            self.number = number;
        }
        self.count += 1;
    }

    /// The window ends; with it `ended` windows have, all others of them empty.
    fn close(&mut self, ended: u64) {
        self.counts.add(self.count, 1);
        self.counts.add(0, ended - 1);
        self.most = self.most.max(self.count);
        self.sum += self.count;
        self.squares += self.count as f64 * self.count as f64;
        self.count = 0;
    }

    fn report(&self) -> RateWindows {
        let windows = self.counts.total() as f64;
        let seconds = self.length_ns as f64 / 1e9;
        let (mean, squares) = (self.sum as f64 / windows, self.squares / windows);
        RateWindows {
            window_s: seconds,
            max_per_s: self.most as f64 / seconds,
            dispersion: if mean > 0.0 { (squares - mean * mean).max(0.0) / mean } else { 0.0 },
            requests: self.counts.finish(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_without_requests_count() {
        let mut rates = Rates::new();
        for time_ns in [0, 1, 2, 3_500_000_000, 3_600_000_000] {
            rates.observe(time_ns);
        }
        let found = rates.finish();
        assert_eq!(found.windows.len(), 2);
        let second = &found.windows[1];
        assert_eq!((second.window_s, second.max_per_s), (1.0, 3.0));
        let counts: Vec<(u64, u64)> = second.requests.iter().map(|bin| (bin.from, bin.count)).collect();
        assert_eq!(counts, [(0, 2), (1, 0), (2, 2)]);
        // 3, 0, 0, 2: mean 1.25, mean square 3.25.
        assert!((second.dispersion - (3.25 - 1.5625) / 1.25).abs() < 1e-12);
        assert_eq!(found.mean_per_s, Some(5.0 / 3.6));
        assert_eq!(found.pause_ns.iter().map(|bin| bin.count).sum::<u64>(), 4);
    }

    #[test]
    fn times_to_the_end_of_time() {
        let mut rates = Rates::new();
        rates.observe(0);
        rates.observe(u64::MAX);
        assert_eq!(rates.finish().windows.len(), 3);
        assert!(Rates::new().finish().windows.is_empty());
    }
}
