//! Requests to zones, where they are commands to them: writes and appends, TRIMs, and management.

use std::collections::BTreeMap;

use flashweir_trace::{Op, Request};
use serde::{Deserialize, Serialize};

use super::Intake;
use crate::content::Content;
use crate::core::{ZoneStep, ZoneWork};
use crate::error::RunError;
use crate::nand::TimePath;
use crate::op::{PageSlice, Stage};

/// Work of stalled commands to zones that is left, by tag.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Zoned(BTreeMap<u32, ZoneWork>);

impl Zoned {
    /// True if a stalled request is a command to zones.
    #[inline]
    pub(super) fn has(&self, tag: u32) -> bool {
        !self.0.is_empty() && self.0.contains_key(&tag)
    }

    /// The pages that a request writes.
    fn write(&self, tag: u32) -> Option<Request> {
        self.0.get(&tag)?.write
    }

    /// The next step of a request.
    fn next(&self, tag: u32) -> Option<ZoneStep> {
        self.0.get(&tag)?.steps.front().copied()
    }

    /// The pages are written, or that step is done. Another one may take its place.
    fn done(&mut self, tag: u32, then: Option<ZoneStep>) {
        let Some(left) = self.0.get_mut(&tag) else { return };
        if left.write.take().is_none() {
            left.steps.pop_front();
        }
        if let Some(then) = then {
            left.steps.push_front(then);
        }
        if left.is_empty() {
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
        let work = self.core.admit(Some(number), request);
        if let (Op::Append, Some(write)) = (request.op, work.write) {
            self.ledger.append(number, write.lba);
        }
        if work.is_empty() {
            return Ok(());
        }
        if self.buffer.is_some() {
            // Writes to the zone that wait for room in the buffer come before it is finished or reset.
            self.zoned.0.insert(tag, work);
            return self.stall(tag);
        }
        if let Some(write) = work.write {
            return self.write(tag, &write);
        }
        if let ([ZoneStep::Reset(range)], []) = work.steps.as_slices() {
            return self.trim_now(tag, range);
        }
        work.steps.iter().try_for_each(|step| self.do_now(tag, number, step))?;
        self.slots.expect(tag, self.array.submitted());
        Ok(())
    }

    /// Does a step of a command without a buffer; what is submitted for it is not yet expected.
    fn do_now(&mut self, tag: u32, number: u64, step: &ZoneStep) -> Result<(), RunError> {
        let now = self.array.now_ns();
        match step {
            ZoneStep::Hold(pages) => self.core.hold(now, number, pages),
            ZoneStep::Commit(pages) => self.core.commit(now, tag, pages, &mut self.array)?,
            ZoneStep::Finish(rest) => {
                if let Some(pages) = self.core.end_zone(rest) {
                    self.core.commit(now, tag, &pages, &mut self.array)?;
                }
            }
            ZoneStep::Reset(range) => self.trim_pages(tag, range)?,
        }
        Ok(())
    }

    /// A page of a commit or finish, or a part of one, is in the buffer: with the data of the random write area, if it was written.
    pub(super) fn leave_area(&mut self, slot: u32, part: &PageSlice) {
        let held = self.core.held(part.lpn);
        if let Some(held) = held {
            self.core.content.inherit(Stage::Held(held), Stage::Buffer(slot));
        }
        if u64::from(part.end) == self.core.page_sectors.get() {
            self.core.count_committed(held.is_some());
            self.core.let_go(part.lpn);
        }
    }

    /// A stalled command to zones has its turn. Returns false if it has to wait on.
    pub(super) fn turn_of_zones(&mut self, tag: u32, number: u64) -> Result<bool, RunError> {
        if let Some(pages) = self.zoned.write(tag) {
            if !self.enter_buffer(tag, &pages, false)? {
                return Ok(false);
            }
            self.hold_back_next(&pages);
            self.end_zone_step(tag, None);
        }
        while let Some(step) = self.zoned.next(tag) {
            let mut then = None;
            match step {
                ZoneStep::Hold(pages) => self.core.hold(self.array.now_ns(), number, &pages),
                ZoneStep::Commit(pages) => {
                    if !self.enter_buffer(tag, &pages, true)? {
                        return Ok(false);
                    }
                }
                ZoneStep::Finish(rest) => then = self.core.end_zone(&rest).map(ZoneStep::Commit),
                ZoneStep::Reset(range) => self.trim_now(tag, &range)?,
            }
            self.end_zone_step(tag, then);
        }
        Ok(true)
    }

    /// A step of a stalled command is done, and `then` comes next.
    fn end_zone_step(&mut self, tag: u32, then: Option<ZoneStep>) {
        self.zoned.done(tag, then);
        if let Some(slot) = self.slots.get_mut(tag) {
            slot.admitted = 0;
        }
    }
}
