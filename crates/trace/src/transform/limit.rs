//! The beginning of a workload.

use crate::{Request, Source, TraceError};

/// The first requests of a source.
#[derive(Clone, Debug)]
pub struct Limit<S> {
    source: S,
    left: u64,
}

impl<S> Limit<S> {
    /// The first `count` requests of `source`.
    pub const fn new(source: S, count: u64) -> Self {
        Self { source, left: count }
    }
}

impl<S: Source> Source for Limit<S> {
    fn read(&mut self, out: &mut Vec<Request>, limit: usize) -> Result<bool, TraceError> {
        if self.left == 0 {
            return Ok(false);
        }
        let start = out.len();
        let wanted = limit.min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let more = self.source.read(out, wanted);
        // A trace may hand out a few more than it was asked for.
        out.truncate(start.saturating_add(usize::try_from(self.left).unwrap_or(usize::MAX)).min(out.len()));
        self.left -= (out.len() - start) as u64;
        if self.left == 0 { Ok(false) } else { more }
    }
}
