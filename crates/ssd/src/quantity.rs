//! Quantities as configuration values: integers in the base unit or strings with a unit, written back with a unit.

use std::borrow::Cow;
use std::fmt;

use flashweir_trace::quantity::{format_bytes, format_nanos, parse_bytes, parse_nanos};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Longest time of a single operation, ns: one hour. Sums of a run then fit 64 bits.
pub(crate) const LONGEST_NS: u64 = 3_600_000_000_000;

/// The nearest integer to a number that is not negative; beyond the range, its end.
#[expect(clippy::cast_sign_loss, reason = "callers have checked that it is not negative; a cast saturates")]
pub fn round_to_u64(number: f64) -> u64 {
    number.round() as u64
}

/// A size. In configuration: bytes as an integer, or a string such as `"4KiB"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

/// A time. In configuration: nanoseconds as an integer, or a string such as `"60us"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Nanos(pub u64);

/// A time that something may take at most, or no limit: in configuration a time, or `"none"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bound(pub Option<Nanos>);

/// A number that there may be at most, or no limit: in configuration a whole number, or `"none"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limit(pub Option<u32>);

/// A number, or none: it follows from others. In configuration a number, or `"auto"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Auto<T>(pub Option<T>);

impl Bound {
    /// The limit, ns; without one, more than any time.
    pub fn ns(self) -> u64 {
        self.0.map_or(u64::MAX, |limit| limit.0)
    }
}

/// One latency for every page, or one for each page type; page `i` of a block has type `i mod types`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Latency(pub Vec<Nanos>);

impl Latency {
    /// The latency of page `page` of a block, ns.
    pub fn of_page(&self, page: u32) -> u64 {
        self.0[page as usize % self.0.len()].0
    }
}

enum Raw {
    Number(i64),
    Fraction(f64),
    Text(String),
}

/// Takes a number or a text as it comes: trying one after the other would make a message for each that it is not, for every
/// quantity of every drive of a sweep.
struct RawVisitor;

impl Visitor<'_> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a number or a text")
    }

    fn visit_i64<E>(self, number: i64) -> Result<Raw, E> {
        Ok(Raw::Number(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Raw, E> {
        Ok(i64::try_from(number).map_or(Raw::Fraction(number as f64), Raw::Number))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Raw, E> {
        Ok(Raw::Fraction(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Raw, E> {
        Ok(Raw::Text(text.into()))
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

fn whole(raw: &Raw, parse: fn(&str) -> Option<u64>) -> Option<u64> {
    match raw {
        Raw::Number(number) => u64::try_from(*number).ok(),
        Raw::Fraction(number) if number.fract() == 0.0 && (0.0..1.8e19).contains(number) => {
            parse(&format!("{number:.0}"))
        }
        Raw::Fraction(_) => None,
        Raw::Text(text) => parse(text),
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format_bytes(self.0))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Raw::deserialize(deserializer).ok();
        raw.and_then(|raw| whole(&raw, parse_bytes)).map(Bytes).ok_or_else(|| {
            D::Error::custom("expected a size such as 4096 or \"4KiB\" (B, KiB, MiB, GiB, TiB, PiB)")
        })
    }
}

impl Serialize for Nanos {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format_nanos(self.0))
    }
}

impl<'de> Deserialize<'de> for Nanos {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Raw::deserialize(deserializer).ok();
        raw.and_then(|raw| whole(&raw, parse_nanos))
            .map(Nanos)
            .ok_or_else(|| D::Error::custom("expected a time such as 60000 (ns) or \"60us\" (ns, us, ms, s)"))
    }
}

impl Serialize for Bound {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            _ if !serializer.is_human_readable() => self.ns().serialize(serializer),
            Some(limit) => limit.serialize(serializer),
            None => serializer.serialize_str("none"),
        }
    }
}

impl<'de> Deserialize<'de> for Bound {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            let ns = u64::deserialize(deserializer)?;
            return Ok(Bound((ns < u64::MAX).then_some(Nanos(ns))));
        }
        let raw = Raw::deserialize(deserializer).ok();
        if matches!(&raw, Some(Raw::Text(text)) if text == "none") {
            return Ok(Bound(None));
        }
        let limit = raw.and_then(|raw| whole(&raw, parse_nanos)).map(Nanos);
        limit
            .map(|limit| Bound(Some(limit)))
            .ok_or_else(|| D::Error::custom("expected a time such as \"400us\" (ns, us, ms, s), or \"none\""))
    }
}

impl Serialize for Limit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(limit) => serializer.serialize_u32(limit),
            None => serializer.serialize_str("none"),
        }
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let limit = match Raw::deserialize(deserializer).ok() {
            Some(Raw::Text(text)) if text == "none" => return Ok(Limit(None)),
            Some(Raw::Text(text)) => text.parse().ok(),
            Some(Raw::Number(number)) => u32::try_from(number).ok(),
            Some(Raw::Fraction(_)) | None => None,
        };
        limit
            .map(|limit| Limit(Some(limit)))
            .ok_or_else(|| D::Error::custom("expected a whole number of at most 32 bits, or \"none\""))
    }
}

impl<T: Serialize> Serialize for Auto<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Some(number) => number.serialize(serializer),
            None => serializer.serialize_str("auto"),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Auto<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum NumberOrText<T> {
            Number(T),
            Text(String),
        }
        match NumberOrText::deserialize(deserializer) {
            Ok(NumberOrText::Number(number)) => Ok(Auto(Some(number))),
            Ok(NumberOrText::Text(text)) if text == "auto" => Ok(Auto(None)),
            _ if std::any::type_name::<T>() == std::any::type_name::<Bytes>() => {
                Err(D::Error::custom("expected a size such as 4096 or \"4KiB\", or \"auto\""))
            }
            _ if std::any::type_name::<T>() == "f64" => {
                Err(D::Error::custom("expected a number, or \"auto\""))
            }
            _ => Err(D::Error::custom("expected a whole number of at most 32 bits, or \"auto\"")),
        }
    }
}

impl Serialize for Latency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [one] => one.serialize(serializer),
            many => many.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Latency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum OneOrMany {
            One(Raw),
            Many(Vec<Raw>),
        }
        let expected = || {
            D::Error::custom(
                "expected a time such as \"60us\", or a list of 1 to 64 of them, one for each page type",
            )
        };
        let raws = match OneOrMany::deserialize(deserializer).map_err(|_| expected())? {
            // The command line has no lists: `--set timing.read=56.5us,77.5us,106us`.
            OneOrMany::One(Raw::Text(text)) => text.split(',').map(|part| Raw::Text(part.into())).collect(),
            OneOrMany::One(raw) => vec![raw],
            OneOrMany::Many(raws) => raws,
        };
        let times: Option<Vec<Nanos>> = raws.iter().map(|raw| whole(raw, parse_nanos).map(Nanos)).collect();
        times.filter(|times| (1..=64).contains(&times.len())).map(Latency).ok_or_else(expected)
    }
}

/// Text forms of quantities, as patterns of the schema.
const SIZE: &str = r"^\s*[0-9]+(\.[0-9]{1,18})?\s*([KMGTP]iB|[kMGT]?B)?\s*$";
const TIME: &str = r"^\s*[0-9]+(\.[0-9]{1,18})?\s*([num]?s|min|h)?\s*$";

impl JsonSchema for Bytes {
    fn schema_name() -> Cow<'static, str> {
        "Bytes".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["string", "integer"], "x-unit": "bytes", "pattern": SIZE,
            "description": "a size: bytes as an integer, or a string with B, KiB, MiB, GiB, TiB or PiB"})
    }
    fn inline_schema() -> bool {
        true
    }
}

impl JsonSchema for Nanos {
    fn schema_name() -> Cow<'static, str> {
        "Nanos".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["string", "integer"], "x-unit": "ns", "pattern": TIME,
            "description": "a time: nanoseconds as an integer, or a string with ns, us, ms or s"})
    }
    fn inline_schema() -> bool {
        true
    }
}

impl JsonSchema for Bound {
    fn schema_name() -> Cow<'static, str> {
        "Bound".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["string", "integer"], "x-unit": "ns",
            "pattern": format!("^none$|{TIME}"), "x-or": "none", "description": "a time, or \"none\""})
    }
    fn inline_schema() -> bool {
        true
    }
}

impl JsonSchema for Limit {
    fn schema_name() -> Cow<'static, str> {
        "Limit".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["string", "integer"], "x-or": "none",
            "description": "a whole number, or \"none\""})
    }
    fn inline_schema() -> bool {
        true
    }
}

impl<T: JsonSchema> JsonSchema for Auto<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Auto_{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let number = T::json_schema(generator);
        json_schema!({"type": ["string", number.get("type").cloned().unwrap_or_default()],
            "x-or": "auto",
            "description": "a number, or \"auto\""})
    }
    fn inline_schema() -> bool {
        true
    }
}

impl JsonSchema for Latency {
    fn schema_name() -> Cow<'static, str> {
        "Latency".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["string", "integer", "array"], "x-unit": "ns", "maximum": LONGEST_NS,
            "items": {"type": ["string", "integer"], "pattern": TIME, "maximum": LONGEST_NS}, "minItems": 1, "maxItems": 64,
            "description": "a time, or a list with one for each page type; page i of a block has type i mod types"})
    }
    fn inline_schema() -> bool {
        true
    }
}
