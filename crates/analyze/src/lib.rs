//! Analysis of workloads and of request logs: `characterize` measures a workload, `diagnose` finds a drive's faults in its log.
//!
//! This crate lies above the simulated drive, so that a log can be compared with the drive's own translation layers.
//! It has no wall clock and no threads, and writes no files.
#![forbid(unsafe_code)]

pub mod characterize;
pub mod diagnose;
mod error;

pub use error::SettingError;
