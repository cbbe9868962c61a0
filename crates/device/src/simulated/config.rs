//! The configuration of a simulated target, from its name.

use flashweir_run::RunSpec;
use flashweir_ssd::{Config, HostConfig};
use serde_json::Value;

use crate::Error;

/// Prefix of the names of simulated drives.
pub const SIMULATED: &str = "sim:";

/// `sim:PRESET[,KEY=VALUE...]`, `sim:FILE[,KEY=VALUE...]`; without a name before the settings, over the default drive.
pub(super) fn parse(name: &str) -> Result<Config, Error> {
    let text = name.strip_prefix(SIMULATED).unwrap_or(name);
    let mut run = RunSpec::default();
    let mut last: Option<(String, String)> = None;
    for (at, part) in text.split(',').enumerate() {
        match (part.split_once('='), &mut last) {
            (None, None) if at == 0 => run.device = (!part.is_empty()).then(|| part.into()),
            // A comma within a value, as in a list.
            (None, Some((_, value))) => *value = format!("{value},{part}"),
            (None, None) => return Err(misspelt(name, part)),
            (Some((key, value)), _) => {
                let before = last.replace((key.trim().to_owned(), value.to_owned()));
                run.overrides.extend(before.map(|(key, value)| (key, Value::String(value))));
            }
        }
    }
    run.overrides.extend(last.map(|(key, value)| (key, Value::String(value))));
    if let Some(key) = run.overrides.keys().find(|key| key.starts_with("host.")) {
        let expected = "a target's host is whoever replays to it; expected a setting of the drive, and --depth or --timing for the host";
        return Err(Error::Setting { what: format!("{name}: `{key}`"), expected: expected.into() });
    }
    Ok(run.config_with_open_arrivals()?.0)
}

fn misspelt(name: &str, part: &str) -> Error {
    let expected = "expected KEY=VALUE after the first comma, such as sim:tlc,capacity=1GiB".into();
    Error::Setting { what: format!("{name}: {part:?}"), expected }
}

/// The drive without the configuration's host: the target is its own.
pub(super) fn with_own_host(mut config: Config) -> Config {
    config.host = HostConfig::default();
    config
}
