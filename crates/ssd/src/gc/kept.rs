//! Erased blocks that a unit keeps (`gc.free_blocks`): a number of them, or a share of its blocks.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::quantity::round_to_u64;

/// Parts of one percent in which a share is kept, and of all.
const PARTS: f64 = 1e6;
const WHOLE: u64 = 100_000_000;
const EXPECTED: &str =
    "expected a whole number of blocks, or a share of those of a unit, such as \"5%\" (above 0, below 100%)";

/// Blocks that a unit keeps erased. In configuration a whole number, or a share of its blocks such as `"5%"`, rounded down to
/// at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// A number of blocks.
    Blocks(u32),
    /// Millionths of a percent of the blocks of a unit.
    Share(u32),
}

impl Kept {
    /// The number for a unit of `blocks` blocks.
    pub(crate) fn of(self, blocks: u64) -> u32 {
        match self {
            Self::Blocks(kept) => kept,
            Self::Share(parts) => {
                let kept = u128::from(blocks) * u128::from(parts) / u128::from(WHOLE);
                u32::try_from(kept).unwrap_or(u32::MAX).max(1)
            }
        }
    }

    /// The fewest blocks with which a unit has so many others beside those that it keeps.
    pub(crate) fn fewest_with(self, others: u64) -> u64 {
        match self {
            Self::Blocks(kept) => others.saturating_add(kept.into()),
            Self::Share(parts) => {
                // n - floor(n p) is ceil(n (1 - p)): at least `others` where n (1 - p) is above one less.
                let above = u128::from(others.saturating_sub(1)) * u128::from(WHOLE)
                    / u128::from(WHOLE - u64::from(parts));
                let by_share = u64::try_from(above).map_or(u64::MAX, |above| above.saturating_add(1));
                by_share.max(others.saturating_add(1))
            }
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let Some(percent) = text.strip_suffix('%') else { return text.parse().ok().map(Self::Blocks) };
        let percent: f64 = percent.trim_end().parse().ok()?;
        let parts = u32::try_from(round_to_u64((percent * PARTS).max(0.0))).ok()?;
        (parts > 0 && u64::from(parts) < WHOLE).then_some(Self::Share(parts))
    }
}

impl fmt::Display for Kept {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blocks(blocks) => write!(formatter, "{blocks}"),
            Self::Share(parts) => write!(formatter, "{}%", f64::from(*parts) / PARTS),
        }
    }
}

impl Serialize for Kept {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Blocks(blocks) => serializer.serialize_u32(*blocks),
            Self::Share(_) => serializer.collect_str(self),
        }
    }
}

struct KeptVisitor;

impl Visitor<'_> for KeptVisitor {
    type Value = Kept;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(EXPECTED.trim_start_matches("expected "))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Kept, E> {
        u32::try_from(number).map(Kept::Blocks).map_err(|_| E::custom(EXPECTED))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Kept, E> {
        u32::try_from(number).map(Kept::Blocks).map_err(|_| E::custom(EXPECTED))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Kept, E> {
        Err(E::custom(EXPECTED))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Kept, E> {
        Kept::parse(text).ok_or_else(|| E::custom(EXPECTED))
    }
}

impl<'de> Deserialize<'de> for Kept {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KeptVisitor)
    }
}

impl JsonSchema for Kept {
    fn schema_name() -> Cow<'static, str> {
        "Kept".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["integer", "string"], "minimum": 1, "maximum": 1_048_576,
            "pattern": r"^\s*[0-9]+(\.[0-9]+)?\s*%?\s*$", "x-or": "5%",
            "description": "a number of blocks, or a share of those of a unit, such as \"5%\""})
    }

    fn inline_schema() -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_rounded_down_to_at_least_one_block() {
        let share = Kept::parse("5%").expect("a share");
        assert_eq!([19, 39, 40, 2048].map(|blocks| share.of(blocks)), [1, 1, 2, 102]);
        assert_eq!(Kept::parse("0.5 %").expect("a share").of(2048), 10);
        assert_eq!(Kept::Blocks(7).of(3), 7);
    }

    #[test]
    fn the_fewest_blocks_leave_what_is_asked_and_one_less_does_not() {
        for text in ["1", "30", "5%", "0.001%", "50%", "99%", "99.9%"] {
            let kept = Kept::parse(text).expect("legal");
            for left in [0, 1, 2, 17, 100, 1_943, 1_945, 1_946] {
                let blocks = kept.fewest_with(left);
                assert!(blocks - u64::from(kept.of(blocks)) >= left, "{text} {left}: {blocks}");
                let fewer = blocks.checked_sub(1);
                assert!(
                    fewer.is_none_or(|fewer| fewer < left + u64::from(kept.of(fewer))),
                    "{text} {left}: {blocks}"
                );
            }
        }
    }

    #[test]
    fn texts_are_read_back_and_others_refused() {
        for text in ["1", "1048576", "5%", "0.5%", "12.25%"] {
            assert_eq!(Kept::parse(text).expect("legal").to_string(), text);
        }
        for text in
            ["", "%", "0%", "100%", "99.9999999%", "-1%", "nan%", "inf%", "1.5", "-1", "5 percent", "1e400%"]
        {
            assert_eq!(Kept::parse(text), None, "{text}");
        }
    }
}
