//! Only some of the operations.

use crate::{Op, Request, Source, TraceError};

/// A set of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpSet(u16);

impl OpSet {
    /// The set of these operations.
    pub fn of(ops: &[Op]) -> Self {
        Self(ops.iter().fold(0, |bits, op| bits | 1 << *op as u8))
    }

    /// True if the operation is in the set.
    pub const fn contains(self, op: Op) -> bool {
        self.0 >> op as u8 & 1 == 1
    }

    /// Reads a list such as `read,write`.
    ///
    /// # Errors
    /// [`TraceError::Spec`] for an empty list and for a name that is no operation's.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let named = |name: &str| Op::ALL.into_iter().find(|op| op.name() == name.trim());
        let ops: Option<Vec<Op>> = text.split(',').map(named).collect();
        ops.map(|ops| Self::of(&ops)).ok_or_else(|| TraceError::Spec {
            what: "operations".into(),
            found: text.into(),
            expected:
                "expected a list of read, write, trim and flush, or of commands to zones such as append"
                    .into(),
        })
    }
}

/// Lets through the requests whose operation is in a set.
#[derive(Clone, Debug)]
pub struct Filter<S> {
    source: S,
    ops: OpSet,
}

impl<S> Filter<S> {
    /// Only `ops` of `source`.
    pub const fn new(source: S, ops: OpSet) -> Self {
        Self { source, ops }
    }
}

impl<S: Source> Source for Filter<S> {
    fn read(&mut self, out: &mut Vec<Request>, limit: usize) -> Result<bool, TraceError> {
        let start = out.len();
        let mut more = true;
        // Until something comes through: a caller that counts batches should not see empty ones.
        while more && limit > 0 && out.len() == start {
            let result = self.source.read(out, limit);
            let mut kept = start;
            for index in start..out.len() {
                if self.ops.contains(out[index].op) {
                    out[kept] = out[index];
                    kept += 1;
                }
            }
            out.truncate(kept);
            more = result?;
        }
        Ok(more)
    }
}
