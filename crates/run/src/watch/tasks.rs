//! Tasks of a timeline: steps that follow one another without a pause are one slice.

use std::collections::BTreeMap;

use flashweir_ssd::TaskRecord;
use flashweir_trace::output::OutputError;

use crate::timeline::{DriveTracks, OpenSlice, TimelineWriter};

/// A slice that the next step may go on with.
#[derive(Debug)]
struct Open {
    slice: OpenSlice,
    last: TaskRecord,
}

/// Slices whose end is not written, by the first die of those that make their steps.
#[derive(Debug, Default)]
pub(super) struct Tasks(BTreeMap<u32, Open>);

impl Tasks {
    /// Writes steps, by their ends.
    pub(super) fn take(
        &mut self,
        records: &[TaskRecord],
        tracks: &DriveTracks,
        writer: &mut TimelineWriter,
    ) -> Result<(), OutputError> {
        for record in records {
            if let Some(mut open) = self.0.remove(&record.die) {
                if goes_on(&open.last, record) {
                    open.last = *record;
                    self.0.insert(record.die, open);
                    continue;
                }
                writer.end(open.slice, open.last.end_ns)?;
            }
            let track = if record.dies == 1 { tracks.tasks_of[record.die as usize] } else { tracks.tasks };
            let args = [("unit", u64::from(record.unit)), ("dies", u64::from(record.dies))];
            let name = format!("{} {}", record.work.name(), record.urgency.name());
            let slice = writer.begin(track, &name, record.start_ns, &args, &[])?;
            self.0.insert(record.die, Open { slice, last: *record });
        }
        Ok(())
    }

    /// Ends the slices that are open.
    pub(super) fn finish(self, writer: &mut TimelineWriter) -> Result<(), OutputError> {
        self.0.into_values().try_for_each(|open| writer.end(open.slice, open.last.end_ns))
    }
}

/// True if a step goes on with the same work when the one before is done.
fn goes_on(before: &TaskRecord, step: &TaskRecord) -> bool {
    let of = |record: &TaskRecord| (record.unit, record.work, record.urgency, record.dies);
    of(before) == of(step) && before.end_ns == step.start_ns
}
