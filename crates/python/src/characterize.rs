//! `flashweir._native.characterize`.

use flashweir_run::CharacterizeSpec;
use pyo3::prelude::*;

use crate::{parse, watched};

/// Measures a workload (see `flashweir.characterize`), as JSON; `progress` is as in `simulate`.
#[pyfunction]
#[pyo3(signature = (spec_json, progress=None))]
fn characterize(py: Python<'_>, spec_json: &str, progress: Option<Py<PyAny>>) -> PyResult<String> {
    let spec: CharacterizeSpec = parse(spec_json)?;
    watched(py, progress, |tell| flashweir_run::characterize(&spec, tell))
}

/// Adds the functions of this file.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(characterize, module)?)
}
