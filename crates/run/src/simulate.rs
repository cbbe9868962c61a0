//! The run: set up, precondition, serve, report.

use std::time::Instant;

use flashweir_ssd::config::layers::to_value;
use flashweir_ssd::{Config, Geometry, Options, Simulation};
use flashweir_trace::format::Gauge;
use serde_json::Value;

use crate::activity::Window;
use crate::allocator;
use crate::alone;
use crate::drive::SaveState;
use crate::error::Error;
use crate::explain::{Explain, Percentile};
use crate::external::{self, Decide};
use crate::place::Place;
use crate::power::{self, Power};
use crate::precondition::precondition;
use crate::progress::{Phase, Progress, Reporter};
use crate::pull::Feed;
use crate::refusals::{CLOSED, refused};
use crate::result::{self, Measured};
use crate::spec::RunSpec;
use crate::tenant::Shape;
use crate::traces::Traces;
use crate::warmup::{Method, Warmup};
use crate::watch::{Watch, timeline_window};
use crate::workload::{Length, Workloads};

/// Requests served between two looks at the clock.
const SLICE: usize = 4096;
/// The same while the run is recorded: records wait in memory, and counters of the drive are taken once a slice.
const WATCHED_SLICE: usize = 64;

/// Runs a simulation. Returns its result as a JSON object; the same run gives the same bytes, wall times aside.
///
/// `progress` is called about ten times a second; when it returns false, the run stops and leaves no file behind.
pub fn simulate(run: &RunSpec, progress: &mut dyn FnMut(&Progress) -> bool) -> Result<Value, Error> {
    simulate_sharing(run, None, None, progress)
}

/// As [`simulate`], with traces that other runs of the process have read already or will want, and with an allocator of its
/// own (`tenants.channels=external`).
pub fn simulate_sharing(
    run: &RunSpec,
    traces: Option<&Traces>,
    allocator: Option<Decide>,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Value, Error> {
    let started = Instant::now();
    let mut reporter = Reporter::new(progress, started);
    let (mut config, ineffective) = run.config_noting()?;
    let save = SaveState::of(run, &mut config)?;
    run.check_outputs()?;
    let run = &run.expanded(Some(&Geometry::new(&config)?))?;
    run.check_outputs()?;
    let activity = Window::parse(run.activity.as_ref())?;
    timeline_window(run)?;
    let method = run.warmup.as_deref().map(Method::parse).transpose()?;
    let mut workloads = Workloads::open(run, traces, &mut reporter)?;
    let length = workloads.length();
    check_host(run, &config, method, &length)?;
    let seed = run.seed.unwrap_or(1);
    let explain = run.explain.as_deref().map(Percentile::parse).transpose()?;
    let power = power(run, &config, seed)?;
    let records = (activity.is_some(), power.is_some());
    let mut simulation = external::simulation(&config, options(run, seed, workloads.count(), records))?;
    let (names, model): (Vec<String>, _) = (workloads.names(), run.model.as_ref().map(Place::path));
    let taken = allocator::attach(&config, &mut simulation, allocator, model, &names)?;
    workloads.check_places(simulation.geometry(), run.wrap)?;
    let explain = explain.map(|percentile| Explain::new(percentile, names.clone(), simulation.geometry()));
    let mut watch = Watch::create(run, activity, power, explain, &config, (&simulation, &names))?;
    let setup = started.elapsed();

    let mut writes = |geometry: &Geometry| workloads.preconditioning(seed, run.wrap, geometry);
    let capacities = precondition(&config, &mut simulation, &mut writes, &mut reporter)?;
    let fresh = alone::fresh(run, &mut simulation);
    watch.start(&mut simulation)?;
    let preconditioned = started.elapsed();

    let mut warmup = method.map(|method| Warmup::new(method, &mut simulation));
    let sectors = simulation.geometry().capacity_sectors();
    let mut feed = workloads.feed(run.wrap, sectors, simulation.arbitrates())?;
    serve(&mut feed, &length, &mut simulation, warmup.as_mut(), &mut watch, &mut reporter)?;
    drop(feed);
    let warmup = warmup.map(|warmup| warmup.finish(&mut simulation)).transpose()?;
    let ended = started.elapsed();
    let watched = watch.finish(&mut simulation)?;
    let whole = simulation.stats();
    let alone = alone::run(run, fresh, &workloads, &whole, warmup.as_ref(), &mut reporter)?;
    let mut result = result::build(&Measured {
        run,
        config: &config,
        seed,
        workloads: workloads.describe(),
        simulation: &simulation,
        stats: warmup.as_ref().map_or(whole, |warmup| warmup.rest.clone()),
        warmup,
        alone,
        capacities,
        ineffective,
        setup_wall: setup,
        precondition_wall: preconditioned.saturating_sub(setup),
        wall: ended.saturating_sub(preconditioned),
    });
    result["allocation"] = allocator::report(&simulation, &names, run.windows, taken.as_deref());
    for (name, value) in watched {
        result[name] = value;
    }
    let tenants = (names, workloads.volumes(simulation.geometry()));
    save.map(|save| save.write(run, simulation, tenants, capacities)).transpose()?;
    Ok(result)
}

/// Refuses times and a warm-up that the drive or the workload has no use for.
fn check_host(run: &RunSpec, config: &Config, method: Option<Method>, length: &Length) -> Result<(), Error> {
    check_times(run, config)?;
    check_length(method, length)
}

/// Refuses a warm-up that leaves none of the requests, where their number is known.
fn check_length(method: Option<Method>, length: &Length) -> Result<(), Error> {
    match (method, length) {
        (Some(method), Length::Requests(count)) => method.check(*count),
        _ => Ok(()),
    }
}

fn power(run: &RunSpec, config: &Config, seed: u64) -> Result<Option<Power>, Error> {
    let cuts = power::parse(run.power_cut.as_ref())?;
    cuts.map(|cuts| Power::new(config, cuts, seed, run.verify)).transpose()
}

/// `activity`, `journal`: whether the activity of channels is asked for, and what is on flash at any time.
fn options(run: &RunSpec, seed: u64, tenants: u16, (activity, journal): (bool, bool)) -> Options {
    let asks = run.requests.is_some() || run.timeline.is_some() || activity || run.explain.is_some();
    Options {
        seed,
        verify: run.verify,
        record: asks,
        die_use: run.samples.is_some(),
        latency_parts: run.latency_parts || run.explain.is_some(),
        journal,
        tenants,
        windows: run.windows,
    }
}

/// Refuses times of a single workload where they do nothing. Those of several say in which order their requests come.
pub(crate) fn check_times(run: &RunSpec, config: &Config) -> Result<(), Error> {
    let [only] = run.workloads.as_slice() else { return Ok(()) };
    match Shape::timing(only) {
        Some(key) if to_value(config)["host"]["mode"] == "closed" => {
            let expected = "host.mode = closed takes requests as fast as it can; expected host.mode = open";
            Err(refused(&CLOSED, key, expected))
        }
        _ => Ok(()),
    }
}

fn serve(
    feed: &mut Feed<'_>,
    length: &Length,
    simulation: &mut Simulation,
    mut warmup: Option<&mut Warmup>,
    watch: &mut Watch,
    reporter: &mut Reporter<'_>,
) -> Result<(), Error> {
    let slice = if watch.is_on() { WATCHED_SLICE } else { SLICE };
    let mut batch = Vec::with_capacity(slice);
    let mut done = 0;
    let mut more = true;
    while more {
        let end = done + slice as u64;
        loop {
            batch.clear();
            more = feed.read(simulation, &mut batch, slice)?;
            match &mut warmup {
                None => simulation.serve(&batch)?,
                Some(warmup) => warmup.serve(simulation, &batch)?,
            }
            done += batch.len() as u64;
            // By flash time, they come one by one.
            if !more || done >= end || !simulation.arbitrates_late() {
                break;
            }
        }
        watch.take(simulation)?;
        match length {
            Length::Requests(total) => reporter.report(Phase::Run, done, *total)?,
            Length::Files(gauges) => reporter.report_share(Phase::Run, done, least(gauges))?,
        }
    }
    if let Some(warmup) = &mut warmup {
        warmup.end(simulation)?;
    }
    simulation.finish()?;
    watch.take(simulation)
}

/// Share that has been read of the trace that is furthest behind; `None` if the share of any is not known.
fn least(gauges: &[Gauge]) -> Option<f64> {
    gauges.iter().map(Gauge::fraction).reduce(|least, next| Some(least?.min(next?)))?
}
