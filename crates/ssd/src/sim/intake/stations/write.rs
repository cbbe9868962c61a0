//! Cycles of a station that write pages of the buffer.

use super::{Kind, PAGE_TAG};
use crate::buffer::WriteBuffer;
use crate::content::Content;
use crate::core::Taken;
use crate::error::RunError;
use crate::nand::{Executor, Probe, TimePath};
use crate::op::Stage;
use crate::sim::intake::Intake;
use crate::stats::Cause;

impl<A: TimePath, C: Content> Intake<A, C> {
    /// Writes one page a unit, of mapping units as many as it takes.
    pub(super) fn write_cycle(&mut self, station: u32, set: &[(u32, u32)]) -> Result<(), RunError> {
        if self.core.superblocks.is_some() {
            self.write_superblocks(station, set)?;
        } else {
            self.write_units(station, set)?;
        }
        self.core.take_companions();
        self.end_of_group(station, Cause::Write, Kind::Cycle);
        Ok(())
    }

    fn write_units(&mut self, station: u32, set: &[(u32, u32)]) -> Result<(), RunError> {
        for (queue, first) in set {
            let mut slot = *first;
            for written in 1..=self.core.geometry.units_per_page {
                self.write_entry(station, *queue, slot)?;
                let Some(buffer) = self.buffer.as_ref() else { return Ok(()) };
                if written == self.core.geometry.units_per_page {
                    break;
                }
                let Some(next) = buffer.next_in_page(*queue, *first) else { break };
                slot = next;
            }
        }
        Ok(())
    }

    /// Writes to the open superblocks of a station: of the pages that wait for a set as many as go to a unit each, in their turn.
    fn write_superblocks(&mut self, station: u32, set: &[(u32, u32)]) -> Result<(), RunError> {
        let mut taken = Taken::default();
        if self.buffer.as_ref().is_some_and(WriteBuffer::is_in_order) {
            return self.write_by_age(station, &mut taken);
        }
        for (queue, _) in set {
            while let Some(slot) = self.buffer.as_ref().and_then(|buffer| buffer.next_apart(*queue)) {
                if !self.goes_with(&taken, slot) {
                    break;
                }
                self.write_taken(station, *queue, slot, &mut taken)?;
            }
        }
        Ok(())
    }

    /// As [`Intake::write_superblocks`], no page ahead of an older request. Those that wait for sets of other stations are theirs.
    fn write_by_age(&mut self, station: u32, taken: &mut Taken) -> Result<(), RunError> {
        let waiting = self.buffer.as_ref().map_or_else(Vec::new, WriteBuffer::by_age);
        let own = self.stations.units_of(station);
        let (mut held, mut stopped) = (None, Vec::new());
        for (queue, slot) in waiting.into_iter().filter(|(queue, _)| own.contains(queue)) {
            let Some(buffer) = &mut self.buffer else { return Ok(()) };
            let request = buffer.entry(slot).request;
            if held.is_some_and(|held| held != request) {
                break;
            }
            let has_turn = !stopped.contains(&queue) && buffer.next_apart(queue) == Some(slot);
            if has_turn && self.goes_with(taken, slot) {
                self.write_taken(station, queue, slot, taken)?;
            } else {
                stopped.push(queue);
                held = Some(request);
            }
        }
        Ok(())
    }

    /// True if an entry may leave the buffer in the cycle that is being made.
    fn goes_with(&self, taken: &Taken, slot: u32) -> bool {
        let Some(buffer) = &self.buffer else { return false };
        let (lpn, handle) = (buffer.lpn(slot), buffer.handle(slot));
        buffer.sequence(slot) < self.leaves_before() && self.core.goes_with(taken, lpn, handle)
    }

    fn write_taken(
        &mut self,
        station: u32,
        queue: u32,
        slot: u32,
        taken: &mut Taken,
    ) -> Result<(), RunError> {
        let lpn = self.buffer.as_ref().map(|buffer| buffer.lpn(slot));
        self.write_entry(station, queue, slot)?;
        if let Some(lpn) = lpn {
            self.core.note_taken(taken, lpn);
        }
        Ok(())
    }

    /// Writes an entry of the buffer, the next one of its queue.
    fn write_entry(&mut self, station: u32, queue: u32, slot: u32) -> Result<(), RunError> {
        let now = self.array.now_ns();
        let tag = PAGE_TAG + station;
        let end = self.core.page_sectors.get() as u32;
        let Some(buffer) = &mut self.buffer else { return Ok(()) };
        let entry = buffer.entry(slot);
        let (request, left) = (entry.request, self.core.codewords.left_by_mask(&entry.mask));
        let part = entry.whole(end);
        buffer.start(queue, true);
        let stage = Stage::Buffer(slot);
        if self.stations.has_clock() {
            let mut group = self.stations.groups.fill(&self.array);
            group.serve(request);
            self.core.write(now, tag, part, left, stage, &mut group)?;
        } else {
            self.array.serve(request);
            self.core.write(now, tag, part, left, stage, &mut self.array)?;
        }
        if A::Probe::ON && self.is_buffered {
            self.bound(slot);
        }
        self.stations.of(station).serving.push(slot);
        Ok(())
    }
}
