//! A workload of a larger drive on a smaller one.

use crate::{Op, Request, Source, TraceError};

/// Folds addresses into a capacity: the remainder of their division by it. A request that would cross the end is moved
/// back so that it ends there, and one longer than the whole capacity is cut to it: no request is lost or doubled.
#[derive(Clone, Debug)]
pub struct Wrap<S> {
    source: S,
    capacity_sectors: u64,
}

impl<S> Wrap<S> {
    /// `source` folded into `capacity_sectors`.
    ///
    /// # Panics
    /// If the capacity is 0.
    pub fn new(source: S, capacity_sectors: u64) -> Self {
        assert!(capacity_sectors > 0, "a drive has at least one sector");
        Self { source, capacity_sectors }
    }
}

impl<S: Source> Source for Wrap<S> {
    fn read(&mut self, out: &mut Vec<Request>, limit: usize) -> Result<bool, TraceError> {
        let start = out.len();
        let more = self.source.read(out, limit);
        let capacity = self.capacity_sectors;
        for request in out[start..].iter_mut().filter(|request| request.op != Op::Flush) {
            request.lba %= capacity;
            request.sectors = u64::from(request.sectors).min(capacity) as u32;
            request.lba = request.lba.min(capacity - u64::from(request.sectors));
        }
        more
    }
}
