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

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use flashweir_ssd::precondition::{Preconditioner, Step};
use flashweir_ssd::{Completion, Config, Geometry, Options, RunError, Simulation};
use flashweir_trace::generate::Spec;
use flashweir_trace::{LogRecord, Request, SECTOR_BYTES};

use crate::target::scaled;
use crate::{Activity, Began, Error, OpenOptions, Stop, Target, Timing};

/// Requests of preconditioning at a time.
const BATCH: usize = 4096;
/// A target has one host: streams of requests are in the log, but the drive is not told of them.
const STREAMS: u16 = 1;

/// A request under way.
#[derive(Clone, Copy, Debug)]
struct Pending {
    request: Request,
    due_ns: Option<u64>,
}

/// A simulated drive that keeps its state.
pub struct SimTarget {
    name: String,
    config: Config,
    simulation: Simulation,
    stop: Stop,
    began: Began,
    most_under_way: u32,
    now_ns: u64,
    /// Requests handed over so far: the number of the next one.
    taken: u64,
    under_way: BTreeMap<u64, Pending>,
    /// Those that the simulation has worked out, by the end of each.
    ended: BinaryHeap<Reverse<(u64, u64, u64)>>,
    completions: Vec<Completion>,
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

    /// As [`SimTarget::open`], of a configuration. What it says of its host is not used: the host is whoever calls.
    pub fn with_config(name: &str, config: Config, options: &OpenOptions) -> Result<Self, Error> {
        let config = config::with_own_host(config)?;
        let own = Options { seed: options.seed, tenants: STREAMS, ..Options::default() };
        let simulation = Simulation::new(&config, own).map_err(flashweir_run::Error::from)?;
        let mut target = Self {
            name: name.into(),
            config,
            simulation,
            stop: options.stop.clone(),
            began: options.began.clone(),
            most_under_way: options.most_under_way,
            now_ns: 0,
            taken: 0,
            under_way: BTreeMap::new(),
            ended: BinaryHeap::new(),
            completions: Vec::new(),
            activity: Activity::default(),
        };
        target.precondition(options.seed)?;
        target.simulation.keep_completions();
        Ok(target)
    }

    /// The size of the drive that a name says, without making it, bytes.
    pub fn size_of(name: &str) -> Result<u64, Error> {
        let geometry = Geometry::new(&config::parse(name)?).map_err(flashweir_run::Error::from)?;
        Ok(geometry.capacity_sectors() * SECTOR_BYTES)
    }

    /// The drive's configuration. Its host is an open one.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The drive itself, for its counters.
    pub fn simulation(&self) -> &Simulation {
        &self.simulation
    }

    /// A second drive in the same state, at the same time on its clock. Cheap: maps are shared until one side writes them. To be
    /// called between two calls of `execute`.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self {
            name: self.name.clone(),
            config: self.config.clone(),
            simulation: self.simulation.snapshot(),
            stop: self.stop.clone(),
            began: self.began.clone(),
            most_under_way: self.most_under_way,
            now_ns: self.now_ns,
            taken: self.taken,
            under_way: BTreeMap::new(),
            ended: BinaryHeap::new(),
            completions: Vec::new(),
            activity: Activity::default(),
        }
    }

    /// The starting state; for `steady`, page writes uniform over the drive.
    fn precondition(&mut self, seed: u64) -> Result<(), Error> {
        let geometry = self.simulation.geometry();
        let (pages, span) = (geometry.logical_pages, geometry.capacity_sectors() * SECTOR_BYTES);
        let page = u64::from(geometry.page_sectors) * SECTOR_BYTES;
        let mut preconditioner = Preconditioner::new(self.config.precondition, pages);
        let mut stream = None;
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            match preconditioner.step(&mut self.simulation).map_err(run_error)? {
                Step::Done => break,
                Step::Again => {}
                Step::NeedsRequests => {
                    if stream.is_none() {
                        let text = format!("random:span={span},size={page},seed={}", seed ^ OTHER_SEED);
                        stream = Some(Spec::parse(&text)?.endless());
                    }
                    batch.clear();
                    if let Some(stream) = &mut stream {
                        stream.read(&mut batch, BATCH);
                    }
                    preconditioner.overwrite(&mut self.simulation, &batch, false).map_err(run_error)?;
                }
            }
            self.check_stop("preconditioning")?;
        }
        self.simulation.end_of_preconditioning();
        Ok(())
    }

    fn check_stop(&self, doing: &str) -> Result<(), Error> {
        if self.stop.is_asked() {
            let progress = format!("{} requests were executed", self.taken - self.under_way.len() as u64);
            return Err(Error::Cancelled { doing: doing.into(), progress });
        }
        Ok(())
    }

    /// What ended by now, in order, to the sink.
    fn hand_over(&mut self, by_ns: u64, sink: &mut Sink<'_>) -> Result<(), Error> {
        while let Some(Reverse((end_ns, number, issue_ns))) = self.ended.peek().copied()
            && end_ns <= by_ns
        {
            self.ended.pop();
            let Some(Pending { request, due_ns }) = self.under_way.remove(&number) else { continue };
            let request = Request { time_ns: due_ns.unwrap_or(issue_ns), ..request };
            let (issue_ns, completion_ns) = (Some(issue_ns), Some(end_ns));
            sink(LogRecord { due_ns, issue_ns, completion_ns, ..LogRecord::bare(request) })?;
        }
        Ok(())
    }

    fn collect(&mut self) {
        self.simulation.take_completions(&mut self.completions);
        let known = self.completions.iter();
        self.ended
            .extend(known.map(|end| Reverse((end.issue_ns + end.latency_ns, end.number, end.issue_ns))));
    }

    /// When the next request ends of those under way, ns.
    fn next_end_ns(&mut self) -> Result<u64, Error> {
        loop {
            if let Some(Reverse((end_ns, ..))) = self.ended.peek() {
                return Ok(*end_ns);
            }
            let goes_on = self.simulation.proceed().map_err(run_error)?;
            self.collect();
            if !goes_on && self.ended.is_empty() {
                return Err(run_error(RunError::NoRoom { waiting: self.under_way.len() as u64 }));
            }
        }
    }

    /// Lets time pass until fewer than `depth` are under way.
    fn make_room(&mut self, depth: u32, sink: &mut Sink<'_>) -> Result<(), Error> {
        while self.under_way.len() >= depth.max(1) as usize {
            let end_ns = self.next_end_ns()?;
            self.now_ns = self.now_ns.max(end_ns);
            let before = self.under_way.len();
            self.hand_over(end_ns, sink)?;
            debug_assert!(self.under_way.len() < before);
        }
        Ok(())
    }

    /// Hands a request over, now.
    fn issue(&mut self, request: &Request, due_ns: Option<u64>) -> Result<(), Error> {
        let at = Request { time_ns: self.now_ns, stream: 0, ..*request };
        self.under_way.insert(self.taken, Pending { request: *request, due_ns });
        self.taken += 1;
        self.activity.most_under_way = self.activity.most_under_way.max(self.under_way.len() as u32);
        self.activity.count_late(due_ns, self.now_ns, false);
        self.simulation.serve(&[at]).map_err(run_error)?;
        self.collect();
        Ok(())
    }

    fn run(
        &mut self,
        requests: &mut dyn Iterator<Item = Result<Request, Error>>,
        timing: Timing,
        sink: &mut Sink<'_>,
    ) -> Result<(), Error> {
        let start_ns = self.now_ns;
        self.began.set(start_ns);
        for request in requests {
            self.check_stop("executing requests")?;
            let request = request?;
            let due_ns = match timing {
                Timing::Closed { depth } => {
                    self.make_room(depth, sink)?;
                    None
                }
                Timing::Times { scale } => {
                    let due_ns = scaled(start_ns, request.time_ns, scale);
                    self.make_room(self.most_under_way, sink)?;
                    self.now_ns = self.now_ns.max(due_ns);
                    Some(due_ns)
                }
            };
            self.issue(&request, due_ns)?;
            if due_ns.is_some() {
                // What ends at this instant or before it is known once the request has entered.
                self.hand_over(self.now_ns, sink)?;
            }
        }
        Ok(())
    }
}

/// Who takes the records.
type Sink<'a> = dyn FnMut(LogRecord) -> Result<(), Error> + 'a;

/// Preconditioning draws from another seed than workloads.
const OTHER_SEED: u64 = 0x5EED_0F0E_7A11;

impl Target for SimTarget {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn size_bytes(&self) -> u64 {
        self.simulation.geometry().capacity_sectors() * SECTOR_BYTES
    }

    fn block_bytes(&self) -> u32 {
        SECTOR_BYTES as u32
    }

    fn execute(
        &mut self,
        requests: &mut dyn Iterator<Item = Result<Request, Error>>,
        timing: Timing,
        sink: &mut dyn FnMut(LogRecord) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let done = self.run(requests, timing, sink);
        // Also after an error: what is under way ends.
        let ended = self.make_room(1, sink);
        done.and(ended)
    }

    fn pause(&mut self, time_ns: u64) -> Result<(), Error> {
        self.now_ns = self.now_ns.saturating_add(time_ns);
        Ok(())
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn activity(&self) -> Activity {
        self.activity
    }
}

fn run_error(error: RunError) -> Error {
    flashweir_run::Error::from(error).into()
}
