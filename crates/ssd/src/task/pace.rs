//! Pace of collection between the commands of others: how much of it a unit makes for each page of flash that the host writes to
//! it. A unit has *credit*: it grows with each page written, and pays for steps. A step is made while there is credit, so what it
//! costs beyond that is paid later: on average a page brings about what the pace says, and no more than that and a step at once.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::View;
use crate::quantity::{Nanos, round_to_u64};

/// Parts of a copy that credit is counted in.
const PARTS: u64 = 1_000_000;

/// Collection that a page of flash written to a unit brings about, while fewer spare blocks than `should_below` are left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "pace", rename_all = "kebab-case")]
pub enum PaceConfig {
    /// Whatever fits between two commands: one step after the other.
    Full(Full),
    /// So many page copies.
    Writes(Writes),
    /// The more page copies the fewer spare blocks are left.
    Free(Free),
    /// As many steps as take so much time.
    Latency(Latency),
}

/// Without settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Full {}

/// The share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Writes {
    /// Page copies for each page of flash that the host writes to the unit.
    #[schemars(range(max = 1000.0), extend("exclusiveMinimum" = 0.0))]
    pub pace_copies: f64,
}

impl Default for Writes {
    fn default() -> Self {
        Self { pace_copies: 2.0 }
    }
}

/// The share where no spare block is left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Free {
    /// Page copies for each page of flash that the host writes to a unit without a spare block; with s of them it is this x (1 - s /
    /// should_below).
    #[schemars(range(max = 1000.0), extend("exclusiveMinimum" = 0.0))]
    pub pace_max_copies: f64,
}

impl Default for Free {
    fn default() -> Self {
        Self { pace_max_copies: 8.0 }
    }
}

/// The time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Latency {
    /// Flash time of steps for each page of flash that the host writes to the unit: by so much, on average, collection delays it.
    pub pace_delay: Nanos,
}

impl Default for Latency {
    fn default() -> Self {
        Self { pace_delay: Nanos(1_000_000) }
    }
}

impl Default for PaceConfig {
    fn default() -> Self {
        PaceConfig::Full(Full {})
    }
}

/// The credit of a unit: parts of a copy, or ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Credit {
    /// Pages written when it last grew.
    seen: u64,
    left: i64,
}

impl Credit {
    /// It grows by the pages written since it last did; a unit that has enough spare blocks has none. True if there is any.
    pub(super) fn grow(&mut self, pace: &PaceConfig, view: &View, should_below: u32) -> bool {
        let pages = view.written - self.seen.min(view.written);
        self.seen = view.written;
        let below = u64::from(should_below).saturating_sub(view.spare_blocks);
        if below == 0 {
            self.left = self.left.min(0);
            return false;
        }
        let parts = |copies: f64| round_to_u64(copies * PARTS as f64);
        let grant = match pace {
            PaceConfig::Full(_) => return true,
            PaceConfig::Writes(own) => parts(own.pace_copies),
            PaceConfig::Free(own) => parts(own.pace_max_copies) * below / u64::from(should_below.max(1)),
            PaceConfig::Latency(own) => own.pace_delay.0,
        };
        self.left = self.left.saturating_add(i64::try_from(pages.saturating_mul(grant)).unwrap_or(i64::MAX));
        self.left > 0
    }

    /// Steps were made that copied so many pages and took so much time of the flash, ns.
    pub(super) fn pay(&mut self, pace: &PaceConfig, copies: u64, flash_ns: u64) {
        let cost = match pace {
            PaceConfig::Full(_) => 0,
            PaceConfig::Writes(_) | PaceConfig::Free(_) => copies.saturating_mul(PARTS),
            PaceConfig::Latency(_) => flash_ns,
        };
        self.left = self.left.saturating_sub(i64::try_from(cost).unwrap_or(i64::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(pace: &PaceConfig, spare_blocks: u64, pages: u64, cost: (u64, u64)) -> u64 {
        let mut credit = Credit::default();
        let mut steps = 0;
        for written in 1..=pages {
            let view = View { spare_blocks, written, ..View::default() };
            while credit.grow(pace, &view, 10) {
                credit.pay(pace, cost.0, cost.1);
                steps += 1;
            }
        }
        steps
    }

    #[test]
    fn steps_follow_pages_written_as_the_pace_says() {
        let writes = PaceConfig::Writes(Writes { pace_copies: 2.5 });
        assert_eq!(steps(&writes, 4, 1000, (1, 7)), 2500);
        assert_eq!(steps(&writes, 10, 1000, (1, 7)), 0, "enough spare blocks");
        let free = PaceConfig::Free(Free { pace_max_copies: 8.0 });
        assert_eq!(steps(&free, 0, 1000, (1, 7)), 8000);
        assert_eq!(steps(&free, 9, 1000, (1, 7)), 800);
        let latency = PaceConfig::Latency(Latency { pace_delay: Nanos(300) });
        assert_eq!(steps(&latency, 4, 1000, (1, 1000)), 300);
    }
}
