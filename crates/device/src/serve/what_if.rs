//! A what-if: two forks of the drive get the requests that come, one with other settings and one with those that it has, until the
//! drive has completed so many. Both then complete them, so that what is compared is the same requests, on the same state.

use flashweir_run::{Completion, Drive};
use flashweir_ssd::FlashCounts;
use flashweir_trace::{Op, Request};
use hdrhistogram::Histogram;
use serde_json::{Map, Value, json};

/// Percentiles that are reported.
const PERCENTILES: [(&str, f64); 4] = [("p50", 50.0), ("p99", 99.0), ("p99.9", 99.9), ("max", 100.0)];
/// Latencies above this are recorded as this: an hour, ns.
const MAX_RECORDED_NS: u64 = 3_600_000_000_000;

/// One of the two forks.
struct Side {
    drive: Drive,
    /// The first request that counts.
    first: u64,
    /// By operation, ns.
    latencies: [Histogram<u64>; Op::COUNT],
    /// Requests completed, by operation: their number, and the sum of their latencies, ns.
    sums: [(u64, u64); Op::COUNT],
    before: FlashCounts,
}

impl Side {
    fn new(drive: Drive) -> Self {
        let histogram =
            || Histogram::new_with_bounds(1, MAX_RECORDED_NS, 3).expect("bounds and digits are valid");
        Self {
            first: drive.submitted(),
            latencies: std::array::from_fn(|_| histogram()),
            sums: [(0, 0); Op::COUNT],
            before: drive.counters().flash(),
            drive,
        }
    }

    fn submit(&mut self, request: &Request, waited_ns: u64) -> Result<(), String> {
        let time_ns = request.time_ns.max(self.drive.now_ns());
        let taken = self.drive.submit_after(&[Request { time_ns, ..*request }], waited_ns);
        taken.and_then(|_| self.drive.advance_to(time_ns)).map_err(|error| error.to_string())?;
        self.poll();
        Ok(())
    }

    fn poll(&mut self) {
        while let Some(done) = self.drive.next_completion() {
            // Requests that were outstanding before the fork are not compared.
            if done.number >= self.first {
                let op = done.op as usize;
                self.latencies[op].saturating_record(done.latency_ns());
                self.sums[op] = (self.sums[op].0 + 1, self.sums[op].1 + done.latency_ns());
            }
        }
    }

    fn drain(&mut self) -> Result<(), String> {
        self.drive.drain_while(&mut || true).map_err(|error| error.to_string())?;
        self.poll();
        Ok(())
    }

    fn json(&self) -> Value {
        let mut latencies = Map::new();
        for op in Op::ALL {
            let (count, sum_ns) = self.sums[op as usize];
            if count > 0 {
                let mut found = json!({"count": count, "mean": sum_ns as f64 / count as f64 / 1e3});
                for (name, at) in PERCENTILES {
                    found[name] = json!(self.latencies[op as usize].value_at_percentile(at) as f64 / 1e3);
                }
                latencies.insert(op.name().into(), found);
            }
        }
        json!({"latency_us": latencies, "flash": self.drive.counters().flash().since(&self.before)})
    }
}

/// See the module.
pub(super) struct WhatIf {
    /// Its number, the first request that counts: several may follow each other.
    pub(super) id: u64,
    /// Requests to compare.
    count: u64,
    /// Requests that were submitted, and completed by the live drive.
    submitted: u64,
    completed: u64,
    /// A fork with the settings of the live drive, and the one with others.
    same: Side,
    changed: Side,
    /// Why a fork can't go on.
    failed: Option<String>,
}

impl WhatIf {
    /// Begins: `same` and `changed` have the state of the live drive.
    pub(super) fn new(same: Drive, changed: Drive, count: u64) -> Self {
        let id = same.submitted();
        let (same, changed) = (Side::new(same), Side::new(changed));
        Self { id, count, submitted: 0, completed: 0, same, changed, failed: None }
    }

    /// The live drive took a request.
    pub(super) fn submit(&mut self, request: &Request, waited_ns: u64) {
        if self.submitted == self.count || self.failed.is_some() {
            return;
        }
        self.submitted += 1;
        let same = self.same.submit(request, waited_ns);
        self.failed = same.and_then(|()| self.changed.submit(request, waited_ns)).err();
    }

    /// A request of the live drive is complete.
    pub(super) fn completed(&mut self, done: &Completion) {
        self.completed += u64::from((self.id..self.id + self.submitted).contains(&done.number));
    }

    /// True if there is nothing to wait for.
    pub(super) fn is_over(&self) -> bool {
        self.completed == self.count || self.failed.is_some()
    }

    /// Ends it. Returns the comparison of the requests that came, or why there is none.
    pub(super) fn finish(mut self) -> Result<Value, String> {
        if self.failed.is_none() && self.completed == 0 {
            return Err("no request was completed meanwhile; expected a client at work".into());
        }
        let failed = self.failed.take();
        if let Some(error) = failed.or_else(|| self.same.drain().and_then(|()| self.changed.drain()).err()) {
            return Err(format!("the fork can't go on: {error}"));
        }
        Ok(json!({"requests": self.submitted, "live": self.same.json(), "fork": self.changed.json()}))
    }
}
