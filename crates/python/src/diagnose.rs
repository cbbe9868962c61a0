//! Diagnosis of request logs.

use std::path::PathBuf;

use flashweir_run::TraceOptions;
use pyo3::prelude::*;

use crate::{parse, watched};

/// Says what a request log shows of its drive, as JSON; `progress` is as in `simulate`, `capacity_bytes` what the drive holds.
#[pyfunction]
#[pyo3(signature = (path, options_json="{}", progress=None, capacity_bytes=None))]
fn diagnose(
    py: Python<'_>,
    path: PathBuf,
    options_json: &str,
    progress: Option<Py<PyAny>>,
    capacity_bytes: Option<u64>,
) -> PyResult<String> {
    let options: TraceOptions = parse(options_json)?;
    watched(py, progress, |tell| flashweir_run::diagnose(&path, &options, capacity_bytes, tell))
}

/// Adds the functions of this file.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(diagnose, module)?)
}
