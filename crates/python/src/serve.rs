//! Live drives.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use flashweir_device::serve::{Controller, ServeSpec};
use pyo3::prelude::*;

use crate::{FlashweirError, detached, parse, reporting, text};

/// A drive that is being served (see `flashweir serve`).
#[pyclass(frozen, module = "flashweir._native")]
struct Server {
    inner: Mutex<Option<flashweir_device::serve::Server>>,
    /// The line that says that clients can connect, as JSON.
    #[pyo3(get)]
    ready: String,
    controller: Controller,
}

#[pymethods]
impl Server {
    /// Makes the drive and serves it; `progress` is as in `simulate`.
    #[new]
    #[pyo3(signature = (spec_json, progress=None))]
    fn new(py: Python<'_>, spec_json: &str, progress: Option<Py<PyAny>>) -> PyResult<Self> {
        let spec: ServeSpec = parse(spec_json)?;
        let server = reporting(py, progress, |tell| flashweir_device::serve::Server::start(&spec, tell))?;
        let (ready, controller) = (server.ready().to_string(), server.controller());
        Ok(Self { ready, controller, inner: Mutex::new(Some(server)) })
    }

    /// Executes a line of JSON, as the control socket takes it. Returns the answer's JSON.
    fn control(&self, py: Python<'_>, line: &str) -> PyResult<String> {
        detached(py, || self.controller.answer(line).to_string())
    }

    /// Waits up to so many milliseconds. Returns true if the drive can't go on.
    fn wait(&self, py: Python<'_>, limit_ms: u64) -> PyResult<bool> {
        detached(py, || {
            let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            inner.as_ref().is_none_or(|server| server.wait(Duration::from_millis(limit_ms)))
        })
    }

    /// Lines that say why clients were ended, since the last call.
    fn complaints(&self) -> Vec<String> {
        self.controller.complaints()
    }

    /// Answers everything outstanding, flushes, and ends. Returns the JSON of the result.
    fn stop(&self, py: Python<'_>) -> PyResult<String> {
        let outcome = detached(py, || {
            let server = self.inner.lock().unwrap_or_else(PoisonError::into_inner).take();
            server.map(flashweir_device::serve::Server::stop)
        })?;
        text(outcome.ok_or_else(|| FlashweirError::new_err("this drive is no longer served"))?)
    }
}

/// Adds the class.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Server>()
}
