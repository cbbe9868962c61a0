//! Statistics of the host's side: requests that have completed by the present, whichever time path worked them out.

use flashweir_ssd::{Drain, Latencies, LatencyParts, Simulation, Stats, Streams, Times};
use flashweir_trace::Op;
use serde::{Deserialize, Serialize};

use super::Completion;
use crate::warmup::{Before, since};

/// Completed requests since the drive was opened or its statistics were reset.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Counts {
    /// The first request that counts.
    first: u64,
    requests: [u64; Op::COUNT],
    bytes: [u64; Op::COUNT],
    latencies: Latencies,
    streams: Streams,
    parts: LatencyParts,
    /// The drive, and the present, when the statistics were reset.
    before: Option<(Before, u64)>,
}

impl Counts {
    /// Counts from request `first` on, from the present.
    pub(super) fn from(first: u64, now_ns: u64, simulation: &Simulation) -> Self {
        let before = Some((Before::of(simulation), now_ns));
        Self { first, before, ..Self::default() }
    }

    pub(super) fn add(&mut self, done: &Completion) {
        if done.number < self.first {
            return;
        }
        let (stream, op, latency_ns) = (done.stream, done.op, done.latency_ns());
        self.requests[op as usize] += 1;
        self.bytes[op as usize] += done.bytes();
        self.latencies.add(stream, op, [(latency_ns, 1)], latency_ns.into(), latency_ns);
        self.streams.record(stream, op, done.bytes(), done.issue_ns, done.end_ns);
        if let Some(parts) = &done.parts {
            self.parts.add(op, parts);
        }
    }

    /// The statistics at the present.
    pub(super) fn stats(&self, simulation: &Simulation, now_ns: u64) -> Stats {
        let Times { dies, buses, flash_ns, lock_step, interface, limits } = simulation.times();
        let stats = simulation.stats();
        let end_ns = stats.elapsed_ns();
        let drain = stats.drain.map(|drain| Drain { time_ns: end_ns.saturating_sub(now_ns), ..drain });
        let mut stats = Stats {
            dies,
            buses,
            flash_ns,
            lock_step,
            interface,
            limits,
            simulated_ns: now_ns,
            drain,
            ..stats
        };
        if let Some((before, start_ns)) = &self.before {
            stats = since(&stats, before, *start_ns);
        }
        stats.counters.requests = self.requests;
        stats.counters.bytes = self.bytes;
        stats.latencies = self.latencies.clone();
        stats.streams = self.streams.clone();
        if let Some(parts) = &mut stats.parts {
            *parts = self.parts.clone();
        }
        stats
    }
}
