//! Energy of a run: by hand for reads, from counts and times for everything else, and the same on both time paths.

use flashweir_run::{RunSpec, WorkloadSpec, simulate};
use serde_json::{Value, json};

const ENERGY: [(&str, &str); 5] = [
    ("energy.read_uj", "50"),
    ("energy.program_uj", "220"),
    ("energy.erase_uj", "1500"),
    ("energy.bus_mw", "40"),
    ("energy.idle_mw", "8"),
];

fn run(workload: &str, settings: &[(&str, &str)]) -> Value {
    let base = [("channels", "2"), ("capacity", "4MiB"), ("pages_per_block", "8"), ("op_ratio", "0.6")];
    let spec = RunSpec {
        workloads: vec![WorkloadSpec { spec: workload.into(), ..WorkloadSpec::default() }],
        overrides: base.iter().chain(settings).map(|(key, value)| ((*key).into(), json!(value))).collect(),
        ..RunSpec::default()
    };
    simulate(&spec, &mut |_| true).unwrap_or_else(|error| panic!("{error}"))
}

fn number(result: &Value, pointer: &str) -> f64 {
    result.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("{pointer} is a number"))
}

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1e-6), "{found}, expected {expected}");
}

const READS: &str = "sequential:span=4MiB,size=4KiB,count=10,write=0";

#[test]
fn ten_reads_of_a_page_one_at_a_time_have_the_energy_of_hand_calculation() {
    let result = run(READS, &[&ENERGY[..], &[("precondition", "full")]].concat());
    // Each takes 60 us of the array and 102.4 us of the bus, while the other of the two dies is idle.
    let (bus_s, read_s) = (10.0 * 102.4e-6, 10.0 * 162.4e-6);
    let expected = [
        ("read_j", 10.0 * 50e-6),
        ("program_j", 0.0),
        ("erase_j", 0.0),
        ("bus_j", 40e-3 * bus_s),
        ("idle_j", 8e-3 * read_s),
    ];
    for (kind, joules) in expected {
        close(number(&result, &format!("/energy/{kind}")), joules);
    }
    let total: f64 = expected.iter().map(|(_, joules)| joules).sum();
    close(number(&result, "/energy/total_j"), total);
    close(number(&result, "/energy/per_host_gib_j"), total * f64::from(1 << 30) / 40_960.0);
}

#[test]
fn energy_is_counts_times_energy_and_power_times_time_for_every_drive() {
    for settings in [
        &[][..],
        &[("ftl.kind", "dftl"), ("op_ratio", "1.5")],
        &[("dies", "2"), ("host.queue_depth", "8"), ("sched.kind", "suspend")],
        &[("planes", "2"), ("planes_bound", "true")],
        &[("units", "synchronized")],
        &[("gc.copyback", "2"), ("buffer.bytes", "64KiB")],
    ] {
        let all = [&ENERGY[..], &[("precondition", "full")], settings].concat();
        let result = run("random:span=4MiB,size=4KiB,count=3000,write=0.7", &all);
        let is = |key: &str, value: &str| settings.contains(&(key, value));
        let bound = if is("planes_bound", "true") || is("units", "synchronized") { 2.0 } else { 1.0 };
        let mut total = number(&result, "/energy/idle_j");
        for (kind, count, uj) in
            [("read_j", "reads", 50.0), ("program_j", "programs", 220.0), ("erase_j", "erases", 1500.0)]
        {
            let found = number(&result, &format!("/energy/{kind}"));
            close(found, number(&result, &format!("/flash/{count}")) * uj * bound / 1e6);
            total += found;
            let purposes = ["host", "gc", "mapping"];
            let parts = purposes.map(|purpose| number(&result, &format!("/energy/{purpose}/{kind}")));
            close(parts.iter().sum(), found);
        }
        let elapsed_s = number(&result, "/simulated_s") + number(&result, "/drain/time_s");
        let dies = if is("dies", "2") { 4.0 } else { 2.0 };
        let bus = number(&result, "/energy/bus_j");
        let close_to = |found: f64, expected: f64| {
            assert!(
                (found - expected).abs() < 1e-9 * (total + bus),
                "{found}, expected {expected}: {settings:?}"
            );
        };
        close_to(bus, 40e-3 * 2.0 * elapsed_s * number(&result, "/bus_share"));
        close_to(
            number(&result, "/energy/idle_j"),
            8e-3 * dies * elapsed_s * number(&result, "/time_share/idle"),
        );
        close(number(&result, "/energy/total_j"), total + bus);
    }
}

#[test]
fn both_time_paths_have_the_same_energy_and_a_drive_without_settings_has_none() {
    let workload = "random:span=4MiB,size=4KiB,count=2000,write=0.7";
    let of = |engine| run(workload, &[&ENERGY[..], &[("engine", engine)]].concat())["energy"].clone();
    assert_eq!(of("busy-until"), of("event"));
    assert!(of("busy-until").is_object());
    assert!(run(workload, &[])["energy"].is_null());
}
