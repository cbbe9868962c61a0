//! Running the simulator on what a model ran, and setting the two side by side.

use std::fmt::Write;

use flashweir_run::{RunSpec, WorkloadSpec, simulate};
use serde_json::Value;

/// True if the tests run at full size: longer runs on the same drives, and the papers' printed values.
pub(crate) fn full() -> bool {
    std::env::var_os("FLASHWEIR_FULL").is_some_and(|value| value == "1")
}

/// Settings, as on the command line.
pub(crate) type Settings = Vec<(&'static str, String)>;

/// A setting.
#[expect(clippy::needless_pass_by_value, reason = "numbers and literals read better without a reference")]
pub(crate) fn set(key: &'static str, value: impl ToString) -> (&'static str, String) {
    (key, value.to_string())
}

/// The result of one run.
pub(crate) fn run(device: &str, settings: &Settings, workload: &str) -> Value {
    let spec = RunSpec {
        workloads: vec![WorkloadSpec { spec: workload.into(), ..WorkloadSpec::default() }],
        device: Some(device.into()),
        overrides: settings
            .iter()
            .map(|(key, value)| ((*key).into(), Value::String(value.clone())))
            .collect(),
        ..RunSpec::default()
    };
    simulate(&spec, &mut |_| true).unwrap_or_else(|error| panic!("{settings:?}: {error}"))
}

/// A number of a result, by its path.
pub(crate) fn number(result: &Value, path: &str) -> f64 {
    let value = path.split('.').fold(result, |value, key| &value[key]);
    value.as_f64().unwrap_or_else(|| panic!("{path}: {value}"))
}

/// Largest deviation allowed of a value, relative or absolute.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Allowed {
    /// A share of the model's value.
    Relative(f64),
    /// So much, whatever the value.
    Points(f64),
}

/// Values of a grid of runs, and which of them are too far off.
#[derive(Debug, Default)]
pub(crate) struct Table {
    off: String,
    worst: f64,
}

impl Table {
    /// Compares one value, and prints both.
    pub(crate) fn compare(&mut self, drive: &str, what: &str, model: f64, simulator: f64, allowed: Allowed) {
        let (deviation, most) = match allowed {
            Allowed::Relative(most) => ((simulator - model) / model.max(f64::MIN_POSITIVE), most),
            Allowed::Points(most) => (simulator - model, most),
        };
        let line = format!(
            "{drive}: {what}: model {model:.5}, simulator {simulator:.5}, {:+.3}%",
            deviation * 100.0
        );
        println!("{line}");
        self.worst = self.worst.max(deviation.abs());
        if deviation.abs() > most {
            writeln!(self.off, "{line}").expect("a string takes everything");
        }
    }

    /// Fails if any value was too far off.
    pub(crate) fn finish(self) {
        println!("worst deviation {:.3}%", self.worst * 100.0);
        assert!(self.off.is_empty(), "too far off:\n{}", self.off);
    }
}
