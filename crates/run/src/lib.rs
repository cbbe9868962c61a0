//! One simulation from workload to results: opens the workload, steps the drive in slices, owns the sinks (JSON, Parquet,
//! Perfetto), progress, cancelling and wall time. Policies and formats are elsewhere.
#![forbid(unsafe_code)]

mod activity;
mod ageing;
mod allocator;
mod alone;
mod characterize;
mod diagnose;
mod drive;
mod energy;
mod error;
mod explain;
pub mod external;
mod json;
mod limits;
mod mix;
mod place;
mod placement;
mod plan;
mod power;
mod precondition;
mod progress;
mod pull;
mod quotient;
mod refusals;
pub mod requests;
mod result;
mod sample;
mod simulate;
mod slc;
mod spec;
mod tenant;
pub mod timeline;
mod tools;
mod trace_options;
mod traces;
mod trim;
mod warmup;
mod watch;
mod workload;
mod zones;

pub use characterize::{CharacterizeSpec, characterize};
pub use diagnose::diagnose;
pub use drive::{Columns, Completion, Drive, DriveOptions, DriveSpec, FlashPart, HostChanges, PowerCut};
pub use error::{Error, ErrorKind};
pub use external::Decide;
pub use place::Place;
pub use plan::plan;
pub use power::{CutError, Cuts, Outcome, PowerCuts};
pub use progress::{Phase, Progress};
pub use simulate::{simulate, simulate_sharing};
pub use spec::RunSpec;
pub use tenant::WorkloadSpec;
pub use tools::{presets, refusals, renamed, schema, trace_convert, trace_generate, trace_info};
pub use trace_options::{TraceOptions, texts};
pub use traces::Traces;
pub use warmup::{WINDOW_ROUNDS, steady};

/// The version of the engine: part of every result.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// A fingerprint of the engine's sources: part of what identifies a result.
pub const BUILD: &str = env!("FLASHWEIR_BUILD");
