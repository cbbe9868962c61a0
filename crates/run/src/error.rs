//! What can end a run early, and of which kind it is for the caller.

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
        /// Which setting, and its value.
        what: String,
        /// What would have been right.
        expected: String,
    },
    /// A request that a stepped drive refuses; nothing of its call was submitted.
    #[error("{which}: {detail}")]
    Submitted {
        /// The request: its number in the call, from 1.
        which: String,
        /// What is wrong, and what was expected.
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
        /// What is wrong, and what was expected.
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
        /// What was being done, in words.
        doing: String,
        /// How much of it was done, in words.
        progress: String,
    },
}

/// What the caller should do about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// Change the configuration or a setting.
    Config,
    /// Mend or exchange the workload.
    Trace,
    /// The run failed: the message says in what state.
    Run,
    /// It was asked to stop.
    Cancelled,
}

impl Error {
    /// The same error, of a request that has this number, from 1, for whoever submitted it.
    #[must_use]
    pub fn of_request(self, number: u64) -> Self {
        match self {
            Error::Submitted { detail, .. } => {
                Error::Submitted { which: format!("request {number}"), detail }
            }
            other => other,
        }
    }

    /// What kind of error it is.
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
