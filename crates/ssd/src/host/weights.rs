//! Weights of tenants, as a configuration value.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// The largest weight.
const MOST: u32 = 1000;
/// Stands for a tenant that goes before all others.
const URGENT: u32 = 0;

/// A weight for each tenant, by the number of its stream; those that are not named have 1. In configuration: text such as `"4,2,1"` or `"urgent,2,1"`;
/// in a saved drive: the numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weights(Vec<u32>);

impl Default for Weights {
    fn default() -> Self {
        Self(vec![1])
    }
}

impl Weights {
    /// Weights by what they are written as.
    fn parse(text: &str) -> Option<Self> {
        let weight = |text: &str| match text.trim() {
            "urgent" => Some(URGENT),
            text => text.parse().ok().filter(|weight| (1..=MOST).contains(weight)),
        };
        let weights: Option<Vec<u32>> = text.split(',').map(weight).collect();
        weights.filter(|weights| weights.len() <= usize::from(u16::MAX) + 1).map(Self)
    }

    /// The weight of a tenant among those of its class: 1 if it is urgent.
    pub(crate) fn of(&self, tenant: usize) -> u32 {
        self.0.get(tenant).copied().unwrap_or(1).max(1)
    }

    /// True if a tenant goes before all others.
    pub(crate) fn is_urgent(&self, tenant: usize) -> bool {
        self.0.get(tenant) == Some(&URGENT)
    }

    /// True if all tenants weigh the same.
    pub(crate) fn are_equal(&self) -> bool {
        self.0.iter().all(|weight| *weight == 1)
    }
}

impl Serialize for Weights {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !serializer.is_human_readable() {
            return self.0.serialize(serializer);
        }
        let text = |weight: &u32| if *weight == URGENT { "urgent".into() } else { weight.to_string() };
        let texts: Vec<String> = self.0.iter().map(text).collect();
        serializer.serialize_str(&texts.join(","))
    }
}

impl<'de> Deserialize<'de> for Weights {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // On the command line a single weight is a number.
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Raw {
            Number(u32),
            Text(String),
        }
        if !deserializer.is_human_readable() {
            return Vec::deserialize(deserializer).map(Self);
        }
        let weights = match Raw::deserialize(deserializer) {
            Ok(Raw::Number(number)) => Self::parse(&number.to_string()),
            Ok(Raw::Text(text)) => Self::parse(&text),
            Err(_) => None,
        };
        weights.ok_or_else(|| {
            D::Error::custom(format!(
                "expected whole numbers from 1 to {MOST} or urgent, one for each tenant, such as \"4,2,1\""
            ))
        })
    }
}

impl JsonSchema for Weights {
    fn schema_name() -> Cow<'static, str> {
        "Weights".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["string", "integer"],
            "description": "weights of tenants by the number of their stream, separated by commas"})
    }
    fn inline_schema() -> bool {
        true
    }
}
