//! A run in windows of equal numbers of requests: the input of the methods, and the series of the result.
//!
//! The length of a run need not be known: when the windows are full, each joins its neighbour and the next ones are
//! twice as large. A request belongs to the window of its place in the workload, whenever it ends; a flash operation
//! belongs to the window in which it was made. A window begins when its first request enters.

use flashweir_ssd::{Completion, Stats};
use flashweir_trace::Op;
use serde_json::{Value, json};

use super::methods::{BATCH, mser5, steady};
use crate::quotient::ratio;

/// Windows at most. Twice the batch divides it, so that joined batches are batches of joined windows.
pub(super) const MOST: usize = 1000;
/// Rounds that a run must fill for the steady-state rule, which are those of the specification at most.
const ROUNDS: usize = 25;

#[derive(Clone, Debug, Default)]
struct Window {
    start_ns: u64,
    /// Pages programmed before it.
    programs: u64,
    written_bytes: u64,
    requests: [u64; Op::COUNT],
    latency_ns: [u128; Op::COUNT],
}

impl Window {
    fn requests(&self) -> u64 {
        self.requests.iter().sum()
    }

    /// Over all its requests, ns.
    fn mean_latency_ns(&self) -> f64 {
        self.latency_ns.iter().sum::<u128>() as f64 / self.requests() as f64
    }

    fn join(&mut self, next: &Self) {
        self.written_bytes += next.written_bytes;
        for op in 0..Op::ALL.len() {
            self.requests[op] += next.requests[op];
            self.latency_ns[op] += next.latency_ns[op];
        }
    }
}

/// The windows of a run.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    /// Requests of a window.
    size: u64,
    /// The first request of the last one.
    last: u64,
    all: Vec<Window>,
}

impl Windows {
    pub(super) fn new() -> Self {
        Self { size: 1, last: 0, all: Vec::new() }
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    pub(super) fn are_full(&self) -> bool {
        self.all.len() == MOST
    }

    /// Joins every two neighbours.
    pub(super) fn join(&mut self) {
        self.size *= 2;
        self.all = self
            .all
            .chunks(2)
            .map(|pair| {
                let mut joined = pair[0].clone();
                pair[1..].iter().for_each(|next| joined.join(next));
                joined
            })
            .collect();
    }

    /// A window begins at `start_ns`, after so many programs.
    pub(super) fn begin(&mut self, start_ns: u64, programs: u64) {
        self.last = self.all.len() as u64 * self.size;
        self.all.push(Window { start_ns, programs, ..Window::default() });
    }

    /// A request of a window that has begun is done.
    #[inline]
    pub(super) fn book(&mut self, completion: &Completion) {
        // Mostly the last one: no division then.
        let at = match completion.number {
            number if number >= self.last => self.all.len() - 1,
            number => (number / self.size) as usize,
        };
        let window = &mut self.all[at];
        let op = completion.op as usize;
        window.requests[op] += 1;
        window.latency_ns[op] += u128::from(completion.latency_ns);
        if completion.op.writes() {
            window.written_bytes += completion.bytes();
        }
    }

    /// Those that have all their requests: all but the last one, maybe.
    fn complete(&self) -> &[Window] {
        let short = self.all.last().is_some_and(|last| last.requests() < self.size);
        &self.all[..self.all.len() - usize::from(short)]
    }

    /// Number of windows that MSER-5 removes.
    pub(super) fn mser5(&self) -> Option<usize> {
        let means: Vec<f64> = self.complete().iter().map(Window::mean_latency_ns).collect();
        mser5(&means)
    }

    /// Number of windows before the steady state of a run that ended at `end_ns`. A round has the most batches that
    /// still give 25 rounds or more. Batches left at the end are ignored.
    pub(super) fn steady(&self, end_ns: u64) -> Option<usize> {
        let complete = self.complete().len();
        let round = complete / BATCH / ROUNDS * BATCH;
        if round == 0 {
            return None;
        }
        let start = |window: usize| self.all.get(window).map_or(end_ns, |window| window.start_ns);
        let rate = |round_at: usize| {
            let requests = self.size as f64 * round as f64;
            requests / (start((round_at + 1) * round) - start(round_at * round)) as f64
        };
        let rates: Vec<f64> = (0..complete / round).map(rate).collect();
        Some(steady(&rates)? * round)
    }

    /// The series of a run that left `stats` behind.
    pub(super) fn series(&self, stats: &Stats, page_bytes: u64) -> Value {
        // The drain is of no window.
        let drained = stats.drain.map_or(0, |drain| drain.flash.programs);
        let last = (stats.simulated_ns, stats.counters.flash().programs - drained);
        let begun = self.all.iter().map(|window| (window.start_ns, window.programs));
        let ends: Vec<(u64, u64)> = begun.skip(1).chain([last]).take(self.all.len()).collect();
        let seconds = |ns: u64| ns as f64 / 1e9;
        let each = |of: &dyn Fn(&Window, u64, u64) -> Value| -> Value {
            self.all.iter().zip(&ends).map(|(window, (end, programs))| of(window, *end, *programs)).collect()
        };
        let latency = |ops: &[Op]| {
            each(&|window, _, _| {
                let time_ns: u128 = ops.iter().map(|op| window.latency_ns[*op as usize]).sum();
                let count: u64 = ops.iter().map(|op| window.requests[*op as usize]).sum();
                ratio(time_ns as f64 / 1000.0, count as f64)
            })
        };
        json!({
            "requests_per_window": self.size,
            "end_s": each(&|_, end, _| json!(seconds(end))),
            "requests": each(&|window, _, _| json!(window.requests())),
            "iops": each(&|window, end, _| ratio(window.requests() as f64, seconds(end - window.start_ns))),
            "latency_us": {"read": latency(&[Op::Read]), "write": latency(&[Op::Write, Op::Append])},
            "write_amplification": each(&|window, _, programs| {
                ratio(((programs - window.programs) * page_bytes) as f64, window.written_bytes as f64)
            }),
        })
    }
}
