//! Requests of each stream, and the period in which it was active.

use flashweir_trace::Op;
use serde::{Deserialize, Serialize};

/// The requests of one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamUse {
    /// Requests that completed, by operation.
    pub requests: [u64; Op::COUNT],
    /// Bytes that they asked for, by operation.
    pub bytes: [u64; Op::COUNT],
    /// When the first of them entered, ns.
    pub first_ns: u64,
    /// When the last of them ended, ns.
    pub end_ns: u64,
}

impl StreamUse {
    /// All its requests.
    pub fn count(&self) -> u64 {
        self.requests.iter().sum()
    }

    /// From the first request's entry to the end of the last one, ns.
    pub fn active_ns(&self) -> u64 {
        self.end_ns - self.first_ns
    }

    #[inline]
    fn add(&mut self, other: &Self) {
        if other.count() == 0 {
            return;
        }
        self.first_ns = if self.count() == 0 { other.first_ns } else { self.first_ns.min(other.first_ns) };
        self.end_ns = self.end_ns.max(other.end_ns);
        for op in 0..Op::ALL.len() {
            self.requests[op] += other.requests[op];
            self.bytes[op] += other.bytes[op];
        }
    }
}

/// The requests of every stream, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Streams(Vec<StreamUse>);

impl Streams {
    /// One more request, of so many bytes, from its entry to its end.
    #[inline]
    pub fn record(&mut self, stream: u16, op: Op, bytes: u64, issue_ns: u64, end_ns: u64) {
        let at = usize::from(stream);
        if at >= self.0.len() {
            self.0.resize(at + 1, StreamUse::default());
        }
        let one = &mut self.0[at];
        // The end is past the start even for a stream that has just begun.
        one.first_ns =
            if one.end_ns == 0 && one.count() == 0 { issue_ns } else { one.first_ns.min(issue_ns) };
        one.end_ns = one.end_ns.max(end_ns);
        one.requests[op as usize] += 1;
        one.bytes[op as usize] += bytes;
    }

    /// Adds the requests of `other`.
    pub fn join(&mut self, other: &Self) {
        if other.0.len() > self.0.len() {
            self.0.resize(other.0.len(), StreamUse::default());
        }
        self.0.iter_mut().zip(&other.0).for_each(|(one, other)| one.add(other));
    }

    /// The requests of one stream.
    pub fn of(&self, stream: u16) -> StreamUse {
        self.0.get(usize::from(stream)).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_parts_are_the_whole() {
        let requests =
            [(1, Op::Read, 5, 9), (0, Op::Write, 3, 4), (1, Op::Write, 2, 30), (1, Op::Flush, 7, 7)];
        let mut whole = Streams::default();
        let mut parts = [Streams::default(), Streams::default()];
        for (at, (stream, op, issue_ns, end_ns)) in requests.into_iter().enumerate() {
            whole.record(stream, op, 512, issue_ns, end_ns);
            parts[at % 2].record(stream, op, 512, issue_ns, end_ns);
        }
        let [mut first, second] = parts;
        first.join(&second);
        assert_eq!(first, whole);
        assert_eq!((whole.of(1).first_ns, whole.of(1).active_ns(), whole.of(1).count()), (2, 28, 3));
        assert_eq!(whole.of(9), StreamUse::default());
    }
}
