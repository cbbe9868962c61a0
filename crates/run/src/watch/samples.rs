//! Samples of a run, at most [`MAX_SAMPLES`] of them over its whole length, however long it is: when there are too many, every
//! second one is dropped, and as few are taken from then on.

use std::io::Write;
use std::path::Path;

use flashweir_ssd::{Config, Simulation};
use flashweir_trace::output::PartFile;
use serde_json::Value;

use crate::error::Error;
use crate::sample::sample;

/// Most samples of a run.
const MAX_SAMPLES: usize = 600;

/// Samples as they are taken.
pub(super) struct Samples {
    file: PartFile,
    config: Config,
    names: Vec<String>,
    taken: Vec<String>,
    /// Looks between two samples, and since the last one.
    every: u64,
    looks: u64,
}

impl Samples {
    pub(super) fn create(path: &Path, config: &Config, names: Vec<String>) -> Result<Self, Error> {
        let file = PartFile::create(path)?;
        Ok(Self { file, config: config.clone(), names, taken: Vec::new(), every: 1, looks: 0 })
    }

    /// Takes a sample now and then.
    pub(super) fn take(&mut self, simulation: &mut Simulation) {
        if self.looks.is_multiple_of(self.every) {
            self.push(simulation);
        }
        self.looks += 1;
    }

    fn push(&mut self, simulation: &mut Simulation) {
        if self.taken.len() == MAX_SAMPLES {
            let mut at = 0;
            self.taken.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.every *= 2;
        }
        self.taken.push(self.one(simulation).to_string());
    }

    fn one(&self, simulation: &mut Simulation) -> Value {
        let stats = simulation.stats();
        let time_ns = stats.elapsed_ns();
        sample(simulation, &self.config, (&self.names, true), &stats, time_ns)
    }

    /// Writes the file, a line a sample, the last one of the end.
    pub(super) fn finish(mut self, simulation: &mut Simulation) -> Result<(), Error> {
        self.push(simulation);
        for line in &self.taken {
            writeln!(self.file, "{line}").map_err(|error| self.file.error(error))?;
        }
        Ok(self.file.finish()?)
    }
}
