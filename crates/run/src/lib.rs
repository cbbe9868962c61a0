//! One simulation from workload to results: opens the workload, steps the drive in slices, owns the sinks (JSON, Parquet,
//! Perfetto), progress, cancelling and wall time. Policies and formats are elsewhere.
#![forbid(unsafe_code)]

mod activity;
mod error;
mod progress;
pub mod requests;
mod result;
mod simulate;
mod spec;
pub mod timeline;
mod tools;
mod watch;
mod workload;

pub use error::{Error, ErrorKind};
pub use progress::{Phase, Progress};
pub use simulate::simulate;
pub use spec::{RunSpec, TraceOptions, WorkloadSpec};
pub use tools::{presets, refusals, schema, trace_convert, trace_generate, trace_info};

/// The version of the engine: part of every result.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
