//! A simulated drive that its caller steps: requests in, time forward, completions out.
//!
//! The caller is the host. It submits requests for the present or for later, advances the clock, and polls completions; a closed
//! loop of any depth is a caller that submits the next request when it polls a completion. Stepping in any slices of time gives what
//! `simulate` gives with open arrivals.
//!
//! Glossary. *Present*: `now_ns`, the time up to which everything has happened. *Later*: submitted for a time after the present, not
//! yet with the simulation. *Outstanding*: submitted and not complete by the present.

mod blocks;
mod broken;
mod change;
mod columns;
mod counts;
mod file;
mod of_run;
mod outstanding;
mod power;
mod saved;
mod spec;
mod steps;

use std::collections::{BinaryHeap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use flashweir_ssd::config::layers::Ineffective;
use flashweir_ssd::{
    Config, Counters, Failure, Geometry, Options, Parts, RunError, Simulation, Spare, Stats, Wear,
};
use flashweir_trace::{Op, Request, SECTOR_BYTES};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::allocator::{self, Taken};
use crate::error::Error;
use crate::external::{self, Decide};
use crate::place::Place;
use crate::power::PowerCuts;
use crate::precondition::precondition;
use crate::progress::{Progress, Reporter};
use crate::result::{self, Measured};
use crate::sample::sample;
use crate::spec::RunSpec;
use crate::workload::uniform;
pub use broken::FlashPart;
pub use columns::Columns;
use counts::Counts;
pub(crate) use of_run::SaveState;
use outstanding::{Ended, Outstanding};
pub use power::{HostChanges, PowerCut};
pub use spec::{DriveOptions, DriveSpec};

/// A request that is complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// Its number in the order of submission, from 0.
    pub number: u64,
    /// When it arrived at the drive, ns.
    pub issue_ns: u64,
    /// When it completed, ns.
    pub end_ns: u64,
    /// First sector; of an append that did not fail the one that it was given.
    pub lba: u64,
    /// Length, sectors.
    pub sectors: u32,
    /// Its tenant.
    pub stream: u16,
    /// Its operation.
    pub op: Op,
    /// Why the drive failed it, if it did.
    pub failure: Option<Failure>,
    /// Where its latency went, if account is kept.
    pub parts: Option<Box<Parts>>,
}

impl Completion {
    /// From arrival to completion, ns.
    pub fn latency_ns(&self) -> u64 {
        self.end_ns - self.issue_ns
    }

    /// Its first byte on the drive.
    pub fn offset(&self) -> u64 {
        self.lba * SECTOR_BYTES
    }

    /// Its length, bytes.
    pub fn bytes(&self) -> u64 {
        u64::from(self.sectors) * SECTOR_BYTES
    }
}

/// A request submitted for later.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Later {
    number: u64,
    request: Request,
    /// Time for which it waited before, ns.
    waited_ns: u64,
}

/// The state of the host's side.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    now_ns: u64,
    /// Requests submitted so far: the number of the next one.
    submitted: u64,
    /// In the order of their times, then of submission.
    later: VecDeque<Later>,
    with_simulation: Outstanding,
    /// Worked out by the simulation, to complete at the present or later.
    ended: BinaryHeap<Ended>,
    /// Complete by the present, not yet polled.
    ready: VecDeque<Completion>,
    counts: Counts,
    /// Settings that have no effect.
    ineffective: Vec<Ineffective>,
    /// Capacities that preconditioning overwrote.
    capacities: u64,
    /// Requests for later that a power cut kept from the simulation.
    skipped: u64,
}

/// A simulated drive that its caller steps.
pub struct Drive {
    config: Config,
    options: DriveOptions,
    names: Vec<String>,
    simulation: Simulation,
    state: State,
    /// Why the drive can't go on.
    failed: Option<RunError>,
    taken: Option<Arc<Mutex<Taken>>>,
    /// Flash as a power cut would leave it, if that is followed.
    power: Option<Box<PowerCuts>>,
    setup_wall: Duration,
    precondition_wall: Duration,
    opened: Instant,
    batch: Vec<Request>,
    completions: Vec<flashweir_ssd::Completion>,
}

impl std::fmt::Debug for Drive {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let State { now_ns, submitted, .. } = &self.state;
        formatter
            .debug_struct("Drive")
            .field("now_ns", now_ns)
            .field("submitted", submitted)
            .finish_non_exhaustive()
    }
}

impl Drive {
    /// Makes the drive and brings it into its starting state, untimed. `allocator`: for `tenants.channels=external`. `progress` is
    /// called about ten times a second while the drive is preconditioned; false gives up.
    pub fn open(
        spec: &DriveSpec,
        allocator: Option<Decide>,
        progress: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<Self, Error> {
        let (config, ineffective) = spec.config_noting()?;
        let mut drive = Self::of_config(config, &spec.options, allocator, progress)?;
        drive.state.ineffective = ineffective;
        Ok(drive)
    }

    /// As [`Drive::open`], of a complete configuration. A host with a closed loop is replaced by open arrivals.
    pub fn with_config(
        config: Config,
        options: &DriveOptions,
        progress: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<Self, Error> {
        Self::of_config(spec::with_open_arrivals(config)?, options, None, progress)
    }

    fn of_config(
        config: Config,
        options: &DriveOptions,
        allocator: Option<Decide>,
        progress: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<Self, Error> {
        let started = Instant::now();
        let mut reporter = Reporter::new(progress, started);
        let mut drive =
            Self::new(config, options.clone(), allocator, options.model.as_ref().map(Place::path))?;
        drive.setup_wall = started.elapsed();
        let seed = options.precondition_seed.unwrap_or(options.seed());
        let mut writes = |geometry: &Geometry| {
            let writes = uniform(seed, geometry.capacity_sectors(), geometry)?;
            Ok(Box::new(writes) as Box<_>)
        };
        let capacities = precondition(&drive.config, &mut drive.simulation, &mut writes, &mut reporter)?;
        drive.state.capacities = capacities;
        drive.precondition_wall = started.elapsed().saturating_sub(drive.setup_wall);
        drive.simulation.keep_completions();
        drive.opened = Instant::now();
        Ok(drive)
    }

    /// A new drive, nothing written.
    fn new(
        config: Config,
        options: DriveOptions,
        allocator: Option<Decide>,
        model: Option<&Path>,
    ) -> Result<Self, Error> {
        let names = options.names()?;
        let own = Options {
            seed: options.seed(),
            verify: options.verify,
            latency_parts: options.latency_parts,
            tenants: names.len() as u16,
            windows: options.windows,
            journal: options.journal,
            die_use: options.die_use,
            ..Options::default()
        };
        let mut simulation = external::simulation(&config, own)?;
        let taken = allocator::attach(&config, &mut simulation, allocator, model, &names)?;
        Ok(Self {
            config,
            options,
            names,
            simulation,
            state: State::default(),
            failed: None,
            taken,
            power: None,
            setup_wall: Duration::ZERO,
            precondition_wall: Duration::ZERO,
            opened: Instant::now(),
            batch: Vec::new(),
            completions: Vec::new(),
        })
    }

    /// A second drive in the same state, outstanding requests included. Maps are shared until one side writes them, so this is cheap. An
    /// allocator outside stays with the original: the fork keeps the last allocation.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self {
            config: self.config.clone(),
            options: self.options.clone(),
            names: self.names.clone(),
            simulation: self.simulation.snapshot(),
            state: self.state.clone(),
            failed: self.failed.clone(),
            taken: None,
            power: None,
            batch: Vec::new(),
            completions: Vec::new(),
            ..*self
        }
    }

    /// The drive's complete configuration. Its host is an open one.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Options that the drive is run with.
    pub fn options(&self) -> &DriveOptions {
        &self.options
    }

    /// Names of the tenants, by number.
    pub fn tenants(&self) -> &[String] {
        &self.names
    }

    /// Names the tenants, and gives each a part of the drive, sectors one behind the other (or none any). They are saved with it.
    /// Refuses other names where flash was divided among the tenants that the drive was made for.
    pub fn set_tenants(&mut self, names: &[String], volumes: Vec<u64>) -> Result<(), Error> {
        let options = DriveOptions { tenants: names.to_vec(), volumes, ..self.options.clone() };
        let own = options.names()?;
        if self.config.tenants.are_on() && own != self.names {
            let expected = format!(
                "`tenants.channels` divides the drive among {}; expected these tenants in this order",
                self.names.join(", ")
            );
            return Err(Error::setting(format!("tenants {}", own.join(", ")), &expected));
        }
        (self.options, self.names) = (options, own);
        Ok(())
    }

    /// The drive's shape.
    pub fn geometry(&self) -> &Geometry {
        self.simulation.geometry()
    }

    /// Its capacity, bytes.
    pub fn capacity_bytes(&self) -> u64 {
        self.geometry().capacity_sectors() * SECTOR_BYTES
    }

    /// The present, ns.
    pub fn now_ns(&self) -> u64 {
        self.state.now_ns
    }

    /// Requests submitted so far: the number of the next one.
    pub fn submitted(&self) -> u64 {
        self.state.submitted
    }

    /// Erase counts since the drive was new.
    pub fn wear(&self) -> Wear {
        self.simulation.wear()
    }

    /// Its spare, if it retires blocks.
    pub fn spare(&self) -> Option<Spare> {
        self.simulation.spare().filter(|_| self.config.ageing.retire.0.is_some())
    }

    /// Erased blocks of a channel.
    pub fn free_blocks(&self, channel: u32) -> u64 {
        self.simulation.free_blocks(channel)
    }

    /// Requests submitted that are not complete by the present.
    pub fn outstanding(&self) -> u64 {
        let State { later, with_simulation, ended, .. } = &self.state;
        (later.len() + with_simulation.len() + ended.len()) as u64
    }

    /// Counters of the drive so far, since it was opened. Flash operations count from when their command is made.
    pub fn counters(&self) -> Counters {
        self.simulation.counters()
    }

    /// Forgets the statistics so far: those to come are about requests submitted, and commands made, from now on. Wear, and what an
    /// allocator did, go on from when the drive was new.
    pub fn reset_stats(&mut self) {
        self.state.counts = Counts::from(self.state.submitted, self.state.now_ns, &self.simulation);
    }

    /// Statistics at the present: of requests that are complete, and of commands that were made. Where times are worked out at once,
    /// commands are made when their request arrives, and the time of dies and buses may lie ahead of the present.
    pub fn stats(&self) -> Stats {
        self.state.counts.stats(&self.simulation, self.state.now_ns)
    }

    /// A sample at the present (see `sample.rs`).
    pub fn sample(&mut self) -> Value {
        let (stats, now_ns) = (self.stats(), self.state.now_ns);
        sample(&mut self.simulation, &self.config, (&self.names, self.options.die_use), &stats, now_ns)
    }

    /// The statistics at the present as the result of a run, as `simulate` gives it.
    pub fn result(&self) -> Value {
        let run = RunSpec { verify: self.options.verify, ..RunSpec::default() };
        let mut result = result::build(&Measured {
            run: &run,
            config: &self.config,
            seed: self.options.seed(),
            workloads: spec::describe(&self.names),
            simulation: &self.simulation,
            stats: self.stats(),
            alone: None,
            warmup: None,
            capacities: self.state.capacities,
            ineffective: self.state.ineffective.clone(),
            setup_wall: self.setup_wall,
            precondition_wall: self.precondition_wall,
            wall: self.opened.elapsed(),
        });
        let taken = self.taken.as_deref();
        result["allocation"] = allocator::report(&self.simulation, &self.names, self.options.windows, taken);
        result
    }
}
