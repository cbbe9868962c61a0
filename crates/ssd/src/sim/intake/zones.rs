//! Requests to zones, where they are commands to them: writes and appends, TRIMs, and management.

use std::collections::BTreeMap;

use flashweir_trace::{Op, Request};
use serde::{Deserialize, Serialize};

use super::Intake;
use crate::content::Content;
use crate::error::RunError;
use crate::nand::TimePath;

/// Work of stalled requests that differs from the request, by tag: the write that an append becomes, and the pages that a finish
/// pads.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Zoned(BTreeMap<u32, Request>);

impl Zoned {
    /// The work for a request, if it is not what the request says.
    #[inline]
    pub(super) fn work_of(&self, tag: u32) -> Option<Request> {
        if self.0.is_empty() { None } else { self.0.get(&tag).copied() }
    }

    /// A request has had its turn.
    #[inline]
    pub(super) fn forget(&mut self, tag: u32) {
        if !self.0.is_empty() {
            self.0.remove(&tag);
        }
    }
}

impl<A: TimePath, C: Content> Intake<A, C> {
    /// The zones take a request, or fail it.
    #[cold]
    #[inline(never)]
    pub(super) fn command_zone(&mut self, tag: u32, request: &Request, number: u64) -> Result<(), RunError> {
        if !self.core.takes_zone_commands() {
            return Err(RunError::NotZoned { number: number + 1, op: request.op.name() });
        }
        let Some(work) = self.core.admit(request) else { return Ok(()) };
        if request.op == Op::Append {
            self.ledger.append(number, work.lba);
        }
        if self.buffer.is_some() {
            // Writes to the zone that wait for room in the buffer come before it is finished or reset.
            if matches!(request.op, Op::Append | Op::Finish) {
                self.zoned.0.insert(tag, work);
            }
            return self.stall(tag);
        }
        match work.op {
            Op::Write => self.write(tag, &work),
            Op::Finish => {
                self.core.pad(self.array.now_ns(), tag, &work, &mut self.array)?;
                self.slots.expect(tag, self.array.submitted());
                Ok(())
            }
            _ => self.trim_now(tag, &work),
        }
    }
}
