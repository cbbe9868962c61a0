//! Turns of stalled requests: those that waited for room in the write buffer, or behind one that did.

use flashweir_trace::{Op, Request};

use super::Intake;
use crate::content::Content;
use crate::error::RunError;
use crate::nand::TimePath;

impl<A: TimePath, C: Content> Intake<A, C> {
    /// A stalled request has its turn. Returns false if it has to wait on.
    pub(super) fn take_turn_before_buffer(
        &mut self,
        tag: u32,
        request: &Request,
        number: u64,
    ) -> Result<bool, RunError> {
        if self.zoned.has(tag) {
            return self.turn_of_zones(tag, number);
        }
        match request.op {
            Op::Flush => self.wait_for_buffer(tag),
            Op::Trim => self.trim_now(tag, request)?,
            _ => {
                if !self.enter_buffer(tag, request, false)? {
                    return Ok(false);
                }
                self.hold_back_next(request);
            }
        }
        Ok(true)
    }

    /// Takes pages into the buffer: of the host, or `committed` ones of a zone. Returns false if they have to wait.
    pub(super) fn enter_buffer(
        &mut self,
        tag: u32,
        request: &Request,
        committed: bool,
    ) -> Result<bool, RunError> {
        if self.is_held_back(tag)? {
            return Ok(false);
        }
        if self.is_refused(tag) || !self.admit(tag, request, committed)? {
            self.full_since_ns.get_or_insert(self.array.now_ns());
            return Ok(false);
        }
        Ok(true)
    }
}
