//! Stations that have done what they were busy with.

use super::{Intake, Stations};
use crate::content::Content;
use crate::nand::{Probe, TaskRecord, TimePath};
use crate::op::Stage;
use crate::task::Task;

impl Stations {
    /// A station makes a step of a task from now on, which is recorded when it is done: that of all that take part in a collection,
    /// or its own.
    pub(super) fn record(&mut self, station: u32, start_ns: u64) {
        let together = self.together.as_ref().filter(|together| together.held[station as usize]);
        let Some(task) = together.map(|together| together.task).or(self.all[station as usize].own) else {
            return;
        };
        let units = self.units_of(station);
        let unit = if units.contains(&task.unit) { task.unit } else { units.start };
        let (dies, die) = (self.dies_of(station).count() as u32, self.dies_of(station).next().unwrap_or(0));
        let Task { work, urgency, .. } = task;
        let record = TaskRecord { die, dies, unit, work, urgency, start_ns, end_ns: start_ns };
        self.all[station as usize].step = Some(record);
    }
}

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
        if let Some(step) = self.stations.of(station).step.take() {
            let end_ns = self.array.now_ns();
            self.array.probe().task(TaskRecord { end_ns, ..step });
        }
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
