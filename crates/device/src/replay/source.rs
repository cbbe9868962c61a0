//! The workload of a replay: opened, looked through before anything is done, and read ahead while it is done.

use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Scope;

use flashweir_run::TraceOptions;
use flashweir_trace::format::{Report, Trace};
use flashweir_trace::generate::Spec;
use flashweir_trace::transform::{Filter, Limit, Wrap};
use flashweir_trace::{Op, Request, SECTOR_BYTES, Source, TraceError};
use serde::Serialize;

use super::spec::ReplaySpec;
use crate::Error;

/// Requests read at a time.
const BATCH: usize = 4096;
/// Batches that wait at most.
const BATCHES: usize = 16;

type Boxed = Box<dyn Source + Send>;

/// Where a trace leaves the report of what has been read of it.
pub(super) type Kept = Arc<Mutex<Option<Report>>>;

/// A trace that leaves its report behind.
struct Reported {
    trace: Trace,
    report: Kept,
}

impl Source for Reported {
    fn read(&mut self, out: &mut Vec<Request>, limit: usize) -> Result<bool, TraceError> {
        let more = self.trace.read(out, limit)?;
        *self.report.lock().unwrap_or_else(PoisonError::into_inner) = Some(self.trace.report().clone());
        Ok(more)
    }
}

/// The workload, `capacity_sectors`: folded into so many; and where the report of its trace will be.
pub(super) fn open(spec: &ReplaySpec, capacity_sectors: Option<u64>) -> Result<(Boxed, Kept), Error> {
    let report = Kept::default();
    let mut source: Boxed = if Spec::is_spec(&spec.trace) {
        if !spec.hint.is_empty() {
            let expected = "expected a trace: a generator has handles of its own (stream=)".into();
            return Err(Error::Setting { what: "hint".into(), expected });
        }
        Box::new(Spec::parse(&spec.trace)?.generator())
    } else {
        let path = Path::new(&spec.trace);
        if path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
            let expected = "expected a regular file: a trace is looked through before it is replayed".into();
            return Err(Error::Setting { what: format!("trace {}", path.display()), expected });
        }
        let trace = Trace::open(path, &options(&spec.trace_options())?)?;
        Box::new(Reported { trace, report: Arc::clone(&report) })
    };
    if let Some(ops) = spec.ops()? {
        source = Box::new(Filter::new(source, ops));
    }
    if let Some(limit) = spec.limit {
        source = Box::new(Limit::new(source, limit));
    }
    if let Some(capacity) = capacity_sectors {
        source = Box::new(Wrap::new(source, capacity));
    }
    Ok((source, report))
}

fn options(options: &TraceOptions) -> Result<flashweir_trace::format::Options, Error> {
    Ok(options.parse()?)
}

/// Outline of a workload: its requests, addresses and duration.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Outline {
    pub(super) requests: u64,
    /// By operation.
    pub(super) by_op: [u64; Op::COUNT],
    pub(super) bytes_by_op: [u64; Op::COUNT],
    /// The first sector of all, and one past the last.
    pub(super) first_sector: u64,
    pub(super) end_sector: u64,
    /// From the start of the workload to its last request, ns.
    pub(super) duration_ns: u64,
    /// The first request beyond the target, by its number from 1.
    #[serde(skip)]
    pub(super) beyond: Option<(u64, Request)>,
    /// Report on reading the trace.
    #[serde(skip)]
    pub(super) report: Option<Report>,
}

impl Outline {
    /// Looks a workload through. `tell` gets the number of requests read so far, and may end it.
    pub(super) fn of(
        (mut source, report): (Boxed, Kept),
        capacity_sectors: u64,
        tell: &mut dyn FnMut(u64) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let mut outline = Self { first_sector: u64::MAX, ..Self::default() };
        let mut batch = Vec::with_capacity(BATCH);
        let mut more = true;
        while more {
            batch.clear();
            more = source.read(&mut batch, BATCH)?;
            for request in &batch {
                outline.add(request, capacity_sectors);
            }
            tell(outline.requests)?;
        }
        outline.first_sector = outline.first_sector.min(outline.end_sector);
        outline.report = report.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok(outline)
    }

    fn add(&mut self, request: &Request, capacity_sectors: u64) {
        self.requests += 1;
        self.by_op[request.op as usize] += 1;
        self.bytes_by_op[request.op as usize] += request.bytes();
        self.duration_ns = self.duration_ns.max(request.time_ns);
        if request.op == Op::Flush {
            return;
        }
        self.first_sector = self.first_sector.min(request.lba);
        self.end_sector = self.end_sector.max(request.end());
        if request.end() > capacity_sectors && self.beyond.is_none() {
            self.beyond = Some((self.requests, *request));
        }
    }

    /// True if the workload changes anything on the target.
    pub(super) fn writes(&self) -> bool {
        self.requests > self.by_op[Op::Read as usize] + self.by_op[Op::Flush as usize]
    }

    /// Refuses a workload that goes beyond the target.
    pub(super) fn check_size(&self, target: &str, size_bytes: u64) -> Result<(), Error> {
        let Some((number, request)) = self.beyond else { return Ok(()) };
        Err(Error::Target {
            path: target.into(),
            detail: format!(
                "request {number}, a {} of sectors {} to {}, lies beyond its {} sectors; expected a larger target, or \
                 --wrap to fold addresses into it",
                request.op.name(),
                request.lba,
                request.end(),
                size_bytes / SECTOR_BYTES
            ),
        })
    }
}

/// Requests of a source that a thread of its own reads ahead.
pub(super) struct Ahead {
    batches: Receiver<Result<Vec<Request>, TraceError>>,
    current: std::vec::IntoIter<Request>,
}

impl Ahead {
    /// Starts to read. The thread ends with the source, or when nobody takes what it reads any more.
    pub(super) fn start<'scope>(scope: &'scope Scope<'scope, '_>, mut source: Boxed) -> Self {
        let (give, batches) = sync_channel(BATCHES);
        scope.spawn(move || {
            loop {
                let mut batch = Vec::with_capacity(BATCH);
                let more = source.read(&mut batch, BATCH);
                let ends = !matches!(more, Ok(true));
                let given = give.send(Ok(batch)).is_ok();
                if let Err(error) = more {
                    // If nobody waits for it, it does not matter any more.
                    let _ = give.send(Err(error));
                }
                if ends || !given {
                    return;
                }
            }
        });
        Self { batches, current: Vec::new().into_iter() }
    }
}

impl Iterator for Ahead {
    type Item = Result<Request, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(request) = self.current.next() {
                return Some(Ok(request));
            }
            match self.batches.recv() {
                Ok(Ok(batch)) => self.current = batch.into_iter(),
                Ok(Err(error)) => return Some(Err(error.into())),
                Err(_) => return None,
            }
        }
    }
}
