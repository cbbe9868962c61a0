//! A what-if: a fork of the drive that gets the same requests under other settings, until both have completed so many.

use flashweir_run::{Completion, Drive};
use flashweir_ssd::FlashCounts;
use flashweir_trace::{Op, Request};
use hdrhistogram::Histogram;
use serde_json::{Map, Value, json};

/// Percentiles that are reported.
const PERCENTILES: [(&str, f64); 4] = [("p50", 50.0), ("p99", 99.0), ("p99.9", 99.9), ("max", 100.0)];

/// One of the two drives.
#[derive(Clone, Debug)]
struct Side {
    /// By operation, ns.
    latencies: [Histogram<u64>; Op::COUNT],
    /// Requests completed, by operation: their number, and the sum of their latencies, ns.
    sums: [(u64, u64); Op::COUNT],
    before: FlashCounts,
    /// Flash operations, once all requests are complete.
    flash: Option<FlashCounts>,
}

impl Side {
    fn new(drive: &Drive) -> Self {
        let histogram = || Histogram::new(3).expect("three digits are a valid precision");
        Self {
            latencies: std::array::from_fn(|_| histogram()),
            sums: [(0, 0); Op::COUNT],
            before: drive.counters().flash(),
            flash: None,
        }
    }

    fn add(&mut self, done: &Completion) {
        let op = done.op as usize;
        self.latencies[op].saturating_record(done.latency_ns());
        self.sums[op] = (self.sums[op].0 + 1, self.sums[op].1 + done.latency_ns());
    }

    fn end(&mut self, drive: &Drive) {
        self.flash.get_or_insert_with(|| drive.counters().flash().since(&self.before));
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
        json!({"latency_us": latencies, "flash": self.flash})
    }
}

/// See the module.
pub(super) struct WhatIf {
    /// Its number: several may follow each other.
    pub(super) id: u64,
    fork: Drive,
    /// The first request that counts, and how many do.
    first: u64,
    count: u64,
    /// Requests that were submitted, and completed by the live drive.
    submitted: u64,
    completed: u64,
    live: Side,
    forked: Side,
    /// Why the fork can't go on.
    failed: Option<String>,
}

impl WhatIf {
    /// Begins: `fork` has the state of `drive`.
    pub(super) fn new(id: u64, drive: &Drive, fork: Drive, count: u64) -> Self {
        let (live, forked) = (Side::new(drive), Side::new(&fork));
        let first = drive.submitted();
        Self { id, fork, first, count, submitted: 0, completed: 0, live, forked, failed: None }
    }

    /// The live drive took a request.
    pub(super) fn submit(&mut self, number: u64, request: &Request, waited_ns: u64) {
        if self.submitted == self.count || self.failed.is_some() {
            return;
        }
        debug_assert!(number >= self.first);
        self.submitted += 1;
        let time_ns = request.time_ns.max(self.fork.now_ns());
        let taken = self.fork.submit_after(&[Request { time_ns, ..*request }], waited_ns);
        let stepped = taken.and_then(|_| self.fork.advance_to(time_ns));
        self.poll();
        self.failed = stepped.err().map(|error| error.to_string());
    }

    /// A request of the live drive is complete.
    pub(super) fn completed(&mut self, done: &Completion, drive: &Drive) {
        if (self.first..self.first + self.submitted).contains(&done.number) {
            self.completed += 1;
            self.live.add(done);
            if self.completed == self.count {
                self.live.end(drive);
            }
        }
    }

    fn poll(&mut self) {
        while let Some(done) = self.fork.next_completion() {
            if done.number >= self.first {
                self.forked.add(&done);
            }
        }
    }

    /// True if there is nothing to wait for.
    pub(super) fn is_over(&self) -> bool {
        self.completed == self.count || self.failed.is_some()
    }

    /// Ends it. Returns the comparison of the requests that came, or why there is none.
    pub(super) fn finish(mut self, drive: &Drive) -> Result<Value, String> {
        if let Some(error) = self.failed {
            return Err(format!("the fork can't go on: {error}"));
        }
        if self.completed == 0 {
            return Err("no request was completed meanwhile; expected a client at work".into());
        }
        self.fork.drain_while(&mut || true).map_err(|error| format!("the fork can't go on: {error}"))?;
        self.poll();
        self.live.end(drive);
        self.forked.end(&self.fork);
        Ok(json!({"requests": self.completed, "live": self.live.json(), "fork": self.forked.json()}))
    }
}
