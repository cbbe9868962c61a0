//! Collection from real drives.

use flashweir_device::collect as device;
use pyo3::prelude::*;

use crate::{detached, parse, text};

/// Collects the requests that a running system makes of a drive (see `flashweir.collect`); `progress` gets a JSON object and may return
/// False to end the collection. The summary, as JSON.
#[pyfunction]
#[pyo3(signature = (spec_json, progress=None))]
fn collect(py: Python<'_>, spec_json: &str, progress: Option<Py<PyAny>>) -> PyResult<String> {
    let spec: device::Spec = parse(spec_json)?;
    let mut raised = None;
    let outcome = detached(py, || {
        device::collect(&spec, &mut |state| {
            let go_on = Python::attach(|py| {
                py.check_signals()?;
                let Some(progress) = &progress else { return Ok(true) };
                let answer = progress.call1(py, (serde_json::to_string(state).unwrap_or_default(),))?;
                // A callback that returns nothing does not mean to stop.
                Ok(answer.is_none(py) || answer.is_truthy(py)?)
            });
            go_on.unwrap_or_else(|error| {
                raised.get_or_insert(error);
                false
            })
        })
    })?;
    match raised {
        Some(error) => Err(error),
        None => text(outcome),
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(collect, module)?)
}
