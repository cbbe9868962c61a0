//! Figures at the end of a replay: counts, latencies and lateness.

use flashweir_trace::{LogRecord, Op};
use hdrhistogram::Histogram;
use serde_json::{Map, Value, json};

/// Longest time that the histograms resolve, ns: over an hour.
const LONGEST_NS: u64 = 1 << 42;

/// Times from 1 ns on, to three digits.
fn histogram() -> Option<Histogram<u64>> {
    Histogram::new_with_bounds(1, LONGEST_NS, 3).ok()
}

/// A series of times.
#[derive(Debug)]
struct Times {
    histogram: Option<Histogram<u64>>,
    sum_ns: u128,
    max_ns: u64,
    count: u64,
}

impl Default for Times {
    fn default() -> Self {
        Self { histogram: histogram(), sum_ns: 0, max_ns: 0, count: 0 }
    }
}

impl Times {
    fn add(&mut self, time_ns: u64) {
        self.count += 1;
        self.sum_ns += u128::from(time_ns);
        self.max_ns = self.max_ns.max(time_ns);
        if let Some(histogram) = &mut self.histogram {
            histogram.saturating_record(time_ns);
        }
    }

    /// Microseconds; `null` where there is none.
    fn json(&self) -> Value {
        if self.count == 0 {
            return Value::Null;
        }
        let us = |ns: u64| ns as f64 / 1000.0;
        let at =
            |share: f64| self.histogram.as_ref().map(|all| us(all.value_at_quantile(share).min(self.max_ns)));
        json!({
            "mean": self.sum_ns as f64 / self.count as f64 / 1000.0,
            "p50": at(0.5),
            "p99": at(0.99),
            "p999": at(0.999),
            "max": us(self.max_ns),
        })
    }
}

/// Counts over the records of a replay.
#[derive(Debug, Default)]
pub(super) struct Tally {
    latency: [Times; Op::COUNT],
    late: Times,
    bytes: [u64; Op::COUNT],
    first_due_ns: Option<u64>,
    last_due_ns: u64,
    first_issue_ns: Option<u64>,
    last_issue_ns: u64,
    end_ns: u64,
}

impl Tally {
    pub(super) fn add(&mut self, record: &LogRecord) {
        let op = record.request.op as usize;
        let (issue_ns, end_ns) = (record.issue_ns.unwrap_or(0), record.completion_ns.unwrap_or(0));
        self.latency[op].add(end_ns.saturating_sub(issue_ns));
        self.bytes[op] += record.request.bytes();
        self.first_issue_ns = Some(self.first_issue_ns.map_or(issue_ns, |first| first.min(issue_ns)));
        self.last_issue_ns = self.last_issue_ns.max(issue_ns);
        self.end_ns = self.end_ns.max(end_ns);
        if let Some(due_ns) = record.due_ns {
            self.late.add(issue_ns.saturating_sub(due_ns));
            self.first_due_ns = Some(self.first_due_ns.map_or(due_ns, |first| first.min(due_ns)));
            self.last_due_ns = self.last_due_ns.max(due_ns);
        }
    }

    pub(super) fn requests(&self) -> u64 {
        self.latency.iter().map(|times| times.count).sum()
    }

    /// Time from the beginning of the replay to the last completion, s.
    pub(super) fn elapsed_s(&self) -> f64 {
        self.end_ns as f64 / 1e9
    }

    /// Counts and times; docs/reference/result.md, "Replays".
    pub(super) fn json(&self) -> Value {
        let elapsed_s = self.elapsed_s();
        let rate = |count: u64| if elapsed_s > 0.0 { count as f64 / elapsed_s } else { 0.0 };
        let mut latency = Map::new();
        let mut bytes = Map::new();
        let mut requests = Map::new();
        for op in Op::shown(self.latency.each_ref().map(|times| times.count)) {
            let name = op.name();
            latency.insert(name.into(), self.latency[op as usize].json());
            bytes.insert(name.into(), json!(self.bytes[op as usize]));
            requests.insert(name.into(), json!(self.latency[op as usize].count));
        }
        let span = |first: Option<u64>, last: u64| first.map(|first| (last - first) as f64 / 1e9);
        let moved = [Op::Read, Op::Write, Op::Append].map(|op| self.bytes[op as usize]).iter().sum();
        json!({
            "requests": self.requests(),
            "by_op": requests,
            "bytes": bytes,
            "elapsed_s": elapsed_s,
            "due_span_s": span(self.first_due_ns, self.last_due_ns),
            "issue_span_s": span(self.first_issue_ns, self.last_issue_ns),
            "iops": rate(self.requests()),
            "mb_per_s": rate(moved) / 1e6,
            "lateness_us": self.late.json(),
            "latency_us": latency,
        })
    }
}
