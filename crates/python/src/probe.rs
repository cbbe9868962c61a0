//! Probing of drives: settings in, what was found.

use flashweir_device::probe::ProbeSpec;
use pyo3::prelude::*;

use crate::{parse, watched};

/// Asks a drive what it is made of (see `flashweir.probe`); `progress` is as in `simulate`.
#[pyfunction]
#[pyo3(signature = (spec_json, progress=None))]
fn probe(py: Python<'_>, spec_json: &str, progress: Option<Py<PyAny>>) -> PyResult<String> {
    let spec: ProbeSpec = parse(spec_json)?;
    watched(py, progress, |tell| flashweir_device::probe::probe(&spec, tell))
}

/// Adds the function to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(probe, module)?)
}
