//! Refresh and read reclaim: the data of a block is moved before its errors are too many for the code. A block is due when its
//! data is too old (refresh: Cai et al., "Flash Correct-and-Refresh: Retention-Aware Error Management for Increased Flash Memory
//! Lifetime", ICCD 2012), or when it was read too often since its erase or a page of it needed too many retries (read reclaim: Ha,
//! Jeong and Kim, "A Read-Disturb Management Technique for High-Density NAND Flash Memory", APSys 2013; the errors: Cai et al., "Read
//! Disturb Errors in MLC NAND Flash Memory: Characterization, Mitigation, and Recovery", DSN 2015).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Urgency, View, Wish};
use crate::quantity::{Auto, Bound, Limit};

/// When a unit moves data because of its bit errors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// Time for which a unit's die is idle before it moves a block that is due; none: never.
    pub after: Bound,
    /// Time after which a block that is due moves between the commands of others; none: never.
    pub overdue: Bound,
    /// Age of a block's data, in days at `ageing.temperature`, from which on it is refreshed. `auto`: any.
    #[schemars(range(max = 100_000.0), extend("exclusiveMinimum" = 0.0), extend("x-unit" = "days"))]
    pub age: Auto<f64>,
    /// Readings of a block since its erase, retries included, from which on it is reclaimed. `none`: any number.
    #[schemars(range(min = 1))]
    pub reads: Limit,
    /// Retries of a page from which on its block is reclaimed; soft decoding counts as one more than `ageing.retries`. `none`: any
    /// number.
    #[schemars(range(min = 1))]
    pub retries: Limit,
}

impl Config {
    /// True if any block is ever due and moved.
    pub(crate) fn is_on(&self) -> bool {
        let has_limit = self.age.0.is_some() || self.reads.0.is_some() || self.retries.0.is_some();
        has_limit && (self.after.0.is_some() || self.overdue.0.is_some())
    }

    pub(super) fn wish(&self, view: &View) -> Wish {
        let Some(due_ns) = view.refresh_ns else { return Wish::Nothing };
        if due_ns > view.now_ns {
            return Wish::NotBefore(due_ns);
        }
        let overdue_ns = self.overdue.0.map(|overdue| due_ns.saturating_add(overdue.0));
        if overdue_ns.is_some_and(|time_ns| time_ns <= view.now_ns) {
            return Wish::Step(Urgency::Should);
        }
        match (view.once_idle(self.after), overdue_ns) {
            (Wish::NotBefore(idle_ns), Some(time_ns)) => Wish::NotBefore(idle_ns.min(time_ns)),
            (Wish::Nothing, Some(time_ns)) => Wish::NotBefore(time_ns),
            (wish, _) => wish,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::Nanos;

    #[test]
    fn an_idle_unit_moves_blocks_from_when_they_are_due() {
        let config = Config { after: Bound(Some(Nanos(10))), retries: Limit(Some(1)), ..Config::default() };
        let view = View { now_ns: 50, idle_since_ns: Some(30), ..View::default() };
        assert_eq!(config.wish(&view), Wish::Nothing);
        assert_eq!(config.wish(&View { refresh_ns: Some(51), ..view }), Wish::NotBefore(51));
        assert_eq!(config.wish(&View { refresh_ns: Some(50), ..view }), Wish::Step(Urgency::Idle));
        assert_eq!(config.wish(&View { refresh_ns: Some(0), now_ns: 35, ..view }), Wish::NotBefore(40));
        assert_eq!(config.wish(&View { refresh_ns: Some(0), idle_since_ns: None, ..view }), Wish::Nothing);
    }

    #[test]
    fn a_block_that_is_due_for_long_enough_moves_between_the_commands_of_others() {
        let config = Config { overdue: Bound(Some(Nanos(20))), reads: Limit(Some(1)), ..Config::default() };
        let busy = View { now_ns: 50, refresh_ns: Some(40), ..View::default() };
        assert_eq!(config.wish(&busy), Wish::NotBefore(60));
        assert_eq!(config.wish(&View { now_ns: 60, ..busy }), Wish::Step(Urgency::Should));
        let both = Config { after: Bound(Some(Nanos(10))), ..config };
        assert_eq!(both.wish(&View { idle_since_ns: Some(45), ..busy }), Wish::NotBefore(55));
        assert_eq!(both.wish(&View { idle_since_ns: Some(40), ..busy }), Wish::Step(Urgency::Idle));
    }
}
