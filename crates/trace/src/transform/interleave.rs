//! Several workloads without times on one drive.

use std::collections::VecDeque;

use crate::{Request, Source, TraceError};

/// Lets sources take turns, one request each, until all have ended. Request streams are renumbered: all of the n-th
/// source's are stream n, from 0.
pub struct Interleave<'a> {
    sources: Vec<Turn<'a>>,
    next: usize,
}

struct Turn<'a> {
    stream: u16,
    source: Box<dyn Source + Send + 'a>,
    batch: VecDeque<Request>,
    more: bool,
}

/// Requests read ahead from each source.
const BATCH: usize = 1024;

impl<'a> Interleave<'a> {
    /// # Errors
    /// [`TraceError::Spec`] for more than 65,536 sources: stream numbers have 16 bits.
    pub fn new(sources: Vec<Box<dyn Source + Send + 'a>>) -> Result<Self, TraceError> {
        if sources.len() > usize::from(u16::MAX) + 1 {
            return Err(super::too_many(sources.len()));
        }
        let turn = |(stream, source)| Turn { stream, source, batch: VecDeque::default(), more: true };
        Ok(Self { sources: (0..=u16::MAX).zip(sources).map(turn).collect(), next: 0 })
    }
}

impl Turn<'_> {
    fn take(&mut self, scratch: &mut Vec<Request>) -> Result<Option<Request>, TraceError> {
        while self.batch.is_empty() && self.more {
            scratch.clear();
            self.more = self.source.read(scratch, BATCH)?;
            self.batch.extend(scratch.iter());
        }
        Ok(self.batch.pop_front())
    }
}

impl Source for Interleave<'_> {
    fn read(&mut self, out: &mut Vec<Request>, limit: usize) -> Result<bool, TraceError> {
        // The last one left may still have requests that were read ahead.
        if let [only] = self.sources.as_mut_slice()
            && only.batch.is_empty()
        {
            let start = out.len();
            let more = only.source.read(out, limit)?;
            out[start..].iter_mut().for_each(|request| request.stream = only.stream);
            return Ok(more);
        }
        let mut scratch = Vec::new();
        for _ in 0..limit {
            if self.sources.is_empty() {
                return Ok(false);
            }
            self.next %= self.sources.len();
            let turn = &mut self.sources[self.next];
            match turn.take(&mut scratch)? {
                Some(request) => {
                    out.push(Request { stream: turn.stream, ..request });
                    self.next += 1;
                }
                None => {
                    self.sources.remove(self.next);
                }
            }
        }
        Ok(!self.sources.is_empty())
    }
}

impl std::fmt::Debug for Interleave<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Interleave").field("sources", &self.sources.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::Spec;

    #[test]
    fn sources_take_turns_until_all_have_ended() {
        let source = |count: u32| {
            let spec = Spec::parse(&format!("sequential:span=1MiB,count={count}")).expect("a spec");
            Box::new(spec.generator()) as Box<dyn Source + Send>
        };
        let mut interleave = Interleave::new(vec![source(3), source(1), source(2)]).expect("three sources");
        let mut out = Vec::new();
        while interleave.read(&mut out, 2).expect("generators do not fail") {}
        let streams: Vec<u16> = out.iter().map(|request| request.stream).collect();
        assert_eq!(streams, [0, 1, 2, 0, 2, 0]);
    }
}
