//! Settings of a drive that its caller steps.

use std::collections::{BTreeMap, BTreeSet};

use flashweir_ssd::config::Engine;
use flashweir_ssd::config::layers::Ineffective;
use flashweir_ssd::{Config, HostConfig, HostMode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::Error;
use crate::place::Place;
use crate::refusals::{HELD_BACK, STEPPED, refused};
use crate::spec::RunSpec;
use crate::workload::Description;

/// Keys of the host that a stepped drive lacks: its caller decides by when it submits.
const DRIVEN_KEYS: [&str; 2] = ["host.queue_depth", "host.time_scale"];
/// Name of the only tenant, as in runs.
const ONE_TENANT: &str = "workload";

/// A drive to open, as data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DriveSpec {
    /// Preset or device file; `None` is the default drive.
    pub device: Option<Place>,
    /// Settings over the device, by dotted key.
    pub overrides: BTreeMap<String, Value>,
    /// Options to run it with.
    pub options: DriveOptions,
}

/// Options to run a stepped drive with, as opposed to the drive's own configuration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a thing of its own that may be kept or not")]
pub struct DriveOptions {
    /// Seed of the drive's own randomness and of its preconditioning; `None` is 1.
    pub seed: Option<u64>,
    /// Seed of preconditioning, if it is to be another one.
    pub precondition_seed: Option<u64>,
    /// Check every read against the last write.
    pub verify: bool,
    /// Keep account of where latencies go.
    pub latency_parts: bool,
    /// Names of the tenants: a request's stream is an index into them. Empty: there is one.
    pub tenants: Vec<String>,
    /// Sectors of each tenant's part of the drive, one behind the other from its begin. Empty: none has a part of its own.
    pub volumes: Vec<u64>,
    /// Report the features of each window of requests, and the channels that its tenants were given.
    pub windows: bool,
    /// Keep a journal of what is on flash, so that power can be cut.
    pub journal: bool,
    /// Add up the time of each die by kind of work, for [`super::Drive::sample`]. It is no part of a saved drive.
    #[serde(skip_serializing)]
    pub die_use: bool,
    /// The model of `tenants.channels=learned`; `None` is the one that is shipped.
    pub model: Option<Place>,
}

impl DriveSpec {
    /// The drive's configuration, with open arrivals. Settings that a stepped drive has no use for are refused.
    pub fn config(&self) -> Result<Config, Error> {
        self.config_noting().map(|(config, _)| config)
    }

    /// The configuration, and what of it has no effect.
    pub(super) fn config_noting(&self) -> Result<(Config, Vec<Ineffective>), Error> {
        let mut overrides = self.overrides.clone();
        let wrong = |key: &str, value: &Value| {
            let expected = "the caller of a stepped drive is its host; expected another key of the host, \
                            and requests submitted when the host would";
            refused(&STEPPED, format!("`{key}` = {value}"), expected)
        };
        for (key, value) in &overrides {
            if DRIVEN_KEYS.contains(&key.as_str()) || (key == "host.mode" && value == "closed") {
                return Err(wrong(key, value));
            }
        }
        if overrides.keys().any(|key| key.starts_with("host.")) {
            overrides.insert("host.mode".into(), "open".into());
        }
        let run = RunSpec { device: self.device.clone(), overrides, ..RunSpec::default() };
        let (config, ineffective) = run.config_with_open_arrivals()?;
        Ok((with_open_arrivals(config)?, ineffective))
    }
}

impl DriveOptions {
    pub(super) fn seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }

    /// Names of the tenants, at least one.
    pub(super) fn names(&self) -> Result<Vec<String>, Error> {
        if self.tenants.is_empty() {
            return Ok(vec![ONE_TENANT.into()]);
        }
        if u16::try_from(self.tenants.len()).is_err() {
            let expected = format!("expected at most {}", u16::MAX);
            return Err(Error::setting(format!("{} tenants", self.tenants.len()), &expected));
        }
        let mut names = BTreeSet::new();
        for name in &self.tenants {
            if name.trim().is_empty() || name.chars().any(char::is_control) || !names.insert(name) {
                let expected =
                    "expected a name of its own for each tenant, with no characters that control a terminal";
                return Err(Error::setting(format!("tenant {name:?}"), expected));
            }
        }
        Ok(self.tenants.clone())
    }
}

/// The configuration with open arrivals. A host that is none already becomes one without slots.
pub(super) fn with_open_arrivals(mut config: Config) -> Result<Config, Error> {
    if let HostMode::Open(open) = &mut config.host.mode {
        open.time_scale = 1.0;
    } else {
        config.host = HostConfig { mode: HostMode::unlimited(), ..HostConfig::default() };
        // Busy-until times may be exact for the configuration's own host only: who asks for them gets the same times by events.
        if config.engine == Engine::BusyUntil {
            config.engine = Engine::Auto;
        }
    }
    if config.tenants.holds_back() {
        let expected = "holds requests back until their window is complete; expected another allocator for a drive that is stepped";
        return Err(refused(&HELD_BACK, "tenants.applies=same or tenants.channels=look-ahead", expected));
    }
    Ok(config)
}

/// The tenants in the result.
pub(super) fn describe(names: &[String]) -> Vec<Description> {
    let one = |name: &String| Description {
        name: name.clone(),
        workload: "submitted".into(),
        options: Map::new(),
        trace: None,
    };
    names.iter().map(one).collect()
}
