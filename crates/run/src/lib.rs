//! One simulation from workload to results.
#![forbid(unsafe_code)]

pub mod output;
pub mod requests;
pub mod timeline;
