//! Benchmarks of drives: what would be run, and one workload at a time.

use flashweir_device::bench::{self, State, Suite, Tell, Workload};
use flashweir_device::safety::Identity;
use flashweir_device::{Error, OpenOptions, open};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{parse, text, watched};

/// Settings of a benchmark.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    target: String,
    #[serde(default)]
    state: State,
    #[serde(default)]
    scale: Option<f64>,
    #[serde(default)]
    seed: u64,
    #[serde(default)]
    erase: Option<String>,
    /// The drive that the plan was made for; `None` of a simulated one.
    #[serde(default)]
    drive: Option<Identity>,
    #[serde(default)]
    ours: bool,
    #[serde(default)]
    suites: Vec<Suite>,
    #[serde(default)]
    workload: Option<Workload>,
}

impl Settings {
    fn options(&self, write: bool) -> OpenOptions {
        let Self { drive: seen, ours, seed, .. } = *self;
        OpenOptions { write, erase: self.erase.clone(), seen, ours, seed, ..OpenOptions::default() }
    }

    /// The workloads of the suites at the scale that the drive has room for.
    fn plan(&self) -> Result<Value, Error> {
        let target = open(&self.target, &self.options(false))?;
        bench::check_state(&self.target, self.state)?;
        let hundredths = bench::scale(self.scale, &self.target, target.size_bytes())?;
        let workloads: Vec<Workload> =
            self.suites.iter().flat_map(|suite| suite.workloads(hundredths, self.seed)).collect();
        Ok(json!({
            "drive": target.identity(),
            "size_bytes": target.size_bytes(),
            "scale": hundredths as f64 / 100.0,
            "workloads": workloads,
        }))
    }

    fn run(&self, tell: &mut dyn FnMut(&flashweir_run::Progress) -> bool) -> Result<Value, Error> {
        let Some(workload) = &self.workload else {
            return Err(Error::Setting { what: "workload".into(), expected: "expected one".into() });
        };
        let outcome =
            bench::run(&self.target, &self.options(true), self.state, workload, &mut Tell::new(tell))?;
        Ok(json!(outcome))
    }
}

/// Plan of a benchmark (see `flashweir.bench`), as JSON.
#[pyfunction]
fn bench_plan(settings_json: &str) -> PyResult<String> {
    let settings: Settings = parse(settings_json)?;
    text(settings.plan())
}

/// Runs one workload on a drive; `progress` is as in `simulate`.
#[pyfunction]
#[pyo3(signature = (settings_json, progress=None))]
fn bench_run(py: Python<'_>, settings_json: &str, progress: Option<Py<PyAny>>) -> PyResult<String> {
    let settings: Settings = parse(settings_json)?;
    watched(py, progress, |tell| settings.run(tell))
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(bench_plan, module)?)?;
    module.add_function(wrap_pyfunction!(bench_run, module)?)?;
    Ok(())
}
