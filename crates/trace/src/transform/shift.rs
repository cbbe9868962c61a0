//! Later, elsewhere, and under another number.

use crate::{Op, Request, Source, TraceError};

/// Adds a time to every arrival.
#[derive(Clone, Debug)]
pub struct Delay<S> {
    source: S,
    delay_ns: u64,
}

impl<S> Delay<S> {
    /// `source`, later by `delay_ns`.
    pub const fn new(source: S, delay_ns: u64) -> Self {
        Self { source, delay_ns }
    }
}

impl<S: Source> Source for Delay<S> {
    /// # Errors
    /// [`TraceError::Spec`] if a time no longer fits in 64 bits.
    fn read(&mut self, out: &mut Vec<Request>, limit: usize) -> Result<bool, TraceError> {
        let start = out.len();
        let more = self.source.read(out, limit);
        for index in start..out.len() {
            let time_ns = out[index].time_ns;
            let Some(later) = time_ns.checked_add(self.delay_ns) else {
                out.truncate(index);
                return Err(TraceError::Spec {
                    what: "delay".into(),
                    found: format!("{} ns", self.delay_ns),
                    expected: format!("takes a time of {time_ns} ns beyond 2^64 ns; expected a shorter one"),
                });
            };
            out[index].time_ns = later;
        }
        more
    }
}

/// Adds to every address. The sum must not overflow.
#[derive(Clone, Debug)]
pub struct Offset<S> {
    source: S,
    offset_sectors: u64,
}

impl<S> Offset<S> {
    /// `source`, with all addresses higher by `offset_sectors`.
    pub const fn new(source: S, offset_sectors: u64) -> Self {
        Self { source, offset_sectors }
    }
}

impl<S: Source> Source for Offset<S> {
    /// # Errors
    /// [`TraceError::Spec`] if the end of a request no longer fits in 64 bits.
    fn read(&mut self, out: &mut Vec<Request>, limit: usize) -> Result<bool, TraceError> {
        let start = out.len();
        let more = self.source.read(out, limit);
        for index in start..out.len() {
            let request = out[index];
            if request.op == Op::Flush {
                continue;
            }
            let lba = request.lba.checked_add(self.offset_sectors);
            let Some(lba) = lba.filter(|lba| lba.checked_add(request.sectors.into()).is_some()) else {
                out.truncate(index);
                return Err(TraceError::Spec {
                    what: "offset".into(),
                    found: format!("{} sectors", self.offset_sectors),
                    expected: format!(
                        "takes sector {} beyond 2^64 sectors; expected a smaller one",
                        request.lba
                    ),
                });
            };
            out[index].lba = lba;
        }
        more
    }
}

/// Says of every request that it is of one stream.
#[derive(Clone, Debug)]
pub struct Numbered<S> {
    source: S,
    stream: u16,
}

impl<S> Numbered<S> {
    /// `source`, all of it stream `stream`.
    pub const fn new(source: S, stream: u16) -> Self {
        Self { source, stream }
    }
}

impl<S: Source> Source for Numbered<S> {
    fn read(&mut self, out: &mut Vec<Request>, limit: usize) -> Result<bool, TraceError> {
        let start = out.len();
        let more = self.source.read(out, limit);
        out[start..].iter_mut().for_each(|request| request.stream = self.stream);
        more
    }
}
