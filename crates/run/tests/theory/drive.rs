//! Running the simulated drive for a test: settings in, statistics out.

use flashweir_ssd::config::layers::{Layer, resolve};
use flashweir_ssd::precondition::{Preconditioner, Step};
use flashweir_ssd::{Config, Counters, Geometry, GroupCounters, Options, Simulation, Stats};
use flashweir_trace::generate::{Generator, Spec};
use flashweir_trace::{Op, Request};

use crate::theory::closed_forms::write_amplification::effective_space_ratio;

/// Requests handed over at once.
const SLICE: usize = 1 << 14;

/// True if the tests run at full size.
pub(crate) fn full() -> bool {
    std::env::var_os("FLASHWEIR_FULL").is_some_and(|value| value == "1")
}

/// Settings of a drive, as on the command line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drive {
    settings: Vec<(String, String)>,
}

impl Drive {
    /// One die on one channel: nothing is shared, nothing runs in parallel.
    pub(crate) fn one_die() -> Self {
        Self::default().set("channels", 1)
    }

    /// Changes one key.
    #[expect(clippy::needless_pass_by_value, reason = "numbers and literals read better without a reference")]
    pub(crate) fn set(mut self, key: &str, value: impl ToString) -> Self {
        self.settings.push((key.into(), value.to_string()));
        self
    }

    fn config(&self) -> Config {
        let settings = self.settings.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let layer = Layer::from_assignments("test", settings);
        resolve(&[layer]).unwrap_or_else(|error| panic!("{:?}: {error}", self.settings))
    }

    /// Readies the drive for a workload, with every check on.
    pub(crate) fn start(&self, workload: &str) -> Run {
        let config = self.config();
        let options = Options { seed: 1, verify: true, ..Options::default() };
        let mut simulation = Simulation::new(&config, options).expect("the configuration was checked");
        let spec = Spec::parse(workload).unwrap_or_else(|error| panic!("{workload}: {error}"));
        let other_seed = spec.clone().with_seed(spec.seed() + 1);
        precondition(&config, &mut simulation, &other_seed);
        let pages_per_block = simulation.geometry().pages_per_block;
        Run { simulation, requests: spec.generator(), pages_per_block }
    }

    /// Runs a whole workload.
    pub(crate) fn run(&self, workload: &str) -> Outcome {
        let mut run = self.start(workload);
        while run.serve(SLICE) {}
        run.finish()
    }
}

/// Brings the drive into the state that its configuration asks for.
fn precondition(config: &Config, simulation: &mut Simulation, spec: &Spec) {
    let pages = simulation.geometry().logical_pages;
    let mut preconditioner = Preconditioner::new(config.precondition, pages);
    let mut requests = spec.endless();
    let mut slice = Vec::new();
    loop {
        match preconditioner.step(simulation).expect("the drive fills") {
            Step::Again => {}
            Step::Done => break,
            Step::NeedsRequests => {
                slice.clear();
                requests.read(&mut slice, SLICE);
                preconditioner.overwrite(simulation, &slice, false).expect("the drive gets steady");
            }
        }
    }
    simulation.end_of_preconditioning();
}

/// A drive in progress.
pub(crate) struct Run {
    simulation: Simulation,
    requests: Generator,
    pages_per_block: u32,
}

impl Run {
    /// Serves at most so many requests. Returns whether there may be more.
    pub(crate) fn serve(&mut self, most: usize) -> bool {
        let mut slice: Vec<Request> = Vec::with_capacity(most);
        let more = self.requests.read(&mut slice, most);
        self.simulation.serve(&slice).unwrap_or_else(|error| panic!("{error}"));
        more
    }

    /// Serves so many requests, and returns the write amplification meanwhile.
    pub(crate) fn amplification_over(&mut self, requests: u64) -> f64 {
        let before = self.simulation.counters();
        let mut left = requests as usize;
        while left > 0 {
            self.serve(left.min(SLICE));
            left -= left.min(SLICE);
        }
        let now = self.simulation.counters();
        let programs = now.flash().programs - before.flash().programs;
        programs as f64 / (now.host_pages_written - before.host_pages_written) as f64
    }

    /// Serves slices of requests, and returns the write amplification meanwhile.
    pub(crate) fn amplification_of(&mut self, slices: impl Iterator<Item = Vec<Request>>) -> f64 {
        let before = self.simulation.counters();
        for slice in slices {
            self.simulation.serve(&slice).unwrap_or_else(|error| panic!("{error}"));
        }
        let now = self.simulation.counters();
        let programs = now.flash().programs - before.flash().programs;
        programs as f64 / (now.host_pages_written - before.host_pages_written) as f64
    }

    /// Serves slices of requests, and returns by group what was programmed in it for each page that the host wrote to it; pages
    /// of a group stay in it when they are relocated.
    pub(crate) fn amplification_by_group(&mut self, slices: impl Iterator<Item = Vec<Request>>) -> Vec<f64> {
        let before = self.simulation.placement().expect("groups");
        for slice in slices {
            self.simulation.serve(&slice).unwrap_or_else(|error| panic!("{error}"));
        }
        let now = self.simulation.placement().expect("groups");
        let written = |now: &[GroupCounters], before: &[GroupCounters]| -> Vec<f64> {
            now.iter().zip(before).map(|(now, before)| (now.written - before.written) as f64).collect()
        };
        let host = written(&now.host, &before.host);
        let moved = written(&now.moved, &before.moved);
        host.iter().zip(moved).map(|(host, moved)| (host + moved) / host).collect()
    }

    /// Serves so many requests, and returns the counters after them.
    pub(crate) fn counters_after(&mut self, requests: u64) -> Counters {
        let mut left = requests as usize;
        while left > 0 {
            self.serve(left.min(SLICE));
            left -= left.min(SLICE);
        }
        self.simulation.counters()
    }

    /// Lets the last requests end.
    pub(crate) fn finish(mut self) -> Outcome {
        self.simulation.finish().unwrap_or_else(|error| panic!("{error}"));
        let geometry = self.simulation.geometry().clone();
        Outcome { stats: self.simulation.stats(), geometry, pages_per_block: self.pages_per_block }
    }
}

/// Outcome of a run.
pub(crate) struct Outcome {
    pub(crate) stats: Stats,
    pub(crate) geometry: Geometry,
    pages_per_block: u32,
}

impl Outcome {
    /// Counters of the run.
    pub(crate) fn counters(&self) -> &Counters {
        &self.stats.counters
    }

    /// Pages programmed for each page that the host wrote.
    pub(crate) fn write_amplification(&self) -> f64 {
        self.counters().flash().programs as f64 / self.counters().host_pages_written as f64
    }

    /// Mean latency of an operation, microseconds.
    pub(crate) fn mean_latency(&self, op: Op) -> f64 {
        self.stats.latencies.summary(None, op).map_or(f64::NAN, |summary| summary.mean)
    }

    /// Simulated time, ns.
    pub(crate) fn nanos(&self) -> f64 {
        self.stats.simulated_ns as f64
    }

    /// The space ratio of the drive as it was built, without the blocks that it holds back.
    pub(crate) fn space_ratio(&self) -> f64 {
        effective_space_ratio(
            self.geometry.logical_pages,
            self.geometry.physical_pages(),
            self.geometry.reserved_blocks(),
            self.pages_per_block.into(),
        )
    }
}

/// A page-mapped drive by what theory counts: the blocks that can hold data, and the share that is spare.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Units, each a channel of one die.
    pub(crate) units: u64,
    /// Blocks of a unit that can hold data: all but those held back.
    pub(crate) blocks: u64,
    /// Blocks held back (`gc.free_blocks`).
    pub(crate) held_back: u64,
    /// Pages of a block.
    pub(crate) pages_per_block: u64,
    /// Share of the pages of those blocks that is not logical, Sf.
    pub(crate) spare: f64,
}

impl Shape {
    /// Logical pages of the drive.
    #[expect(clippy::cast_sign_loss, reason = "the share that is not spare is positive")]
    pub(crate) fn logical_pages(&self) -> u64 {
        let usable = (self.blocks * self.pages_per_block) as f64;
        (usable * (1.0 - self.spare)).round() as u64 * self.units
    }

    /// Such a drive in steady state. Flash that takes no time makes the test short, and changes no count.
    pub(crate) fn drive(&self) -> Drive {
        let logical = self.logical_pages();
        // The first block held back lies outside the over-provisioning.
        let physical = (self.blocks + self.held_back - 1) * self.pages_per_block * self.units;
        Drive::default()
            .set("channels", self.units)
            .set("pages_per_block", self.pages_per_block)
            .set("capacity", logical * 4096)
            .set("op_ratio", (physical - logical) as f64 / logical as f64)
            .set("gc.free_blocks", self.held_back)
            .set("precondition", "steady")
    }

    /// A workload of one-page requests over the whole drive: `kind` with further keys such as `write=1.0`, as many
    /// requests as `capacities` times its pages.
    pub(crate) fn workload(&self, kind: &str, keys: &str, capacities: u64) -> String {
        let pages = self.logical_pages();
        format!("{kind}:span={},size=4KiB,align=4KiB,count={},{keys}", pages * 4096, pages * capacities)
    }
}

/// Asserts that `found` is `expected` within a relative `tolerance`.
#[track_caller]
pub(crate) fn assert_close(what: &str, found: f64, expected: f64, tolerance: f64) {
    let error = found / expected - 1.0;
    println!("{what}: found {found:.5e}, expected {expected:.5e}, error {:+.3}%", error * 100.0);
    assert!(
        error.abs() <= tolerance,
        "{what}: found {found}, expected {expected}: off by {:+.3}%, allowed {:.3}%",
        error * 100.0,
        tolerance * 100.0
    );
}
