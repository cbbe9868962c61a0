//! From the spool to the output: requests with their completions, as one trace.

use std::path::Path;

use flashweir_trace::format::parquet::LogWriter;
use flashweir_trace::format::{Format, Options, Trace, Writer};
use flashweir_trace::output::PartFile;
use flashweir_trace::{LogRecord, Op};
use serde::Serialize;

use super::drive::Drive;
use super::spool::Spool;
use crate::Error;

/// Records handled at once.
const BATCH: usize = 1 << 13;

/// Counts of the collected requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Tally {
    /// Reads, writes and discards.
    pub(super) requests: u64,
    /// Reads.
    pub(super) reads: u64,
    /// Writes.
    pub(super) writes: u64,
    /// Discards.
    pub(super) trims: u64,
    /// Flushes.
    pub(super) flushes: u64,
    /// Bytes that were read.
    pub(super) read_bytes: u64,
    /// Bytes that were written.
    pub(super) written_bytes: u64,
    /// Bytes that were discarded.
    pub(super) trimmed_bytes: u64,
    /// From the first request to the last, s.
    pub(super) duration_s: f64,
    /// Requests that had not completed when the collection ended.
    pub(super) in_flight: u64,
    /// Completions of requests that had been issued before the collection began.
    pub(super) issued_before: u64,
    /// Requests of other parts of the disk, left out.
    pub(super) elsewhere: u64,
    /// Commands that are no reads, writes, discards or flushes, left out.
    pub(super) other_commands: u64,
    /// Time of the first request on the kernel's monotonic clock, ns.
    #[serde(skip)]
    pub(super) first_ns: u64,
}

impl Tally {
    fn add(&mut self, record: &LogRecord) {
        let request = record.request;
        let (count, bytes) = match request.op {
            Op::Read => (&mut self.reads, Some(&mut self.read_bytes)),
            Op::Write | Op::Append => (&mut self.writes, Some(&mut self.written_bytes)),
            Op::Trim => (&mut self.trims, Some(&mut self.trimmed_bytes)),
            Op::Flush => (&mut self.flushes, None),
            Op::Open | Op::OpenZrwa | Op::Commit | Op::Close | Op::Finish | Op::Reset | Op::Offline => {
                (&mut self.other_commands, None)
            }
        };
        *count += 1;
        if let Some(sum) = bytes {
            *sum += request.bytes();
            self.requests += 1;
        }
        self.in_flight += u64::from(record.completion_ns.is_none());
        self.duration_s = request.time_ns as f64 / 1e9;
    }
}

/// The output under construction.
enum Out {
    Log(LogWriter<PartFile>),
    Other(Writer),
}

/// Writes what is in `spool`, if there is `any` request, to `output` as `format`. `relative` counts sectors from the start of the drive, where that is a part of
/// a disk. `note` makes the text that a Parquet file carries of what was collected; `tell` is called now and then with how much is
/// done, from 0 to 1, and says whether to go on.
pub(super) fn write(
    spool: &Spool,
    (output, format): (&Path, Format),
    any: bool,
    (drive, relative): (&Drive, bool),
    note: &dyn Fn(&Tally) -> Vec<(String, String)>,
    tell: &mut dyn FnMut(Option<f64>) -> bool,
) -> Result<Tally, Error> {
    let is_log = format == Format::Parquet && output.extension().is_some_and(|end| end == "parquet");
    let mut out = if is_log {
        Out::Log(LogWriter::new(PartFile::create(output)?, output)?)
    } else {
        Out::Other(Writer::create(output, format)?)
    };
    let has_requests = any && !spool.files().is_empty();
    let tally =
        if has_requests { copy(spool, &mut out, output, (drive, relative), tell)? } else { Tally::default() };
    match out {
        Out::Log(mut log) => {
            for (key, text) in note(&tally) {
                log.note(&key, text);
            }
            log.finish()?.finish()?;
        }
        Out::Other(writer) => _ = writer.finish()?,
    }
    Ok(tally)
}

/// Copies the requests of `spool` to `out`, which is the file `output`.
fn copy(
    spool: &Spool,
    out: &mut Out,
    output: &Path,
    (drive, relative): (&Drive, bool),
    tell: &mut dyn FnMut(Option<f64>) -> bool,
) -> Result<Tally, Error> {
    let mut tally = Tally::default();
    let options = Options { format: Some(Format::Blktrace), ..Options::default() };
    let mut trace = Trace::open(spool.base(), &options)?;
    trace.follow_requests();
    let mut batch = Vec::with_capacity(BATCH);
    let (first, end) = (drive.start, drive.start + drive.sectors);
    loop {
        batch.clear();
        let more = trace.read_log(&mut batch, BATCH)?;
        for mut record in batch.drain(..) {
            let request = &mut record.request;
            if request.op != Op::Flush {
                if drive.is_partition && !(first..end).contains(&request.lba) {
                    tally.elsewhere += 1;
                    continue;
                }
                request.lba -= if relative { first } else { 0 };
            }
            tally.add(&record);
            match out {
                Out::Log(log) => log.push(record)?,
                Out::Other(writer) => writer.write(&record)?,
            }
        }
        if !more {
            break;
        }
        if !tell(trace.fraction()) {
            return Err(Error::Cancelled {
                doing: format!("writing {}", output.display()),
                progress: format!(
                    "what was collected is kept; `flashweir trace convert {} {}` writes it",
                    spool.base().display(),
                    output.display()
                ),
            });
        }
    }
    let report = trace.report();
    tally.first_ns = report.first_time_ns;
    let left_out = |start: &str| {
        let tallies = report.left_out.iter().filter(|left| left.reason.starts_with(start));
        tallies.map(|left| left.count).sum()
    };
    tally.other_commands = left_out("event that is no");
    tally.issued_before = left_out("completion of");
    Ok(tally)
}
