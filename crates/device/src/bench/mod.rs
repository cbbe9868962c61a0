//! Benchmarks: writes of known workloads, one after the other, each timed on its own.
//!
//! A workload is run as a whole: the drive is brought into its state, then the writes are made synchronously with no
//! pauses in between, so that work in the background gets no time of its own, and graded (`score.rs`). The list of
//! workloads is in `suites.rs`. The caller combines the results of several workloads.

mod score;
mod suites;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::{Duration, Instant};

use flashweir_run::{Phase, Progress};
use flashweir_trace::generate::{Generator, Spec};
use flashweir_trace::{LogRecord, Op, Request, SECTOR_BYTES};
use serde::{Deserialize, Serialize};

pub use score::{Grade, REFERENCE_NS, REFERENCE_NS_A_BYTE, Responses, STRETCH_NS, Sample, TAIL, grade};
pub use suites::{Suite, Workload, scale};

use crate::{Error, OpenOptions, Target, Timing, open};

/// Time for a drive to settle between what prepares it and what counts, ns.
const SETTLE_NS: u64 = 3_000_000_000;
/// Requests that are generated at a time.
const BATCH: usize = 1024;
/// Requests between two looks at the clock, and time between two calls of the caller.
const LOOK: u64 = 32;
const TELL_EVERY: Duration = Duration::from_millis(100);
/// Sectors that one TRIM gives back: 64 MiB.
const TRIM_SECTORS: u64 = 1 << 17;
/// Sectors of a write that fills: 128 KiB.
const FILL_SECTORS: u64 = 256;

/// State of a drive before a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Without data: a simulated drive is new, all data of a real one is discarded (TRIM).
    #[default]
    Empty,
    /// Written once from its first sector to its last.
    Filled,
    /// As it is.
    AsIs,
}

/// Result of a workload on a drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The workload.
    #[serde(flatten)]
    pub workload: Workload,
    /// Its grade.
    #[serde(flatten)]
    pub grade: Grade,
}

/// Opens a drive, brings it into its state and runs a workload. `tell` says whether to go on.
///
/// # Errors
/// The drive can't be opened or written, the workload does not fit it, or `tell` said no.
pub fn run(
    name: &str,
    options: &OpenOptions,
    state: State,
    workload: &Workload,
    tell: &mut Tell<'_>,
) -> Result<Outcome, Error> {
    check_state(name, state)?;
    let mut target = open(name, options)?;
    prepare(target.as_mut(), state, tell)?;
    run_on(target.as_mut(), workload, tell)
}

/// Refuses a state that a drive can't be brought into.
///
/// # Errors
/// [`Error::Target`] if it is to forget everything and knows no TRIM, or is not there.
pub fn check_state(name: &str, state: State) -> Result<(), Error> {
    let path = Path::new(name);
    if state == State::Empty && !crate::is_simulated(name) && !crate::safety::glance(path)?.discards {
        let detail = "it knows no TRIM, so it can't be emptied; expected --state filled or as-is".into();
        return Err(Error::Target { path: path.into(), detail });
    }
    Ok(())
}

/// Runs a workload on a drive that is ready.
///
/// # Errors
/// As [`run`].
pub fn run_on(target: &mut dyn Target, workload: &Workload, tell: &mut Tell<'_>) -> Result<Outcome, Error> {
    if let Some(setup) = &workload.setup {
        execute(target, setup, Phase::Precondition, tell, &mut |_| {})?;
        // The measured writes must not pay for data that the setup left in a write buffer.
        target.pause(SETTLE_NS)?;
    }
    let mut samples = Vec::new();
    execute(target, &workload.spec, Phase::Run, tell, &mut |record| {
        if let (Some(issue_ns), Some(completion_ns), Op::Write) =
            (record.issue_ns, record.completion_ns, record.request.op)
        {
            let response_ns = completion_ns.saturating_sub(issue_ns);
            samples.push(Sample { response_ns, bytes: record.request.bytes() });
        }
    })?;
    let grade = grade(&samples).ok_or_else(|| Error::Setting {
        what: workload.spec.clone(),
        expected: "expected a workload that writes".into(),
    })?;
    Ok(Outcome { workload: workload.clone(), grade })
}

/// Brings a drive into its state, untimed.
fn prepare(target: &mut dyn Target, state: State, tell: &mut Tell<'_>) -> Result<(), Error> {
    let sectors = target.size_bytes() / SECTOR_BYTES;
    let (op, step) = match state {
        State::AsIs => return Ok(()),
        // A simulated drive that was made for this has no other data than its configuration wants.
        State::Empty if target.is_new() => return Ok(()),
        State::Empty => (Op::Trim, TRIM_SECTORS),
        State::Filled => (Op::Write, FILL_SECTORS),
    };
    let total = sectors.div_ceil(step);
    let mut requests = (0..total).map(|at| {
        let lba = at * step;
        Ok(Request { time_ns: 0, lba, sectors: step.min(sectors - lba) as u32, stream: 0, op })
    });
    let mut done = 0;
    target.execute(&mut requests, Timing::Closed { depth: 1 }, &mut |_| {
        done += 1;
        tell.of(Phase::Precondition, done, total, "preparing the drive")
    })?;
    target.pause(SETTLE_NS)
}

fn execute(
    target: &mut dyn Target,
    text: &str,
    phase: Phase,
    tell: &mut Tell<'_>,
    take: &mut dyn FnMut(LogRecord),
) -> Result<(), Error> {
    let doing = if phase == Phase::Run { "running the benchmark" } else { "preparing the benchmark" };
    let spec = Spec::parse(text)?;
    if spec.span_end_bytes() > target.size_bytes() {
        let what = format!("{}: {} bytes", target.name(), target.size_bytes());
        return Err(Error::Setting {
            what,
            expected: format!("expected {} for {text}", spec.span_end_bytes()),
        });
    }
    let mut requests = Requests { generator: spec.generator(), batch: Vec::new(), at: 0, more: true };
    let (mut done, total) = (0, spec.count());
    target.execute(&mut requests, Timing::Closed { depth: 1 }, &mut |record| {
        take(record);
        done += 1;
        tell.of(phase, done, total, doing)
    })
}

/// Tells the caller how far a workload is, ten times a second, and hears whether to go on.
pub struct Tell<'a> {
    call: &'a mut dyn FnMut(&Progress) -> bool,
    started: Instant,
    last: Instant,
}

impl std::fmt::Debug for Tell<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Tell").field("started", &self.started).finish_non_exhaustive()
    }
}

impl<'a> Tell<'a> {
    /// To `call`, of work that begins now.
    pub fn new(call: &'a mut dyn FnMut(&Progress) -> bool) -> Self {
        let now = Instant::now();
        Self { call, started: now, last: now }
    }

    fn of(&mut self, phase: Phase, done: u64, total: u64, doing: &str) -> Result<(), Error> {
        if !done.is_multiple_of(LOOK) || self.last.elapsed() < TELL_EVERY {
            return Ok(());
        }
        self.last = Instant::now();
        let total = total.max(done);
        let elapsed_s = self.started.elapsed().as_secs_f64();
        let fraction = (total > 0).then(|| done as f64 / total as f64);
        if (self.call)(&Progress { phase, tenant: None, done, total: Some(total), fraction, elapsed_s }) {
            return Ok(());
        }
        Err(Error::Cancelled { doing: doing.into(), progress: format!("{done} of {total} requests") })
    }
}

/// Requests of a generator, one by one.
struct Requests {
    generator: Generator,
    batch: Vec<Request>,
    at: usize,
    more: bool,
}

impl Iterator for Requests {
    type Item = Result<Request, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.at == self.batch.len() {
            if !self.more {
                return None;
            }
            self.batch.clear();
            self.at = 0;
            self.more = self.generator.read(&mut self.batch, BATCH);
        }
        self.at += 1;
        Some(Ok(self.batch[self.at - 1]))
    }
}
