//! Policies in Python: the functions that `flashweir.external` loads, as the engine asks them. The arrays of a
//! view go over as the bytes of all, one after the other in little endian, which Python copies into arrays that it made before.

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

/// Numbers that go over as an array.
trait Column {
    /// Bytes of one.
    const SIZE: usize;
    fn put(&self, into: &mut [u8]);
}

impl Column for u32 {
    const SIZE: usize = 4;
    fn put(&self, into: &mut [u8]) {
        into.copy_from_slice(&self.to_le_bytes());
    }
}

impl Column for u64 {
    const SIZE: usize = 8;
    fn put(&self, into: &mut [u8]) {
        into.copy_from_slice(&self.to_le_bytes());
    }
}

/// A time that there may be.
impl Column for Option<u64> {
    const SIZE: usize = 8;
    fn put(&self, into: &mut [u8]) {
        into.copy_from_slice(&signed(*self).to_le_bytes());
    }
}

impl Column for bool {
    const SIZE: usize = 1;
    fn put(&self, into: &mut [u8]) {
        into[0] = u8::from(*self);
    }
}

impl Column for u8 {
    const SIZE: usize = 1;
    fn put(&self, into: &mut [u8]) {
        into[0] = *self;
    }
}

/// Puts an array at the front; returns the rest.
fn put<'a, T: Column>(into: &'a mut [u8], values: &[T]) -> &'a mut [u8] {
    let (own, rest) = into.split_at_mut(T::SIZE * values.len());
    for (value, into) in values.iter().zip(own.chunks_exact_mut(T::SIZE)) {
        value.put(into);
    }
    rest
}

/// The arrays of a view one after the other, each with `count` elements of which all together have `size` bytes.
fn arrays(
    py: Python<'_>,
    count: usize,
    size: usize,
    fill: impl FnOnce(&mut [u8]),
) -> PyResult<Bound<'_, PyBytes>> {
    PyBytes::new_with(py, count * size, |into| {
        fill(into);
        Ok(())
    })
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
                let arrays = arrays(py, blocks.len(), 20, |into| {
                    put(put(put(put(into, filled_at), blocks), valid), erases);
                })?;
                ask.call1(py, (unit, now, pages_per_block, blocks.len(), arrays))?.extract(py)
            })
            .map_err(|error: PyErr| one_line(&error))
        }))
    }

    fn planner(&self, file: &str) -> Result<Ask<Units, Vec<u32>>, String> {
        let ask = function("gc.planner", file)?;
        Ok(Box::new(move |view| {
            Python::attach(|py| {
                let Units { must, buffer_full, others_must, dirty_pages, spare_blocks, under_way } = view;
                let units = spare_blocks.len();
                let arrays = arrays(py, units, 13, |into| {
                    put(put(put(into, spare_blocks), dirty_pages), under_way);
                })?;
                ask.call1(py, (must, buffer_full, others_must, units, arrays))?.extract(py)
            })
            .map_err(|error: PyErr| one_line(&error))
        }))
    }

    fn background(&self, file: &str) -> Result<Ask<Idle, Steps>, String> {
        let ask = function("background.kind", file)?;
        Ok(Box::new(move |view| {
            Python::attach(|py| {
                let Idle { now_ns, idle_since_ns, dirty_pages, spare_blocks, under_way } = view;
                let units = spare_blocks.len();
                let arrays = arrays(py, units, 21, |into| {
                    put(put(put(put(into, idle_since_ns), spare_blocks), dirty_pages), under_way);
                })?;
                let answer: Planned = ask.call1(py, (now_ns, units, arrays))?.extract(py)?;
                Ok(Steps {
                    steps: answer.0.into_iter().map(wished).collect(),
                    ask_again_ns: answer.1,
                    ask_spare_below: answer.2,
                    ask_idle_ns: answer.3,
                })
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
                // The largest life becomes -1: no version before.
                let arrays = arrays(py, pages.len(), 13, |into| {
                    put(put(put(into, lived), pages), handles);
                })?;
                ask.call1(py, (map, now, groups, pages.len(), arrays))?.extract(py)
            })
            .map_err(|error: PyErr| one_line(&error))
        }))
    }
}

/// Steps by unit, number of the work and urgency, and when to ask again: a time, a number of spare blocks, a time of idleness.
type Planned = (Vec<(u32, u8, bool)>, Option<u64>, Option<u64>, Option<u64>);

fn wished((unit, work, should): (u32, u8, bool)) -> Wished {
    Wished { unit, work: work_of(work), should }
}

/// Work by its number in `flashweir.external`.
fn work_of(number: u8) -> Work {
    match number {
        0 => Work::Collect,
        1 => Work::Level,
        _ => Work::WriteBack,
    }
}
