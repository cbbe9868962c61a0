//! The log as one of the trace formats.

use std::fs::File;
use std::path::Path;

use super::super::encode::Encoder;
use super::super::input::Input;
use super::super::record::RecordDecoder;
use super::super::sink::{Raw, Sink, Want};
use super::super::spool;
use super::{LogReader, LogWriter};
use crate::{LogRecord, Op, Position, TraceError};

/// Decoder of the log.
pub(crate) struct LogDecoder {
    reader: LogReader<File>,
    batch: Vec<LogRecord>,
    records: u64,
}

impl LogDecoder {
    /// The log at `path`; one that is compressed as a whole is first copied to a temporary file.
    pub(crate) fn open(path: &Path) -> Result<Self, TraceError> {
        Ok(Self { reader: LogReader::open(spool::open(path)?, path)?, batch: Vec::new(), records: 0 })
    }
}

impl RecordDecoder for LogDecoder {
    fn fill(&mut self, input: &mut Input, sink: &mut Sink, budget: usize) -> Result<bool, TraceError> {
        if sink.want() != Want::Log {
            self.reader.set_requests_only();
        }
        self.batch.clear();
        let more = self.reader.read(&mut self.batch, budget);
        for record in &self.batch {
            self.records += 1;
            let request = record.request;
            let raw = if request.op == Op::Flush {
                Raw::flush(request.time_ns)
            } else {
                Raw::sectors(request.time_ns, request.op, request.lba, request.sectors.into())
            };
            let pushed = sink.push(Raw {
                stream: request.stream,
                handle: request.handle,
                due_ns: record.due_ns,
                issue_ns: record.issue_ns,
                completion_ns: record.completion_ns,
                flags: record.flags,
                process: record.process.as_bytes(),
                ..raw
            });
            if let Err(field) = pushed {
                sink.bad(input.path(), Position::Record(self.records), field)?;
            }
            if sink.failed.is_some() {
                return Ok(true);
            }
        }
        more
    }

    fn position(&self, _: &Input) -> Option<(u64, u64)> {
        Some((self.records, self.reader.rows()))
    }

    fn starts_at_zero(&self) -> bool {
        true
    }
}

/// Encoder of the log.
#[derive(Default)]
pub(crate) struct LogEncoder {
    writer: Option<LogWriter<Vec<u8>>>,
}

impl Encoder for LogEncoder {
    fn start(&mut self, _out: &mut Vec<u8>) -> Result<(), String> {
        self.writer = Some(LogWriter::new(Vec::new(), "log").map_err(|error| error.to_string())?);
        Ok(())
    }

    fn holds(&self, _op: Op) -> bool {
        true
    }

    fn encode(&mut self, record: &LogRecord, out: &mut Vec<u8>) -> Result<(), String> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        writer.push(record.clone()).and_then(|()| writer.drain(out)).map_err(|error| reason(&error))
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), String> {
        let Some(writer) = self.writer.take() else { return Ok(()) };
        out.append(&mut writer.finish().map_err(|error| reason(&error))?);
        Ok(())
    }
}

/// Reason of an error without the file, which the caller adds.
fn reason(error: &TraceError) -> String {
    match error {
        TraceError::Unwritable { detail, .. } => detail.clone(),
        other => other.to_string(),
    }
}
