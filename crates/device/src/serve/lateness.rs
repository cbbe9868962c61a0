//! Lateness of completions: when a reply was handed to the socket, after its due wall time.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde_json::{Value, json};

use super::clock::ClockMode;
use super::spec::MAX_DILATE;

/// Lateness that is always allowed.
const ALLOWED: Duration = Duration::from_micros(50);
/// Share of the latency in wall time that is allowed, if that is more.
const ALLOWED_SHARE: f64 = 0.05;
/// Share of completions in time from which on a run is valid.
const VALID_SHARE: f64 = 0.99;
/// Factor from which on slower time is no way to answer in time: the latencies that it should lengthen are next to nothing.
const MAX_SLOWER: f64 = 1000.0;
/// Largest number that a histogram tells from larger ones: 18 minutes in ns.
const MAX_RECORDED: u64 = 1 << 40;
/// Percentiles that are reported.
const PERCENTILES: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 100.0];

/// Lateness of all completions, ns.
#[derive(Clone, Debug)]
pub(super) struct Lateness {
    histogram: Histogram<u64>,
    late: u64,
    /// Sum of what late completions were late by, over their allowance: how much slower time should go.
    worst_share: Histogram<u64>,
}

impl Default for Lateness {
    fn default() -> Self {
        // With bounds: one that grows takes larger values for its largest so far when it saturates.
        let histogram =
            || Histogram::new_with_bounds(1, MAX_RECORDED, 3).expect("bounds and digits are valid");
        Self { histogram: histogram(), late: 0, worst_share: histogram() }
    }
}

impl Lateness {
    /// A completion `late` after it was due, of a request whose latency was `latency`, both in wall time.
    pub(super) fn add(&mut self, late: Duration, latency: Duration) {
        self.histogram.saturating_record(late.as_nanos() as u64);
        let allowed = latency.mul_f64(ALLOWED_SHARE).max(ALLOWED);
        self.late += u64::from(late > allowed);
        // Hundredths of the allowance that grows with dilation.
        let allowed_ns = latency.mul_f64(ALLOWED_SHARE).as_nanos().max(1);
        self.worst_share.saturating_record((late.as_nanos() * 100 / allowed_ns).min(1 << 40) as u64);
    }

    /// Completions so far.
    pub(super) fn completions(&self) -> u64 {
        self.histogram.len()
    }

    /// The run in a sentence, and whether its times are valid.
    pub(super) fn verdict(&self, mode: ClockMode, dilate: f64) -> (String, bool) {
        if mode == ClockMode::Virtual {
            return ("valid: virtual time, latencies are only simulated".into(), true);
        }
        let completions = self.completions();
        if completions == 0 {
            return ("valid: no request was completed".into(), true);
        }
        let in_time = 1.0 - self.late as f64 / completions as f64;
        if in_time >= VALID_SHARE {
            return (format!("valid: {:.1}% of completions in time", in_time * 100.0), true);
        }
        let factor = (self.worst_share.value_at_quantile(VALID_SHARE) as f64 / 100.0).max(2.0);
        let (advised, late) = ((dilate * factor).ceil(), (1.0 - in_time) * 100.0);
        if factor > MAX_SLOWER || advised > MAX_DILATE {
            let why = "requests that take next to no simulated time come late, which no --dilate helps";
            return (
                format!(
                    "not valid: {late:.1}% late: {why}; try --clock virtual, or a machine that does less"
                ),
                false,
            );
        }
        (format!("not valid: {late:.1}% late, try --dilate {advised:.0}"), false)
    }

    /// Counts, percentiles and the histogram in powers of two.
    pub(super) fn report(&self) -> Value {
        let us = |ns: u64| ns as f64 / 1000.0;
        let names = ["p50", "p90", "p99", "p99.9", "max"];
        let mut found = json!({"completions": self.completions(), "late": self.late});
        let percentiles = names.iter().zip(PERCENTILES);
        let percentiles = percentiles
            .map(|(name, at)| ((*name).to_owned(), json!(us(self.histogram.value_at_percentile(at)))));
        found["lateness_us"] = percentiles.collect::<serde_json::Map<_, _>>().into();
        let mut before = 0;
        let mut bins = Vec::new();
        for bin in self.histogram.iter_log(1000, 2.0) {
            let count = bin.count_since_last_iteration();
            let to = bin.value_iterated_to();
            bins.push(json!({"from_us": us(before), "to_us": us(to + 1), "count": count}));
            before = to + 1;
        }
        found["histogram"] = bins.into();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_says_what_to_do() {
        let us = Duration::from_micros;
        let mut lateness = Lateness::default();
        for _ in 0..992 {
            lateness.add(us(49), us(80));
        }
        // A twentieth of a long latency is allowed.
        lateness.add(us(99), us(2000));
        assert_eq!(
            lateness.verdict(ClockMode::Paced, 1.0),
            ("valid: 100.0% of completions in time".into(), true)
        );
        for _ in 0..31 {
            lateness.add(us(64), us(80));
        }
        let (verdict, valid) = lateness.verdict(ClockMode::Paced, 1.0);
        assert_eq!((verdict.as_str(), valid), ("not valid: 3.0% late, try --dilate 16", false));
        let report = lateness.report();
        assert_eq!(report["late"], 31);
        let us = |name: &str| report["lateness_us"][name].as_f64().expect("a time").round();
        assert_eq!((us("p50"), us("p99"), us("max")), (49.0, 64.0, 99.0));
        assert!(lateness.verdict(ClockMode::Virtual, 1.0).1);
        // Answers from memory, in no simulated time, are not longer in slower time.
        for _ in 0..31 {
            lateness.add(Duration::from_micros(600), Duration::from_nanos(10));
        }
        let (verdict, _) = lateness.verdict(ClockMode::Paced, 3.0);
        assert!(
            verdict.starts_with("not valid: 5.9% late: ") && verdict.contains("no --dilate helps"),
            "{verdict}"
        );
    }
}
