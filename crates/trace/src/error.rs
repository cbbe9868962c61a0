//! Errors of a workload: one enum, each message with the place and the value expected there.

use std::path::PathBuf;

/// Where in a file a record stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// Line of a text file, from 1.
    Line(u64),
    /// Record of a binary file, from 1.
    Record(u64),
    /// Byte offset in a binary file, from 0.
    Byte(u64),
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Position::Line(n) => write!(f, "line {n}"),
            Position::Record(n) => write!(f, "record {n}"),
            Position::Byte(n) => write!(f, "byte {n}"),
        }
    }
}

/// Error in one field of one record; the reader adds file and position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: found {found}, expected {expected}")]
pub struct FieldError {
    /// Name of the field, in the format's own terms.
    pub field: &'static str,
    /// Text found there, quoted and cut to a readable length.
    pub found: String,
    /// Description of a valid value.
    pub expected: &'static str,
}

impl FieldError {
    /// An error that quotes the bytes found, escaped, at most 40 of them.
    pub fn new(field: &'static str, found: &[u8], expected: &'static str) -> Self {
        let cut = &found[..found.len().min(40)];
        let dots = if found.len() > cut.len() { "..." } else { "" };
        Self { field, found: format!("\"{}{dots}\"", cut.escape_ascii()), expected }
    }

    /// The error of a line that ends before `field`.
    #[cold]
    pub(crate) fn missing(field: &'static str) -> Self {
        Self { field, found: "the end of the line".to_owned(), expected: "one more field" }
    }
}

/// Every way in which a workload can be unusable.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The operating system refused.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Its reason.
        source: std::io::Error,
    },
    /// A record that can't be read.
    #[error("{path}, {position}: {field}")]
    Record {
        /// The file.
        path: PathBuf,
        /// Where.
        position: Position,
        /// The field, and why it can't be read.
        field: FieldError,
    },
    /// The file ends in the middle of a record or of a compressed stream.
    #[error("{path}, {position}: the file is cut off here ({detail})")]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Where.
        position: Position,
        /// Missing part.
        detail: String,
    },
    /// The compressed stream is damaged.
    #[error("{path}: its compressed data is damaged ({detail})")]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Message of the decompressor.
        detail: String,
    },
    /// No format fits the file.
    #[error(
        "{path}: no known trace format ({detail}); name one with --format, or describe the table with --columns"
    )]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// Contents that detection examined.
        detail: String,
    },
    /// There is not a byte in the file or pipe.
    #[error("{path}: it is empty; expected a trace of requests")]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The trace was read to its end, and has no request: headings only, or lines that were all skipped.
    #[error("{path}: it has no requests{detail}; expected a trace of requests")]
    NoRequests {
        /// The file.
        path: PathBuf,
        /// In brackets, lines or records that are none, if there are any.
        detail: String,
    },
    /// A generator spec, a `--columns` spec or a format name that can't be understood.
    #[error("{what} {found:?}: {expected}")]
    Spec {
        /// Name of the setting, such as `workload`, `format` or a generator's key.
        what: String,
        /// Value given.
        found: String,
        /// Description of a valid value.
        expected: String,
    },
    /// The workload is fine but can't be written in the format asked for.
    #[error("{path}: {detail}")]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        detail: String,
    },
}

impl From<crate::output::OutputError> for TraceError {
    fn from(error: crate::output::OutputError) -> Self {
        TraceError::Io { path: error.path, source: error.source }
    }
}
