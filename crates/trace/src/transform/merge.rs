//! Several workloads on one drive.

use std::{cmp::Reverse, collections::BinaryHeap};

use crate::{Request, Source, TraceError};

/// Requests read ahead from each source.
const BATCH: usize = 1024;

/// One source and what has been read from it but not passed on.
struct Head<'a> {
    source: Box<dyn Source + Send + 'a>,
    batch: Vec<Request>,
    next: usize,
    more: bool,
}

/// Merges sources by arrival time. Request streams are renumbered: all of the n-th source's are stream n, from 0.
///
/// At equal times the source with the lower number goes first. The order within a source never changes: one whose
/// times step back holds its later requests up until the step has been passed on.
pub struct Merge<'a> {
    heads: Vec<Head<'a>>,
    /// Time of the next request of each source that has one, and the source's number; the least on top.
    queue: BinaryHeap<Reverse<(u64, u16)>>,
    /// Sources still to be asked for their first request.
    started: bool,
}

impl<'a> Merge<'a> {
    /// # Errors
    /// [`TraceError::Spec`] for more than 65,536 sources: stream numbers have 16 bits.
    pub fn new(sources: Vec<Box<dyn Source + Send + 'a>>) -> Result<Self, TraceError> {
        if sources.len() > usize::from(u16::MAX) + 1 {
            return Err(super::too_many(sources.len()));
        }
        let head = |source| Head { source, batch: Vec::new(), next: 0, more: true };
        Ok(Self { heads: sources.into_iter().map(head).collect(), queue: BinaryHeap::new(), started: false })
    }

    fn start(&mut self) -> Result<(), TraceError> {
        for (stream, head) in self.heads.iter_mut().enumerate() {
            if let Some(request) = head.peek()? {
                self.queue.push(Reverse((request.time_ns, stream as u16)));
            }
        }
        self.started = true;
        Ok(())
    }
}

impl Head<'_> {
    /// The next request, which stays.
    fn peek(&mut self) -> Result<Option<Request>, TraceError> {
        while self.next == self.batch.len() && self.more {
            self.batch.clear();
            self.next = 0;
            self.more = self.source.read(&mut self.batch, BATCH)?;
        }
        Ok(self.batch.get(self.next).copied())
    }
}

impl Source for Merge<'_> {
    fn read(&mut self, out: &mut Vec<Request>, limit: usize) -> Result<bool, TraceError> {
        if !self.started {
            self.start()?;
        }
        for _ in 0..limit {
            let Some(&Reverse((_, stream))) = self.queue.peek() else { return Ok(false) };
            let head = &mut self.heads[usize::from(stream)];
            let Some(request) = head.peek()? else { return Ok(false) };
            head.next += 1;
            out.push(Request { stream, ..request });
            let next = head.peek()?;
            // The top is replaced in place: half the work of taking it off and putting it back.
            if let (Some(mut top), Some(request)) = (self.queue.peek_mut(), next) {
                *top = Reverse((request.time_ns, stream));
            } else {
                self.queue.pop();
            }
        }
        Ok(!self.queue.is_empty())
    }
}

impl std::fmt::Debug for Merge<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Merge").field("sources", &self.heads.len()).finish_non_exhaustive()
    }
}
