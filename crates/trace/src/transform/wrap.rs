//! A workload of a larger drive on a smaller one.

use std::collections::VecDeque;

use crate::{Op, Request, Source, TraceError};

/// Folds addresses into a capacity: the remainder of their division by it. A request that crosses the end is split
/// there and goes on from sector 0, in pieces of the same time, stream and operation.
#[derive(Clone, Debug)]
pub struct Wrap<S> {
    source: S,
    capacity_sectors: u64,
    pieces: VecDeque<Request>,
}

impl<S> Wrap<S> {
    /// `source` folded into `capacity_sectors`.
    ///
    /// # Panics
    /// If the capacity is 0.
    pub fn new(source: S, capacity_sectors: u64) -> Self {
        assert!(capacity_sectors > 0, "a drive has at least one sector");
        Self { source, capacity_sectors, pieces: VecDeque::new() }
    }

    fn split(&mut self, request: Request) {
        let mut rest = request;
        loop {
            rest.lba %= self.capacity_sectors;
            let room = self.capacity_sectors - rest.lba;
            let sectors = u64::from(rest.sectors).min(room) as u32;
            self.pieces.push_back(Request { sectors, ..rest });
            rest.sectors -= sectors;
            rest.lba = 0;
            if rest.sectors == 0 {
                return;
            }
        }
    }

    fn take_pieces(&mut self, out: &mut Vec<Request>, limit: usize) {
        let count = self.pieces.len().min(limit);
        out.extend(self.pieces.drain(..count));
    }
}

impl<S: Source> Source for Wrap<S> {
    fn read(&mut self, out: &mut Vec<Request>, limit: usize) -> Result<bool, TraceError> {
        let start = out.len();
        self.take_pieces(out, limit);
        let room = limit - (out.len() - start);
        if room == 0 {
            return Ok(true);
        }
        let first = out.len();
        let more = self.source.read(out, room);
        let capacity = self.capacity_sectors;
        // Requests that fit are folded where they are; from the first that crosses on, all go through the queue.
        let crossing = out[first..].iter_mut().position(|request| {
            if request.lba >= capacity {
                request.lba %= capacity;
            }
            request.op != Op::Flush && request.end() > capacity
        });
        if let Some(index) = crossing {
            for request in out.split_off(first + index) {
                self.split(request);
            }
            // A trace may have given a few more than asked for.
            self.take_pieces(out, limit.saturating_sub(out.len() - start));
        }
        Ok(more? || !self.pieces.is_empty())
    }
}
