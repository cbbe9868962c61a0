//! Requests to zones, where they are commands to them: writes and appends, TRIMs, and management.

use std::collections::{BTreeMap, VecDeque};

use flashweir_trace::{Op, Request};
use serde::{Deserialize, Serialize};

use super::Intake;
use crate::content::Content;
use crate::core::ZoneWork;
use crate::error::RunError;
use crate::nand::TimePath;
use crate::op::{PageSlice, Stage};

/// Work of stalled commands to zones that is left, by tag.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Zoned(BTreeMap<u32, VecDeque<ZoneWork>>);

impl Zoned {
    /// True if a stalled request is a command to zones.
    #[inline]
    pub(super) fn has(&self, tag: u32) -> bool {
        !self.0.is_empty() && self.0.contains_key(&tag)
    }

    /// The next work of a request.
    fn next(&self, tag: u32) -> Option<ZoneWork> {
        self.0.get(&tag)?.front().copied()
    }

    /// That work is done. Another one may take its place.
    fn done(&mut self, tag: u32, then: Option<ZoneWork>) {
        let Some(left) = self.0.get_mut(&tag) else { return };
        left.pop_front();
        if let Some(then) = then {
            left.push_front(then);
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
        let works = self.core.admit(request);
        if let (Op::Append, Some(ZoneWork::Write(write))) = (request.op, works.first()) {
            self.ledger.append(number, write.lba);
        }
        match works[..] {
            [] => Ok(()),
            _ if self.buffer.is_some() => {
                // Writes to the zone that wait for room in the buffer come before it is finished or reset.
                self.zoned.0.insert(tag, works.into());
                self.stall(tag)
            }
            [ZoneWork::Write(write)] => self.write(tag, &write),
            [ZoneWork::Reset(range)] => self.trim_now(tag, &range),
            _ => {
                works.iter().try_for_each(|work| self.do_now(tag, number, work))?;
                self.slots.expect(tag, self.array.submitted());
                Ok(())
            }
        }
    }

    /// Does the work of a command without a buffer; what is submitted for it is not yet expected.
    fn do_now(&mut self, tag: u32, number: u64, work: &ZoneWork) -> Result<(), RunError> {
        let now = self.array.now_ns();
        match work {
            ZoneWork::Write(_) | ZoneWork::Mark(_) => {}
            ZoneWork::Hold(pages) => self.core.hold(number, pages),
            ZoneWork::Commit(pages) => self.core.commit(now, tag, pages, &mut self.array)?,
            ZoneWork::Finish(rest) => {
                if let Some(pages) = self.core.end_zone(rest) {
                    self.core.commit(now, tag, &pages, &mut self.array)?;
                }
            }
            ZoneWork::Reset(range) => self.trim_pages(tag, range)?,
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
        while let Some(work) = self.zoned.next(tag) {
            let mut then = None;
            match work {
                ZoneWork::Write(pages) => {
                    if !self.enter_buffer(tag, &pages, false)? {
                        return Ok(false);
                    }
                    self.hold_back_next(&pages);
                }
                ZoneWork::Hold(pages) => self.core.hold(number, &pages),
                ZoneWork::Commit(pages) => {
                    if !self.enter_buffer(tag, &pages, true)? {
                        return Ok(false);
                    }
                }
                ZoneWork::Finish(rest) => then = self.core.end_zone(&rest).map(ZoneWork::Commit),
                ZoneWork::Reset(range) => self.trim_now(tag, &range)?,
                ZoneWork::Mark(_) => {}
            }
            self.zoned.done(tag, then);
            if let Some(slot) = self.slots.get_mut(tag) {
                slot.admitted = 0;
            }
        }
        Ok(true)
    }
}
