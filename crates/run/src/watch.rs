//! The optional outputs of a run: the log of requests and the timeline.

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

    /// Whether anything is written.
    pub(crate) fn is_on(&self) -> bool {
        self.requests.is_some() || self.timeline.is_some()
    }

    /// Writes what was recorded since the last call.
    pub(crate) fn take(&mut self, simulation: &mut Simulation) -> Result<(), Error> {
        if !self.is_on() {
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
        let last = recorded.requests.iter().map(|request| request.completion_ns).max();
        for request in &recorded.requests {
            let span = request.issue_ns..request.completion_ns;
            let (name, flow) = (request.request.op.name(), Some(request.number + 1));
            self.writer.slice(self.tracks.host, name, span, &request_args(request), flow)?;
        }
        for command in &recorded.commands {
            self.command(command)?;
        }
        recorded.commands.sort_by_key(|command| command.bus_start_ns);
        for command in &recorded.commands {
            if let Some(start) = command.bus_start_ns {
                let bus = self.tracks.buses[command.die as usize / self.dies_per_channel];
                self.writer.slice(bus, &name(command), start..start + command.bus_ns, &[], None)?;
            }
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
        let die = command.die as usize;
        let flow = command.request.map(|number| number + 1);
        let args = [("pages", u64::from(command.pages)), ("bus_ns", command.bus_ns)];
        let span = command.start_ns..command.end_ns;
        self.writer.slice(self.tracks.dies[die], &name(command), span, &args, flow)?;
        Ok(())
    }
}

/// Operation and cause, as in "copy gc x17".
fn name(command: &CommandRecord) -> String {
    let (kind, purpose) = (command.kind.name(), command.purpose.name());
    if command.pages > 1 || command.kind == CommandKind::Copies {
        format!("{kind} {purpose} x{}", command.pages)
    } else {
        format!("{kind} {purpose}")
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
