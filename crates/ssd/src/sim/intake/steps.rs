//! Steps that dies make of tasks, for the probe: recorded when they are done. Nothing here decides anything.

use super::Intake;
use crate::content::Content;
use crate::nand::{Probe, TaskRecord, TimePath};
use crate::op::Work;
use crate::task::Urgency;

/// Steps in progress, each with its dies that are not done.
#[derive(Clone, Debug, Default)]
pub(super) struct Running(Vec<(Vec<u32>, TaskRecord)>);

impl Running {
    /// Dies make a step from now on.
    pub(super) fn begin(&mut self, dies: &[u32], (unit, work, urgency): (u32, Work, Urgency), start_ns: u64) {
        let Some(die) = dies.first().copied() else { return };
        let end_ns = start_ns;
        let record = TaskRecord { die, dies: dies.len() as u32, unit, work, urgency, start_ns, end_ns };
        self.0.push((dies.to_vec(), record));
    }

    /// A die has made its part of a step. Returns the record of the step, if that is done.
    fn end(&mut self, die: u32, end_ns: u64) -> Option<TaskRecord> {
        let at = self.0.iter().position(|(dies, _)| dies.contains(&die))?;
        self.0[at].0.retain(|own| *own != die);
        self.0[at].0.is_empty().then(|| TaskRecord { end_ns, ..self.0.swap_remove(at).1 })
    }
}

impl<A: TimePath, C: Content> Intake<A, C> {
    /// A die has made its part of a step of the background.
    pub(super) fn end_step(&mut self, die: u32) {
        self.background.step_done(die);
        if let Some(record) = self.background.running.end(die, self.array.now_ns()) {
            self.array.probe().task(record);
        }
    }
}
