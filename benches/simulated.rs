//! The simulated drive in steady state, ready to be measured: full timing, statistics, the default device.

use std::time::Instant;

use flashweir_ssd::config::layers::{Layer, resolve};
use flashweir_ssd::precondition::{Preconditioner, Step};
use flashweir_ssd::{Options, Simulation};
use flashweir_trace::Request;
use flashweir_trace::generate::{Generator, Spec};

use crate::{Measurement, Size};

/// Requests handed to the drive at once.
const SLICE: usize = 1 << 14;

/// A drive and the requests that it serves.
pub(crate) struct Simulated {
    simulation: Simulation,
    requests: Generator,
    slice: Vec<Request>,
    size: Size,
}

impl Simulated {
    /// The default device with the capacity of `size` and these settings, in steady state, for random requests of which the
    /// share `write` are writes. `parts`: with the latency breakdown.
    pub(crate) fn steady(drive: &[(&str, &str)], write: f64, parts: bool, size: Size) -> Self {
        Self::serving(drive, &format!("write={write}"), parts, size)
    }

    /// As [`Simulated::steady`], with other fields of the workload as well.
    pub(crate) fn serving(drive: &[(&str, &str)], workload: &str, parts: bool, size: Size) -> Self {
        let bytes = u64::from(size.logical_pages) * 4096;
        let capacity = bytes.to_string();
        let settings = [("capacity", capacity.as_str()), ("precondition", "steady")];
        let settings = settings.into_iter().chain(drive.iter().copied());
        let config = resolve(&[Layer::from_assignments("bench", settings)]).expect("a legal drive");
        let mut simulation = Simulation::new(&config, Options { latency_parts: parts, ..Options::default() })
            .expect("a drive");
        let spec =
            |seed| Spec::parse(&format!("random:span={bytes},size=4KiB,align=4KiB,{workload},seed={seed}"));
        let mut preconditioner = Preconditioner::new(config.precondition, u64::from(size.logical_pages));
        let mut requests = spec(2).expect("a legal workload").endless();
        let mut slice = Vec::with_capacity(SLICE);
        loop {
            match preconditioner.step(&mut simulation).expect("the drive fills") {
                Step::Again => {}
                Step::Done => break,
                Step::NeedsRequests => {
                    slice.clear();
                    requests.read(&mut slice, SLICE);
                    preconditioner.overwrite(&mut simulation, &slice, false).expect("the drive gets steady");
                }
            }
        }
        simulation.end_of_preconditioning();
        Self { simulation, requests: spec(1).expect("a legal workload").endless(), slice, size }
    }

    /// Generates and serves the requests of one measurement.
    pub(crate) fn measure(&mut self) -> Measurement {
        self.measure_until(false)
    }

    /// As [`Simulated::measure`]; `end`: until everything has ended, after which nothing more can be served.
    pub(crate) fn measure_until(&mut self, end: bool) -> Measurement {
        let before = self.simulation.counters();
        let seconds = self.serve(end);
        let now = self.simulation.counters();
        let (flash, flash_before) = (now.flash(), before.flash());
        let programs = flash.programs - flash_before.programs;
        let reads = flash.reads - flash_before.reads;
        let erases = flash.erases - flash_before.erases;
        let written = now.host_pages_written - before.host_pages_written;
        Measurement {
            operations: reads + programs + erases,
            seconds,
            write_amplification: programs as f64 / written as f64,
        }
    }

    /// As [`Simulated::measure`], rated in mapping units: written, read and programmed by collections, and blocks erased.
    pub(crate) fn measure_units(&mut self) -> Measurement {
        let before = self.simulation.counters();
        let seconds = self.serve(false);
        let counts = self.simulation.counters().since(&before);
        let (written, moved) = (counts.host_pages_written, counts.moved_units);
        Measurement {
            operations: written + 2 * moved + counts.flash().erases,
            seconds,
            write_amplification: (written + moved) as f64 / written as f64,
        }
    }

    /// Serves the requests of a measurement. Returns the seconds that it took.
    fn serve(&mut self, end: bool) -> f64 {
        let start = Instant::now();
        let mut left = self.size.requests as usize;
        while left > 0 {
            self.slice.clear();
            self.requests.read(&mut self.slice, left.min(SLICE));
            self.simulation.serve(&self.slice).expect("the drive serves");
            left -= self.slice.len();
        }
        if end {
            self.simulation.finish().expect("the drive ends");
        }
        start.elapsed().as_secs_f64()
    }
}
