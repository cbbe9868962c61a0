//! Stations that have done what they were busy with.

use super::Intake;
use crate::content::Content;
use crate::nand::TimePath;
use crate::op::Stage;

impl<A: TimePath, C: Content> Intake<A, C> {
    /// A station has done what it was busy with, which is taken up when all of this instant has happened.
    pub(in crate::sim) fn note_end(&mut self, station: u32) {
        self.stations.ended.push(station);
    }

    /// Takes up, in their order, what stations have done that became idle at this instant.
    pub(in crate::sim) fn end_stations(&mut self) {
        let mut ended = std::mem::take(&mut self.stations.ended);
        ended.sort_unstable();
        ended.drain(..).for_each(|station| self.end_station(station));
        self.stations.ended = ended;
    }

    fn end_station(&mut self, station: u32) {
        self.rest(station);
        if self.stations.of(station).serving.is_empty() {
            return;
        }
        let mut serving = std::mem::take(&mut self.stations.of(station).serving);
        for slot in serving.drain(..) {
            self.leave_cycle(slot);
        }
        self.stations.of(station).serving = serving;
    }

    /// An entry of the buffer that a cycle has written is on flash.
    fn leave_cycle(&mut self, slot: u32) {
        let Some(buffer) = &mut self.buffer else { return };
        let entry = buffer.finish(slot);
        self.core.content.unstage(Stage::Buffer(slot));
        let now = self.array.now_ns();
        if self.is_buffered {
            crate::nand::Probe::dirty_pages(self.array.probe(), now, entry.channel, -1);
        }
        let keeps = self.ledger.parts.is_some();
        for tag in entry.waiters {
            if keeps {
                self.slots.last_mut(tag).set(now, &self.stations.waits.of(slot));
            }
            self.settle(tag, 1);
        }
    }
}
