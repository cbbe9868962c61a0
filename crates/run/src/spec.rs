//! Specification of a run, as data: the argument of [`crate::simulate`], which the command line and Python fill in.

use std::collections::BTreeMap;
use std::path::PathBuf;

use flashweir_ssd::config::Engine;
use flashweir_ssd::config::layers::{Ineffective, Layer, resolve_noting};
use flashweir_ssd::config::presets::{Preset, unknown};
use flashweir_ssd::{Config, ConfigError, HostMode};
use flashweir_trace::output::{is_standard, same_file};
use flashweir_trace::reason::expecting;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Error;
use crate::place::Place;
use crate::tenant::WorkloadSpec;
use crate::trace_options::{TraceOptions, texts};

/// A run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a thing of its own that a run may do or not")]
pub struct RunSpec {
    /// The workloads; each is a stream.
    pub workloads: Vec<WorkloadSpec>,
    /// Preset or device file; `None` is the default drive.
    pub device: Option<Place>,
    /// Settings over the device, by dotted key.
    pub overrides: BTreeMap<String, Value>,
    /// Replaces every seed that workloads and drive draw from; `None` leaves the generators' own, and 1 for the drive.
    pub seed: Option<u64>,
    /// Check that every read returns the last write.
    pub verify: bool,
    /// Keep account of where latencies go.
    pub latency_parts: bool,
    /// Report the features of each window of requests, and the channels that its tenants were given.
    pub windows: bool,
    /// The model of `tenants.channels=learned`; `None` is the one that is shipped.
    pub model: Option<Place>,
    /// Where to write the log of requests.
    pub requests: Option<Place>,
    /// Where to write the timeline.
    pub timeline: Option<Place>,
    /// Where to write samples of the drive over the run, a line of JSON each: `flashweir watch` plays them.
    pub samples: Option<Place>,
    /// Where to save the drive as the run leaves it.
    pub save_state: Option<Place>,
    /// The part of the run that the timeline shows: times such as `1.5s`.
    pub timeline_from: Option<String>,
    /// Its end.
    pub timeline_to: Option<String>,
    /// The percentile from which on requests are explained, such as `p99.9`.
    pub explain: Option<String>,
    /// Report the activity of each channel over time: true or `all`, or a window of simulated time FROM..TO.
    pub activity: Option<Value>,
    /// Power cuts to evaluate; the run itself is not interrupted. A time such as `1.5s`, a list of times, or a number
    /// of random cuts.
    pub power_cut: Option<Value>,
    /// Trace format, where detection is not to be trusted.
    pub format: Option<String>,
    /// Description of a table that no format fits.
    pub columns: Option<String>,
    /// Unreadable records to tolerate.
    pub skip_bad: u64,
    /// Rules that give requests of traces a placement handle.
    #[serde(deserialize_with = "texts")]
    pub hint: Vec<String>,
    /// Fold addresses beyond the drive into it.
    pub wrap: bool,
    /// Run each tenant alone, too, and say how much slower it is among the others.
    pub alone: bool,
    /// Method that finds the warm-up to leave out of the result: `mser-5`, `steady` or `requests=N`.
    pub warmup: Option<String>,
}

/// Prefix of a workload that is a mix.
pub(crate) const MIX_PREFIX: &str = "mix:";

/// The file of a workload that is a mix.
pub(crate) fn mix_file(workload: &str) -> Option<&str> {
    workload.strip_prefix(MIX_PREFIX)
}

impl RunSpec {
    /// The configuration of the drive: default, then preset or file, then overrides.
    pub fn config(&self) -> Result<Config, Error> {
        self.config_noting().map(|(config, _)| config)
    }

    /// The configuration of a drive whose caller is the host: that of a closed loop is one of open arrivals, so that settings are
    /// judged by the host that there is.
    /// Also returns what of it has no effect.
    pub fn config_with_open_arrivals(&self) -> Result<(Config, Vec<Ineffective>), Error> {
        let (config, ineffective) = self.config_noting()?;
        if matches!(config.host.mode, HostMode::Open(_)) {
            return Ok((config, ineffective));
        }
        let mut overrides = self.overrides.clone();
        overrides.insert("host.mode".into(), "open".into());
        // Busy-until times may be exact for the configuration's own host only: who asks for them gets the same times by events.
        if config.engine == Engine::BusyUntil {
            overrides.insert("engine".into(), "auto".into());
        }
        Self { device: self.device.clone(), overrides, ..Self::default() }.config_noting()
    }

    /// The configuration, and what of it has no effect.
    pub(crate) fn config_noting(&self) -> Result<(Config, Vec<Ineffective>), Error> {
        let mut layers = Vec::new();
        if let Some(name) = &self.device {
            layers.push(device_layer(name)?);
        }
        layers.push(override_layer(&self.overrides));
        Ok(resolve_noting(&layers)?)
    }

    /// Refuses outputs that would replace one another, or what the run reads.
    pub(crate) fn check_outputs(&self) -> Result<(), Error> {
        let read = |place: &'_ Place| mix_file(place).map_or_else(|| place.path().to_owned(), PathBuf::from);
        let inputs = self.workloads.iter().map(|workload| &workload.spec).chain(&self.device);
        let mut taken: Vec<PathBuf> = inputs.map(read).filter(|path| path.is_file()).collect();
        for output in [&self.requests, &self.timeline, &self.samples, &self.save_state]
            .into_iter()
            .flatten()
            .map(Place::path)
        {
            if let Some(other) = taken.iter().find(|other| same_file(other, output)) {
                let what = format!("output {}", output.display());
                let expected =
                    format!("expected a file of its own: {} is read or written already", other.display());
                return Err(Error::Setting { what, expected });
            }
            taken.push(output.to_owned());
        }
        Ok(())
    }

    /// Options for reading the traces among the workloads.
    pub(crate) fn trace_options(&self) -> TraceOptions {
        TraceOptions {
            format: self.format.clone(),
            columns: self.columns.clone(),
            skip_bad: self.skip_bad,
            hint: self.hint.clone(),
            to: None,
        }
    }
}

/// A preset by its name; otherwise a file.
fn device_layer(name: &Place) -> Result<Layer, Error> {
    if let Some(preset) = Preset::find(name) {
        return Ok(preset.layer()?);
    }
    let text = if is_standard(name.path()) {
        std::io::read_to_string(std::io::stdin())
    } else {
        std::fs::read_to_string(name.path())
    };
    match text {
        Ok(text) => layer_of_file(name, &text),
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => Err(unknown(name).into()),
        Err(error) => {
            let source = expecting(&error, "a device file in TOML or JSON");
            Err(Error::DeviceFile { path: name.path().to_owned(), source })
        }
    }
}

/// A device file: JSON if its name or its beginning says so, else TOML.
fn layer_of_file(name: &Place, text: &str) -> Result<Layer, Error> {
    let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
    if !(name.to_ascii_lowercase().ends_with(".json") || bare.trim_start().starts_with('{')) {
        return Ok(Layer::from_text(name, bare)?);
    }
    let wrong = |detail: String| ConfigError::Syntax { origin: name.to_string(), detail };
    let table = crate::json::parse(bare).map_err(|error| {
        // A key that is there twice is JSON all the same.
        wrong(if error.starts_with("key ") { error } else { format!("not JSON: {error}") })
    })?;
    if !table.is_object() {
        return Err(wrong("expected an object of keys, such as {\"channels\": 8}".into()).into());
    }
    Ok(Layer::from_text(name, &table.to_string())?)
}

/// Overrides: texts are read as on the command line, other values are what they are.
fn override_layer(overrides: &BTreeMap<String, Value>) -> Layer {
    let texts = overrides.iter().filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)));
    let mut layer = Layer::from_assignments("--set", texts);
    let others = overrides.iter().filter(|(_, value)| !value.is_string());
    layer.settings.extend(others.map(|(key, value)| (key.clone(), value.clone())));
    layer
}
