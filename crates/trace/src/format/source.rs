//! Where a trace comes from: enough to open it once more.

use std::path::PathBuf;

use super::sink::Want;
use super::table::Columns;
use super::{Format, Trace};
use crate::TraceError;
use crate::output::is_standard;

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
        // A path without a file is the base name of a set of files.
        !is_standard(&self.path) && std::fs::metadata(&self.path).map_or(true, |meta| meta.is_file())
    }

    /// The trace once more, to be read for how far the addresses of each device go.
    pub(crate) fn survey(&self) -> Result<Trace, TraceError> {
        if !self.is_rereadable() {
            return Err(TraceError::Io {
                path: self.path.clone(),
                source: std::io::Error::new(
                    std::io::ErrorKind::Unsupported,
                    "a trace of several devices is read twice, so it must be a regular file",
                ),
            });
        }
        Trace::open_source(self.clone(), Want::Extents)
    }
}
