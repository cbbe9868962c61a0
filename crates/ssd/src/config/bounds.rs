//! The one check of ranges: every key that declares one, in a layer or in a configuration of any origin.

use serde_json::Value;

use super::ranges::Range;
use super::table::{locate, shown};
use super::{Config, keys, sections};
use crate::error::ConfigError;

/// Refuses a value of the key `key` in the tables of a configuration that is out of its range; `given`: the value as the layer
/// `origin` has it.
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

/// Refuses a configuration of any origin that has a value out of the range of its key. Defaults are in their ranges, so only
/// sections that differ from theirs are looked at.
pub(super) fn check(config: &Config) -> Result<(), ConfigError> {
    let changed = sections::changed(config);
    let mut table = sections::table(config, &changed);
    for (key, range) in keys::keys().iter().filter_map(|key| Some((key, key.range.as_ref()?))) {
        if !changed.contains(&sections::section_of(&key.name)) {
            continue;
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::layers::to_value;
    use crate::gc::Kept;

    #[test]
    fn every_default_is_in_its_range() {
        let mut table = to_value(&Config::default());
        let mut checked = 0;
        for key in keys::keys() {
            let range = key.range.as_ref();
            if let (Some(range), Some(value)) = (range, locate(&mut table, &key.name)) {
                assert!(range.holds_value(value), "{} = {value}", key.name);
                checked += 1;
            }
        }
        assert!(checked > 50, "{checked}");
    }

    #[test]
    fn the_first_key_of_the_schema_that_is_out_of_range_is_named() {
        let mut config = Config::default();
        config.gc.free_blocks = Kept::Blocks(0);
        assert!(check(&config).expect_err("no block is kept erased").to_string().contains("gc.free_blocks"));
        config.fill = f64::NAN;
        config.chips = 0;
        assert!(check(&config).expect_err("no chips").to_string().contains("`chips` = 0"));
        config.chips = 1;
        assert!(check(&config).expect_err("no number").to_string().contains("`fill` = null"));
    }
}
