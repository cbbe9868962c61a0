//! Planners: what the other units do while one of them must collect, and whether a unit collects before it must.
//!
//! The contract. A unit that *must* collect before it can write is in *mandatory* collection. With an *aligned* planner it
//! is the *initiator*, one at a time: while it makes a step, each unit that [`Planner::joins`] takes part and does what
//! [`Planner::follow`] says for that step; all steps end together. Other planners are asked by [`Planner::wish`] whether
//! a unit that has nothing to write makes a step of *forward* collection. A planner is a policy over tasks (`crate::task`), a
//! pure function of a [`View`]; the engine executes what it says.

mod cycle_filling;
mod cycle_stealing;
mod external;
mod forwarding;
mod none;
mod selective_filling;
mod super_data_block;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::external::{Outside, Units};
use crate::op::Step;
use crate::task::{Urgency, View, Wish};

/// Units that collect, and when they do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "planner", rename_all = "kebab-case")]
pub enum PlannerConfig {
    /// Nobody collects before it must; with a common clock the others idle meanwhile.
    None(none::Config),
    /// While one unit merges a data block, the others merge theirs of the same number, in the log or not.
    SuperDataBlock(super_data_block::Config),
    /// While one unit merges a data block, the others merge what they would have to merge next.
    CycleStealing(cycle_stealing::Config),
    /// A unit that has run out of pages to write, while another one collects and the buffer is full, collects ahead.
    Forwarding(forwarding::Config),
    /// When one unit must collect, all collect with it, step by step, until it is done.
    CycleFilling(cycle_filling::Config),
    /// Cycle filling that merges only the data blocks with the most pages in the log, and moves the pages of the others.
    SelectiveFilling(selective_filling::Config),
    /// A function in Python says which units collect when.
    External(external::Config),
}

impl Default for PlannerConfig {
    fn default() -> Self {
        PlannerConfig::None(none::Config {})
    }
}

impl PlannerConfig {
    /// Cycle filling.
    pub(crate) fn cycle_filling() -> Self {
        PlannerConfig::CycleFilling(cycle_filling::Config {})
    }

    /// The file of a function outside the engine.
    pub(crate) fn file(&self) -> Option<&str> {
        if let PlannerConfig::External(own) = self { Some(&own.planner_file) } else { None }
    }

    /// True if the planner uses `gc.spare_blocks`.
    pub(crate) fn heeds_spare_blocks(&self) -> bool {
        matches!(
            self,
            PlannerConfig::Forwarding(_)
                | PlannerConfig::CycleFilling(_)
                | PlannerConfig::SelectiveFilling(_)
        )
    }

    /// Pages in the log with which a data block is merged, and most pages of a victim that are moved instead, if the planner
    /// chooses what to merge.
    pub(crate) fn selection(&self, pages_per_block: u32) -> Option<(u32, u32)> {
        let PlannerConfig::SelectiveFilling(config) = self else { return None };
        let pages = u64::from(pages_per_block);
        let merged_from = (pages * u64::from(config.merged_percent)).div_ceil(100);
        Some((merged_from as u32, (pages * u64::from(config.moved_percent) / 100) as u32))
    }
}

/// Action of a follower during one step of the initiator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Action {
    /// Nothing.
    Idle,
    /// Its own next copy or merge.
    Copy,
    /// Merges this data block of its own.
    Merge {
        /// Its number within the unit.
        block: u32,
    },
    /// Moves what is left of a victim, if that is what it would do next.
    Move,
    /// Erases a victim that has nothing left.
    Erase,
}

/// The planners. Asked once a step: a boxed policy could stand here.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Planner {
    None,
    SuperDataBlock,
    CycleStealing,
    Forwarding { spare_blocks: u64 },
    CycleFilling { spare_blocks: u64 },
    SelectiveFilling { spare_blocks: u64 },
    External(external::Asked),
}

impl Planner {
    pub(crate) fn new(config: &super::GcConfig) -> Self {
        let spare_blocks = config.spare_blocks.into();
        match &config.planner {
            PlannerConfig::None(_) => Planner::None,
            PlannerConfig::SuperDataBlock(_) => Planner::SuperDataBlock,
            PlannerConfig::CycleStealing(_) => Planner::CycleStealing,
            PlannerConfig::Forwarding(_) => Planner::Forwarding { spare_blocks },
            PlannerConfig::CycleFilling(_) => Planner::CycleFilling { spare_blocks },
            PlannerConfig::SelectiveFilling(_) => Planner::SelectiveFilling { spare_blocks },
            PlannerConfig::External(own) => Planner::External(external::Asked::new(own)),
        }
    }

    /// The function of a planner outside the engine.
    pub(crate) fn function(&self) -> Option<&Outside<Units, Vec<u32>>> {
        if let Planner::External(asked) = self { Some(&asked.function) } else { None }
    }

    /// Gives a planner outside the engine its function.
    pub(crate) fn attach(&mut self, given: &Outside<Units, Vec<u32>>) {
        if let Planner::External(asked) = self {
            asked.function = given.clone();
        }
    }

    /// True if units take part in the steps of an initiator.
    pub(crate) fn is_aligned(&self) -> bool {
        matches!(
            self,
            Planner::SuperDataBlock
                | Planner::CycleStealing
                | Planner::CycleFilling { .. }
                | Planner::SelectiveFilling { .. }
        ) || matches!(self, Planner::External(asked) if asked.together)
    }

    /// True if units that have nothing to write may collect ahead.
    pub(crate) fn collects_ahead(&self) -> bool {
        matches!(self, Planner::Forwarding { .. })
            || matches!(self, Planner::External(asked) if !asked.together)
    }

    /// False if no unit can begin to collect ahead now, whatever its view, so that none need be asked. `buffer_full`, `others_must`:
    /// as in a [`View`].
    pub(crate) fn begins_ahead(&self, buffer_full: bool, others_must: bool) -> bool {
        match self {
            Planner::Forwarding { .. } => forwarding::may_begin(buffer_full, others_must),
            _ => true,
        }
    }

    /// True if the unit takes part in the collection of another one.
    pub(crate) fn joins(&self, view: &View) -> bool {
        match self {
            Planner::SuperDataBlock | Planner::CycleStealing => true,
            Planner::CycleFilling { spare_blocks } | Planner::SelectiveFilling { spare_blocks } => {
                cycle_filling::joins(view, *spare_blocks)
            }
            _ => false,
        }
    }

    /// Action of a unit that takes part, during `step` of the initiator.
    pub(crate) fn follow(&self, step: Step) -> Action {
        match self {
            Planner::SuperDataBlock => super_data_block::follow(step),
            Planner::CycleStealing | Planner::CycleFilling { .. } | Planner::External(_) => {
                cycle_stealing::follow(step)
            }
            Planner::SelectiveFilling { .. } => selective_filling::follow(step),
            _ => Action::Idle,
        }
    }

    /// Work ahead of a unit that has nothing to write.
    pub(crate) fn wish(&self, view: &View) -> Wish {
        let wishes = match self {
            Planner::Forwarding { spare_blocks } => forwarding::forward(view, *spare_blocks),
            _ => false,
        };
        if wishes { Wish::Step(Urgency::Idle) } else { Wish::Nothing }
    }
}

#[cfg(test)]
mod tests;
