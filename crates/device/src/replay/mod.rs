//! Replays a workload to a target, with every request timed.
//!
//! Three threads: one reads the workload ahead, one executes it, one writes the log. The caller's own tells how far it is, and asks
//! the others to stop when the caller wants that; what was executed by then is in the log.

mod dry;
mod log;
mod source;
mod spec;
mod supervise;
mod tally;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use flashweir_run::{Phase, Progress};
use flashweir_trace::{LogRecord, SECTOR_BYTES};
use serde_json::{Value, json};

pub(crate) use log::finish as finish_log;
pub use log::{journal_of, recover};
pub use spec::{Pace, ReplaySpec};

use crate::precondition::{Meter, Method, Preconditioned, Preconditioning};
use crate::real::Engine;
use crate::safety::{self, Kind};
use crate::{Activity, Began, Error, Stop, Target, Timing, open};
use log::Logged;
use source::{Ahead, Outline};
use supervise::{Tell, supervised};
use tally::Tally;

/// Outstanding requests while a target is preconditioned.
const PRECONDITION_DEPTH: u32 = 32;
/// The share of requests that may be late before it is said whether the processor or the drive was the limit.
const LATE_SHARE: f64 = 0.01;
/// The share of its time that the issuing thread may compute in a closed loop before the processor is called the limit.
const BUSY_SHARE: f64 = 0.9;

/// Replays. Returns what came out as a JSON object (docs/reference/result.md, "Replays"); the log is written as it goes.
///
/// `progress` is called about ten times a second; when it returns false, the replay stops, and the log has what was done.
pub fn replay(spec: &ReplaySpec, progress: &mut dyn FnMut(&Progress) -> bool) -> Result<Value, Error> {
    spec.check()?;
    let (stop, began) = (Stop::default(), Began::default());
    let mut tell = Tell::new(progress);
    if spec.dry_run {
        return dry::run(spec, &mut tell);
    }
    let mut capacity = dry::capacity(spec, &stop, &began)?;
    let outline = dry::outline(spec, capacity.size_bytes, &mut tell)?;
    if !spec.wrap {
        outline.check_size(&spec.target, capacity.size_bytes)?;
    }
    dry::check_trims(spec, &capacity, &outline)?;
    let writes = outline.writes() || spec.precondition != Method::None;
    let made = capacity.made.take();
    let survey = capacity.survey.as_ref();
    let options = crate::OpenOptions {
        seen: survey.and_then(|survey| survey.identity),
        ..spec.open_options(writes, &stop, &began)?
    };
    let mut target = made.map_or_else(|| open(&spec.target, &options), Ok)?;
    let whole_bytes = target.size_bytes();
    if !spec.wrap && outline.end_sector > whole_bytes / SECTOR_BYTES {
        // Requests behind the last whole block of a drive are impossible.
        let refused = dry::outline(spec, whole_bytes, &mut tell)?.check_size(&spec.target, whole_bytes);
        if refused.is_err() && survey.is_some_and(|survey| survey.kind == Kind::Missing) {
            safety::unmake(Path::new(&spec.target), target.identity());
        }
        refused?;
    }
    let (journal, lock) = log::create(spec.log.as_deref())?.unzip();
    let replayed = run(spec, target.as_mut(), &outline, journal, (&stop, &began), &mut tell);
    let (done, failure) = match replayed {
        Ok(done) => done,
        Err(error) => {
            // Nothing was executed: a journal without a record is no log.
            if let Some(log) = &spec.log {
                let _ = std::fs::remove_file(journal_of(log));
            }
            return Err(error);
        }
    };
    let (log, counts) = (spec.log.as_deref(), (done.tally.requests(), outline.requests));
    let kept = log.map(log::finish).transpose();
    // Held until the journal is a log: nobody recovers it meanwhile.
    drop(lock);
    let kept = match kept {
        Ok(kept) => kept,
        // The journal is still there.
        Err(error) => return Err(unfinished(failure.unwrap_or(error), log, counts)),
    };
    if let Some(error) = failure {
        return Err(partly(error, log, counts));
    }
    debug_assert!(kept.is_none_or(|kept| kept == done.tally.requests()));
    Ok(result(spec, target.as_ref(), &outline, &done))
}

/// Results of a replay.
struct Done {
    tally: Tally,
    activity: Activity,
    preconditioned: Option<Preconditioned>,
}

/// Preconditions and executes. What ends it early comes beside what was done.
fn run(
    spec: &ReplaySpec,
    target: &mut dyn Target,
    outline: &Outline,
    journal: Option<flashweir_trace::format::journal::JournalWriter>,
    (stop, began): (&Stop, &Began),
    tell: &mut Tell<'_>,
) -> Result<(Done, Option<Error>), Error> {
    let preconditioned = precondition(spec, target, stop, tell)?;
    let wrap = spec.wrap.then(|| target.size_bytes() / SECTOR_BYTES);
    let (workload, _) = source::open(spec, wrap)?;
    let executed = AtomicU64::new(0);
    let before = target.activity();
    let timing = spec.timing();
    let (logged, outcome): (Logged, Result<(), Error>) = std::thread::scope(|scope| {
        let mut requests = Ahead::start(scope, workload);
        let (recorder, writer) = log::start(scope, journal, stop);
        let executed = &executed;
        let target = &mut *target;
        let work = move || {
            let mut sink = |record: LogRecord| {
                executed.fetch_add(1, Ordering::Relaxed);
                let gone = |_| Error::Setting { what: "log".into(), expected: "its writer has ended".into() };
                recorder.send(since(record, began.ns())).map_err(gone)
            };
            let done = target.execute(&mut requests, timing, &mut sink);
            // Nobody takes what is read any more, and no record comes.
            drop((requests, recorder));
            done
        };
        let count = || (Phase::Run, executed.load(Ordering::Relaxed), Some(outline.requests));
        let outcome = supervised(scope, stop, tell, count, work);
        let logged = writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (logged, outcome)
    });
    let (tally, written) = logged;
    // A log that can't be written has ended the rest.
    let failure = written.err().map(Error::of_output).or(outcome.err());
    let now = target.activity();
    let activity = Activity {
        late_by_host: now.late_by_host - before.late_by_host,
        late_by_drive: now.late_by_drive - before.late_by_drive,
        widened: now.widened - before.widened,
        cpu_ns: now.cpu_ns - before.cpu_ns,
        ..now
    };
    Ok((Done { tally, activity, preconditioned }, failure))
}

/// A record with times that count from the beginning of the replay.
fn since(mut record: LogRecord, start_ns: u64) -> LogRecord {
    let times = [&mut record.due_ns, &mut record.issue_ns, &mut record.completion_ns].into_iter().flatten();
    for time_ns in times.chain([&mut record.request.time_ns]) {
        *time_ns = time_ns.saturating_sub(start_ns);
    }
    record
}

fn precondition(
    spec: &ReplaySpec,
    target: &mut dyn Target,
    stop: &Stop,
    tell: &mut Tell<'_>,
) -> Result<Option<Preconditioned>, Error> {
    if spec.precondition == Method::None {
        return Ok(None);
    }
    let depth = if spec.engine == Engine::Sync && !spec.is_simulated() { 1 } else { PRECONDITION_DEPTH };
    let (method, until_steady, seed) = (spec.precondition, spec.until_steady, spec.seed);
    let plan = Preconditioning { method, until_steady, depth, seed };
    let meter = Meter::default();
    let total = plan.first_bytes(target.size_bytes());
    std::thread::scope(|scope| {
        let meter = &meter;
        let count = || {
            let bytes = meter.bytes.load(Ordering::Relaxed);
            (Phase::Precondition, bytes, (bytes <= total).then_some(total))
        };
        supervised(scope, stop, tell, count, move || plan.run(target, meter)).map(Some)
    })
    .map_err(|error| match error {
        Error::Cancelled { .. } => {
            let written = meter.bytes.load(Ordering::Relaxed);
            let progress = format!("{written} bytes were written to the target, and nothing was replayed");
            Error::Cancelled { doing: "preconditioning".into(), progress }
        }
        other => other,
    })
}

/// An error that came after a part was done: says where that is.
fn partly(error: Error, log: Option<&Path>, (done, of): (u64, u64)) -> Error {
    let kept = match log {
        Some(log) => format!("{done} of {of} requests are done, and {} has them", log.display()),
        None => format!("{done} of {of} requests are done; with a log they would be kept"),
    };
    match error {
        Error::Cancelled { .. } => Error::Cancelled { doing: "replaying".into(), progress: kept },
        other => Error::Partly { error: Box::new(other), kept },
    }
}

/// An error that leaves a journal instead of a log.
fn unfinished(error: Error, log: Option<&Path>, (done, of): (u64, u64)) -> Error {
    let Some(log) = log else { return error };
    let (journal, log) = (journal_of(log), log.display());
    let kept = format!(
        "{done} of {of} requests are done, and what was logged is in {}: --recover {log}",
        journal.display()
    );
    Error::Partly { error: Box::new(error), kept }
}

fn result(spec: &ReplaySpec, target: &dyn Target, outline: &Outline, done: &Done) -> Value {
    let timing = spec.timing();
    let (scale, depth) = match timing {
        Timing::Times { scale } => (Some(scale), spec.depth),
        Timing::Closed { depth } => (None, Some(depth)),
    };
    let planned_s = scale.map(|scale| outline.duration_ns as f64 * scale / 1e9);
    let mut value = json!({
        "version": flashweir_run::VERSION,
        "command": "replay",
        "trace": spec.trace,
        "target": {
            "name": target.name(),
            "simulated": spec.is_simulated(),
            "size_bytes": target.size_bytes(),
            "block_bytes": target.block_bytes(),
        },
        "timing": spec.timing,
        "scale": scale,
        "depth": depth,
        "engine": (!spec.is_simulated()).then_some(spec.engine),
        "seed": spec.seed,
        "planned_s": planned_s,
        "preconditioned": done.preconditioned,
    });
    if let (Value::Object(all), Value::Object(counts)) = (&mut value, done.tally.json()) {
        all.extend(counts);
    }
    let late = &done.activity;
    value["max_outstanding"] = json!(late.max_outstanding);
    value["late_by_host"] = json!(late.late_by_host);
    value["late_by_drive"] = json!(late.late_by_drive);
    value["widened"] = json!(late.widened);
    value["log"] = json!(spec.log);
    value["trace_report"] = json!(outline.report);
    value["warnings"] = json!(warnings(spec, outline, done));
    value
}

/// Warnings for readers of the figures.
fn warnings(spec: &ReplaySpec, outline: &Outline, done: &Done) -> Vec<String> {
    let mut all = Vec::new();
    let Activity { late_by_host, late_by_drive, widened, cpu_ns, .. } = done.activity;
    if (late_by_host + late_by_drive) as f64 > LATE_SHARE * done.tally.requests() as f64 {
        let limit = if late_by_host >= late_by_drive {
            "the processor and not the drive"
        } else {
            "the drive and not the processor"
        };
        all.push(format!(
            "{limit} was the limit: {late_by_host} requests were issued over 0.1 ms late though the drive had room for them, \
             and {late_by_drive} because it had none"
        ));
    }
    let busy = cpu_ns as f64 / 1e9 > BUSY_SHARE * done.tally.elapsed_s();
    if busy && spec.timing != Pace::Original && done.tally.requests() > 0 && !spec.is_simulated() {
        all.push("the processor and not the drive was the limit: the thread that issues requests had hardly a pause".into());
    }
    if widened > 0 {
        all.push(format!(
            "{widened} requests were not made of whole blocks of the drive and were widened to them"
        ));
    }
    if done.preconditioned.as_ref().is_some_and(|done| done.steady == Some(false)) {
        all.push("preconditioning did not become steady in 25 rounds".into());
    }
    if done.tally.requests() != outline.requests {
        all.push(format!("{} requests were expected", outline.requests));
    }
    all
}
