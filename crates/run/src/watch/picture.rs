//! What the timeline shows of a drive: requests, commands, transfers, a full buffer, and the counters.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::path::Path;

use flashweir_ssd::{
    CommandKind, CommandRecord, Geometry, IssueRecord, Purpose, Recorded, RequestRecord, Simulation,
};
use flashweir_trace::output::OutputError;

use super::arrows::Arrows;
use super::levels::Levels;
use crate::timeline::{DriveTracks, OpenSlice, TimelineWriter, TrackId};

/// The timeline, its tracks, and what can't be written yet.
pub(super) struct Picture {
    writer: TimelineWriter,
    tracks: DriveTracks,
    dies_per_channel: u32,
    arrows: Arrows,
    /// Requests whose end is not written.
    open: BTreeMap<u64, OpenSlice>,
    /// Ends of those that are known: time in ns, request.
    ends: BinaryHeap<Reverse<(u64, u64)>>,
    /// The drive's, then each channel's.
    dirty: Levels,
    free: Levels,
}

impl Picture {
    /// Opens the file.
    pub(super) fn create(path: &Path, geometry: &Geometry) -> Result<Self, OutputError> {
        let tracks = DriveTracks::new(geometry.channels, geometry.dies_per_channel());
        let levels = geometry.channels as usize + 1;
        Ok(Self {
            writer: TimelineWriter::create(path, tracks.list())?,
            dies_per_channel: geometry.dies_per_channel(),
            arrows: Arrows::new(geometry.page_sectors),
            open: BTreeMap::new(),
            ends: BinaryHeap::new(),
            dirty: Levels::new(vec![0; levels]),
            free: Levels::new(vec![0; levels]),
            tracks,
        })
    }

    /// Writes what the counters start with.
    pub(super) fn start(&mut self, simulation: &Simulation) -> Result<(), OutputError> {
        let free = |channel| i64::try_from(simulation.free_blocks(channel)).unwrap_or(i64::MAX);
        let of_channel: Vec<_> = (0..simulation.geometry().channels).map(free).collect();
        let free: Vec<_> = std::iter::once(of_channel.iter().sum()).chain(of_channel).collect();
        let tracks = &self.tracks;
        for (level, value) in free.iter().enumerate() {
            self.writer.counter(counter(level, tracks.free_blocks, &tracks.free_blocks_of), 0, *value)?;
            self.writer.counter(counter(level, tracks.dirty_pages, &tracks.dirty_pages_of), 0, 0)?;
        }
        self.free = Levels::new(free);
        Ok(())
    }

    /// Writes what was recorded.
    pub(super) fn take(&mut self, recorded: &Recorded) -> Result<(), OutputError> {
        self.requests(&recorded.issues, &recorded.requests)?;
        for full in &recorded.full {
            let args = [("request", full.request)];
            let span = full.start_ns..full.end_ns;
            let flow = self.arrows.take(full.request);
            self.writer.slice(self.tracks.buffer, "full", span, &args, flow.as_slice())?;
        }
        let mut commands: Vec<_> = recorded.commands.iter().collect();
        commands.sort_by_key(|command| (command.start_ns, command.die));
        for command in commands {
            self.command(command)?;
        }
        for transfer in &recorded.transfers {
            let bus = self.tracks.buses[(transfer.die / self.dies_per_channel) as usize];
            let name = name(transfer.kind, transfer.purpose, transfer.pages);
            self.writer.slice(bus, &name, transfer.start_ns..transfer.end_ns, &[], &[])?;
        }
        for dirty in &recorded.dirty_pages {
            self.dirty.change(dirty.time_ns, 0, dirty.change.into());
            if let Some(channel) = dirty.channel {
                self.dirty.change(dirty.time_ns, channel as usize + 1, dirty.change.into());
            }
        }
        self.settle(recorded.settled_ns)
    }

    /// Completes the file and gives it its name.
    pub(super) fn finish(mut self) -> Result<(), OutputError> {
        self.end_requests(u64::MAX)?;
        self.settle(u64::MAX)?;
        self.writer.finish()
    }

    /// Begins the slices of requests that were issued and ends those that are done, by time. A request thus stands in the
    /// file before its commands: arrows then lead from it, even to what begins at the same time.
    fn requests(&mut self, issues: &[IssueRecord], done: &[RequestRecord]) -> Result<(), OutputError> {
        let completions: BTreeMap<_, _> =
            done.iter().map(|record| (record.number, record.completion_ns)).collect();
        let open = done.iter().filter(|record| self.open.contains_key(&record.number));
        self.ends.extend(open.map(|record| Reverse((record.completion_ns, record.number))));
        for issue in issues {
            self.end_requests(issue.issue_ns)?;
            let request = &issue.request;
            let args = [
                ("request", issue.number),
                ("lba", request.lba),
                ("sectors", u64::from(request.sectors)),
                ("stream", u64::from(request.stream)),
            ];
            let flows = self.arrows.reserve(issue.number, request);
            let name = request.op.name();
            let slice = self.writer.begin(self.tracks.host, name, issue.issue_ns, &args, &flows)?;
            self.open.insert(issue.number, slice);
            if let Some(completion) = completions.get(&issue.number) {
                self.ends.push(Reverse((*completion, issue.number)));
            }
        }
        Ok(())
    }

    /// Ends the slices of requests that are done by `time_ns`.
    fn end_requests(&mut self, time_ns: u64) -> Result<(), OutputError> {
        while let Some(Reverse((end, number))) = self.ends.peek().copied()
            && end <= time_ns
        {
            self.ends.pop();
            if let Some(slice) = self.open.remove(&number) {
                self.writer.end(slice, end)?;
            }
        }
        Ok(())
    }

    fn command(&mut self, command: &CommandRecord) -> Result<(), OutputError> {
        let flow = command.request.and_then(|number| self.arrows.take(number));
        let args = [("pages", u64::from(command.pages)), ("bus_ns", command.bus_ns)];
        let span = command.start_ns..command.end_ns;
        let name = name(command.kind, command.purpose, command.pages);
        self.writer.slice(self.tracks.dies[command.die as usize], &name, span, &args, flow.as_slice())?;
        // A block is free until the first command that writes to it starts, and again when its erase is done.
        let channel = (command.die / self.dies_per_channel) as usize + 1;
        for level in [0, channel] {
            self.free.change(command.start_ns, level, -i64::from(command.opens));
            let erased = if command.kind == CommandKind::Erase { command.pages } else { 0 };
            self.free.change(command.end_ns, level, erased.into());
        }
        Ok(())
    }

    /// Writes what had to wait until everything before `end_ns` was known.
    fn settle(&mut self, end_ns: u64) -> Result<(), OutputError> {
        let Self { writer, tracks, .. } = self;
        self.dirty.settle(end_ns, |time, level, value| {
            writer.counter(counter(level, tracks.dirty_pages, &tracks.dirty_pages_of), time, value)
        })?;
        self.free.settle(end_ns, |time, level, value| {
            writer.counter(counter(level, tracks.free_blocks, &tracks.free_blocks_of), time, value)
        })
    }
}

/// The track of a level: the drive's, or a channel's.
fn counter(level: usize, total: TrackId, of_channel: &[TrackId]) -> TrackId {
    level.checked_sub(1).map_or(total, |channel| of_channel[channel])
}

/// Operation and cause, as in "copy gc x17".
fn name(kind: CommandKind, purpose: Purpose, pages: u32) -> String {
    let (kind, purpose) = (kind.name(), purpose.name());
    if pages > 1 { format!("{kind} {purpose} x{pages}") } else { format!("{kind} {purpose}") }
}
