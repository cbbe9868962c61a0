//! Errors of a drive, and their kinds for the caller.

use std::path::PathBuf;

use flashweir_trace::TraceError;
use flashweir_trace::output::OutputError;

/// Any reason for which something was not done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The drive can't be used: what is wrong with it, and what would be right.
    #[error("{}: {detail}", path.display())]
    Target {
        /// The drive.
        path: PathBuf,
        /// Fault, and what was expected.
        detail: String,
    },
    /// A request that the drive did not execute.
    #[error("{}: {detail}", path.display())]
    Failed {
        /// The drive.
        path: PathBuf,
        /// Request that failed, and the system's reason.
        detail: String,
    },
    /// A setting.
    #[error("{what}: {expected}")]
    Setting {
        /// Setting at fault, and its value.
        what: String,
        /// Expected value, in words.
        expected: String,
    },
    /// The workload.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// An output can't be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A simulated drive.
    #[error(transparent)]
    Run(#[from] flashweir_run::Error),
    /// Something failed when a part was done.
    #[error("{error}; {kept}")]
    Partly {
        /// Error that occurred.
        error: Box<Error>,
        /// Amount of work that was done and is kept, in words.
        kept: String,
    },
    /// The caller asked to stop.
    #[error("stopped while {doing}: {progress}")]
    Cancelled {
        /// Work that was stopped, in words.
        doing: String,
        /// Amount of it that was done and is kept, in words.
        progress: String,
    },
}

/// Kind of an error, by what the caller should do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// Change a setting.
    Config,
    /// Mend or exchange the workload.
    Trace,
    /// Look at the drive.
    Device,
    /// The operation failed: the message says in what state.
    Run,
    /// The caller asked to stop.
    Cancelled,
}

impl Error {
    /// Of writing what comes out: where that fails, no trace is at fault.
    pub(crate) fn of_output(error: TraceError) -> Self {
        match error {
            TraceError::Io { path, source } => OutputError { path, source }.into(),
            other => other.into(),
        }
    }

    /// Kind of the error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Target { .. } => ErrorKind::Device,
            Error::Setting { .. } => ErrorKind::Config,
            Error::Trace(_) => ErrorKind::Trace,
            Error::Failed { .. } | Error::Output(_) => ErrorKind::Run,
            Error::Partly { error, .. } => error.kind(),
            Error::Cancelled { .. } => ErrorKind::Cancelled,
            Error::Run(error) => match error.kind() {
                flashweir_run::ErrorKind::Config => ErrorKind::Config,
                flashweir_run::ErrorKind::Trace => ErrorKind::Trace,
                flashweir_run::ErrorKind::Run => ErrorKind::Run,
                flashweir_run::ErrorKind::Cancelled => ErrorKind::Cancelled,
            },
        }
    }
}
