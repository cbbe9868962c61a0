//! Conversion between Python and the `run` crate, and nothing else.
use pyo3::prelude::*;

/// The extension module.
#[pymodule]
fn _native(_module: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(())
}
