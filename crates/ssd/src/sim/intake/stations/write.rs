//! Cycles of a station that write pages of the buffer.

use super::{Kind, PAGE_TAG};
use crate::content::Content;
use crate::error::RunError;
use crate::nand::{Executor, TimePath};
use crate::op::Stage;
use crate::sim::intake::Intake;
use crate::stats::Cause;

impl<A: TimePath, C: Content> Intake<A, C> {
    /// Writes one page a unit, of mapping units as many as it takes.
    pub(super) fn write_cycle(&mut self, station: u32, set: &[(u32, u32)]) -> Result<(), RunError> {
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
        self.core.take_companions();
        self.end_of_group(station, Cause::Write, Kind::Cycle);
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
        self.stations.of(station).serving.push(slot);
        Ok(())
    }
}
