//! Access of commands to the drive: at its present, with keys as `--set` takes them.

use std::collections::BTreeMap;

use flashweir_run::Error as RunError;
use flashweir_ssd::ConfigError;
use serde_json::{Map, Value};

use super::args::{Fail, shown};
use crate::Error;
use crate::serve::Shared;
use crate::serve::core::Core;

/// Works on the drive at the present.
pub(super) fn at_drive(
    shared: &Shared,
    work: impl FnOnce(&mut Core) -> Result<Value, Fail>,
) -> Result<Value, Fail> {
    let over = || Fail::Refused("the drive is no longer served".into());
    shared
        .engine
        .with(|core| if core.is_over() { Err(over()) } else { work(core) })
        .unwrap_or_else(|| Err(over()))
}

/// The factor of time, and keys of the drive.
type Settings = (Option<f64>, BTreeMap<String, Value>);

/// Keys of the drive as `--set` takes them, and the factor of time.
pub(super) fn settings(command: &str, values: &Map<String, Value>) -> Result<Settings, Fail> {
    let (mut dilate, mut settings) = (None, BTreeMap::new());
    for (key, value) in values {
        let value = match value {
            Value::String(text) => match serde_json::from_str::<Value>(text) {
                Ok(plain) if plain.is_number() || plain.is_boolean() => plain,
                _ => value.clone(),
            },
            Value::Number(_) | Value::Bool(_) => value.clone(),
            other => {
                let (key, other) = (shown(key), shown(&other.to_string()));
                return Err(Fail::BadInput(format!(
                    "{command}: {key}: {other}; expected a number, true, false or a text"
                )));
            }
        };
        if key == "dilate" {
            let wrong =
                || Fail::BadInput(format!("{command}: dilate: {value}; expected a factor from 1 to 1000000"));
            dilate = Some(value.as_f64().ok_or_else(wrong)?);
        } else {
            settings.insert(key.clone(), value);
        }
    }
    Ok((dilate, settings))
}

/// Why keys were not changed.
pub(super) fn of_change(command: &str, error: &RunError) -> Fail {
    let message = error.to_string();
    // Keys from outside are named by the origin "set".
    let message =
        if message.starts_with(&format!("{command}: ")) { message } else { format!("{command}: {message}") };
    match error {
        RunError::Config(ConfigError::UnknownKey { .. } | ConfigError::Value { .. }) => {
            Fail::BadInput(message)
        }
        _ => Fail::Refused(message),
    }
}

/// The drive can't go on.
pub(super) fn failed(core: &mut Core, error: Error) -> Fail {
    let message = error.to_string();
    core.failed.get_or_insert(error);
    Fail::Refused(message)
}
