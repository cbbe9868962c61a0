//! The one check of ranges: every key that declares one, in a layer or in a configuration of any origin.

use serde_json::Value;

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
        (Some(range), Some(place)) if !range.holds_value(place) => Err(ConfigError::Value {
            origin: origin.into(),
            key: key.into(),
            value: shown(given),
            expected: range.to_string(),
        }),
        _ => Ok(()),
    }
}

/// Refuses a configuration of any origin that has a value out of the range of its key.
pub(super) fn check(config: &Config) -> Result<(), ConfigError> {
    let mut table = to_value(config);
    for key in keys::keys().iter().filter(|key| key.range.is_some()) {
        let Some(given) = locate(&mut table, &key.name).cloned() else { continue };
        check_key(&mut table, "device", &key.name, &given)?;
    }
    Ok(())
}
