//! The timeline of a drive: requests, commands, their waits and pauses, transfers, a full buffer, and counters.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Range;
use std::path::Path;

use flashweir_ssd::{
    CommandKind, CommandRecord, Geometry, HoldRecord, IssueRecord, PauseRecord, Purpose, Recorded,
    RequestRecord, Simulation,
};
use flashweir_trace::output::OutputError;

use super::arrows::Arrows;
use super::drive_levels::{Changed, DriveLevels};
use super::levels::Levels;
use super::tasks::Tasks;
use super::waits;
use crate::timeline::{DriveTracks, OpenSlice, TimelineWriter, TrackId};

/// The timeline, its tracks, and the records that can't be written yet.
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
    /// Each die's.
    queues: Levels,
    of_drive: DriveLevels,
    tasks: Tasks,
    /// Pauses of the command of each die that is not done.
    pauses: Vec<Vec<PauseRecord>>,
}

/// Time for which a command held its die: all of it or the last part of it, or an earlier part.
enum Held<'a> {
    Last(&'a CommandRecord),
    Before(&'a HoldRecord),
}

impl Held<'_> {
    /// Key that orders the records of a die in the timeline.
    fn key(&self) -> (u64, u32) {
        match self {
            Held::Last(command) => (command.resumed_ns, command.die),
            Held::Before(hold) => (hold.start_ns, hold.die),
        }
    }
}

impl Picture {
    /// Opens the file; what happens outside of `window_ns` is left out.
    pub(super) fn create(
        path: &Path,
        window_ns: Range<u64>,
        geometry: &Geometry,
    ) -> Result<Self, OutputError> {
        let tracks = DriveTracks::new(geometry.channels, geometry.dies_per_channel());
        let levels = geometry.channels as usize + 1;
        Ok(Self {
            writer: TimelineWriter::create(path, tracks.list())?.with_window(window_ns),
            dies_per_channel: geometry.dies_per_channel(),
            arrows: Arrows::new(geometry.page_sectors),
            open: BTreeMap::new(),
            ends: BinaryHeap::new(),
            dirty: Levels::new(vec![0; levels]),
            free: Levels::new(vec![0; levels]),
            queues: Levels::new(vec![0; geometry.total_dies() as usize]),
            of_drive: DriveLevels::new(&[]),
            tasks: Tasks::default(),
            pauses: vec![Vec::new(); geometry.total_dies() as usize],
            tracks,
        })
    }

    /// Writes the first values of the counters.
    pub(super) fn start(&mut self, simulation: &mut Simulation) -> Result<(), OutputError> {
        self.of_drive = DriveLevels::new(&simulation.begin_levels());
        if let Some(free) = self.of_drive.free_superblocks() {
            self.writer.counter(self.tracks.free_superblocks, 0, free)?;
        }
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

    /// Writes the records.
    pub(super) fn take(&mut self, recorded: &Recorded) -> Result<(), OutputError> {
        self.requests(&recorded.issues, &recorded.requests)?;
        for link in &recorded.links {
            let track = self.tracks.links[usize::from(link.to_host)];
            let args = [("request", link.request), ("bytes", link.bytes)];
            self.writer.slice(track, "data", link.start_ns..link.end_ns, &args, &[])?;
        }
        for core in &recorded.cores {
            let name = if core.ends { "end" } else { core.op.name() };
            let args = [("request", core.request), ("core", u64::from(core.core))];
            self.writer.slice(self.tracks.cores, name, core.start_ns..core.end_ns, &args, &[])?;
        }
        for full in &recorded.full {
            let args = [("request", full.request)];
            let span = full.start_ns..full.end_ns;
            let flow = self.arrows.take(full.request);
            self.writer.slice(self.tracks.buffer, "full", span, &args, flow.as_slice())?;
        }
        for pause in &recorded.pauses {
            self.pauses[pause.die as usize].push(*pause);
        }
        let holds = recorded.holds.iter().map(Held::Before);
        let mut held: Vec<_> = recorded.commands.iter().map(Held::Last).chain(holds).collect();
        held.sort_by_key(Held::key);
        for held in held {
            match held {
                Held::Last(command) => self.command(command)?,
                Held::Before(part) => self.hold(part)?,
            }
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
        recorded.levels.iter().for_each(|entry| self.of_drive.change(entry));
        self.tasks.take(&recorded.tasks, &self.tracks, &mut self.writer)?;
        for queue in &recorded.queues {
            self.queues.change(queue.time_ns, queue.die as usize, queue.change.into());
        }
        self.settle(recorded.settled_ns, recorded.queues_settled_ns)
    }

    /// Completes the file and gives it its name.
    pub(super) fn finish(mut self) -> Result<(), OutputError> {
        self.end_requests(u64::MAX)?;
        self.settle(u64::MAX, u64::MAX)?;
        self.tasks.finish(&mut self.writer)?;
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
        let die = command.die as usize;
        let args = waits::args(command);
        if command.arrived_ns < command.start_ns && command.purpose != Purpose::Gc {
            let span = command.arrived_ns..command.start_ns;
            let name = waits::name(command);
            self.writer.slice(self.tracks.waiting[die], &name, span, &args[2..], flow.as_slice())?;
        }
        let name = name(command.kind, command.purpose, command.pages);
        if command.pauses > 0 {
            self.paused(command, &name, &args)?;
        }
        let span = command.resumed_ns..command.end_ns;
        self.writer.slice(self.tracks.dies[die], &name, span, &args, flow.as_slice())?;
        // A block is free until the first command that writes to it starts, and again when its erase is done.
        let channel = (command.die / self.dies_per_channel) as usize + 1;
        for level in [0, channel] {
            self.free.change(command.start_ns, level, -i64::from(command.opens));
            let erased = if command.kind == CommandKind::Erase { command.pages } else { 0 };
            self.free.change(command.end_ns, level, erased.into());
        }
        Ok(())
    }

    /// Writes the time for which a command held its die before giving it up.
    fn hold(&mut self, hold: &HoldRecord) -> Result<(), OutputError> {
        let name = name(hold.kind, hold.purpose, hold.pages);
        let args = [("pages", u64::from(hold.pages))];
        let span = hold.start_ns..hold.end_ns;
        self.writer.slice(self.tracks.dies[hold.die as usize], &name, span, &args, &[])
    }

    /// A command that was paused, with its pauses in it.
    fn paused(
        &mut self,
        command: &CommandRecord,
        name: &str,
        args: &[(&'static str, u64)],
    ) -> Result<(), OutputError> {
        let die = command.die as usize;
        let mut slice = self.writer.begin(self.tracks.paused[die], name, command.start_ns, args, &[])?;
        // Another one may have begun, and been paused, since this one ended.
        for pause in self.pauses[die].extract_if(.., |pause| pause.end_ns <= command.end_ns) {
            let name = if pause.suspended { "suspended" } else { "makes way" };
            self.writer.within(&mut slice, name, pause.start_ns..pause.end_ns)?;
        }
        self.writer.end(slice, command.end_ns)
    }

    /// Writes the counters up to `end_ns`, and those of queues up to `queues_end_ns`: everything before is recorded.
    fn settle(&mut self, end_ns: u64, queues_end_ns: u64) -> Result<(), OutputError> {
        let Self { writer, tracks, .. } = self;
        self.queues
            .settle(queues_end_ns, |time, die, value| writer.counter(tracks.queues[die], time, value))?;
        self.of_drive.settle(end_ns, |time, changed| match changed {
            Changed::FreeSuperblocks(free) => writer.counter(tracks.free_superblocks, time, free),
            Changed::SlcBytes(bytes) => writer.counter(tracks.slc_cache, time, bytes),
        })?;
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
