//! Garbage collection. `victim/` picks the block of a page map; the FTL moves its pages and erases it. A unit *must*
//! collect when its write frontier is full and it has no erased block to spare; what the other units do meanwhile, and
//! whether they collect before they must, is the planner's (`planner/`).

pub(crate) mod kept;
pub(crate) mod planner;
pub(crate) mod victim;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use kept::Kept;
pub(crate) use planner::PlannerConfig;
pub(crate) use victim::{Division, Shares, VictimConfig, VictimsOf};

/// Choice of the block to collect, destination of its pages, and number of blocks that stay erased.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GcConfig {
    /// Block to collect.
    #[serde(flatten)]
    pub victim: VictimConfig,
    /// Blocks that a victim is chosen among: all of a unit, or those of the group of `ftl.classifier` that has most spare space
    /// beyond its share (`gc.shares`).
    pub victims_of: VictimsOf,
    /// With `gc.victims_of=group`: division of spare space among groups. `data`: by their valid pages. `best`: so that all together
    /// program as little as they can. Or shares such as `0.5,0.3,0.2`, by number of group; further groups have the last one.
    pub shares: Shares,
    /// Units that collect, when they do, and how much.
    #[serde(flatten)]
    pub planner: PlannerConfig,
    /// Most data blocks that one collection merges; the pages left over are moved to the newest log block. 0: no limit.
    pub throttle: u32,
    /// Most spare blocks with which a unit collects before it must, for planners that do so (free log blocks where blocks
    /// are mapped).
    pub spare_blocks: u32,
    /// Write frontiers of a unit: 1 (host and collected pages share one) or 2 (collected pages have their own). Translation
    /// pages (ftl.kind=dftl) always have one of their own besides.
    #[schemars(range(min = 1, max = 2))]
    pub frontiers: u32,
    /// Erased blocks that each unit keeps: a number, or a share of the blocks of the smallest unit such as `5%`. The first lies
    /// outside op_ratio, the others come out of the spare blocks.
    pub free_blocks: Kept,
    /// Copybacks of a page in a row: moves within its plane that don't cross the bus, before it must cross to be checked. 0: none.
    pub copyback: u32,
    /// Page copies of a collection that no read gets in between, where reads get in between copies at all (`sched.kind=suspend`,
    /// `sched.preempt_gc`). Above 1 no copy is suspended.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub batch: u32,
}

impl GcConfig {
    /// The division of spare space among groups, if these collect their own.
    pub(crate) fn division(&self) -> Option<&Division> {
        (self.victims_of == VictimsOf::Group).then_some(&self.shares.0)
    }
}

impl Default for GcConfig {
    fn default() -> Self {
        Self {
            victim: VictimConfig::default(),
            victims_of: VictimsOf::default(),
            shares: Shares::default(),
            planner: PlannerConfig::default(),
            throttle: 0,
            spare_blocks: 200,
            frontiers: 1,
            free_blocks: Kept::Blocks(1),
            copyback: 0,
            batch: 1,
        }
    }
}
