//! The journal as one of the trace formats.

use std::path::Path;

use super::super::input::Input;
use super::super::record::RecordDecoder;
use super::super::sink::{Raw, Sink};
use super::{JournalReader, MAGIC};
use crate::{LogRecord, Op, Position, TraceError};

/// Decoder of a journal.
pub(crate) struct JournalDecoder {
    reader: JournalReader,
    batch: Vec<LogRecord>,
    records: u64,
}

impl JournalDecoder {
    pub(crate) fn open(path: &Path) -> Result<Self, TraceError> {
        Ok(Self { reader: JournalReader::open(path)?, batch: Vec::new(), records: 0 })
    }

    /// True if a file that starts so is a journal.
    pub(crate) fn fits(start: &[u8]) -> bool {
        start.starts_with(MAGIC)
    }
}

impl RecordDecoder for JournalDecoder {
    fn fill(&mut self, input: &mut Input, sink: &mut Sink, budget: usize) -> Result<bool, TraceError> {
        self.batch.clear();
        let more = self.reader.read(&mut self.batch, budget)?;
        for record in &self.batch {
            self.records += 1;
            let request = record.request;
            let raw = if request.op == Op::Flush {
                Raw::flush(request.time_ns)
            } else {
                Raw::sectors(request.time_ns, request.op, request.lba, request.sectors.into())
            };
            let (due_ns, issue_ns, completion_ns) = (record.due_ns, record.issue_ns, record.completion_ns);
            let (stream, handle, flags) = (request.stream, request.handle, record.flags);
            let pushed = sink.push(Raw { stream, handle, due_ns, issue_ns, completion_ns, flags, ..raw });
            if let Err(field) = pushed {
                sink.bad(input.path(), Position::Record(self.records), field)?;
            }
            if sink.failed.is_some() {
                return Ok(true);
            }
        }
        Ok(more)
    }

    fn position(&self, _: &Input) -> Option<(u64, u64)> {
        Some((self.records, self.reader.records()))
    }

    fn starts_at_zero(&self) -> bool {
        true
    }

    fn assumptions(&self) -> Vec<String> {
        let mut all = vec!["a log that was not finished: the requests that were complete by then".to_owned()];
        if self.reader.left_out_bytes() > 0 {
            let bytes = self.reader.left_out_bytes();
            all.push(format!("its last {bytes} bytes are no whole record and are left out"));
        }
        all
    }
}
