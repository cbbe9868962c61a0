//! The optional outputs of a run: the log of requests and the timeline.

use std::collections::BTreeMap;

use flashweir_ssd::{CommandKind, CommandRecord, Recorded, RequestRecord, Simulation};

use crate::error::Error;
use crate::requests::RequestLog;
use crate::spec::RunSpec;
use crate::timeline::{DriveTracks, TimelineWriter};

/// Takes what the drive recorded and writes it on.
pub(crate) struct Watch {
    requests: Option<RequestLog>,
    timeline: Option<Timeline>,
}

impl Watch {
    /// Opens the outputs that the run asks for.
    pub(crate) fn create(run: &RunSpec, simulation: &Simulation) -> Result<Self, Error> {
        Ok(Self {
            requests: run.requests.as_deref().map(RequestLog::create).transpose()?,
            timeline: match &run.timeline {
                None => None,
                Some(path) => {
                    let geometry = simulation.geometry();
                    let tracks = DriveTracks::new(geometry.channels, geometry.dies_per_channel());
                    let writer = TimelineWriter::create(path, tracks.list())?;
                    Some(Timeline { writer, tracks, dies_per_channel: geometry.dies_per_channel() as usize })
                }
            },
        })
    }

    /// Writes what was recorded since the last call.
    pub(crate) fn take(&mut self, simulation: &mut Simulation) -> Result<(), Error> {
        if self.requests.is_none() && self.timeline.is_none() {
            return Ok(());
        }
        let mut recorded = simulation.take_recorded();
        // Both time paths then write the same bytes.
        recorded.requests.sort_by_key(|record| (record.issue_ns, record.number));
        if let Some(timeline) = &mut self.timeline {
            timeline.write(&mut recorded, simulation.free_blocks())?;
        }
        if let Some(log) = &mut self.requests {
            for record in &recorded.requests {
                log.push(record.log_record())?;
            }
        }
        Ok(())
    }

    /// Completes the files and gives them their names.
    pub(crate) fn finish(self) -> Result<(), Error> {
        if let Some(log) = self.requests {
            log.finish()?;
        }
        if let Some(timeline) = self.timeline {
            timeline.writer.finish()?;
        }
        Ok(())
    }
}

/// The timeline and its tracks.
struct Timeline {
    writer: TimelineWriter,
    tracks: DriveTracks,
    dies_per_channel: usize,
}

impl Timeline {
    fn write(&mut self, recorded: &mut Recorded, free_blocks: u64) -> Result<(), Error> {
        recorded.commands.sort_by_key(|command| (command.start_ns, command.die));
        let mut open = BTreeMap::new();
        let last = recorded.requests.iter().map(|request| request.completion_ns).max();
        for request in &recorded.requests {
            let slice = self.writer.begin(
                self.tracks.host,
                request.request.op.name(),
                request.issue_ns,
                &request_args(request),
                Some(request.number + 1),
            )?;
            open.insert(request.number, ());
            self.writer.end(slice, request.completion_ns)?;
        }
        for command in &recorded.commands {
            self.command(command)?;
        }
        for (time, pages) in &recorded.dirty_pages {
            self.writer.counter(self.tracks.dirty_pages, *time, i64::try_from(*pages).unwrap_or(i64::MAX))?;
        }
        if let Some(last) = last {
            let free = i64::try_from(free_blocks).unwrap_or(i64::MAX);
            self.writer.counter(self.tracks.free_blocks, last, free)?;
        }
        Ok(())
    }

    fn command(&mut self, command: &CommandRecord) -> Result<(), Error> {
        let name = match command.kind {
            CommandKind::Copies => format!("copy {} x{}", command.purpose.name(), command.pages),
            kind if command.pages > 1 => {
                format!("{} {} x{}", kind.name(), command.purpose.name(), command.pages)
            }
            kind => format!("{} {}", kind.name(), command.purpose.name()),
        };
        let die = command.die as usize;
        let flow = command.request.map(|number| number + 1);
        let args = [("pages", u64::from(command.pages)), ("bus_ns", command.bus_ns)];
        let span = command.start_ns..command.end_ns;
        self.writer.slice(self.tracks.dies[die], &name, span, &args, flow)?;
        if let Some(span) = command.bus_span() {
            self.writer.slice(self.tracks.buses[die / self.dies_per_channel], &name, span, &[], None)?;
        }
        Ok(())
    }
}

fn request_args(record: &RequestRecord) -> [(&'static str, u64); 4] {
    [
        ("request", record.number),
        ("lba", record.request.lba),
        ("sectors", u64::from(record.request.sectors)),
        ("stream", u64::from(record.request.stream)),
    ]
}
