//! Records of requests, and of steps of tasks.

use flashweir_trace::{LogRecord, Request};

use crate::failure::Failure;
use crate::op::Work;
use crate::stats::Parts;
use crate::task::Urgency;

/// A request as it was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IssueRecord {
    /// Its number, from 0.
    pub number: u64,
    /// The request.
    pub request: Request,
    /// When the drive took it, ns.
    pub issue_ns: u64,
}

/// A request as it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestRecord {
    /// Its number, from 0.
    pub number: u64,
    /// The request.
    pub request: Request,
    /// When the drive took it, ns.
    pub issue_ns: u64,
    /// When it was done, ns.
    pub completion_ns: u64,
    /// Why the drive failed it, if it did, where completions are kept (see [`crate::Simulation::keep_completions`]).
    pub failure: Option<Failure>,
    /// Where its latency went (see [`crate::Options::latency_parts`]); all 0 without that account.
    pub parts: Parts,
}

impl RequestRecord {
    /// The common record of simulated, collected and replayed requests.
    pub fn log_record(&self) -> LogRecord {
        LogRecord {
            issue_ns: Some(self.issue_ns),
            completion_ns: Some(self.completion_ns),
            ..LogRecord::bare(self.request)
        }
    }
}

/// In the place of the die in records of steps that no die makes.
pub const NO_DIE: u32 = u32::MAX;

/// A step of a task: from when its commands were handed to the dies that make it until all commands were done that these had then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskRecord {
    /// The first of the dies; [`NO_DIE`] without any.
    pub die: u32,
    /// Number of dies.
    pub dies: u32,
    /// The unit of the translation layer that it is about.
    pub unit: u32,
    /// Kind of work.
    pub work: Work,
    /// Urgency of the step.
    pub urgency: Urgency,
    /// When it began, ns.
    pub start_ns: u64,
    /// When it was done, ns.
    pub end_ns: u64,
}
