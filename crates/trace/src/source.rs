//! Where requests come from, as whoever takes them sees it: generators, traces, and transforms of either.

use crate::{Request, TraceError, format::Trace, generate::Generator};

/// A stream of requests, read in batches.
pub trait Source {
    /// Appends the next requests to `out`, at most `limit` (a trace may append a few more, where a record of its
    /// file holds several), and possibly none: then there is nothing to give yet. False once the last one has been
    /// appended; reading on is allowed and appends nothing.
    ///
    /// # Errors
    /// As the source has them; what was appended before the error is good.
    fn read(&mut self, out: &mut Vec<Request>, limit: usize) -> Result<bool, TraceError>;
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn read(&mut self, out: &mut Vec<Request>, limit: usize) -> Result<bool, TraceError> {
        (**self).read(out, limit)
    }
}

impl<S: Source + ?Sized> Source for &mut S {
    fn read(&mut self, out: &mut Vec<Request>, limit: usize) -> Result<bool, TraceError> {
        (**self).read(out, limit)
    }
}

impl Source for Generator {
    fn read(&mut self, out: &mut Vec<Request>, limit: usize) -> Result<bool, TraceError> {
        Ok(Generator::read(self, out, limit))
    }
}

impl Source for Trace {
    fn read(&mut self, out: &mut Vec<Request>, limit: usize) -> Result<bool, TraceError> {
        Trace::read(self, out, limit)
    }
}
