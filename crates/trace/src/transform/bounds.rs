//! The check that a workload fits a drive.

use crate::{Request, Source, TraceError};

/// Lets requests through as they are, and fails at the first that ends beyond the capacity.
#[derive(Clone, Debug)]
pub struct Bounds<S> {
    source: S,
    capacity_sectors: u64,
    checked: u64,
}

impl<S> Bounds<S> {
    /// `source` on a drive of `capacity_sectors`.
    pub const fn new(source: S, capacity_sectors: u64) -> Self {
        Self { source, capacity_sectors, checked: 0 }
    }
}

impl<S: Source> Source for Bounds<S> {
    /// # Errors
    /// [`TraceError::BeyondDrive`] names the request, counted from 1; those before it have been appended.
    fn read(&mut self, out: &mut Vec<Request>, limit: usize) -> Result<bool, TraceError> {
        let start = out.len();
        let more = self.source.read(out, limit);
        if let Some(index) = out[start..].iter().position(|request| request.end() > self.capacity_sectors) {
            let request = out[start + index];
            out.truncate(start + index);
            return Err(TraceError::BeyondDrive {
                number: self.checked + index as u64 + 1,
                op: request.op.name(),
                lba: request.lba,
                sectors: request.sectors,
                capacity_sectors: self.capacity_sectors,
            });
        }
        self.checked += (out.len() - start) as u64;
        more
    }
}
