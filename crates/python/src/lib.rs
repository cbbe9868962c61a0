//! Conversion between Python and the `run` crate, and nothing else.
//!
//! Everything goes through JSON text: what a setting means is decided in one place, and it is not here. The GIL is
//! released while the `run` crate works; its progress reports take it back, ten times a second at most, and look for
//! Ctrl-C. A panic becomes a Python exception: nothing of it reaches the user's screen.
#![forbid(unsafe_code)]
#![expect(clippy::needless_pass_by_value, reason = "pyo3 hands arguments over as values")]

mod bench;
mod characterize;
mod collect;
mod diagnose;
mod drive;
mod external;
mod probe;
mod replay;
mod serve;
mod target;

use std::cell::RefCell;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use flashweir_run::{Decide, Error, ErrorKind, Progress, RunSpec, TraceOptions};
use flashweir_trace::reason::without_code;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::Value;

create_exception!(
    flashweir._native,
    FlashweirError,
    PyException,
    "Anything that flashweir refuses or fails at."
);
create_exception!(
    flashweir._native,
    ConfigError,
    FlashweirError,
    "A key, value or combination that makes no drive."
);
create_exception!(
    flashweir._native,
    TraceError,
    FlashweirError,
    "A workload that can't be read, or does not fit the drive."
);
create_exception!(flashweir._native, DeviceError, FlashweirError, "A real drive that can't be used.");

thread_local! {
    /// Last panic of this thread, as the panic hook saw it: message and place.
    static LAST_PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs a simulation (see `flashweir.simulate`); `progress` gets a JSON object and may return False to stop the run.
/// `allocator` gets the features of a window as a JSON object and returns an allocation as another.
#[pyfunction]
#[pyo3(signature = (spec_json, progress=None, traces=None, allocator=None))]
fn simulate(
    py: Python<'_>,
    spec_json: &str,
    progress: Option<Py<PyAny>>,
    traces: Option<Py<Traces>>,
    allocator: Option<Py<PyAny>>,
) -> PyResult<String> {
    let run: RunSpec = parse(spec_json)?;
    let shared = traces.as_ref().map(|traces| &traces.get().0);
    let raised = Arc::new(Mutex::new(None));
    let decide = allocator.map(|allocator| asking(allocator, Arc::clone(&raised)));
    let outcome = watched(py, progress, |tell| flashweir_run::simulate_sharing(&run, shared, decide, tell));
    let cause = raised.lock().unwrap_or_else(PoisonError::into_inner).take();
    match (outcome, cause) {
        (Err(_), Some(cause)) if !cause.is_instance_of::<PyException>(py) => Err(cause),
        (Err(error), Some(cause)) => {
            error.set_cause(py, Some(cause));
            Err(error)
        }
        (outcome, _) => outcome,
    }
}

/// An allocator that asks a Python function; what that raises is kept for the caller.
fn asking(allocator: Py<PyAny>, raised: Arc<Mutex<Option<PyErr>>>) -> Decide {
    Box::new(move |features| {
        Python::attach(|py| {
            let answer = allocator.call1(py, (features,)).and_then(|answer| answer.extract::<String>(py));
            answer.map_err(|error| {
                let message = error.to_string();
                *raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                message
            })
        })
    })
}

/// Plan of a run (see `flashweir_run::plan`), as JSON.
#[pyfunction]
fn plan(spec_json: &str) -> PyResult<String> {
    text(flashweir_run::plan(&parse(spec_json)?))
}

/// Traces that the runs of this process share: each is read once, by the run that wants it first.
#[pyclass(frozen, module = "flashweir._native")]
struct Traces(flashweir_run::Traces);

#[pymethods]
impl Traces {
    #[new]
    fn new() -> Self {
        Self(flashweir_run::Traces::default())
    }

    /// Lets go of the trace at `path`.
    fn forget(&self, path: &str) {
        self.0.forget(path);
    }

    /// Memory of the traces that are kept.
    fn memory_bytes(&self) -> usize {
        self.0.memory_bytes()
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }
}

/// The presets, as a JSON list.
#[pyfunction]
fn presets() -> PyResult<String> {
    text(flashweir_run::presets())
}

/// The configuration's JSON Schema.
#[pyfunction]
fn schema() -> String {
    flashweir_run::schema().to_string()
}

/// The number of a quantity, in bytes or ns, and its unit; `None` if it is no size or time.
#[pyfunction]
fn quantity(text: &str) -> Option<(f64, &'static str)> {
    flashweir_trace::quantity::parse_any(text)
}

/// The units of quantities: kind, name, bytes or ns.
#[pyfunction]
fn quantity_units() -> Vec<(&'static str, &'static str, u64)> {
    flashweir_trace::quantity::all_units().collect()
}

/// The refused combinations of keys, as a JSON list.
#[pyfunction]
fn refusals() -> String {
    flashweir_run::refusals().to_string()
}

/// The names that have changed, as a JSON list.
#[pyfunction]
fn renamed() -> String {
    flashweir_run::renamed().to_string()
}

/// Writes samples of a timeline to a file, a line of JSON each.
#[pyfunction]
fn timeline_samples(py: Python<'_>, path: PathBuf, output: PathBuf) -> PyResult<()> {
    let done = detached(py, || flashweir_run::timeline::samples_of_timeline(&path, &output))?;
    done.map_err(|error| error.raise())
}

/// Says what a trace holds, as JSON; `progress` is as in `simulate`.
#[pyfunction]
#[pyo3(signature = (path, options_json="{}", progress=None))]
fn trace_info(
    py: Python<'_>,
    path: PathBuf,
    options_json: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let options: TraceOptions = parse(options_json)?;
    watched(py, progress, |tell| flashweir_run::trace_info(&path, &options, tell))
}

/// Writes a trace in another format; what was read, as JSON.
#[pyfunction]
#[pyo3(signature = (input, output, options_json="{}", progress=None))]
fn trace_convert(
    py: Python<'_>,
    input: PathBuf,
    output: PathBuf,
    options_json: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let options: TraceOptions = parse(options_json)?;
    watched(py, progress, |tell| flashweir_run::trace_convert(&input, &output, &options, tell))
}

/// Writes a generator's requests as a trace; what was written, as JSON.
#[pyfunction]
#[pyo3(signature = (spec, output, options_json="{}", progress=None))]
fn trace_generate(
    py: Python<'_>,
    spec: &str,
    output: PathBuf,
    options_json: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let options: TraceOptions = parse(options_json)?;
    watched(py, progress, |tell| flashweir_run::trace_generate(spec, &output, &options, tell))
}

/// Settings from the JSON that the Python side makes of them.
fn parse<T: DeserializeOwned>(json: &str) -> PyResult<T> {
    serde_json::from_str(json).map_err(|error| {
        let text = error.to_string();
        let message = text.split(" at line ").next().unwrap_or(&text);
        let read = json.get(..error.column()).unwrap_or(json);
        ConfigError::new_err(format!("{}: {message}", last_key(read).unwrap_or("settings")))
    })
}

/// The key of the value at which reading JSON ended.
fn last_key(read: &str) -> Option<&str> {
    read[..read.rfind("\":")?].rsplit('"').next()
}

/// An error that is an exception, which says what the caller can do.
trait Raise: Display {
    /// That exception.
    fn raise(&self) -> PyErr;
}

impl Raise for Error {
    fn raise(&self) -> PyErr {
        let message = without_code(&self.to_string());
        match self.kind() {
            ErrorKind::Config => ConfigError::new_err(message),
            ErrorKind::Trace => TraceError::new_err(message),
            ErrorKind::Run | ErrorKind::Cancelled => FlashweirError::new_err(message),
        }
    }
}

impl Raise for flashweir_device::Error {
    fn raise(&self) -> PyErr {
        use flashweir_device::ErrorKind;
        let message = without_code(&self.to_string());
        match self.kind() {
            ErrorKind::Config => ConfigError::new_err(message),
            ErrorKind::Trace => TraceError::new_err(message),
            ErrorKind::Device => DeviceError::new_err(message),
            ErrorKind::Run | ErrorKind::Cancelled => FlashweirError::new_err(message),
        }
    }
}

/// JSON text of an outcome, or the exception that says what the caller can do.
fn text<E: Raise>(outcome: Result<Value, E>) -> PyResult<String> {
    outcome.map(|value| value.to_string()).map_err(|error| error.raise())
}

/// Calls `work` without the GIL, with a function that hands its progress to Python; JSON text of its outcome.
fn watched<E: Raise + Send>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&mut dyn FnMut(&Progress) -> bool) -> Result<Value, E> + Send,
) -> PyResult<String> {
    reporting(py, progress, work).map(|value| value.to_string())
}

/// Calls `work` without the GIL, with a function that hands its progress to Python.
fn reporting<T: Send, E: Raise + Send>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&mut dyn FnMut(&Progress) -> bool) -> Result<T, E> + Send,
) -> PyResult<T> {
    let mut raised: Option<PyErr> = None;
    let outcome = detached(py, || {
        work(&mut |state| match report(progress.as_ref(), state) {
            Ok(carry_on) => carry_on,
            Err(error) => {
                raised = Some(error);
                false
            }
        })
    })?;
    match (raised, outcome) {
        (None, outcome) => outcome.map_err(|error| error.raise()),
        // Ctrl-C carries the work's own account of what was done.
        (Some(error), Err(stopped)) if error.is_instance_of::<PyKeyboardInterrupt>(py) => {
            Err(PyKeyboardInterrupt::new_err(without_code(&stopped.to_string())))
        }
        (Some(error), _) => Err(error),
    }
}

/// Calls `work` without the GIL; a panic in it becomes a `FlashweirError`.
fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    py.detach(|| {
        catch_unwind(AssertUnwindSafe(work))
            .map_err(|_| LAST_PANIC.take().unwrap_or_else(|| "panic without a message".into()))
    })
    .map_err(|panic| FlashweirError::new_err(format!("internal error, please report it: {panic}")))
}

/// Hands one state to Python. False or an exception, Ctrl-C among them, stops the run.
fn report(progress: Option<&Py<PyAny>>, state: &Progress) -> PyResult<bool> {
    Python::attach(|py| {
        py.check_signals()?;
        let Some(progress) = progress else { return Ok(true) };
        let state = serde_json::to_string(state).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let answer = progress.call1(py, (state,))?;
        // A callback that returns nothing does not mean to stop.
        Ok(answer.is_none(py) || answer.is_truthy(py)?)
    })
}

/// Keeps panics off standard error; [`detached`] turns them into exceptions.
fn quiet_panics() {
    std::panic::set_hook(Box::new(|info| LAST_PANIC.set(Some(info.to_string().replace('\n', " ")))));
}

/// The extension module.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    quiet_panics();
    external::register();
    let py = module.py();
    module.add("__version__", flashweir_run::VERSION)?;
    module.add("__build__", flashweir_run::BUILD)?;
    module.add("FlashweirError", py.get_type::<FlashweirError>())?;
    module.add("ConfigError", py.get_type::<ConfigError>())?;
    module.add("TraceError", py.get_type::<TraceError>())?;
    module.add("DeviceError", py.get_type::<DeviceError>())?;
    module.add_function(wrap_pyfunction!(simulate, module)?)?;
    module.add_function(wrap_pyfunction!(plan, module)?)?;
    module.add_class::<Traces>()?;
    module.add_class::<drive::Drive>()?;
    module.add_function(wrap_pyfunction!(presets, module)?)?;
    module.add_function(wrap_pyfunction!(quantity, module)?)?;
    module.add_function(wrap_pyfunction!(quantity_units, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(refusals, module)?)?;
    module.add_function(wrap_pyfunction!(renamed, module)?)?;
    module.add_function(wrap_pyfunction!(timeline_samples, module)?)?;
    module.add_function(wrap_pyfunction!(trace_info, module)?)?;
    module.add_function(wrap_pyfunction!(trace_convert, module)?)?;
    module.add_function(wrap_pyfunction!(trace_generate, module)?)?;
    probe::register(module)?;
    replay::register(module)?;
    bench::register(module)?;
    characterize::register(module)?;
    collect::register(module)?;
    diagnose::register(module)?;
    serve::register(module)?;
    target::register(module)?;
    Ok(())
}
