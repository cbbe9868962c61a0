//! The explanation of the slowest requests: its sums are those of the result, and both time paths give the same.

use serde_json::Value;

use super::run_with;

const WORKLOAD: &str = "random:span=64MiB,size=4KiB,count=20000,write=0.3,rate=500";
const DRIVE: [(&str, &str); 5] = [
    ("channels", "2"),
    ("capacity", "64MiB"),
    ("op_ratio", "0.25"),
    ("precondition", "full"),
    ("host.mode", "open"),
];

fn explained(more: &[(&str, &str)], percentile: &str) -> Value {
    let settings: Vec<(&str, &str)> = DRIVE.iter().chain(more).copied().collect();
    run_with(&settings, WORKLOAD, |run| run.explain = Some(percentile.into())).expect("a legal run")
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

#[test]
fn all_requests_explained_are_the_result_itself() {
    let result = explained(&[], "p0");
    for op in ["read", "write"] {
        let (explanation, latency) = (&result["explain"][op], &result["latency_us"][op]);
        assert_eq!(explanation["requests"], explanation["of"]);
        assert_eq!(explanation["of"], result["counters"]["requests"][op]);
        assert!((number(&explanation["mean_us"]) - number(&latency["mean"])).abs() < 1e-6);
        for (part, mean) in explanation["parts_us"].as_object().expect("parts") {
            assert!((number(mean) - number(&result["latency_parts_us"][op][part])).abs() < 1e-6, "{part}");
        }
        // Every wait for a die has its commands.
        let waits = ["wait_read", "wait_write", "wait_erase", "wait_gc"];
        let waited: f64 = waits.iter().map(|part| number(&explanation["parts_us"][part])).sum();
        let commands = explanation["waited_for"].as_array().expect("commands");
        let named: f64 = commands.iter().map(|one| number(&one["mean_us"])).sum();
        assert!(
            (waited - named).abs() < 1e-6 * waited,
            "{op}: waited {waited} us, of which {named} us are named"
        );
    }
}

#[test]
fn the_slowest_are_the_last_of_the_percentile() {
    let result = explained(&[], "p99.9");
    let explanation = &result["explain"]["read"];
    let of = explanation["of"].as_u64().expect("a count");
    assert_eq!(explanation["requests"].as_u64(), Some(of.div_ceil(1000)));
    assert!(number(&explanation["from_us"]) <= number(&explanation["mean_us"]));
    assert!((number(&explanation["max_us"]) - number(&result["latency_us"]["read"]["max"])).abs() < 1e-6);
    assert_eq!(explanation["waited_for"][0]["command"], "copy gc");
    assert_eq!(explanation["waited_for"][0]["of"], "the drive");
    let examples = explanation["examples"].as_array().expect("examples");
    assert!((1..=3).contains(&examples.len()));
    for example in examples {
        let (start, length) = (number(&example["issue_us"]), number(&example["latency_us"]));
        let commands = example["commands"].as_array().expect("commands");
        let busy: f64 = commands
            .iter()
            .map(|one| number(&one["end_us"]).min(start + length) - number(&one["start_us"]).max(start))
            .sum();
        assert!((busy - length).abs() < 1e-6 * length, "the die is busy while a request waits for it");
        assert_eq!(example["all_commands"], true);
        assert_eq!(commands.last().expect("its own")["request"], example["request"]);
    }
}

#[test]
fn both_time_paths_explain_alike() {
    let [timeline, event] =
        ["busy-until", "event"].map(|engine| explained(&[("engine", engine)], "p99")["explain"].take());
    assert_eq!(timeline, event);
}

#[test]
fn a_full_write_buffer_is_explained_by_the_die_that_makes_room() {
    let result = explained(&[("buffer.bytes", "64KiB"), ("host.time_scale", "0.2")], "p99");
    let explanation = &result["explain"]["write"];
    assert!(number(&explanation["parts_us"]["buffer"]) > 0.9 * number(&explanation["mean_us"]));
    assert!(!explanation["waited_for"].as_array().expect("commands").is_empty());
    assert!(!explanation["examples"].as_array().expect("examples").is_empty());
}

#[test]
fn commands_of_other_tenants_are_named() {
    let workloads = [
        "random:span=64MiB,size=4KiB,count=3000,write=0,rate=500",
        "random:span=64MiB,size=16KiB,count=3000,rate=150",
    ];
    let result =
        super::run_tenants(&DRIVE, &workloads, |run| run.explain = Some("p95".into())).expect("a legal run");
    let explanation = &result["explain"]["read"];
    let owners: Vec<&str> = explanation["waited_for"]
        .as_array()
        .expect("commands")
        .iter()
        .filter_map(|one| one["of"].as_str())
        .collect();
    assert!(owners.contains(&"b"), "{owners:?}");
    assert_eq!(explanation["examples"][0]["tenant"], "a");
}

#[test]
fn a_percentile_is_one() {
    for bad in ["99.9", "p100", "p", "slow"] {
        let error =
            run_with(&DRIVE, WORKLOAD, |run| run.explain = Some(bad.into())).expect_err("no percentile");
        assert!(error.to_string().contains("expected a percentile such as p99.9"), "{error}");
    }
}
