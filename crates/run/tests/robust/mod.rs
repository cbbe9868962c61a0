//! Faults of public simulators: requests lost with exit code 0, runs that never end, keys that are ignored, shapes that
//! were never tried. Each has a test here.

mod complete;
mod explain;
mod fill;
mod inputs;
mod messages;
mod no_effect;
mod ranges;
mod same;
mod shared;
mod stuck;
mod wear;

use flashweir_run::{Error, RunSpec, WorkloadSpec, simulate};
use flashweir_trace::Request;
use flashweir_trace::generate::Spec;
use serde_json::Value;

/// A setting, as on the command line.
type Setting<'a> = (&'a str, &'a str);

/// A verified run of one workload.
fn spec(device: Option<&str>, settings: &[Setting<'_>], workload: &str) -> RunSpec {
    RunSpec {
        workloads: vec![WorkloadSpec { spec: workload.into(), ..WorkloadSpec::default() }],
        device: device.map(Into::into),
        overrides: settings
            .iter()
            .map(|(key, value)| ((*key).into(), Value::String((*value).into())))
            .collect(),
        verify: true,
        ..RunSpec::default()
    }
}

/// Over-provisioning of a preset of 64 MiB in blocks of 24 pages: its map on flash takes three of the few blocks of a plane of
/// `mqsim-mlc`.
fn spare_of(preset: &str) -> &'static str {
    if preset == "mqsim-mlc" { "1.5" } else { "0.5" }
}

fn run(settings: &[Setting<'_>], workload: &str) -> Result<Value, Error> {
    simulate(&spec(None, settings, workload), &mut |_| true)
}

/// A run with further options.
fn run_with(
    settings: &[Setting<'_>],
    workload: &str,
    change: impl FnOnce(&mut RunSpec),
) -> Result<Value, Error> {
    run_tenants(settings, &[workload], change)
}

/// A run of several workloads, named `a`, `b` and so on.
fn run_tenants(
    settings: &[Setting<'_>],
    workloads: &[&str],
    change: impl FnOnce(&mut RunSpec),
) -> Result<Value, Error> {
    let mut run = spec(None, settings, "");
    let named = |(name, spec): (char, &&str)| WorkloadSpec {
        name: Some(name.into()),
        spec: (*spec).into(),
        ..WorkloadSpec::default()
    };
    run.workloads = ('a'..).zip(workloads).map(named).collect();
    change(&mut run);
    simulate(&run, &mut |_| true)
}

/// Why a run is refused or stops.
#[track_caller]
fn refusal(settings: &[Setting<'_>], workload: &str) -> String {
    run(settings, workload).expect_err("must be refused").to_string()
}

/// All requests of a generator.
fn requests(workload: &str) -> Vec<Request> {
    let mut requests = Vec::new();
    let mut generator = Spec::parse(workload).expect("a spec").generator();
    while generator.read(&mut requests, 4096) {}
    requests
}
