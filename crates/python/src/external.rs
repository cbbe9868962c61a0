//! Policies in Python: the functions that `flashweir.external` loads, as the engine asks them. Arrays go over as bytes in little
//! endian, which Python reads as arrays without a copy.

use flashweir_run::Decide;
use flashweir_run::external::{Loader, set_loader};
use flashweir_ssd::Work;
use flashweir_ssd::external::{Ask, Buffered, Destage, Idle, Steps, Units, Victims, Wished, Writes};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes};

/// Stands for "not idle" in arrays of times.
const BUSY: i64 = -1;

/// Loads functions with `flashweir.external.load`.
struct FromPython;

pub(crate) fn register() {
    set_loader(Box::new(FromPython));
}

/// The function for a slot: takes raw views, checks the form of answers.
fn function(slot: &str, file: &str) -> Result<Py<PyAny>, String> {
    Python::attach(|py| {
        let load = py.import("flashweir.external")?.getattr("load")?;
        load.call1((slot, file)).map(Bound::unbind)
    })
    .map_err(|error| one_line(&error))
}

/// Type and message of an exception in one line; of a `ConfigError` the message alone.
pub(crate) fn one_line(error: &PyErr) -> String {
    let message = Python::attach(|py| {
        let value = error.value(py).to_string();
        let name = error.get_type(py).name().map(|name| name.to_string()).unwrap_or_default();
        if name == "ConfigError" { value } else { format!("{name}: {value}") }
    });
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn bytes<const N: usize>(py: Python<'_>, values: impl Iterator<Item = [u8; N]>) -> Bound<'_, PyBytes> {
    PyBytes::new(py, values.collect::<Vec<_>>().as_flattened())
}

fn u32s<'py>(py: Python<'py>, values: &[u32]) -> Bound<'py, PyBytes> {
    bytes(py, values.iter().map(|value| value.to_le_bytes()))
}

fn u64s<'py>(py: Python<'py>, values: &[u64]) -> Bound<'py, PyBytes> {
    bytes(py, values.iter().map(|value| value.to_le_bytes()))
}

fn bools<'py>(py: Python<'py>, values: &[bool]) -> Bound<'py, PyBytes> {
    bytes(py, values.iter().map(|value| [u8::from(*value)]))
}

fn signed(time_ns: Option<u64>) -> i64 {
    time_ns.map_or(BUSY, |time_ns| i64::try_from(time_ns).unwrap_or(i64::MAX))
}

impl Loader for FromPython {
    fn victim(&self, file: &str) -> Result<Ask<Victims, Option<u32>>, String> {
        let ask = function("gc.victim", file)?;
        Ok(Box::new(move |view| {
            Python::attach(|py| {
                let Victims { unit, now, pages_per_block, blocks, valid, filled_at, erases } = view;
                let arrays = (u32s(py, blocks), u32s(py, valid), u64s(py, filled_at), u32s(py, erases));
                ask.call1(py, (unit, now, pages_per_block, arrays.0, arrays.1, arrays.2, arrays.3))?
                    .extract(py)
            })
            .map_err(|error: PyErr| one_line(&error))
        }))
    }

    fn planner(&self, file: &str) -> Result<Ask<Units, Vec<u32>>, String> {
        let ask = function("gc.planner", file)?;
        Ok(Box::new(move |view| {
            Python::attach(|py| {
                let Units { must, buffer_full, others_must, dirty_pages, spare_blocks, under_way } = view;
                let arrays = (u32s(py, dirty_pages), u64s(py, spare_blocks), bools(py, under_way));
                let view = (must, buffer_full, others_must, arrays.0, arrays.1, arrays.2);
                ask.call1(py, view)?.extract(py)
            })
            .map_err(|error: PyErr| one_line(&error))
        }))
    }

    fn background(&self, file: &str) -> Result<Ask<Idle, Steps>, String> {
        let ask = function("background.kind", file)?;
        Ok(Box::new(move |view| {
            Python::attach(|py| {
                let Idle { now_ns, idle_since_ns, dirty_pages, spare_blocks, under_way } = view;
                let idle = bytes(py, idle_since_ns.iter().map(|since_ns| signed(*since_ns).to_le_bytes()));
                let arrays = (u32s(py, dirty_pages), u64s(py, spare_blocks), bools(py, under_way));
                let answer = ask.call1(py, (now_ns, idle, arrays.0, arrays.1, arrays.2))?;
                let (steps, ask_again_ns): (Vec<(u32, u8, bool)>, Option<u64>) = answer.extract(py)?;
                let step = |(unit, work, should)| Wished { unit, work: work_of(work), should };
                Ok(Steps { steps: steps.into_iter().map(step).collect(), ask_again_ns })
            })
            .map_err(|error: PyErr| one_line(&error))
        }))
    }

    fn destage(&self, file: &str) -> Result<Ask<Buffered, Destage>, String> {
        let ask = function("buffer.destage", file)?;
        Ok(Box::new(move |view| {
            Python::attach(|py| {
                let Buffered { now_ns, idle_since_ns, dirty_pages, pages } = view;
                let answer = ask.call1(py, (now_ns, idle_since_ns, dirty_pages, pages))?;
                let answer = answer.bind(py);
                Ok(match answer.cast::<PyBool>() {
                    Ok(answer) if answer.is_true() => Destage::Now,
                    Ok(_) => Destage::No,
                    Err(_) => Destage::NotBefore(answer.extract()?),
                })
            })
            .map_err(|error: PyErr| one_line(&error))
        }))
    }

    fn channels(&self, file: &str) -> Result<Decide, String> {
        let ask = function("tenants.channels", file)?;
        Ok(Box::new(move |features| {
            Python::attach(|py| ask.call1(py, (features,))?.extract(py))
                .map_err(|error: PyErr| one_line(&error))
        }))
    }

    fn classifier(&self, file: &str) -> Result<Ask<Writes, Vec<u32>>, String> {
        let ask = function("ftl.classifier", file)?;
        Ok(Box::new(move |view| {
            Python::attach(|py| {
                let Writes { map, now, groups, pages, lived, handles } = view;
                // The largest number becomes -1: no version before.
                let lived = bytes(py, lived.iter().map(|lived| lived.to_le_bytes()));
                let arrays = (u32s(py, pages), lived, PyBytes::new(py, handles));
                ask.call1(py, (map, now, groups, arrays.0, arrays.1, arrays.2))?.extract(py)
            })
            .map_err(|error: PyErr| one_line(&error))
        }))
    }
}

/// Work by its number in `flashweir.external`.
fn work_of(number: u8) -> Work {
    match number {
        0 => Work::Collect,
        1 => Work::Level,
        _ => Work::WriteBack,
    }
}
