//! Records that wait for their turn: batches come in the order of requests, records leave in the order of completions.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use flashweir_trace::LogRecord;

use crate::Error;

/// Records that may not leave yet.
#[derive(Debug, Default)]
pub(super) struct Held {
    records: Vec<LogRecord>,
    /// The latest issue so far, ns: requests to come complete after it.
    issued_ns: u64,
    outstanding: BinaryHeap<Reverse<u64>>,
    max_outstanding: u32,
}

impl Held {
    pub(super) fn add(&mut self, record: LogRecord) {
        let (issue_ns, end_ns) = (record.issue_ns.unwrap_or(0), record.completion_ns.unwrap_or(0));
        self.issued_ns = self.issued_ns.max(issue_ns);
        while self.outstanding.peek().is_some_and(|Reverse(end_ns)| *end_ns <= issue_ns) {
            self.outstanding.pop();
        }
        self.outstanding.push(Reverse(end_ns));
        self.max_outstanding = self.max_outstanding.max(self.outstanding.len() as u32);
        self.records.push(record);
    }

    /// Most requests that were outstanding at once.
    pub(super) fn max_outstanding(&self) -> u32 {
        self.max_outstanding
    }

    /// Passes on the records that completed before any that is to come.
    pub(super) fn pass_on(
        &mut self,
        sink: &mut dyn FnMut(LogRecord) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.records.sort_by_key(|record| record.completion_ns);
        let ready = self.records.partition_point(|record| record.completion_ns <= Some(self.issued_ns));
        self.records.drain(..ready).try_for_each(sink)
    }

    /// Passes on all records.
    pub(super) fn pass_all(
        &mut self,
        sink: &mut dyn FnMut(LogRecord) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.issued_ns = u64::MAX;
        self.pass_on(sink)
    }
}
