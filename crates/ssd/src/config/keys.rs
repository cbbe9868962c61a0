//! All keys of a device, as the JSON Schema declares them: one list for messages, documents and tests, so that a new
//! policy is known everywhere as soon as its slot's enum names it.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Serialize;
use serde_json::Value;

use super::Config;
use super::ranges::Range;

/// Keys that may change while the drive runs; one that ends in a dot stands for all that begin so.
pub const LIVE: [&str; 15] = [
    "gc.victim",
    "gc.choices",
    "gc.victims_of",
    "gc.shares",
    "wear.dynamic",
    "wear.static_gap",
    "background.collect.",
    "background.level.",
    "background.write_back.",
    "buffer.destage",
    "buffer.high_mark",
    "buffer.low_mark",
    "buffer.idle_after",
    "buffer.max_age",
    "buffer.destage_file",
];

/// True if the key may change while the drive runs.
pub fn is_live(name: &str) -> bool {
    LIVE.iter().any(|live| name == *live || (live.ends_with('.') && name.starts_with(live)))
}

/// A setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Key {
    /// Its dotted name, such as `gc.choices`.
    pub name: String,
    /// Meaning of the key.
    pub description: String,
    /// Type of its values: `integer`, `number`, `boolean`, or `text` (names, sizes and times).
    #[serde(rename = "type")]
    pub value_type: &'static str,
    /// Its unit, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Its value when nothing sets it.
    pub default: Value,
    /// Names that it can have, where it is a choice.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// The choice without which it does not exist: a key and its value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acts_with: Option<(String, String)>,
    /// Valid numbers; none if every value of the type is valid.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
    /// True if other keys exist only with some of its choices.
    #[serde(skip)]
    pub is_policy: bool,
}

/// All settings, in the order of the schema.
pub fn keys() -> &'static [Key] {
    static KEYS: OnceLock<Vec<Key>> = OnceLock::new();
    KEYS.get_or_init(|| {
        let schema = schemars::schema_for!(Config).to_value();
        let mut keys = Vec::new();
        Walk { root: &schema }.table("", &schema, None, &mut keys);
        keys
    })
}

/// The key of that name.
pub fn find(name: &str) -> Option<&'static Key> {
    static BY_NAME: OnceLock<BTreeMap<&str, &Key>> = OnceLock::new();
    BY_NAME.get_or_init(|| keys().iter().map(|key| (key.name.as_str(), key)).collect()).get(name).copied()
}

struct Walk<'a> {
    root: &'a Value,
}

impl<'a> Walk<'a> {
    /// Target of a node's reference, or the node itself.
    fn resolve(&self, node: &'a Value) -> &'a Value {
        let name = node["$ref"].as_str().and_then(|reference| reference.strip_prefix("#/$defs/"));
        name.map_or(node, |name| &self.root["$defs"][name])
    }

    fn properties(node: &'a Value) -> impl Iterator<Item = (&'a String, &'a Value)> {
        node["properties"].as_object().into_iter().flatten()
    }

    /// The keys of a table, then those of its variants.
    fn table(&self, prefix: &str, node: &'a Value, default: Option<&Value>, keys: &mut Vec<Key>) {
        for (name, property) in Self::properties(node) {
            let default = property.get("default").or_else(|| default.and_then(|table| table.get(name)));
            self.key(&format!("{prefix}{name}"), property, default, keys);
        }
        // A table with several slots of its own has each of them as a part.
        let parts = node["allOf"].as_array().into_iter().flatten().chain([node]);
        for variant in parts.flat_map(|part| part["oneOf"].as_array().into_iter().flatten()) {
            self.variant(prefix, variant, default, keys);
        }
    }

    fn key(&self, name: &str, property: &'a Value, default: Option<&Value>, keys: &mut Vec<Key>) {
        let target = self.resolve(property);
        if target.get("properties").is_some() || target["oneOf"][0].get("properties").is_some() {
            return self.table(&format!("{name}."), target, default, keys);
        }
        let names = target["oneOf"].as_array().into_iter().flatten();
        let text = |field: &str| property.get(field).or_else(|| target.get(field)).and_then(Value::as_str);
        keys.push(Key {
            name: name.into(),
            description: text("description").unwrap_or_default().replace('\n', " "),
            value_type: match text("type") {
                Some("integer") => "integer",
                Some("number") => "number",
                Some("boolean") => "boolean",
                _ => "text",
            },
            unit: text("x-unit").map(Into::into),
            default: default.cloned().unwrap_or_default(),
            choices: names.filter_map(|name| name["const"].as_str()).map(Into::into).collect(),
            acts_with: None,
            range: Range::of(property).or_else(|| Range::of(target)),
            is_policy: false,
        });
    }

    /// A policy of a slot: its name joins the key that chooses it, its own keys act only with it.
    fn variant(&self, prefix: &str, variant: &'a Value, default: Option<&Value>, keys: &mut Vec<Key>) {
        let tagged = Self::properties(variant).find_map(|(tag, value)| Some((tag, value["const"].as_str()?)));
        let Some((tag, choice)) = tagged else { return };
        let tag_key = format!("{prefix}{tag}");
        if !keys.iter().any(|key| key.name == tag_key) {
            keys.push(Key {
                name: tag_key.clone(),
                description: format!("Which policy: {}", prefix.trim_end_matches('.')),
                value_type: "text",
                unit: None,
                default: default.and_then(|table| table.get(tag)).cloned().unwrap_or_default(),
                choices: Vec::new(),
                acts_with: None,
                range: None,
                is_policy: true,
            });
        }
        if let Some(key) = keys.iter_mut().find(|key| key.name == tag_key) {
            key.choices.push(choice.into());
        }
        let own = Self::properties(variant).chain(Self::properties(self.resolve(variant)));
        for (name, property) in own.filter(|(name, _)| *name != tag) {
            let before = keys.len();
            self.key(&format!("{prefix}{name}"), property, property.get("default"), keys);
            for key in &mut keys[before..] {
                key.acts_with = Some((tag_key.clone(), choice.into()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_gives_every_key_once_with_its_default() {
        let mut names: Vec<_> = keys().iter().map(|key| key.name.as_str()).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "a key of two policies needs two names");
        let choices = find("gc.choices").expect("of d-choices");
        assert_eq!(choices.acts_with, Some(("gc.victim".into(), "d-choices".into())));
        assert_eq!(choices.default, 10);
        let victim = find("gc.victim").expect("a policy");
        assert!(victim.is_policy && victim.choices.contains(&"cost-benefit".to_owned()));
        assert_eq!(victim.default, "greedy");
        assert_eq!(find("timing.read").expect("there").unit.as_deref(), Some("ns"));
        assert_eq!(find("buffer.ack").expect("there").choices, ["buffer", "flash"]);
        for key in keys() {
            assert!(!key.default.is_null() && !key.description.is_empty(), "{}", key.name);
        }
    }
}
