//! The simulated multichannel SSD.
//!
//! The way through, in one direction: host, buffer, allocation, translation (which collects garbage), scheduling, flash,
//! statistics. Each is a module; a slot with a choice of policies is a folder with its contract in `mod.rs` and a file an
//! implementation. Policies decide, the engine does.
//!
//! Here is only computation: no files, no clock, no threads, no randomness without a seed.
#![forbid(unsafe_code)]

pub mod ageing;
mod alloc;
mod as_text;
mod buffer;
pub mod config;
mod content;
mod core;
mod cow;
mod divisor;
mod error;
pub mod external;
mod failure;
mod ftl;
mod gc;
mod geometry;
mod host;
mod nand;
mod op;
mod per_tenant;
pub mod precondition;
pub mod quantity;
pub mod random;
mod raw;
mod refusal;
mod sched;
mod sim;
mod slc;
mod stats;
mod task;
pub mod tenants;
mod trim;
mod wear;
pub mod zones;

pub use crate::core::{Broken, ReadOnly, Spare};
pub use config::Config;
pub use content::{Baseline, Trim};
pub use error::{Amplification, ConfigError, RunError};
pub use failure::Failure;
pub use ftl::{BlockCell, BlockMap, FtlConfig, GroupCounters, Placement, PlacementEvents, Predictions, Wear};
pub use geometry::Geometry;
pub use host::{Arbitration, FirmwareConfig, HostConfig, HostMode, Link, Weights};
pub use nand::probe::Recorded;
pub use nand::{
    CommandRecord, CoreRecord, DieWork, DieWorkTimes, DirtyRecord, FullRecord, HoldRecord, IssueRecord,
    LinkRecord, NO_DIE, PauseRecord, QueueRecord, RequestRecord, TaskRecord, TransferRecord,
};
pub use op::{
    Change, CommandKind, HeldEntry, HostEntry, Image, Level as FlashLevel, LevelEntry, PageEntry, Purpose,
    TrimEntry, Work,
};
pub use refusal::{Refusal, TOO_MANY_PAGES};
pub use sched::{Dispatch, SchedPolicy};
pub use sim::{Allocations, Allocator, Level, Options, Simulation, StateReader, Tried, Window};
pub use slc::{SlcConfig, SlcKind, SlcState, WhenFull};
pub use stats::{
    AgeingCounts, Collections, Completion, Counters, DieTime, Drain, FlashCounts, InterfaceUse, Latencies,
    LatencyParts, LatencySummary, LimitUse, LockStepTimes, MapCounts, MergeCounts, Parts, SchedCounts,
    SlcCounts, Stats, StreamUse, Streams, TargetUse, TenantTarget, Times, TrimCounts, ZoneCounts,
};
pub use task::Urgency;
