//! Collection ahead, by two marks: a unit with fewer spare blocks than `should_below` collects as soon as it has done what it
//! does, and one with fewer than `until` when it is idle. So bursts of writes find erased blocks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pace::{Credit, PaceConfig};
use super::{Urgency, View, Wish};
use crate::quantity::Bound;

/// When a unit collects though it need not yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// Time for which a unit's die is idle before it collects; none: never.
    pub after: Bound,
    /// Spare blocks up to which an idle unit collects (free log blocks where blocks are mapped).
    #[schemars(range(min = 1))]
    pub until: u32,
    /// Spare blocks below which a unit collects between the commands of others. 0: never.
    pub should_below: u32,
    /// Collection that a page written brings about then.
    #[serde(flatten)]
    pub pace: PaceConfig,
}

impl Default for Config {
    fn default() -> Self {
        Self { after: Bound(None), until: 4, should_below: 0, pace: PaceConfig::default() }
    }
}

impl Config {
    pub(super) fn wish(&self, view: &View, credit: &mut Credit) -> Wish {
        let has_credit = credit.grow(&self.pace, view, self.should_below);
        if has_credit && view.spare_blocks < self.should_below.into() {
            Wish::Step(Urgency::Should)
        } else if view.under_way || view.spare_blocks < self.until.into() {
            view.once_idle(self.after)
        } else {
            Wish::Nothing
        }
    }
}
