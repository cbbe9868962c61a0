//! Replays: settings in, what came out.

use std::path::PathBuf;

use flashweir_device::replay::{ReplaySpec, recover};
use pyo3::prelude::*;
use serde_json::json;

use crate::{parse, text, watched};

/// Replays a workload to a target (see `flashweir.replay`); `progress` is as in `simulate`.
#[pyfunction]
#[pyo3(signature = (spec_json, progress=None))]
fn replay(py: Python<'_>, spec_json: &str, progress: Option<Py<PyAny>>) -> PyResult<String> {
    let spec: ReplaySpec = parse(spec_json)?;
    watched(py, progress, |tell| flashweir_device::replay::replay(&spec, tell))
}

/// Makes a log of what a killed replay left; its name and number of requests, as JSON.
#[pyfunction]
fn replay_recover(log: PathBuf) -> PyResult<String> {
    text(recover(&log).map(|(log, requests)| json!({"log": log, "requests": requests})))
}

/// Adds the functions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(replay, module)?)?;
    module.add_function(wrap_pyfunction!(replay_recover, module)?)
}
