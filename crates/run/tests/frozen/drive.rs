//! A frozen drive as text: settings, workloads and options of one run, on one line.
//!
//! `device=NAME` is a preset, or a file of `devices`. `load=SPEC` starts a workload, `load.limit=N` and the like are options of the last one, and
//! `load=trace` is the trace that ships. `run.NAME=VALUE` is an option of the run. Everything else is a setting of the drive.

use std::collections::BTreeMap;

use flashweir_run::{RunSpec, WorkloadSpec};
use serde_json::{Map, Value, json};

/// Presets that have changed since, as they were when their drives were frozen.
const DEVICES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/frozen/devices");
/// The trace that ships.
const TRACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../traces/package-build.blktrace.0.zst");

/// The run that a line describes. Panics on a line that was not written by [`super::draw`].
pub(crate) fn parse(line: &str) -> RunSpec {
    let mut run = RunSpec::default();
    let mut loads: Vec<Map<String, Value>> = Vec::new();
    let mut overrides = BTreeMap::new();
    for token in line.split_whitespace() {
        let (key, value) = token.split_once('=').unwrap_or_else(|| panic!("no value: {token}"));
        match key.split_once('.') {
            None if key == "device" => {
                let kept = format!("{DEVICES}/{value}.toml");
                let is_kept = std::path::Path::new(&kept).exists();
                run.device = Some(if is_kept { kept.into() } else { value.into() });
            }
            None if key == "load" => {
                let spec = if value == "trace" { TRACE } else { value };
                loads.push(Map::from_iter([("spec".to_owned(), json!(spec))]));
            }
            Some(("load", option)) => {
                let load = loads.last_mut().unwrap_or_else(|| panic!("no workload before {token}"));
                load.insert(option.into(), value.parse::<u64>().map_or(json!(value), |number| json!(number)));
            }
            Some(("run", option)) => option_of(&mut run, option, value),
            _ => {
                overrides.insert(key.to_owned(), json!(value));
            }
        }
    }
    let workload = |load| serde_json::from_value::<WorkloadSpec>(Value::Object(load)).expect("a workload");
    run.workloads = loads.into_iter().map(workload).collect();
    RunSpec { overrides, ..run }
}

fn option_of(run: &mut RunSpec, option: &str, value: &str) {
    match option {
        "seed" => run.seed = Some(value.parse().expect("a number")),
        "verify" => run.verify = value == "true",
        "parts" => run.latency_parts = value == "true",
        "windows" => run.windows = value == "true",
        "alone" => run.alone = value == "true",
        "warmup" => run.warmup = Some(value.into()),
        "power_cut" => run.power_cut = Some(json!(value)),
        _ => panic!("no option of a run: {option}"),
    }
}

/// True if the run needs an allocator from outside the engine.
pub(crate) fn asks_outside(run: &RunSpec) -> bool {
    run.overrides.get("tenants.channels").is_some_and(|value| value == "external")
}

/// An allocator for [`asks_outside`]: tenants with more writes than reads get the upper half of the channels, the others all.
pub(crate) fn allocator(features: &str) -> Result<String, String> {
    let features: Value = serde_json::from_str(features).map_err(|error| error.to_string())?;
    let channels = features["channels"].as_u64().unwrap_or(1);
    let tenants = features["tenants"].as_object().cloned().unwrap_or_default();
    let share = |(name, tenant): (&String, &Value)| {
        let writes = tenant["writes"].as_u64() > tenant["reads"].as_u64();
        let first = if writes { channels / 2 } else { 0 };
        (name.clone(), json!((first..channels).collect::<Vec<_>>()))
    };
    let shares: Map<String, Value> = tenants.iter().map(share).collect();
    let turns = if features["window"].as_u64().unwrap_or(0) % 2 == 1 { "shortest-fair" } else { "arrival" };
    Ok(json!({"tenants": shares, "turns": turns}).to_string())
}
