//! Ranges of keys: declared with the key as bounds of its schema, checked in one place for all of them (`bounds.rs`).
//!
//! `minimum`, `exclusiveMinimum`, `maximum` and `multipleOf` are JSON Schema's. Those of a size or a time are in bytes or ns, and
//! hold for its text form, too. `anyOf` with `const: 0` allows 0 beside the range; `x-or` is a word that the key takes instead of
//! a number. Each time of a list is in the range.

use flashweir_trace::quantity::{
    bytes_exceed_64_bits, format_bytes, format_nanos, nanos_exceed_64_bits, parse_bytes, parse_nanos,
};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Number, Value};

use crate::quantity::round_to_u64;

const HOUR_NS: u64 = 3_600_000_000_000;

/// Meaning of a key's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Number,
    Bytes,
    Nanos,
}

/// Range of the valid numbers of a key, in its base unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// Lower bound.
    pub min: f64,
    /// True if `min` itself is out of the range.
    pub excludes_min: bool,
    /// Upper bound, included; infinite if there is none.
    pub max: f64,
    /// Every number is a multiple of this; 0 if there is no such rule.
    pub multiple_of: u64,
    /// True if 0 is valid besides.
    pub or_zero: bool,
    /// A word that is valid instead of a number, such as `none`.
    pub or_word: Option<String>,
    kind: Kind,
}

impl Range {
    /// Reads the bounds from a node of the schema; none if they are those of the type.
    pub(super) fn of(node: &Value) -> Option<Self> {
        let mut alternatives = node["anyOf"].as_array().into_iter().flatten();
        let or_zero = alternatives.any(|one| one["const"] == 0);
        // The bounds of the alternative to 0.
        let bounds =
            node["anyOf"].as_array().and_then(|all| all.iter().find(|one| one.get("const").is_none()));
        let bounds = bounds.filter(|_| or_zero).unwrap_or(node);
        let above = bounds["exclusiveMinimum"].as_f64();
        let is_real = node["type"] == "number";
        let least = if is_real { f64::NEG_INFINITY } else { 0.0 };
        let min = above.or_else(|| bounds["minimum"].as_f64()).unwrap_or(least);
        let max = bounds["maximum"].as_f64();
        let multiple_of = bounds["multipleOf"].as_u64().unwrap_or(0);
        // Those of a narrow type are checked when it is read.
        let is_type = min == 0.0 && above.is_none() && matches!(max, Some(255.0 | 65_535.0));
        let says_more = min > 0.0 || above.is_some() || max.is_some() || multiple_of > 0;
        (says_more && !is_type).then(|| Self {
            min,
            excludes_min: above.is_some(),
            max: max.unwrap_or(f64::INFINITY),
            multiple_of,
            or_zero,
            or_word: node["x-or"].as_str().map(Into::into),
            kind: match node["x-unit"].as_str() {
                Some("bytes") => Kind::Bytes,
                Some("ns") => Kind::Nanos,
                _ => Kind::Number,
            },
        })
    }

    /// True if the number is in the range.
    pub fn holds(&self, number: f64) -> bool {
        self.or_zero && number == 0.0
            || number <= self.max
                && (number > self.min || number >= self.min && !self.excludes_min)
                && (self.multiple_of == 0 || number % self.multiple_of as f64 == 0.0)
    }

    /// As [`Range::holds`], of a whole number of up to 64 bits, which may lie between two of `f64`.
    pub(super) fn holds_whole(&self, number: u64) -> bool {
        let next_to = |bound: f64| bound.fract() == 0.0 && (0.0..1.8e19).contains(&bound);
        let above_min = if next_to(self.min) {
            number > round_to_u64(self.min) || number == round_to_u64(self.min) && !self.excludes_min
        } else {
            number as f64 > self.min
        };
        let below_max =
            if next_to(self.max) { number <= round_to_u64(self.max) } else { number as f64 <= self.max };
        let is_multiple = self.multiple_of == 0 || number.is_multiple_of(self.multiple_of);
        self.or_zero && number == 0 || above_min && below_max && is_multiple
    }

    /// True if a value of a complete configuration is in the range: all numbers of a list, any word.
    pub(super) fn holds_value(&self, value: &Value) -> bool {
        match value {
            Value::Number(number) => self.holds_number(number),
            Value::String(text) => {
                let whole = match self.kind {
                    Kind::Bytes => parse_bytes(text),
                    Kind::Nanos => parse_nanos(text),
                    Kind::Number => None,
                };
                whole.is_none_or(|whole| self.holds_whole(whole))
            }
            Value::Array(values) => values.iter().all(|value| self.holds_value(value)),
            // JSON has no form for what is no number.
            Value::Null => false,
            _ => true,
        }
    }

    /// True if a value is a size or a time, as the key has them, of more than 64 bits.
    pub(super) fn is_exceeded_beyond_64_bits(&self, value: &Value) -> bool {
        match (value, self.kind) {
            (Value::String(text), Kind::Bytes) => bytes_exceed_64_bits(text),
            (Value::String(text), Kind::Nanos) => nanos_exceed_64_bits(text),
            (Value::Number(number), Kind::Bytes | Kind::Nanos) => {
                number.as_f64().is_some_and(|number| number >= 2f64.powi(64))
            }
            _ => false,
        }
    }

    fn holds_number(&self, number: &Number) -> bool {
        match number.as_u64() {
            Some(whole) => self.holds_whole(whole),
            None => number.as_f64().is_some_and(|number| self.holds(number)),
        }
    }

    /// A bound with its unit.
    fn bound(&self, bound: f64) -> String {
        let whole = round_to_u64(bound);
        match self.kind {
            Kind::Bytes => format_bytes(whole),
            Kind::Nanos if whole > 0 && whole.is_multiple_of(HOUR_NS) => format!("{}h", whole / HOUR_NS),
            Kind::Nanos => format_nanos(whole),
            Kind::Number => bound.to_string(),
        }
    }
}

impl std::fmt::Display for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (min, max) = (self.bound(self.min), self.bound(self.max));
        let multiple = format!("a multiple of {}", self.bound(self.multiple_of as f64));
        let is_open = self.min == f64::NEG_INFINITY || self.min == 0.0 && self.kind != Kind::Number;
        f.write_str(if self.or_zero { "expected 0, or " } else { "expected " })?;
        match (self.excludes_min, self.max.is_finite()) {
            (false, false) if is_open => return f.write_str(&multiple),
            (false, true) if is_open => write!(f, "at most {max}"),
            (false, true) => write!(f, "{min} to {max}"),
            (false, false) => write!(f, "at least {min}"),
            (true, true) => write!(f, "more than {min}, at most {max}"),
            (true, false) => write!(f, "more than {min}"),
        }?;
        if self.multiple_of > 0 {
            write!(f, ", {multiple}")?;
        }
        let Some(word) = &self.or_word else { return Ok(()) };
        // A share is one of many.
        write!(f, ", or {}{word}", if word.ends_with('%') { "a share such as " } else { "" })
    }
}

/// The bounds as JSON Schema has them.
impl Serialize for Range {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_whole = |bound: f64| bound.fract() == 0.0 && (0.0..1.8e19).contains(&bound);
        let number =
            |bound| if is_whole(bound) { Value::from(round_to_u64(bound)) } else { Value::from(bound) };
        let mut map = serializer.serialize_map(None)?;
        if self.min.is_finite() {
            let name = if self.excludes_min { "exclusiveMinimum" } else { "minimum" };
            map.serialize_entry(name, &number(self.min))?;
        }
        if self.max.is_finite() {
            map.serialize_entry("maximum", &number(self.max))?;
        }
        if self.multiple_of > 0 {
            map.serialize_entry("multipleOf", &self.multiple_of)?;
        }
        if self.or_zero {
            map.serialize_entry("or_zero", &true)?;
        }
        map.serialize_entry("range", self.to_string().trim_start_matches("expected "))?;
        map.end()
    }
}
