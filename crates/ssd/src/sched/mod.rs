//! Scheduling below the FTL: which of the commands that wait for a die goes next.
//!
//! The contract: [`Scheduler::pick`] is given the queue of one die in the order of arrival, never empty, and returns the
//! place of the command to run. It may not pick a command that has to wait for one before it: a read may never pass a
//! command that writes its page. Commands carry the pages they touch only for schedulers that reorder.

mod fifo;
mod read_first;

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::nand::Command;

/// In which order the commands of a die run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SchedConfig {
    /// In the order of arrival.
    Fifo(fifo::Config),
    /// Host reads before everything else, among themselves in the order of arrival. Needs events.
    ReadFirst(read_first::Config),
}

impl Default for SchedConfig {
    fn default() -> Self {
        SchedConfig::Fifo(fifo::Config {})
    }
}

impl SchedConfig {
    /// Why the policy can't do with busy-until times, if it can't.
    pub(crate) fn needs_events(&self) -> Option<&'static str> {
        match self {
            SchedConfig::Fifo(_) => None,
            SchedConfig::ReadFirst(_) => Some("the scheduler changes the order of commands"),
        }
    }
}

/// A command that waits, with what a scheduler may want to know.
#[derive(Clone, Debug)]
pub(crate) struct Queued {
    pub(crate) command: Command,
    /// Pages that it reads or writes; empty if the scheduler does not reorder.
    pub(crate) pages: Pages,
    /// Number of the chain that it begins, and the die of the command that may start when this one is done.
    pub(crate) then: Option<(u64, u32)>,
    /// Number of the chain that it ends: it keeps its place in the queue, but may not start yet.
    pub(crate) waits: Option<u64>,
    /// Number of the request that it serves.
    pub(crate) request: u64,
}

/// Physical pages, as runs within a unit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pages(Vec<(u32, u32, u32)>);

impl Pages {
    /// One more page.
    pub(crate) fn add(&mut self, unit: u32, ppn: u32) {
        match self.0.last_mut() {
            Some((last_unit, _, last)) if *last_unit == unit && *last + 1 == ppn => *last = ppn,
            _ => self.0.push((unit, ppn, ppn)),
        }
    }

    /// Whether the two have a page in common.
    pub(crate) fn overlaps(&self, other: &Pages) -> bool {
        self.0.iter().any(|(unit, first, last)| {
            other.0.iter().any(|(other_unit, start, end)| unit == other_unit && first <= end && start <= last)
        })
    }
}

/// The schedulers: a closed enum, because it is asked for every command.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scheduler {
    Fifo,
    ReadFirst,
}

impl Scheduler {
    pub(crate) fn new(config: &SchedConfig) -> Self {
        match config {
            SchedConfig::Fifo(_) => Scheduler::Fifo,
            SchedConfig::ReadFirst(_) => Scheduler::ReadFirst,
        }
    }

    /// Whether commands may run in another order than they came.
    pub(crate) fn reorders(self) -> bool {
        !matches!(self, Scheduler::Fifo)
    }

    /// The place in the queue of the command to run next.
    #[inline]
    pub(crate) fn pick(self, queue: &VecDeque<Queued>) -> usize {
        match self {
            Scheduler::Fifo => fifo::pick(queue),
            Scheduler::ReadFirst => read_first::pick(queue),
        }
    }
}
