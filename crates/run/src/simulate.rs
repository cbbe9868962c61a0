//! The run: set up, precondition, serve, report.

use std::time::{Duration, Instant};

use flashweir_ssd::config::Precondition;
use flashweir_ssd::precondition::{Preconditioner, Step};
use flashweir_ssd::{Config, Options, Simulation};
use flashweir_trace::Source;
use serde::Serialize;
use serde_json::Value;

use crate::error::Error;
use crate::result::{self, Measured};
use crate::spec::RunSpec;
use crate::watch::Watch;
use crate::workload::{self, Workloads};

/// Requests served, or pages written, between two looks at the clock.
const SLICE: usize = 4096;
/// The same while the run is recorded: records wait in memory, and counters of the drive are taken once a slice.
const WATCHED_SLICE: usize = 64;
/// Between two calls of the progress function.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// What a run is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Writing the drive into its starting state.
    Precondition,
    /// Serving the workload.
    Run,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Progress {
    /// What it is doing.
    pub phase: Phase,
    /// Pages written in preconditioning, or requests served.
    pub done: u64,
    /// Of how many, if that is known.
    pub total: Option<u64>,
    /// Seconds since the run was started.
    pub elapsed_s: f64,
}

/// Tells the caller how far the run is, and asks whether to go on.
struct Reporter<'a> {
    call: &'a mut dyn FnMut(&Progress) -> bool,
    started: Instant,
    last: Instant,
}

impl Reporter<'_> {
    fn report(&mut self, phase: Phase, done: u64, total: Option<u64>) -> Result<(), Error> {
        let now = Instant::now();
        if now - self.last < PROGRESS_EVERY {
            return Ok(());
        }
        self.last = now;
        let elapsed_s = (now - self.started).as_secs_f64();
        if (self.call)(&Progress { phase, done, total, elapsed_s }) {
            return Ok(());
        }
        let (doing, unit) = match phase {
            Phase::Precondition => ("preconditioning", "pages"),
            Phase::Run => ("running", "requests"),
        };
        let total =
            total.map_or_else(|| format!("an unknown number of {unit}"), |total| format!("{total} {unit}"));
        Err(Error::Cancelled { doing, done: done.to_string(), total })
    }
}

/// Runs a simulation. Returns its result as a JSON object; the same run gives the same bytes, wall times aside.
///
/// `progress` is called about ten times a second; when it returns false, the run stops and leaves no file behind.
pub fn simulate(run: &RunSpec, progress: &mut dyn FnMut(&Progress) -> bool) -> Result<Value, Error> {
    let started = Instant::now();
    let mut reporter = Reporter { call: progress, started, last: started };
    let config = run.config()?;
    run.check_outputs()?;
    let mut workloads = Workloads::open(run)?;
    let seed = run.seed.unwrap_or(1);
    let record = run.requests.is_some() || run.timeline.is_some();
    let mut simulation = Simulation::new(&config, Options { seed, verify: run.verify, record })?;
    if !run.wrap {
        workloads.check_spans(simulation.geometry())?;
    }
    let mut watch = Watch::create(run, &simulation)?;
    let setup = started.elapsed();

    let capacities = precondition(run, &config, &workloads, &mut simulation, &mut reporter)?;
    let preconditioned = started.elapsed();

    let capacity_sectors = simulation.geometry().capacity_sectors();
    let total = workloads.total;
    let mut stream = workloads.stream(run.wrap, capacity_sectors)?;
    serve(stream.as_mut(), total, &mut simulation, &mut watch, &mut reporter)?;
    drop(stream);
    let ended = started.elapsed();

    watch.finish()?;
    Ok(result::build(&Measured {
        run,
        config: &config,
        seed,
        workloads: workloads.describe(),
        simulation: &simulation,
        capacities,
        setup_wall: setup,
        precondition_wall: preconditioned.saturating_sub(setup),
        wall: ended.saturating_sub(preconditioned),
    }))
}

/// Brings the drive into its starting state. Returns how many capacities were overwritten to find it steady.
fn precondition(
    run: &RunSpec,
    config: &Config,
    workloads: &Workloads,
    simulation: &mut Simulation,
    reporter: &mut Reporter<'_>,
) -> Result<u64, Error> {
    let pages = simulation.geometry().logical_pages;
    let mut preconditioner = Preconditioner::new(config.precondition, pages);
    let mut stream = None;
    let mut batch = Vec::with_capacity(SLICE);
    let mut everything = None;
    // Steady state takes at least two capacities after filling; how many more is not known before.
    let total = if config.precondition == Precondition::Steady { 3 * pages } else { pages };
    loop {
        match preconditioner.step(simulation)? {
            Step::Done => break,
            Step::Again => {}
            Step::NeedsRequests => {
                if stream.is_none() {
                    let seed = run.seed.unwrap_or(1);
                    stream = Some(workloads.preconditioning(seed, run.wrap, simulation.geometry())?);
                }
                batch.clear();
                if let Some(stream) = &mut stream {
                    stream.read(&mut batch, SLICE)?;
                }
                let everything = *everything.get_or_insert_with(|| !workload::writes(&batch));
                preconditioner.overwrite(simulation, &batch, everything)?;
            }
        }
        let written = preconditioner.written(simulation);
        reporter.report(Phase::Precondition, written, Some(total.max(written)))?;
    }
    simulation.end_of_preconditioning();
    Ok(preconditioner.capacities())
}

fn serve(
    stream: &mut dyn Source,
    total: Option<u64>,
    simulation: &mut Simulation,
    watch: &mut Watch,
    reporter: &mut Reporter<'_>,
) -> Result<(), Error> {
    let slice = if watch.is_on() { WATCHED_SLICE } else { SLICE };
    let mut batch = Vec::with_capacity(slice);
    let mut done = 0;
    let mut more = true;
    while more {
        batch.clear();
        more = stream.read(&mut batch, slice)?;
        simulation.serve(&batch)?;
        done += batch.len() as u64;
        watch.take(simulation)?;
        reporter.report(Phase::Run, done, total)?;
    }
    simulation.finish()?;
    watch.take(simulation)
}
