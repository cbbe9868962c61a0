//! Errors that end a run early, and their kinds for the caller.

use std::path::PathBuf;

use flashweir_analyze::SettingError;
use flashweir_ssd::{ConfigError, RunError};
use flashweir_trace::TraceError;

use crate::requests::RequestLogError;
use flashweir_trace::output::OutputError;

/// Any reason for which there is no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The drive's configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The workload.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A setting of the analysis.
    #[error(transparent)]
    Analysis(#[from] SettingError),
    /// A request of the workload does not fit the drive, or the drive could not go on.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A setting of the run itself.
    #[error("{what}: {expected}")]
    Setting {
        /// The setting and its value.
        what: String,
        /// Values that would have been accepted.
        expected: String,
    },
    /// A request that a stepped drive refuses; nothing of its call was submitted.
    #[error("{which}: {detail}")]
    Submitted {
        /// The request: its number in the call, from 1.
        which: String,
        /// The fault, and the expected value.
        detail: String,
    },
    /// The device file can't be read.
    #[error("{path}: {source}")]
    DeviceFile {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// The file of a saved drive can't be loaded.
    #[error("{path}: {detail}")]
    DriveFile {
        /// The file.
        path: PathBuf,
        /// The fault, and the expected value.
        detail: String,
    },
    /// A result can't be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The log of requests can't be written.
    #[error(transparent)]
    RequestLog(#[from] RequestLogError),
    /// The caller asked to stop.
    #[error("stopped while {doing}: {progress} done; nothing was written")]
    Cancelled {
        /// The work that was stopped, in words.
        doing: String,
        /// The part of it that was done, in words.
        progress: String,
    },
}

/// Kind of an error: the caller's remedy for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// Change the configuration or a setting.
    Config,
    /// Mend or exchange the workload.
    Trace,
    /// The run failed: the message says in what state.
    Run,
    /// The caller stopped the run.
    Cancelled,
}

impl Error {
    /// The same error with the number of the request in the caller's submission, from 1.
    #[must_use]
    pub fn of_request(self, number: u64) -> Self {
        match self {
            Error::Submitted { detail, .. } => {
                Error::Submitted { which: format!("request {number}"), detail }
            }
            other => other,
        }
    }

    /// Kind of the error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Config(_) | Error::Setting { .. } | Error::DeviceFile { .. } | Error::DriveFile { .. } => {
                ErrorKind::Config
            }
            Error::Trace(_)
            | Error::Analysis(_)
            | Error::Submitted { .. }
            | Error::Run(RunError::BeyondDrive { .. }) => ErrorKind::Trace,
            Error::Run(_) | Error::Output(_) | Error::RequestLog(_) => ErrorKind::Run,
            Error::Cancelled { .. } => ErrorKind::Cancelled,
        }
    }
}
