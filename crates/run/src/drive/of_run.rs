//! The drive of a run that has ended, saved so that it can be stepped or served on (`--save-state`).

use std::path::PathBuf;
use std::time::{Duration, Instant};

use flashweir_ssd::config::Engine;
use flashweir_ssd::{Config, Simulation};

use super::counts::Counts;
use super::outstanding::Outstanding;
use super::spec::with_open_arrivals;
use super::{Drive, DriveOptions, State};
use crate::error::Error;
use crate::spec::RunSpec;

/// Where the drive of a run is saved, and as which drive.
pub(crate) struct SaveState {
    path: PathBuf,
    /// The drive, with open arrivals.
    config: Config,
}

impl SaveState {
    /// If the run asks for it. Gives the run the time path that the saved drive has: both give the same times where both are exact.
    pub(crate) fn of(run: &RunSpec, config: &mut Config) -> Result<Option<Self>, Error> {
        let Some(place) = &run.save_state else { return Ok(None) };
        let mut open = with_open_arrivals(config.clone())?;
        if config.uses_events() != open.uses_events() {
            (config.engine, open.engine) = (Engine::Event, Engine::Event);
        }
        Ok(Some(Self { path: place.path().to_owned(), config: open }))
    }

    /// Saves the drive as the run has left it: at its end, everything written to flash.
    pub(crate) fn write(
        self,
        run: &RunSpec,
        mut simulation: Simulation,
        (names, volumes): (Vec<String>, Vec<u64>),
        capacities: u64,
    ) -> Result<(), Error> {
        let at_end = simulation.stats();
        let served = at_end.counters.requests.iter().sum();
        let now_ns = at_end.elapsed_ns();
        let has_tenants = names.len() > 1 || self.config.tenants.are_on();
        let options = DriveOptions {
            seed: run.seed,
            verify: run.verify,
            // A run that explains latencies keeps account of their parts.
            latency_parts: run.latency_parts || run.explain.is_some(),
            tenants: if has_tenants { names.clone() } else { Vec::new() },
            volumes: if has_tenants { volumes } else { Vec::new() },
            windows: run.windows,
            model: run.model.clone(),
            ..DriveOptions::default()
        };
        simulation.open_arrivals(&self.config);
        let state = State {
            now_ns,
            with_simulation: Outstanding::after(served),
            counts: Counts::from(0, now_ns, &simulation),
            capacities,
            ..State::default()
        };
        let drive = Drive {
            config: self.config,
            options,
            names,
            simulation,
            state,
            failed: None,
            taken: None,
            power: None,
            setup_wall: Duration::ZERO,
            precondition_wall: Duration::ZERO,
            opened: Instant::now(),
            batch: Vec::new(),
            completions: Vec::new(),
        };
        drive.save(&self.path)
    }
}
