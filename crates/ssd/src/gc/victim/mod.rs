//! Victim policies: which full block a collection takes.
//!
//! The contract: a policy is a pure function from a [`VictimView`] of one unit to a block that is full and is no write
//! frontier, or `None` if there is no full block. It says by [`Victim::index`] which index of full blocks it reads;
//! the block table keeps that index up to date. Where victims are chosen by group ([`pools`]) it sees the blocks of one. A policy may pick a block without any invalid page: the collection
//! then gains nothing and is tried again, up to a limit.

mod cost_benefit;
mod d_choices;
mod external;
mod fifo;
mod greedy;
mod pools;
mod random;

use rand_xoshiro::Xoshiro256PlusPlus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::RunError;
use crate::external::{Outside, Victims};
use crate::ftl::blocks::{Blocks, Index};

pub(crate) use pools::{Division, Pool, Shares, VictimsOf};

/// Block to collect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "victim", rename_all = "kebab-case")]
pub enum VictimConfig {
    /// The block with the fewest valid pages.
    Greedy(greedy::Config),
    /// The block filled longest ago.
    Fifo(fifo::Config),
    /// Any full block, uniformly.
    Random(random::Config),
    /// The block with the fewest valid pages among some picked at random.
    DChoices(d_choices::Config),
    /// The block with the largest benefit / cost, age x (1 - u) / 2u.
    CostBenefit(cost_benefit::Config),
    /// The block that a function in Python says.
    External(external::Config),
}

impl Default for VictimConfig {
    fn default() -> Self {
        VictimConfig::Greedy(greedy::Config {})
    }
}

impl VictimConfig {
    /// The file of a function outside the engine.
    pub(crate) fn file(&self) -> Option<&str> {
        if let VictimConfig::External(own) = self { Some(&own.victim_file) } else { None }
    }

    /// True if the choice depends on a seed.
    pub(crate) fn draws(&self) -> bool {
        matches!(self, VictimConfig::Random(_) | VictimConfig::DChoices(_))
    }
}

/// View of a unit for a victim policy.
pub(crate) struct VictimView<'a> {
    pub(crate) unit: u32,
    /// The unit's blocks, with the index that the policy asked for.
    pub(crate) blocks: &'a Blocks,
    /// Pages of a block.
    pub(crate) pages_per_block: u32,
    /// Host pages written to the unit so far: the clock of ages.
    pub(crate) now: u64,
    /// The full blocks that may be taken, in the order of the index; `None`: all of them.
    pub(crate) among: Option<&'a [u32]>,
}

impl VictimView<'_> {
    /// The full block that comes first by the index of the policy, `first` being that of all.
    fn first(&self, first: impl FnOnce(&Blocks) -> Option<u32>) -> Option<u32> {
        self.among.map_or_else(|| first(self.blocks), |among| among.first().copied())
    }

    /// Full blocks in no order. Needs [`Index::Unordered`].
    pub(crate) fn unordered(&self) -> &[u32] {
        self.among.unwrap_or_else(|| self.blocks.unordered())
    }
}

/// The policies. Asked once a collection.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Victim {
    Greedy,
    Fifo,
    Random,
    DChoices(u32),
    CostBenefit,
    External(#[serde(skip)] Outside<Victims, Option<u32>>),
}

impl Victim {
    pub(crate) fn new(config: &VictimConfig) -> Self {
        match config {
            VictimConfig::Greedy(_) => Victim::Greedy,
            VictimConfig::Fifo(_) => Victim::Fifo,
            VictimConfig::Random(_) => Victim::Random,
            VictimConfig::DChoices(config) => Victim::DChoices(config.choices),
            VictimConfig::CostBenefit(_) => Victim::CostBenefit,
            VictimConfig::External(_) => Victim::External(Outside::default()),
        }
    }

    /// The index of full blocks that the policy reads.
    pub(crate) fn index(&self) -> Index {
        match self {
            Victim::Greedy => Index::ByValid,
            Victim::Fifo => Index::ByAge,
            Victim::Random | Victim::DChoices(_) | Victim::CostBenefit | Victim::External(_) => {
                Index::Unordered
            }
        }
    }

    /// The block to collect.
    pub(crate) fn pick(&self, view: &VictimView<'_>, rng: &mut Xoshiro256PlusPlus) -> Option<u32> {
        match self {
            Victim::Greedy => greedy::pick(view),
            Victim::Fifo => fifo::pick(view),
            Victim::Random => random::pick(view, rng),
            Victim::DChoices(choices) => d_choices::pick(view, *choices, rng),
            Victim::CostBenefit => cost_benefit::pick(view),
            Victim::External(outside) => external::pick(view, outside),
        }
    }

    /// The error of a unit that can't go on, if a policy outside the engine chose a victim that frees nothing where another one
    /// would: `gains` says so of numbers of valid pages.
    pub(crate) fn fault(&self, unit: u32, gains: impl Fn(u32) -> bool) -> Option<RunError> {
        if let Victim::External(outside) = self { external::fault(outside, unit, gains) } else { None }
    }

    /// Gives the policy its function, if it is one outside the engine.
    pub(crate) fn attach(&mut self, function: &Outside<Victims, Option<u32>>) {
        if let Victim::External(outside) = self {
            *outside = function.clone();
        }
    }
}
