//! Targets in Python: classes that `flashweir.targets` loads, as the `device` crate asks them; and sessions on targets, for Python.

use std::sync::{Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use flashweir_device::external::{Batch, Loader, Model, Times, set_loader};
use flashweir_device::session::SessionSpec;
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;

use crate::external::one_line;
use crate::{FlashweirError, Raise, detached, parse};

/// Between two looks for Ctrl-C.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Loads classes with `flashweir.targets.load`.
struct FromPython;

/// A model of `flashweir.targets`, which checks what its class answers.
struct InPython {
    model: Py<PyAny>,
    size_bytes: u64,
    block_bytes: u64,
    is_new: bool,
}

impl Loader for FromPython {
    fn load(&self, name: &str) -> Result<Box<dyn Model>, String> {
        Python::attach(|py| {
            let model = py.import("flashweir.targets")?.getattr("load")?.call1((name,))?;
            let made: Box<dyn Model> = Box::new(InPython {
                size_bytes: model.getattr("size_bytes")?.extract()?,
                block_bytes: model.getattr("block_bytes")?.extract()?,
                is_new: model.getattr("is_new")?.extract()?,
                model: model.unbind(),
            });
            Ok(made)
        })
        .map_err(|error: PyErr| one_line(&error))
    }
}

/// A column as bytes in little endian, which Python takes as an array without a copy.
fn column<const N: usize>(py: Python<'_>, values: impl Iterator<Item = [u8; N]>) -> Bound<'_, PyByteArray> {
    PyByteArray::new(py, values.collect::<Vec<_>>().as_flattened())
}

impl Model for InPython {
    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn block_bytes(&self) -> u64 {
        self.block_bytes
    }

    fn is_new(&self) -> bool {
        self.is_new
    }

    fn set_depth(&mut self, depth: u32) -> Result<(), String> {
        let set = Python::attach(|py| self.model.call_method1(py, "set_depth", (depth,)).map(drop));
        set.map_err(|error| one_line(&error))
    }

    fn submit(&mut self, batch: &Batch) -> Result<Times, String> {
        Python::attach(|py| {
            let due = column(py, batch.due_ns.iter().map(|value| value.to_le_bytes()));
            let op = column(py, batch.op.iter().map(|value| [*value]));
            let offset = column(py, batch.offset.iter().map(|value| value.to_le_bytes()));
            let length = column(py, batch.length.iter().map(|value| value.to_le_bytes()));
            let answer = self.model.call_method1(py, "submit", (due, op, offset, length))?;
            let (issue, complete): (PyBuffer<i64>, PyBuffer<i64>) = answer.extract(py)?;
            Ok(Times { issue_ns: issue.to_vec(py)?, complete_ns: complete.to_vec(py)? })
        })
        .map_err(|error: PyErr| one_line(&error))
    }
}

/// A session on a target (see `flashweir.diagnosis.active`): batches of requests in, their times out.
#[pyclass(frozen, module = "flashweir._native")]
pub(crate) struct Session(Mutex<flashweir_device::session::Session>);

#[pymethods]
impl Session {
    #[new]
    fn new(py: Python<'_>, spec_json: &str) -> PyResult<Self> {
        let spec: SessionSpec = parse(spec_json)?;
        let opened = detached(py, || flashweir_device::session::Session::open(&spec))?;
        opened.map(|session| Self(Mutex::new(session))).map_err(|error| error.raise())
    }

    /// Executes requests; when each was issued and when it completed, as bytes of int64.
    fn execute<'py>(
        &self,
        py: Python<'py>,
        due: PyBuffer<i64>,
        op: PyBuffer<u8>,
        offset: PyBuffer<u64>,
        length: PyBuffer<u64>,
        depth: u32,
    ) -> PyResult<(Bound<'py, PyByteArray>, Bound<'py, PyByteArray>)> {
        let batch = Batch {
            due_ns: due.to_vec(py)?,
            op: op.to_vec(py)?,
            offset: offset.to_vec(py)?,
            length: length.to_vec(py)?,
        };
        let (mut looked, mut stopped) = (Instant::now(), None);
        let outcome = self.step(py, |session| {
            session.execute(&batch, depth, &mut || {
                if looked.elapsed() >= LOOK_EVERY {
                    looked = Instant::now();
                    stopped = stopped.take().or_else(|| Python::attach(|py| py.check_signals().err()));
                }
                stopped.is_none()
            })
        });
        let times = stopped.map_or(outcome, Err)?;
        let bytes = |values: &[i64]| column(py, values.iter().map(|value| value.to_le_bytes()));
        Ok((bytes(&times.issue_ns), bytes(&times.complete_ns)))
    }

    /// Lets time pass with nothing outstanding.
    fn pause(&self, py: Python<'_>, time_ns: u64) -> PyResult<()> {
        self.step(py, |session| session.target().pause(time_ns))
    }

    /// The present on the target's clock, ns.
    #[getter]
    fn now_ns(&self, py: Python<'_>) -> PyResult<u64> {
        self.step(py, |session| Ok(session.target().now_ns()))
    }

    /// The capacity, bytes.
    #[getter]
    fn size_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        self.step(py, |session| Ok(session.target().size_bytes()))
    }

    /// The smallest unit of addresses, bytes.
    #[getter]
    fn block_bytes(&self, py: Python<'_>) -> PyResult<u32> {
        self.step(py, |session| Ok(session.target().block_bytes()))
    }
}

impl Session {
    /// Works on the session without the GIL.
    fn step<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut flashweir_device::session::Session) -> Result<T, flashweir_device::Error> + Send,
    ) -> PyResult<T> {
        let outcome = detached(py, || {
            let mut session = match self.0.try_lock() {
                Ok(session) => session,
                Err(TryLockError::Poisoned(session)) => PoisonError::into_inner(session),
                Err(TryLockError::WouldBlock) => {
                    return Err(FlashweirError::new_err("this session is in use"));
                }
            };
            Ok(work(&mut session))
        })??;
        outcome.map_err(|error| error.raise())
    }
}

/// Adds the class, and registers the loader.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    set_loader(Box::new(FromPython));
    module.add_class::<Session>()
}
