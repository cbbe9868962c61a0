//! Diagnosis of a request log, with progress. What is said is `flashweir_analyze::diagnose`'s.

use std::path::Path;
use std::time::Instant;

use flashweir_analyze::diagnose::{self, Log};
use flashweir_trace::format::Trace;
use serde_json::{Value, json};

use crate::error::Error;
use crate::progress::{Phase, Progress, Reporter};
use crate::trace_options::TraceOptions;

/// Records read at a time.
const BATCH: usize = 8192;

/// Reads a log and says what it shows, as JSON; `capacity_bytes` is what the drive holds, if that is known. `progress` is called about ten times a second, and ends the reading when it returns false.
pub fn diagnose(
    path: &Path,
    options: &TraceOptions,
    capacity_bytes: Option<u64>,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Value, Error> {
    let mut reporter = Reporter::new(progress, Instant::now());
    let mut trace = Trace::open(path, &options.parse()?)?;
    let mut log = Log::default();
    log.capacity_bytes = capacity_bytes;
    let mut batch = Vec::with_capacity(BATCH);
    let mut more = true;
    while more {
        batch.clear();
        more = trace.read_log(&mut batch, BATCH)?;
        for record in &batch {
            log.push(record);
        }
        let read = trace.report();
        reporter.report_share(Phase::Trace, read.requests + read.flushes, trace.fraction())?;
    }

    let mut found = json!(diagnose::diagnose(&log));
    found["trace"] = json!(trace.report());
    Ok(found)
}
