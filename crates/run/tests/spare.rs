//! Units with unlike numbers of blocks: every translation layer and manager of channels finds its data, the same on both time paths, in
//! slices and from a file.

use flashweir_run::{Drive, DriveOptions, DriveSpec, RunSpec, WorkloadSpec, simulate};
use flashweir_trace::Request;
use flashweir_trace::generate::Spec;
use serde_json::{Value, json};

type Settings = &'static [(&'static str, &'static str)];

/// Six units of 16 blocks of data, three or so where planes are bound.
const SHAPE: Settings = &[
    ("channels", "3"),
    ("planes", "2"),
    ("capacity", "3MiB"),
    ("page", "4KiB"),
    ("pages_per_block", "8"),
    ("op_ratio", "0.27"),
    ("precondition", "full"),
];

const DRIVES: [Settings; 18] = [
    &[],
    &[("gc.victim", "random"), ("gc.frontiers", "2")],
    &[("gc.victim", "fifo"), ("gc.free_blocks", "2"), ("wear.dynamic", "true")],
    &[("gc.victim", "cost-benefit"), ("wear.static_gap", "3")],
    &[("ftl.kind", "dftl"), ("ftl.cache_bytes", "768"), ("op_ratio", "0.61")],
    &[("ftl.kind", "log-block")],
    &[("ftl.kind", "fast")],
    &[("ftl.kind", "fast"), ("ftl.sw_full", "partial-merge"), ("gc.throttle", "2")],
    &[("ftl.kind", "bast")],
    &[("ftl.kind", "kast")],
    &[("alloc.kind", "dynamic")],
    &[
        ("alloc.kind", "dynamic"),
        ("tenants.channels", "isolated"),
        ("tenants.window_requests", "50"),
        ("op_ratio", "0.61"),
    ],
    &[("planes_bound", "true")],
    &[("dies", "2"), ("planes", "1"), ("sched.kind", "read-first")],
    &[("clock", "lock-step"), ("buffer.bytes", "32KiB")],
    &[("clock", "lock-step"), ("ftl.kind", "fast"), ("gc.planner", "super-data-block"), ("planes", "1")],
    &[("gc.planner", "cycle-filling"), ("ftl.kind", "fast"), ("buffer.bytes", "32KiB"), ("planes", "1")],
    &[("gc.planner", "forwarding"), ("buffer.bytes", "32KiB"), ("planes", "1")],
];

const WORKLOAD: &str =
    "random:span=3MiB,size=512B|4KiB|12KiB,align=512,count=1500,write=0.8,trim=0.03,flush=0.01,rate=3000";

fn overrides(settings: Settings, more: Settings) -> std::collections::BTreeMap<String, Value> {
    let all = SHAPE.iter().chain(settings).chain(more);
    all.map(|(key, value)| ((*key).into(), json!(value))).collect()
}

fn simulated(settings: Settings, engine: Settings) -> Result<Value, flashweir_run::Error> {
    let run = RunSpec {
        workloads: vec![WorkloadSpec { spec: WORKLOAD.into(), ..WorkloadSpec::default() }],
        overrides: overrides(settings, engine),
        verify: true,
        seed: Some(1),
        ..RunSpec::default()
    };
    simulate(&run, &mut |_| true)
}

fn stepped(settings: Settings) -> Drive {
    let spec = DriveSpec {
        overrides: overrides(settings, &[("host.mode", "open")]),
        options: DriveOptions { verify: true, seed: Some(1), ..DriveOptions::default() },
        ..DriveSpec::default()
    };
    Drive::open(&spec, None, &mut |_| true).unwrap_or_else(|error| panic!("{settings:?}: {error}"))
}

fn comparable(mut result: Value) -> Value {
    let fields = result.as_object_mut().expect("an object");
    fields.retain(|key, _| {
        !key.ends_with("wall_s") && !["workloads", "engine", "config"].contains(&key.as_str())
    });
    result
}

#[test]
fn uneven_units_lose_nothing_on_either_path() {
    for settings in DRIVES {
        let event = simulated(settings, &[("engine", "event")]);
        let event = comparable(event.unwrap_or_else(|error| panic!("{settings:?}: {error}")));
        let blocks = &event["geometry"]["blocks_per_unit"];
        assert_eq!(blocks["max"].as_u64(), blocks["min"].as_u64().map(|least| least + 1), "{settings:?}");
        assert!(event["flash"]["erases"].as_u64() > Some(50), "{settings:?}: {}", event["flash"]);
        if let Ok(timeline) = simulated(settings, &[("engine", "busy-until")]) {
            assert_eq!(comparable(timeline), event, "{settings:?}");
        }
    }
}

#[test]
fn a_share_of_blocks_that_stay_erased_is_the_number_in_the_smaller_units() {
    let kept = |kept: Settings| comparable(simulated(&[], kept).expect("legal"));
    let (one, two) = (kept(&[("gc.free_blocks", "1")]), kept(&[("gc.free_blocks", "2")]));
    // Units of 21 and 22 blocks: 1.97 and 2.07 of them.
    assert_eq!(kept(&[("gc.free_blocks", "9.4%")]), one);
    assert_eq!(kept(&[("gc.free_blocks", "9.6%")]), two);
    assert_ne!(one, two);
}

#[test]
fn uneven_units_are_the_same_in_slices_and_from_a_file() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut requests: Vec<Request> = Vec::new();
    let mut source = Spec::parse(WORKLOAD).expect("a spec").with_seed(1).generator();
    while source.read(&mut requests, 64) {}
    for settings in DRIVES {
        let (mut whole, mut sliced) = (stepped(settings), stepped(settings));
        whole.submit(&requests).expect("submitted");
        for (number, some) in requests.chunks(400).enumerate() {
            sliced.submit(some).expect("submitted");
            sliced.advance_to(some[some.len() / 2].time_ns).expect("advanced");
            let path = dir.path().join(format!("{number}.drive"));
            sliced.save(&path).expect("saved");
            sliced = Drive::load(&path, None).expect("loaded");
        }
        let [whole, sliced] = [whole, sliced].map(|drive| comparable(drive.finish().expect("finished")));
        assert_eq!(whole, sliced, "{settings:?}");
    }
}

#[test]
fn the_result_says_what_was_asked_and_what_there_is() {
    let result = simulated(&[("op_ratio", "0.3")], &[]).expect("a legal run");
    let spare = &result["geometry"]["spare"];
    // 28.8 blocks for six units of 16.
    assert_eq!((&spare["key"], &spare["asked"]), (&json!("op_ratio"), &json!(0.3)));
    assert_eq!(spare["got"].as_f64().map(|got| (got * 96.0).round()), Some(29.0));
    assert_eq!(result["geometry"]["blocks"], 96 + 29 + 6);
    let raw = RunSpec {
        workloads: vec![WorkloadSpec { spec: "random:span=1MiB,count=10".into(), ..WorkloadSpec::default() }],
        device: Some("ssdsim".into()),
        ..RunSpec::default()
    };
    let result = simulate(&raw, &mut |_| true).expect("a legal run");
    let spare = &result["geometry"]["spare"];
    assert_eq!((&spare["key"], &spare["asked"]), (&json!("op_raw"), &json!(0.1)));
    assert!((spare["got"].as_f64().expect("a number") - 0.1).abs() < 1e-4);
    assert_eq!(result["config"]["blocks_per_unit"], 2048);
}
