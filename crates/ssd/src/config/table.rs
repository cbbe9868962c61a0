//! A complete configuration as nested tables, and the place of a key in them.

use serde_json::Value;

use super::Config;
use super::sections::value_of;

/// The place of a dotted key in the tables of a configuration.
pub(super) fn locate<'a>(table: &'a mut Value, key: &str) -> Option<&'a mut Value> {
    let mut place = table;
    for part in key.split('.') {
        place = place.as_object_mut()?.get_mut(part)?;
    }
    (!place.is_object()).then_some(place)
}

/// A complete configuration as nested tables.
pub fn to_value(config: &Config) -> Value {
    value_of(config)
}

/// A value for a message: numbers of hundreds of digits are cut.
pub(super) fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.len() <= 60 { text } else { format!("{}...", text.chars().take(60).collect::<String>()) }
}
