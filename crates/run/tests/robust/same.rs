//! The same input gives the same result, whatever it is run on and however often.

use flashweir_run::{RunSpec, simulate};
use flashweir_ssd::config::presets::PRESETS;
use serde_json::Value;

use super::{spare_of, spec};

const WORKLOAD: &str =
    "hotcold:span=32MiB,size=4KiB|16KiB,align=512,count=1000,write=0.7,trim=0.02,flush=0.01,rate=5000";

/// The result as text, without wall times.
fn text(run: &RunSpec) -> String {
    let mut result = simulate(run, &mut |_| true).expect("a legal run");
    for key in ["wall_s", "setup_wall_s", "precondition_wall_s"] {
        result[key].take();
    }
    result.to_string()
}

#[test]
fn every_preset_gives_the_same_bytes_again() {
    for preset in PRESETS {
        let settings = [
            ("capacity", "64MiB"),
            ("op_ratio", spare_of(preset.name)),
            ("pages_per_block", "24"),
            ("precondition", "full"),
            ("gc.victim", "random"),
            ("host.queue_depth", "8"),
        ];
        let run = spec(Some(preset.name), &settings, WORKLOAD);
        assert_eq!(text(&run), text(&run), "{}", preset.name);
    }
}

#[test]
fn another_seed_gives_another_run() {
    let settings =
        [("capacity", "32MiB"), ("precondition", "full"), ("gc.victim", "random"), ("op_ratio", "0.5")];
    let run = spec(None, &settings, WORKLOAD);
    let seeds = [Some(1), Some(2)].map(|seed| text(&RunSpec { seed, ..run.clone() }));
    assert_ne!(seeds[0], seeds[1]);
}

#[test]
fn the_configuration_of_a_result_gives_the_result_again() {
    let dir = tempfile::tempdir().unwrap();
    for (number, preset) in PRESETS.iter().enumerate() {
        let victim = ["greedy", "d-choices", "cost-benefit"][number % 3];
        let settings = [
            ("capacity", "64MiB"),
            ("pages_per_block", "24"),
            ("host.mode", "open"),
            ("gc.victim", victim),
            (
                "op_ratio",
                if preset.name == "mqsim-mlc" { "1.6666666666666667" } else { "0.6666666666666666" },
            ),
        ];
        let first = spec(Some(preset.name), &settings, WORKLOAD);
        let result: Value = serde_json::from_str(&text(&first)).unwrap();
        let path = dir.path().join("device.json");
        std::fs::write(&path, result["config"].to_string()).unwrap();
        let again = spec(path.to_str(), &[], WORKLOAD);
        assert_eq!(text(&again), result.to_string(), "{}", preset.name);
    }
}
