//! Reads ahead of writes that wait, and of the one that runs: a program, a page copy or an erase whose array is busy is
//! suspended while reads that came meanwhile run, and resumed after them (Wu & He, FAST 2012). Suspending takes
//! `sched.suspend_time` before the die is free, and resuming `sched.resume_time` more than what was left. A command is
//! suspended at most `sched.max_suspensions` times, and not if it would be done before the die is free; a write is suspended, and
//! stays so, only while the read that goes before it leaves it within `sched.write_bound`.
//!
//! With `sched.write_weight` above 0 a command that is nearly done is left to end: it is suspended only if what the read
//! would wait for it is more than what it and all else that waits, but for reads, would wait for the read (suspension included),
//! weighted.
//! At 1 each suspension shortens the sum of all waits; the rule is that of the shortest remaining time, for a die.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Passing, Queued, Running, SchedConfig};
use crate::quantity::Nanos;

/// Cost and limits of suspensions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// Time from the decision to suspend a command to the die being free.
    pub suspend_time: Nanos,
    /// Time that a suspended command takes more each time that it goes on.
    pub resume_time: Nanos,
    /// Weight of a write's wait against that of a read, which counts 1: a command is suspended if the read would wait
    /// longer for it than it, and all that wait behind it, for the read. 0: always.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub write_weight: f64,
    /// Most suspensions of one command.
    pub max_suspensions: u32,
    /// True: reads get the bus of their channel before programs that wait for it.
    pub bus_reads_first: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            suspend_time: Nanos(0),
            resume_time: Nanos(5_000),
            write_weight: 1.0,
            max_suspensions: 10,
            bus_reads_first: true,
        }
    }
}

/// The policy with its numbers.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Suspend {
    pub(super) passing: Passing,
    pub(super) stop_ns: u64,
    pub(super) resume_ns: u64,
    write_weight: f64,
    max_suspensions: u32,
    pub(super) bus_reads_first: bool,
}

impl Suspend {
    pub(super) fn new(own: &Config, config: &SchedConfig) -> Self {
        Self {
            passing: Passing {
                write_bound_ns: config.write_bound.ns(),
                collections: true,
                hindered_reads: false,
                interrupts_copies: true,
            },
            stop_ns: own.suspend_time.0,
            resume_ns: own.resume_time.0,
            write_weight: own.write_weight,
            max_suspensions: own.max_suspensions,
            bus_reads_first: own.bus_reads_first,
        }
    }

    /// See [`super::Scheduler::gives_way`].
    pub(super) fn gives_way(&self, running: &Running, read: &Queued) -> bool {
        running.between_copies
            || running.suspensions < self.max_suspensions
                && running.left_ns > self.stop_ns
                && running.left_ns as f64 > self.cost_ns(running, read)
                && self.keeps_bound(running, read, self.stop_ns + self.resume_ns)
    }

    /// Weighted time for which the writes would wait for the read, ns.
    fn cost_ns(&self, running: &Running, read: &Queued) -> f64 {
        let delay_ns = self.stop_ns + read.command.total_ns() + self.resume_ns;
        self.write_weight * f64::from(running.writes) * delay_ns as f64
    }

    /// True if the command that is paused still keeps to its bound after the read.
    pub(super) fn goes_on_with(&self, paused: &Running, read: &Queued) -> bool {
        self.keeps_bound(paused, read, 0)
    }

    /// True if a write keeps to its bound if the read, and `more_ns`, come before the rest of it.
    fn keeps_bound(&self, write: &Running, read: &Queued, more_ns: u64) -> bool {
        let done_ns = write.age_ns + more_ns + read.command.total_ns() + write.left_ns;
        !write.is_write || done_ns <= self.passing.write_bound_ns
    }
}
