//! Victims by group: spare space is divided among *pools* of groups of open blocks, and the pool that has most beyond its share
//! gives the next victim, which the victim policy chooses among its blocks.
//!
//! A pool is a group of the host with that of relocated pages which takes the same pages, or a group alone. Spare space is counted as
//! the stale pages in a pool's blocks, erased blocks belonging to none. So a pool that needs a block takes an erased one, has too
//! many then, and gives one back. Each pool by itself is a drive whose space is its valid and its stale pages, and amplifies as
//! one: hot and cold data apart with spare space of their own (Desnoyers, ACM Transactions on Storage 2014), divided by
//! update frequency (Stoica and Ailamaki, VLDB 2013). Theirs is the division by the best total; that the pool in which a page of
//! spare space is worth least gives the victim, instead of sizes worked out now and then, is ours.
//!
//! Worth, for `best`: a pool of v valid pages in a v pages, collected first in, first out, programs A pages for each that enters
//! it, with a = -A ln(1 - 1/A). If r pages enter it in a time, one more stale page saves -dA/da r / v programs. At the best division
//! this is the same in all pools. The form is that of FIFO; greedy's differs by a few percent, and by as much in all pools.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// Blocks that a victim is chosen among.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VictimsOf {
    /// All full blocks of the unit, whatever their group.
    #[default]
    All,
    /// Those of one group: of the one that has most spare space beyond its share.
    Group,
}

/// Division of spare space among groups. In configuration `"data"`, `"best"`, or shares such as `"0.5,0.3,0.2"`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) enum Division {
    /// By valid pages: each pool has as much over-provisioning as the drive.
    #[default]
    Data,
    /// So that all pools together program as little as they can.
    Best,
    /// In these proportions; further pools have the last one.
    Given(Vec<f64>),
}

/// The value of `gc.shares`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shares(pub(crate) Division);

/// The largest share; they count by their proportions.
const MAX_SHARE: f64 = 1e6;
/// Halvings of an interval in which the valid share of a victim is looked for.
const HALVINGS: u32 = 40;

/// A pool of a unit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pool {
    /// Pages of its blocks that were written.
    pub(crate) written: u64,
    /// Those of them that are valid.
    pub(crate) valid: u64,
    /// Pages that entered it lately, of the host or out of other pools.
    pub(crate) entered: u64,
    /// True if collecting one of its blocks gains something.
    pub(crate) gains: bool,
}

impl Division {
    /// The pool that gives the next victim, if one has a block to gain from.
    pub(crate) fn pool_of_victim(&self, pools: &[Pool]) -> Option<u32> {
        let gaining = (0..).zip(pools).filter(|(_, pool)| pool.gains);
        let beyond = gaining.map(|(number, pool)| (number, self.beyond_share(number, pool)));
        beyond.max_by(|(_, left), (_, right)| left.total_cmp(right)).map(|(number, _)| number)
    }

    /// Stale pages of a pool in proportion to its share. One without valid pages gives its blocks first.
    fn beyond_share(&self, number: u32, pool: &Pool) -> f64 {
        let (stale, valid) = (pool.written.saturating_sub(pool.valid) as f64, pool.valid as f64);
        if pool.valid == 0 {
            return f64::INFINITY;
        }
        match self {
            Division::Data => stale / valid,
            Division::Best => valid / (pool.entered as f64 * worth(stale / valid)),
            Division::Given(shares) => stale / shares[(number as usize).min(shares.len() - 1)],
        }
    }
}

/// Programs saved for each page that enters a pool by one part more of its valid pages in spare space, `spare` being there.
fn worth(spare: f64) -> f64 {
    // With x = 1 / A, the stale share of a victim, a = -ln(1 - x) / x grows with x.
    let (mut low, mut high) = (1e-6, 1.0 - 1e-9);
    for _ in 0..HALVINGS {
        let stale = f64::midpoint(low, high);
        if -libm::log1p(-stale) < (1.0 + spare) * stale {
            low = stale;
        } else {
            high = stale;
        }
    }
    1.0 / (low / (1.0 - low) + libm::log1p(-low))
}

impl Shares {
    /// Shares by their text.
    fn parse(text: &str) -> Option<Self> {
        match text.trim() {
            "data" => return Some(Self(Division::Data)),
            "best" => return Some(Self(Division::Best)),
            _ => {}
        }
        let share =
            |text: &str| text.trim().parse::<f64>().ok().filter(|share| *share > 0.0 && *share <= MAX_SHARE);
        let shares: Option<Vec<f64>> = text.split(',').map(share).collect();
        shares.filter(|shares| shares.len() <= 256).map(|shares| Self(Division::Given(shares)))
    }

    /// Shares that are given; none if they follow from what the pools hold.
    pub(crate) fn given(&self) -> usize {
        if let Division::Given(shares) = &self.0 { shares.len() } else { 0 }
    }

    /// The first `pools` of them.
    pub(crate) fn truncate(&mut self, pools: usize) {
        if let Division::Given(shares) = &mut self.0 {
            shares.truncate(pools);
        }
    }
}

impl Serialize for Shares {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = match &self.0 {
            Division::Data => "data".into(),
            Division::Best => "best".into(),
            Division::Given(shares) => {
                shares.iter().map(ToString::to_string).collect::<Vec<String>>().join(",")
            }
        };
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for Shares {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // On the command line a single share is a number.
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Raw {
            Number(f64),
            Text(String),
        }
        let shares = match Raw::deserialize(deserializer) {
            Ok(Raw::Number(number)) => Self::parse(&number.to_string()),
            Ok(Raw::Text(text)) => Self::parse(&text),
            Err(_) => None,
        };
        shares.ok_or_else(|| {
            D::Error::custom(format!(
                "expected \"data\", \"best\", or up to 256 shares above 0, at most {MAX_SHARE}, such as \"0.5,0.3,0.2\""
            ))
        })
    }
}

impl JsonSchema for Shares {
    fn schema_name() -> Cow<'static, str> {
        "Shares".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["string", "number"],
            "description": "\"data\", \"best\", or shares by number of group, separated by commas"})
    }
    fn inline_schema() -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(written: u64, valid: u64, entered: u64) -> Pool {
        Pool { written, valid, entered, gains: true }
    }

    #[test]
    fn the_pool_with_most_beyond_its_share_gives_the_victim() {
        let pools = [pool(150, 100, 1), pool(900, 800, 1), pool(60, 20, 1)];
        assert_eq!(Division::Data.pool_of_victim(&pools), Some(2));
        let given = |shares: &str| Shares::parse(shares).expect("shares").0.pool_of_victim(&pools);
        assert_eq!([given("1"), given("1,3"), given("1,9,0.5")], [Some(1), Some(0), Some(2)]);
        let full = Pool { gains: false, ..pools[2] };
        assert_eq!(Division::Data.pool_of_victim(&[pools[0], full]), Some(0), "nothing to gain in the other");
        assert_eq!(Division::Data.pool_of_victim(&[full]), None);
        assert_eq!(Division::Best.pool_of_victim(&[pools[0], pool(64, 0, 9)]), Some(1), "it costs nothing");
    }

    #[test]
    fn worth_is_the_slope_of_amplification() {
        for amplification in [1.02, 1.5, 3.0, 12.0] {
            let spare = |a: f64| -a * (-1.0 / a).ln_1p() - 1.0;
            let step = 1e-5 * amplification;
            let slope = 2.0 * step / (spare(amplification - step) - spare(amplification + step));
            let found = worth(spare(amplification));
            assert!((found / slope - 1.0).abs() < 1e-4, "{amplification}: {found}, {slope}");
        }
        assert!(worth(0.0).is_finite() && worth(1e9) < 1e-6);
    }

    #[test]
    fn shares_are_text_and_back() {
        for text in ["data", "best", "0.5,0.3,0.2", "3"] {
            let shares = serde_json::from_value::<Shares>(text.into()).expect(text);
            assert_eq!(serde_json::to_value(&shares).expect("plain"), text);
        }
        assert_eq!(serde_json::from_value::<Shares>(2.into()).expect("a number").given(), 1);
        for wrong in ["", "1,", "0", "-1", "nan", "inf", "half", "1e7"] {
            let error = serde_json::from_value::<Shares>(wrong.into()).expect_err(wrong).to_string();
            assert!(error.contains("above 0"), "{error}");
        }
    }
}
