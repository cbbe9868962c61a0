//! Where a trace comes from: enough to open it once more.

use std::path::PathBuf;

use super::Format;
use super::hints::Hints;
use super::table::Columns;
use crate::output::is_standard;

/// A trace file with its format settled.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) format: Format,
    pub(crate) detected_by: &'static str,
    pub(crate) columns: Option<Columns>,
    pub(crate) skip_bad: u64,
    pub(crate) hints: Hints,
}

impl Source {
    /// True if the file can be read more than once.
    pub(crate) fn is_rereadable(&self) -> bool {
        // A path without a file is the base name of a set of files.
        !is_standard(&self.path) && std::fs::metadata(&self.path).map_or(true, |meta| meta.is_file())
    }
}
