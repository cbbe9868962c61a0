//! Quantities of tenants, as a configuration value: one for each, by the number of its stream.

use std::borrow::Cow;
use std::marker::PhantomData;

use flashweir_trace::quantity::{format_bytes, format_nanos, parse_bytes, parse_nanos};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// The largest quantity: about 10^15 a second.
const MAX: u64 = 1 << 50;

/// A way to write a quantity.
pub trait Notation {
    /// For messages: two quantities.
    const EXAMPLE: &'static str;
    /// Its unit in the schema, if it has one.
    const UNIT: Option<&'static str>;
    /// The largest quantity.
    const MAX: u64 = MAX;

    /// For messages: quantities that are legal.
    fn expected() -> Cow<'static, str> {
        "none or a quantity from 1 to 2^50".into()
    }
    /// Its text.
    fn format(quantity: u64) -> String;
    /// A quantity by its text.
    fn parse(text: &str) -> Option<u64>;
}

/// Whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count;

/// Bytes, with units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size;

/// Times, in ns, with units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time;

impl Notation for Count {
    const EXAMPLE: &'static str = "1000,none";
    const UNIT: Option<&'static str> = None;

    fn format(quantity: u64) -> String {
        quantity.to_string()
    }

    fn parse(text: &str) -> Option<u64> {
        text.parse().ok()
    }
}

impl Notation for Size {
    const EXAMPLE: &'static str = "100MiB,none";
    const UNIT: Option<&'static str> = Some("bytes");

    fn format(quantity: u64) -> String {
        format_bytes(quantity)
    }

    fn parse(text: &str) -> Option<u64> {
        parse_bytes(text)
    }
}

impl Notation for Time {
    const EXAMPLE: &'static str = "200us,none";
    const UNIT: Option<&'static str> = Some("ns");

    fn format(quantity: u64) -> String {
        format_nanos(quantity)
    }

    fn parse(text: &str) -> Option<u64> {
        parse_nanos(text)
    }
}

/// A quantity for each tenant; those that are not named have none. In configuration: text such as `"1000,none"`; in a saved drive:
/// the numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerTenant<N>(Vec<Option<u64>>, PhantomData<N>);

impl<N> Default for PerTenant<N> {
    fn default() -> Self {
        Self(vec![None], PhantomData)
    }
}

impl<N: Notation> PerTenant<N> {
    /// Quantities by their text.
    fn parse(text: &str) -> Option<Self> {
        let one = |text: &str| match text.trim() {
            "none" => Some(None),
            text => N::parse(text).filter(|quantity| (1..=N::MAX).contains(quantity)).map(Some),
        };
        let all: Option<Vec<Option<u64>>> = text.split(',').map(one).collect();
        all.filter(|all| all.len() <= usize::from(u16::MAX) + 1).map(|all| Self(all, PhantomData))
    }
}

impl<N> PerTenant<N> {
    /// The quantity of a tenant.
    pub(crate) fn of(&self, tenant: usize) -> Option<u64> {
        self.0.get(tenant).copied().flatten()
    }

    /// True if no tenant has one.
    pub(crate) fn are_none(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    /// Tenants that are named.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Tenants up to the last one that has a quantity.
    pub(crate) fn tenants(&self) -> usize {
        self.0.iter().rposition(Option::is_some).map_or(0, |last| last + 1)
    }
}

impl<N: Notation> Serialize for PerTenant<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !serializer.is_human_readable() {
            return self.0.serialize(serializer);
        }
        let text = |quantity: &Option<u64>| quantity.map_or_else(|| "none".into(), N::format);
        let texts: Vec<String> = self.0.iter().map(text).collect();
        serializer.serialize_str(&texts.join(","))
    }
}

impl<'de, N: Notation> Deserialize<'de> for PerTenant<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // On the command line a single number is a number.
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Raw {
            Number(u64),
            Text(String),
        }
        if !deserializer.is_human_readable() {
            return Vec::deserialize(deserializer).map(|all| Self(all, PhantomData));
        }
        let all = match Raw::deserialize(deserializer) {
            Ok(Raw::Number(number)) => Self::parse(&number.to_string()),
            Ok(Raw::Text(text)) => Self::parse(&text),
            Err(_) => None,
        };
        all.ok_or_else(|| {
            D::Error::custom(format!(
                "expected {}, one for each tenant, such as \"{}\"",
                N::expected(),
                N::EXAMPLE
            ))
        })
    }
}

impl<N: Notation> JsonSchema for PerTenant<N> {
    fn schema_name() -> Cow<'static, str> {
        format!("PerTenant_{}", N::UNIT.unwrap_or("count")).into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut schema = json_schema!({"type": ["string", "integer"],
            "description": "quantities of tenants by the number of their stream, separated by commas, or \"none\""});
        if let Some(unit) = N::UNIT {
            schema.insert("x-unit".into(), unit.into());
        }
        schema
    }

    fn inline_schema() -> bool {
        true
    }
}
