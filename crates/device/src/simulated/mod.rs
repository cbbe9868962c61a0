//! A simulated drive as a target. It is one simulation with open arrivals; the host, closed loops included, is here, so that every call
//! may have another depth. Its state and its clock go on from call to call.
//!
//! A closed loop is the same, request by request, as `host.mode = closed` of a run that has the same requests: the next one enters
//! at the instant at which an earlier one ends, after everything else of that instant. Not the same are two things that a run's own
//! host does: arbitration among tenants, and the end of a run, at which tenants' last window is closed. Allocators that hold requests back until
//! their window is complete can't be asked one request at a time and are refused.

mod config;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::PathBuf;

use flashweir_run::{Completion, Drive, DriveOptions};
use flashweir_ssd::{Config, Counters, Geometry};
use flashweir_trace::{LogRecord, Request, SECTOR_BYTES};

pub use config::SIMULATED;

use crate::target::scaled;
use crate::{Activity, Began, Error, OpenOptions, Stop, Target, Timing};

/// Seed of preconditioning over that of the drive: of runs it is another one, and what was measured of targets stays as it is.
const OTHER_SEED: u64 = 0x5EED_0F0E_7A11 ^ 0x9e37_79b9_7f4a_7c15;

/// An outstanding request.
#[derive(Clone, Copy, Debug)]
struct Pending {
    request: Request,
    due_ns: Option<u64>,
}

/// A simulated drive that keeps its state.
pub struct SimTarget {
    name: String,
    drive: Drive,
    stop: Stop,
    began: Began,
    max_outstanding: u32,
    /// Requests submitted to the drive so far.
    taken: u64,
    under_way: BTreeMap<u64, Pending>,
    activity: Activity,
}

impl std::fmt::Debug for SimTarget {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("SimTarget").field("name", &self.name).finish_non_exhaustive()
    }
}

impl SimTarget {
    /// Makes the drive that `sim:PRESET[,KEY=VALUE...]` names and brings it into the state that its `precondition` says, untimed.
    pub fn open(name: &str, options: &OpenOptions) -> Result<Self, Error> {
        Self::with_config(name, config::parse(name)?, options)
    }

    /// As [`SimTarget::open`], of a configuration. Its settings of the host are not used: the caller is the host.
    pub fn with_config(name: &str, config: Config, options: &OpenOptions) -> Result<Self, Error> {
        let own = DriveOptions {
            seed: Some(options.seed),
            precondition_seed: Some(options.seed ^ OTHER_SEED),
            ..DriveOptions::default()
        };
        let stop = options.stop.clone();
        let drive = Drive::with_config(config::with_own_host(config), &own, &mut |_| !stop.is_asked());
        let drive = drive.map_err(|error| match error {
            flashweir_run::Error::Cancelled { doing, .. } => {
                Error::Cancelled { doing, progress: "0 requests were executed".into() }
            }
            other => other.into(),
        })?;
        Ok(Self {
            name: name.into(),
            drive,
            stop,
            began: options.began.clone(),
            max_outstanding: options.max_outstanding,
            taken: 0,
            under_way: BTreeMap::new(),
            activity: Activity::default(),
        })
    }

    /// The size of the drive that a name says, without making it, bytes.
    pub fn size_of(name: &str) -> Result<u64, Error> {
        let geometry = Geometry::new(&config::parse(name)?).map_err(flashweir_run::Error::from)?;
        Ok(geometry.capacity_sectors() * SECTOR_BYTES)
    }

    /// The drive's configuration. Its host is an open one.
    pub fn config(&self) -> &Config {
        self.drive.config()
    }

    /// The drive's counters.
    pub fn counters(&self) -> Counters {
        self.drive.counters()
    }

    /// A second drive in the same state, at the same time on its clock. Cheap: maps are shared until one side writes them. To be
    /// called between two calls of `execute`.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self {
            name: self.name.clone(),
            drive: self.drive.fork(),
            stop: self.stop.clone(),
            began: self.began.clone(),
            max_outstanding: self.max_outstanding,
            taken: self.taken,
            under_way: BTreeMap::new(),
            activity: Activity::default(),
        }
    }

    fn check_stop(&self, doing: &str) -> Result<(), Error> {
        if self.stop.is_asked() {
            let progress = format!("{} requests were executed", self.taken - self.under_way.len() as u64);
            return Err(Error::Cancelled { doing: doing.into(), progress });
        }
        Ok(())
    }

    /// Passes records of completed requests to the sink, in order of completion.
    fn hand_over(&mut self, sink: &mut Sink<'_>) -> Result<(), Error> {
        while let Some(Completion { number, issue_ns, end_ns, failure, .. }) = self.drive.next_completion() {
            let Some(Pending { request, due_ns }) = self.under_way.remove(&number) else { continue };
            if let Some(failure) = failure {
                let Request { op, lba, .. } = request;
                let detail =
                    format!("a {} of sectors {lba} to {} failed: {failure}", op.name(), request.end());
                return Err(Error::Failed { path: PathBuf::from(&self.name), detail });
            }
            let request = Request { time_ns: due_ns.unwrap_or(issue_ns), ..request };
            let (issue_ns, completion_ns) = (Some(issue_ns), Some(end_ns));
            sink(LogRecord { due_ns, issue_ns, completion_ns, ..LogRecord::bare(request) })?;
        }
        Ok(())
    }

    /// Lets time pass until fewer than `depth` are outstanding.
    fn make_room(&mut self, depth: u32, sink: &mut Sink<'_>) -> Result<(), Error> {
        while self.under_way.len() >= depth.max(1) as usize {
            self.drive.advance_to_completion(u64::MAX)?;
            self.hand_over(sink)?;
        }
        Ok(())
    }

    /// Submits a request at `time_ns`.
    fn issue(&mut self, request: &Request, time_ns: u64, due_ns: Option<u64>) -> Result<(), Error> {
        let at = Request { time_ns, stream: 0, ..*request };
        let number = self.drive.submit(&[at]).map_err(|error| error.of_request(self.taken + 1))?.start;
        self.taken += 1;
        self.under_way.insert(number, Pending { request: *request, due_ns });
        self.activity.max_outstanding = self.activity.max_outstanding.max(self.under_way.len() as u32);
        self.activity.count_late(due_ns, time_ns, false);
        Ok(())
    }

    fn run(
        &mut self,
        requests: &mut dyn Iterator<Item = Result<Request, Error>>,
        timing: Timing,
        sink: &mut Sink<'_>,
    ) -> Result<(), Error> {
        let start_ns = self.drive.now_ns();
        self.began.set(start_ns);
        for request in requests {
            self.check_stop("executing requests")?;
            let request = request?;
            match timing {
                Timing::Closed { depth } => {
                    self.make_room(depth, sink)?;
                    self.issue(&request, self.drive.now_ns(), None)?;
                }
                Timing::Times { scale } => {
                    let due_ns = scaled(start_ns, request.time_ns, scale);
                    self.make_room(self.max_outstanding, sink)?;
                    let time_ns = self.drive.now_ns().max(due_ns);
                    self.issue(&request, time_ns, Some(due_ns))?;
                    // Completions at this instant or before it are known once the request has entered.
                    self.drive.advance_to(time_ns)?;
                    self.hand_over(sink)?;
                }
            }
        }
        Ok(())
    }
}

/// Receiver of the records.
type Sink<'a> = dyn FnMut(LogRecord) -> Result<(), Error> + 'a;

impl Target for SimTarget {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn size_bytes(&self) -> u64 {
        self.drive.capacity_bytes()
    }

    fn block_bytes(&self) -> u32 {
        SECTOR_BYTES as u32
    }

    fn is_zoned(&self) -> bool {
        self.drive.config().takes_zone_commands()
    }

    fn is_new(&self) -> bool {
        self.taken == 0
    }

    fn execute(
        &mut self,
        requests: &mut dyn Iterator<Item = Result<Request, Error>>,
        timing: Timing,
        sink: &mut dyn FnMut(LogRecord) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let done = self.run(requests, timing, sink);
        // Also after an error: what is outstanding ends.
        let ended = self.make_room(1, sink);
        done.and(ended)
    }

    fn pause(&mut self, time_ns: u64) -> Result<(), Error> {
        self.drive.advance_to(self.drive.now_ns().saturating_add(time_ns))?;
        Ok(())
    }

    fn now_ns(&self) -> u64 {
        self.drive.now_ns()
    }

    fn activity(&self) -> Activity {
        self.activity
    }
}
