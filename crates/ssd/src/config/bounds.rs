//! The one check of ranges: every key that declares one, in a layer or in a configuration of any origin.

use serde_json::Value;

use super::ranges::Range;
use super::table::{locate, shown, to_value};
use super::{Config, keys};
use crate::error::ConfigError;

/// Refuses a value of the key `key` in a complete configuration that is out of its range; `given`: the value as the layer `origin`
/// has it.
pub(super) fn check_key(
    changed: &mut Value,
    origin: &str,
    key: &str,
    given: &Value,
) -> Result<(), ConfigError> {
    let range = keys::find(key).and_then(|key| key.range.as_ref());
    match (range, locate(changed, key)) {
        (Some(range), Some(place)) if !range.holds_value(place) => Err(refused(origin, key, given, range)),
        _ => Ok(()),
    }
}

/// Refuses a configuration of any origin that has a value out of the range of its key.
pub(super) fn check(config: &Config) -> Result<(), ConfigError> {
    let mut table = to_value(config);
    for (key, range) in keys::keys().iter().filter_map(|key| Some((key, key.range.as_ref()?))) {
        if let Some(value) = locate(&mut table, &key.name).filter(|value| !range.holds_value(value)) {
            return Err(refused("device", &key.name, value, range));
        }
    }
    Ok(())
}

/// Refuses whole numbers that are out of the range of their key: those that the drive's shape is worked out from.
pub(super) fn check_counts(counts: &[(&str, u64)]) -> Result<(), ConfigError> {
    for (key, count) in counts {
        let range = keys::find(key).and_then(|key| key.range.as_ref());
        if let Some(range) = range.filter(|range| !range.holds_whole(*count)) {
            return Err(refused("device", key, &Value::from(*count), range));
        }
    }
    Ok(())
}

fn refused(origin: &str, key: &str, given: &Value, range: &Range) -> ConfigError {
    let (origin, key, value) = (origin.into(), key.into(), shown(given));
    ConfigError::Value { origin, key, value, expected: range.to_string() }
}
