//! A drive that Python steps: columns of requests in, completions out as packed records.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use flashweir_run::{Columns, Completion, DriveSpec, Error};
use flashweir_ssd::Failure;
use flashweir_ssd::config::layers::to_value;
use flashweir_trace::Op;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyTuple};

use crate::{FlashweirError, Raise, asking, detached, parse, reporting};

/// Between two looks for Ctrl-C.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Bytes of an operation's name in a record: five characters of UTF-32, as numpy stores text.
const NAME_BYTES: usize = 20;

/// Exceptions of an allocator in Python, which explain why a step failed.
type Raised = Arc<Mutex<Option<PyErr>>>;

/// A simulated drive that its caller steps (see `flashweir.Drive`).
#[pyclass(frozen, module = "flashweir._native")]
pub(crate) struct Drive {
    inner: Mutex<Option<flashweir_run::Drive>>,
    raised: Raised,
}

#[pymethods]
impl Drive {
    #[new]
    #[pyo3(signature = (spec_json, progress=None, allocator=None))]
    fn new(
        py: Python<'_>,
        spec_json: &str,
        progress: Option<Py<PyAny>>,
        allocator: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let spec: DriveSpec = parse(spec_json)?;
        let raised = Raised::default();
        let decide = allocator.map(|allocator| asking(allocator, Arc::clone(&raised)));
        let drive = reporting(py, progress, |tell| flashweir_run::Drive::open(&spec, decide, tell))?;
        Ok(Self::of(drive, raised))
    }

    /// Submits requests, given as columns of one length. Returns the number of the first.
    fn submit(
        &self,
        py: Python<'_>,
        ops: PyBuffer<u8>,
        offsets: PyBuffer<u64>,
        lengths: PyBuffer<u64>,
        times: PyBuffer<u64>,
        tenants: PyBuffer<u16>,
    ) -> PyResult<u64> {
        let (ops, tenants) = (ops.to_vec(py)?, tenants.to_vec(py)?);
        let (offsets, lengths, times) = (offsets.to_vec(py)?, lengths.to_vec(py)?, times.to_vec(py)?);
        let columns = Columns {
            ops: &ops,
            offsets: &offsets,
            lengths: &lengths,
            times_ns: &times,
            tenants: &tenants,
            handles: &[],
        };
        self.step(py, |drive, _| Ok(drive.submit_columns(&columns)?.start))
    }

    /// Submits one request; without a time, for the present. Returns its number.
    #[pyo3(signature = (op, offset, length, time_ns=None, tenant=0))]
    fn submit_one(
        &self,
        py: Python<'_>,
        op: u8,
        offset: u64,
        length: u64,
        time_ns: Option<u64>,
        tenant: u16,
    ) -> PyResult<u64> {
        self.step(py, |drive, _| {
            let time_ns = time_ns.unwrap_or(drive.now_ns());
            let columns = Columns {
                ops: &[op],
                offsets: &[offset],
                lengths: &[length],
                times_ns: &[time_ns],
                tenants: &[tenant],
                handles: &[],
            };
            Ok(drive.submit_columns(&columns)?.start)
        })
    }

    /// Advances the clock.
    fn advance_to(&self, py: Python<'_>, time_ns: u64) -> PyResult<()> {
        self.step(py, |drive, go_on| drive.advance_while(time_ns, go_on).map(drop))
    }

    /// Advances the clock to the next completion, but not beyond `until_ns`. Says whether there is one.
    #[pyo3(signature = (until_ns=None))]
    fn advance_to_completion(&self, py: Python<'_>, until_ns: Option<u64>) -> PyResult<bool> {
        self.step(py, |drive, _| drive.advance_to_completion(until_ns.unwrap_or(u64::MAX)))
    }

    /// Advances the clock until nothing is outstanding.
    fn drain(&self, py: Python<'_>) -> PyResult<()> {
        self.step(py, |drive, go_on| drive.drain_while(go_on).map(drop))
    }

    /// Completions since the last call, as packed records; their fields are those of `flashweir.drive`.
    fn poll<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyByteArray>> {
        let mut completions = Vec::new();
        self.step(py, |drive, _| {
            drive.poll(&mut completions);
            Ok(())
        })?;
        let mut bytes = Vec::new();
        for done in &completions {
            put(done, &mut bytes);
        }
        Ok(PyByteArray::new(py, &bytes))
    }

    /// A second drive in the same state.
    fn fork(&self, py: Python<'_>) -> PyResult<Self> {
        Ok(Self::of(self.step(py, |drive, _| Ok(drive.fork()))?, Raised::default()))
    }

    /// Forgets the statistics so far.
    fn reset_stats(&self, py: Python<'_>) -> PyResult<()> {
        self.step(py, |drive, _| {
            drive.reset_stats();
            Ok(())
        })
    }

    /// The statistics so far, as the JSON of a result.
    fn stats(&self, py: Python<'_>) -> PyResult<String> {
        self.step(py, |drive, _| Ok(drive.result().to_string()))
    }

    /// Ends the run and closes the drive. Returns the JSON of its result.
    fn finish(&self, py: Python<'_>) -> PyResult<String> {
        let outcome =
            detached(py, || self.lock()?.take().ok_or_else(closed).map(flashweir_run::Drive::finish))??;
        self.explained(py, outcome).map(|result| result.to_string())
    }

    /// Writes the complete state to a file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.step(py, |drive, _| drive.save(&path))
    }

    /// A drive that was saved.
    #[staticmethod]
    #[pyo3(signature = (path, allocator=None))]
    fn load(py: Python<'_>, path: PathBuf, allocator: Option<Py<PyAny>>) -> PyResult<Self> {
        let raised = Raised::default();
        let decide = allocator.map(|allocator| asking(allocator, Arc::clone(&raised)));
        let drive = detached(py, || flashweir_run::Drive::load(&path, decide))?;
        Ok(Self::of(drive.map_err(|error| error.raise())?, raised))
    }

    /// Lets go of the drive. Idempotent.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let drive = self.lock()?.take();
        detached(py, || drop(drive))
    }

    /// True if the drive was closed.
    #[getter]
    fn closed(&self) -> PyResult<bool> {
        Ok(self.lock()?.is_none())
    }

    /// The present, ns.
    #[getter]
    fn now_ns(&self) -> PyResult<u64> {
        self.look(flashweir_run::Drive::now_ns)
    }

    /// Requests that are not complete.
    #[getter]
    fn outstanding(&self) -> PyResult<u64> {
        self.look(flashweir_run::Drive::outstanding)
    }

    /// The capacity, bytes.
    #[getter]
    fn capacity_bytes(&self) -> PyResult<u64> {
        self.look(flashweir_run::Drive::capacity_bytes)
    }

    /// Names of the tenants.
    #[getter]
    fn tenants<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.look(|drive| PyTuple::new(py, drive.tenants()))?
    }

    /// True if the drive keeps the breakdown of latencies.
    #[getter]
    fn latency_parts(&self) -> PyResult<bool> {
        self.look(|drive| drive.options().latency_parts)
    }

    /// The complete configuration, as JSON.
    #[getter]
    fn config_json(&self) -> PyResult<String> {
        self.look(|drive| to_value(drive.config()).to_string())
    }
}

impl Drive {
    fn of(drive: flashweir_run::Drive, raised: Raised) -> Self {
        Self { inner: Mutex::new(Some(drive)), raised }
    }

    /// The drive, if no other thread has it: waiting for one that wants the GIL back would never end.
    fn lock(&self) -> PyResult<std::sync::MutexGuard<'_, Option<flashweir_run::Drive>>> {
        match self.inner.try_lock() {
            Ok(drive) => Ok(drive),
            Err(TryLockError::Poisoned(drive)) => Ok(drive.into_inner()),
            Err(TryLockError::WouldBlock) => Err(FlashweirError::new_err(
                "this drive is being stepped by another call: a drive is stepped by one thread at a time, and fork() makes another drive",
            )),
        }
    }

    fn look<T>(&self, look: impl FnOnce(&flashweir_run::Drive) -> T) -> PyResult<T> {
        self.lock()?.as_ref().map(look).ok_or_else(closed)
    }

    /// Works on the drive without the GIL; Ctrl-C stops what asks whether to go on.
    fn step<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut flashweir_run::Drive, &mut dyn FnMut() -> bool) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let mut stopped = None;
        let mut looked = Instant::now();
        let outcome = detached(py, || {
            let mut inner = self.lock()?;
            let drive = inner.as_mut().ok_or_else(closed)?;
            PyResult::Ok(work(drive, &mut || {
                if looked.elapsed() < LOOK_EVERY {
                    return true;
                }
                looked = Instant::now();
                stopped = Python::attach(|py| py.check_signals().err());
                stopped.is_none()
            }))
        })??;
        match stopped {
            Some(stopped) => Err(stopped),
            None => self.explained(py, outcome),
        }
    }

    /// An error with the exception of the allocator that brought it about.
    fn explained<T>(&self, py: Python<'_>, outcome: Result<T, Error>) -> PyResult<T> {
        outcome.map_err(|error| {
            let cause = self.raised.lock().unwrap_or_else(PoisonError::into_inner).take();
            match cause {
                Some(cause) if !cause.is_instance_of::<PyException>(py) => cause,
                cause => {
                    let error = error.raise();
                    error.set_cause(py, cause);
                    error
                }
            }
        })
    }
}

fn closed() -> PyErr {
    FlashweirError::new_err("this drive is closed: open another one, or fork() before close() or finish()")
}

/// Appends a record.
fn put(done: &Completion, bytes: &mut Vec<u8>) {
    for number in [done.number, done.issue_ns, done.end_ns, done.latency_ns(), done.offset(), done.bytes()] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(done.stream.to_le_bytes());
    bytes.extend(done.failure.map_or(0, Failure::status).to_le_bytes());
    bytes.extend(name_of(done.op));
    if let Some(parts) = &done.parts {
        for (_, part) in parts.named() {
            bytes.extend(part.to_le_bytes());
        }
    }
}

fn name_of(op: Op) -> [u8; NAME_BYTES] {
    let mut name = [0; NAME_BYTES];
    for (place, character) in name.chunks_exact_mut(4).zip(op.name().bytes()) {
        place[0] = character;
    }
    name
}
