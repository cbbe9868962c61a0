//! Where a trace comes from: enough to open it once more.

use std::path::PathBuf;

use super::devices::Extents;
use super::sink::Want;
use super::table::Columns;
use super::{Format, Trace};
use crate::TraceError;

/// A trace file with its format settled.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) format: Format,
    pub(crate) detected_by: &'static str,
    pub(crate) columns: Option<Columns>,
    pub(crate) skip_bad: u64,
}

impl Source {
    /// Whether the file can be read more than once.
    pub(crate) fn is_rereadable(&self) -> bool {
        std::fs::metadata(&self.path).is_ok_and(|meta| meta.is_file())
    }

    /// How far the addresses of each device go, in sectors: reads the whole file. A bad line ends it early and
    /// silently, since the reading that asked will stop at the same line, and say why.
    pub(crate) fn extents(&self) -> Result<Extents, TraceError> {
        if !self.is_rereadable() {
            return Err(TraceError::Io {
                path: self.path.clone(),
                source: std::io::Error::new(
                    std::io::ErrorKind::Unsupported,
                    "a trace of several devices is read twice, so it must be a regular file",
                ),
            });
        }
        let mut trace = Trace::open_source(self.clone(), Want::Extents)?;
        while let Ok(true) = trace.step(usize::MAX) {}
        Ok(trace.extents())
    }
}
