//! From one format to another, a batch of records at a time.

use std::path::Path;

use serde::Serialize;

use super::report::Tally;
use super::{Format, Options, Report, Trace, Writer};
use crate::output::same_file;
use crate::{LogRecord, TraceError};

/// Records converted at once.
const BATCH: usize = 1 << 12;

/// Report of a conversion: requests read and written.
#[derive(Clone, Debug, Serialize)]
pub struct Converted {
    /// Report of the reading.
    #[serde(flatten)]
    pub report: Report,
    /// The format that was written.
    pub written_as: Format,
    /// Requests of operations that this format does not have, by operation.
    pub not_written: Vec<Tally>,
}

/// A conversion in progress. Dropped before [`finish`](Self::finish), it leaves no file.
pub struct Conversion {
    trace: Trace,
    writer: Writer,
    format: Format,
    batch: Vec<LogRecord>,
}

impl Conversion {
    /// Opens the trace at `input`, and `output` as `format` or as the format that its name says.
    pub fn open(
        input: &Path,
        options: &Options,
        output: &Path,
        format: Option<Format>,
    ) -> Result<Self, TraceError> {
        let Some(format) = format.or_else(|| Format::of_path(output)) else {
            let detail = "its name says no format; name one, or end it in one of .msr.csv, .spc, .disksim, .ssdsim, .mqsim, .iolog2, .iolog3, .parquet";
            return Err(TraceError::Unwritable { path: output.to_owned(), detail: detail.to_owned() });
        };
        if same_file(input, output) {
            let detail = "this is the trace being read: write to another file".to_owned();
            return Err(TraceError::Unwritable { path: output.to_owned(), detail });
        }
        let trace = Trace::open(input, options)?;
        let writer = Writer::create(output, format)?;
        Ok(Self { trace, writer, format, batch: Vec::with_capacity(BATCH) })
    }

    /// Converts the next records; false once the end was reached.
    pub fn step(&mut self) -> Result<bool, TraceError> {
        self.batch.clear();
        let more = self.trace.read_log(&mut self.batch, BATCH)?;
        self.batch.iter().try_for_each(|record| self.writer.write(record))?;
        Ok(more)
    }

    /// The trace that is read.
    pub const fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Gives the file its name.
    pub fn finish(self) -> Result<Converted, TraceError> {
        let not_written = self.writer.finish()?;
        Ok(Converted { report: self.trace.report().clone(), written_as: self.format, not_written })
    }
}

/// Reads the trace at `input` and writes it to `output` as `format`, or as the format that the name of `output` says.
pub fn convert(
    input: &Path,
    options: &Options,
    output: &Path,
    format: Option<Format>,
) -> Result<Converted, TraceError> {
    let mut conversion = Conversion::open(input, options, output, format)?;
    while conversion.step()? {}
    conversion.finish()
}
