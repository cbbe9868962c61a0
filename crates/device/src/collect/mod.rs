//! Collection: the block requests that a running system makes of a drive, below the file system, with their times.
//!
//! The kernel's own tracer writes events while they happen into per-CPU files beside the output ([`spool`]); at the end they
//! become one trace. It only reads: the drive itself is never opened. What is changed in the kernel is put back by a process of
//! its own ([`guardian`]), also where this one is killed.

mod bpftrace;
mod drive;
mod ended;
mod finish;
mod guardian;
mod names;
mod programs;
mod readers;
mod session;
mod split;
mod spool;
mod summary;
#[cfg(test)]
mod tests;
mod tracefs;

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use flashweir_trace::format::Format;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Error;
use drive::Drive;
use session::Session;
use spool::Spool;
use tracefs::Unusable;

/// Between two looks at whether to go on.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Maximum time for a command to end after SIGTERM.
const COMMAND_ENDS_WITHIN: Duration = Duration::from_secs(5);

/// Method of collecting requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// The first of the others that works here, in their order.
    #[default]
    Auto,
    /// The kernel's blk tracer, through tracefs.
    Tracefs,
    /// bpftrace on the block layer's tracepoints.
    Bpftrace,
    /// The program blktrace.
    Blktrace,
}

impl Method {
    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Method::Auto => "auto",
            Method::Tracefs => "tracefs",
            Method::Bpftrace => "bpftrace",
            Method::Blktrace => "blktrace",
        }
    }
}

/// Specification of a collection, and of its end.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The drive, or a partition of one.
    pub device: PathBuf,
    /// Where the trace goes; its name says the format.
    pub output: PathBuf,
    /// Collection method.
    #[serde(default)]
    pub method: Method,
    /// Until so many seconds have passed.
    #[serde(default)]
    pub duration_s: Option<f64>,
    /// Until this command has ended: a program and its arguments.
    #[serde(default)]
    pub command: Vec<String>,
    /// True if sectors count from the start of the partition and not of its disk.
    #[serde(default)]
    pub relative: bool,
    /// The kernel's buffer for each CPU, KiB.
    #[serde(default)]
    pub buffer_kb: Option<u64>,
}

/// Stage of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Requests are collected.
    Collect,
    /// The trace is written.
    Write,
}

/// Progress of a collection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct State {
    /// Current stage.
    pub phase: Stage,
    /// Requests so far.
    pub done: u64,
    /// Share of the trace that is written, from 0 to 1.
    pub fraction: Option<f64>,
    /// Bytes of the requests so far.
    pub bytes: u64,
    /// Events lost so far, as far as that is known.
    pub lost: u64,
    /// Since the collection began, s.
    pub elapsed_s: f64,
}

/// Collects until the caller, the clock or the command ends it, and gives a summary (`docs/reference/result.md`).
///
/// `tell` is called ten times a second. Its `false` ends the collection in order; while the trace is written, its `false` leaves that
/// undone, and what was collected in the files beside the output.
///
/// # Errors
/// [`Error::Target`] and [`Error::Setting`] for what can't be collected from or with, before anything was changed.
pub fn collect(spec: &Spec, tell: &mut dyn FnMut(&State) -> bool) -> Result<Value, Error> {
    let drive = Drive::open(&spec.device)?;
    let format = check(spec, &drive)?;
    let spool = Spool::beside(&spec.output)?;
    let (mut session, method, reason) = start(spec, &drive, &spool).inspect_err(|_| spool.remove())?;
    let own_mount = session.has_own_mount();
    let began = Instant::now();
    let clock = summary::Clock::now();
    let ended = run(spec, &mut session, began, tell);
    let state = |phase, session: &Session, fraction| state_of(phase, session, fraction, began);
    let last = state(Stage::Write, &session, None);
    let collected_s = began.elapsed().as_secs_f64();
    let end = session.finish();
    let (ended_by, status) = match ended {
        Ok(ended) => ended,
        // The command did not start: there is nothing to keep.
        Err(error) => {
            spool.remove();
            return Err(error);
        }
    };
    let about = summary::About {
        spec,
        drive: &drive,
        format,
        method,
        reason: &reason,
        own_mount,
        ended_by,
        status,
        collected_s,
        clock,
        end: &end,
    };
    let any = end.issued.is_none_or(|issued| issued > 0);
    let tally = finish::write(
        &spool,
        (&spec.output, format),
        any,
        (&drive, spec.relative),
        &|tally| about.notes(tally),
        &mut |fraction| tell(&State { fraction, elapsed_s: began.elapsed().as_secs_f64(), ..last.clone() }),
    );
    let summary = tally.as_ref().ok().map(|tally| about.summary(tally));
    conclude(spec, &drive, &spool, (summary, tally.err(), end.failure))
}

/// Result of a collection: the summary, or the reason why it is missing or partial, and the place of the collected
/// data.
fn conclude(
    spec: &Spec,
    drive: &Drive,
    spool: &Spool,
    (summary, unwritten, failure): (Option<Value>, Option<Error>, Option<Error>),
) -> Result<Value, Error> {
    let early = |error: Error, kept: String| {
        let detail = format!("collecting ended early, {kept}: {error}");
        Error::Failed { path: drive.path.clone(), detail }
    };
    let (base, output) = (spool.base().display(), spec.output.display());
    match (unwritten, failure) {
        (Some(error @ Error::Cancelled { .. }), _) => Err(error),
        (Some(error), failure) => {
            let error = if let Error::Trace(error) = error { Error::of_output(error) } else { error };
            let kept =
                format!("{base}.* has what came before, and `flashweir trace convert {base} OUT` reads it");
            Err(early(failure.unwrap_or(error), kept))
        }
        (None, Some(error)) => {
            spool.remove();
            Err(early(error, format!("{output} has what came before")))
        }
        (None, None) => {
            spool.remove();
            Ok(summary.unwrap_or_default())
        }
    }
}

/// Refuses what can be refused before anything is changed. Gives the format of the output.
fn check(spec: &Spec, drive: &Drive) -> Result<Format, Error> {
    let wrong = |what: String, expected: &str| Err(Error::Setting { what, expected: expected.to_owned() });
    let output = spec.output.display();
    let Some(format) = Format::of_path(&spec.output).filter(|format| format.is_writable()) else {
        return wrong(
            format!("output {output}"),
            "its name says no format that is written; expected one that ends in .parquet or .blktrace",
        );
    };
    let folder = spec.output.parent().filter(|folder| !folder.as_os_str().is_empty());
    if folder.is_some_and(|folder| !folder.is_dir()) {
        return wrong(format!("output {output}"), "there is no such folder");
    }
    if std::fs::metadata(&spec.output).is_ok_and(|there| !there.is_file()) {
        return wrong(format!("output {output}"), "expected the name of a file");
    }
    if spec.duration_s.is_some_and(|duration| !(duration > 0.0 && duration <= 1e9)) {
        return wrong("duration".to_owned(), "expected seconds above 0");
    }
    if spec.buffer_kb.is_some_and(|size| !(1..=1 << 20).contains(&size)) {
        return wrong("buffer size".to_owned(), "expected 1 to 1048576 KiB a CPU");
    }
    if spec.relative && !drive.is_partition {
        return wrong(
            format!("relative sectors of {}", drive.path.display()),
            "this is a whole disk; expected a partition",
        );
    }
    if !rustix::process::geteuid().is_root() {
        return wrong(
            format!("collecting from {}", drive.path.display()),
            "the kernel shows requests to root only; run this with sudo",
        );
    }
    Ok(format)
}

/// Starts the method that was asked for, or the first that works. Says which, and why.
fn start(spec: &Spec, drive: &Drive, spool: &Spool) -> Result<(Session, Method, String), Error> {
    if spec.method != Method::Auto {
        return match Session::start(spec.method, drive, spec, spool) {
            Ok(session) => Ok((session, spec.method, "it was asked for".to_owned())),
            Err(Unusable::Refused(error)) => Err(error),
            Err(Unusable::Missing(detail)) => Err(Error::Setting {
                what: format!("method {}", spec.method.name()),
                expected: format!("it can't be used here: {detail}"),
            }),
        };
    }
    let mut reasons: Vec<String> = Vec::new();
    for method in [Method::Tracefs, Method::Bpftrace, Method::Blktrace] {
        match Session::start(method, drive, spec, spool) {
            Ok(session) => {
                let reason = match reasons.as_slice() {
                    [] => "the kernel's own tracer works here, and is tried first".to_owned(),
                    reasons => reasons.join("; "),
                };
                return Ok((session, method, reason));
            }
            Err(Unusable::Refused(error)) => return Err(error),
            Err(Unusable::Missing(detail)) => {
                spool.remove();
                reasons.push(format!("{}: {detail}", method.name()));
            }
        }
    }
    Err(Error::Setting {
        what: "method auto".to_owned(),
        expected: format!("no method works here: {}", reasons.join("; ")),
    })
}

/// Why a collection ended, and how its command did.
type End = (&'static str, Option<String>);

/// Waits for the end.
fn run(
    spec: &Spec,
    session: &mut Session,
    began: Instant,
    tell: &mut dyn FnMut(&State) -> bool,
) -> Result<End, Error> {
    let mut child = match spec.command.split_first() {
        None => None,
        Some((program, arguments)) => {
            let child = Command::new(program).args(arguments).stdin(Stdio::inherit()).spawn();
            Some(child.map_err(|error| Error::Setting {
                what: format!("command {program}"),
                expected: format!("it does not start: {error}"),
            })?)
        }
    };
    let until = spec.duration_s.map(|duration| began + Duration::from_secs_f64(duration));
    let ended_by = loop {
        if let Some(Ok(Some(status))) = child.as_mut().map(Child::try_wait) {
            return Ok(("command", Some(status.to_string())));
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            break "duration";
        }
        if !session.is_running() {
            break "failure";
        }
        if !tell(&state_of(Stage::Collect, session, None, began)) {
            break "stop";
        }
        let left = until.map_or(LOOK_EVERY, |until| until.saturating_duration_since(Instant::now()));
        let look = if child.is_some() { Duration::from_millis(10) } else { LOOK_EVERY };
        std::thread::sleep(left.min(look));
    };
    let status = child.map(|mut child| end_command(&mut child));
    Ok((ended_by, status))
}

/// Has a command end that is still running: asked, then made to.
fn end_command(child: &mut Child) -> String {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        // One that has just ended needs no signal.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    }
    let began = Instant::now();
    while began.elapsed() < COMMAND_ENDS_WITHIN {
        if let Ok(Some(status)) = child.try_wait() {
            return status.to_string();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    child.wait().map_or_else(|error| error.to_string(), |status| status.to_string())
}

fn state_of(phase: Stage, session: &Session, fraction: Option<f64>, began: Instant) -> State {
    let counts = session.counts();
    State {
        phase,
        done: counts.issued.load(Ordering::Relaxed),
        fraction,
        bytes: counts.bytes.load(Ordering::Relaxed),
        lost: counts.lost.load(Ordering::Relaxed),
        elapsed_s: began.elapsed().as_secs_f64(),
    }
}
