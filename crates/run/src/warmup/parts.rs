//! A run in parts between the points at which it can be cut, with the data for the statistics of the rest after a cut.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use flashweir_ssd::{Completion, Counters, Latencies, LatencyParts, Simulation, Stats, Streams, Times};
use flashweir_trace::Op;
use serde::{Deserialize, Serialize};

use super::histogram::{Dense, Sparse, bucket};

/// Completions of earlier parts that wait to be sorted in together; few in tests, so that some are.
const MAX_LATE: usize = if cfg!(test) { 16 } else { 4096 };

/// Where parts begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cuts {
    /// Every so many requests.
    Every(u64),
    /// At the first request and after so many.
    At(u64),
}

impl Cuts {
    /// The part that a request is of.
    #[inline]
    fn part_of(self, number: u64) -> usize {
        match self {
            Cuts::Every(size) => (number / size) as usize,
            Cuts::At(cut) => usize::from(cut > 0 && number >= cut),
        }
    }

    /// True if a part begins with this request.
    pub(super) fn begins_at(self, number: u64) -> bool {
        match self {
            Cuts::Every(size) => number.is_multiple_of(size),
            Cuts::At(cut) => number == 0 || number == cut,
        }
    }

    /// The first request after this one with which a part begins.
    pub(super) fn next_after(self, number: u64) -> u64 {
        match self {
            Cuts::Every(size) => (number / size + 1) * size,
            Cuts::At(cut) if number < cut => cut,
            Cuts::At(_) => u64::MAX,
        }
    }
}

/// Stream and operation.
type Series = (u16, Op);

/// A run where statistics begin.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Before {
    counters: Counters,
    times: Times,
    /// Pages in the write buffer: their programs come later.
    buffered_pages: u64,
}

impl Before {
    /// The run at the present.
    pub(crate) fn of(simulation: &Simulation) -> Self {
        let (counters, times) = (simulation.counters(), simulation.times());
        Self { counters, times, buffered_pages: simulation.buffered_pages() }
    }
}

#[derive(Clone, Debug)]
struct Part {
    /// When its first request entered, ns.
    start_ns: u64,
    /// The run up to then.
    before: Before,
    /// Its own requests and their bytes, by operation.
    requests: [u64; Op::COUNT],
    bytes: [u64; Op::COUNT],
    streams: Streams,
    latencies: BTreeMap<(u16, u8), Sparse>,
    latency_parts: LatencyParts,
}

impl Part {
    fn add(&mut self, (stream, op): Series, latencies: Sparse) {
        match self.latencies.entry((stream, op as u8)) {
            Entry::Vacant(place) => _ = place.insert(latencies),
            Entry::Occupied(mut place) => place.get_mut().add(&latencies),
        }
    }

    fn join(&mut self, next: Self) {
        for op in 0..Op::ALL.len() {
            self.requests[op] += next.requests[op];
            self.bytes[op] += next.bytes[op];
        }
        self.latency_parts.join(&next.latency_parts);
        self.streams.join(&next.streams);
        for ((stream, op), latencies) in next.latencies {
            self.add((stream, Op::ALL[usize::from(op)]), latencies);
        }
    }
}

/// The parts of a run.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    pub(super) cuts: Cuts,
    /// The first request of the last one.
    last: u64,
    all: Vec<Part>,
    /// Latencies of the last part: one an operation and stream.
    growing: Vec<Dense>,
    /// Completions of earlier parts, until they are sorted in.
    late: Vec<Completion>,
}

impl Parts {
    pub(super) fn new(cuts: Cuts) -> Self {
        Self { cuts, last: 0, all: Vec::new(), growing: Vec::new(), late: Vec::new() }
    }

    /// The run is over: from now on the statistics are there.
    pub(super) fn finish(&mut self) {
        self.end();
        self.sort_in();
    }

    /// Ends the last part.
    pub(super) fn end(&mut self) {
        let Some(last) = self.all.last_mut() else { return };
        for (at, dense) in self.growing.iter_mut().enumerate() {
            let latencies = dense.take();
            if latencies != Sparse::default() {
                last.add(((at / Op::ALL.len()) as u16, Op::ALL[at % Op::ALL.len()]), latencies);
            }
        }
    }

    /// Joins every two neighbours, of which there are an even number, all ended.
    pub(super) fn join(&mut self) {
        if let Cuts::Every(size) = &mut self.cuts {
            *size *= 2;
        }
        let mut parts = std::mem::take(&mut self.all).into_iter();
        while let Some(mut part) = parts.next() {
            if let Some(next) = parts.next() {
                part.join(next);
            }
            self.all.push(part);
        }
    }

    /// A part begins with request `number` at `start_ns`.
    pub(super) fn begin(&mut self, number: u64, start_ns: u64, before: Before) {
        self.last = number;
        let (requests, bytes) = ([0; Op::COUNT], [0; Op::COUNT]);
        self.all.push(Part {
            start_ns,
            before,
            requests,
            bytes,
            streams: Streams::default(),
            latencies: BTreeMap::new(),
            latency_parts: LatencyParts::default(),
        });
    }

    /// A request is done. Its part is the last one or an earlier one.
    #[inline]
    pub(super) fn book(&mut self, completion: &Completion) {
        let late = completion.number < self.last;
        let at = if late { self.cuts.part_of(completion.number) } else { self.all.len() - 1 };
        let part = &mut self.all[at];
        part.requests[completion.op as usize] += 1;
        part.bytes[completion.op as usize] += completion.bytes();
        part.latency_parts.add(completion.op, &completion.parts);
        let Completion { stream, op, issue_ns, latency_ns, .. } = *completion;
        part.streams.record(stream, op, completion.bytes(), issue_ns, issue_ns + latency_ns);
        if late {
            self.late.push(*completion);
            if self.late.len() == MAX_LATE {
                self.sort_in();
            }
            return;
        }
        let series = usize::from(completion.stream) * Op::ALL.len() + completion.op as usize;
        if series >= self.growing.len() {
            self.growing.resize_with(series + 1, Dense::default);
        }
        self.growing[series].record(completion.latency_ns);
    }

    /// Sorts in the requests that ended after their part.
    fn sort_in(&mut self) {
        let cuts = self.cuts;
        let place = |late: &Completion| (cuts.part_of(late.number), late.stream, late.op as u8);
        self.late.sort_unstable_by_key(|late| (place(late), bucket(late.latency_ns)));
        for same in self.late.chunk_by(|a, b| place(a) == place(b)) {
            let latencies = Sparse::of_sorted(same.iter().map(|late| late.latency_ns));
            let Completion { number, stream, op, .. } = same[0];
            self.all[cuts.part_of(number)].add((stream, op), latencies);
        }
        self.late.clear();
    }

    /// Start of the part that begins with a request, ns.
    pub(super) fn start_ns(&self, number: u64) -> u64 {
        self.all[self.cuts.part_of(number)].start_ns
    }

    /// Latencies from request `number` on, with which a part begins.
    pub(super) fn latencies(&self, number: u64) -> Latencies {
        let mut latencies = Latencies::default();
        for part in self.all.iter().skip(self.cuts.part_of(number)) {
            for ((stream, op), counts) in &part.latencies {
                counts.add_to(&mut latencies, *stream, Op::ALL[usize::from(*op)]);
            }
        }
        latencies
    }

    /// The statistics of what begins with request `number`, of a run that left `whole` behind.
    pub(super) fn rest(&self, number: u64, whole: &Stats) -> Stats {
        let rest = &self.all[self.cuts.part_of(number)..];
        let mut stats =
            Stats { latencies: self.latencies(number), ..since(whole, &rest[0].before, rest[0].start_ns) };
        for part in rest {
            for op in 0..Op::ALL.len() {
                stats.counters.requests[op] += part.requests[op];
                stats.counters.bytes[op] += part.bytes[op];
            }
            stats.streams.join(&part.streams);
            if let Some(parts) = &mut stats.parts {
                parts.join(&part.latency_parts);
            }
        }
        stats
    }
}

/// Difference between the statistics of a run and its state `before`, at `start_ns`. Requests are the caller's to
/// count: their numbers, latencies, streams and parts of latencies are left empty.
pub(crate) fn since(whole: &Stats, before: &Before, start_ns: u64) -> Stats {
    let Before { counters, times, buffered_pages } = before;
    let mut stats = Stats {
        counters: whole.counters.since(counters),
        latencies: Latencies::default(),
        streams: Streams::default(),
        parts: whole.parts.is_some().then(LatencyParts::default),
        sched: whole.sched,
        dies: whole.dies.iter().zip(&times.dies).map(|(all, before)| all.since(before)).collect(),
        buses: whole.buses.iter().zip(&times.buses).map(|(all, before)| all.since(before)).collect(),
        flash_ns: flash_time_since(&whole.flash_ns, &times.flash_ns),
        collections: whole.collections.clone(),
        lock_step: whole.lock_step.zip(times.lock_step).map(|(all, before)| all.since(&before)),
        interface: whole
            .interface
            .as_ref()
            .zip(times.interface.as_ref())
            .map(|(all, before)| all.since(before)),
        limits: whole.limits.as_ref().zip(times.limits.as_ref()).map(|(all, before)| all.since(before)),
        simulated_ns: whole.simulated_ns - start_ns,
        drain: whole.drain,
        carried_pages: *buffered_pages,
    };
    (stats.counters.requests, stats.counters.bytes) = Default::default();
    stats
}

/// Flash time of each tenant that was added.
fn flash_time_since(all: &[u64], before: &[u64]) -> Vec<u64> {
    all.iter().enumerate().map(|(tenant, all)| all - before.get(tenant).unwrap_or(&0)).collect()
}
