//! Warm-up removal as a caller of a run sees it.

use flashweir_run::{RunSpec, WorkloadSpec, simulate};
use serde_json::{Value, json};

/// A small drive.
const DRIVE: [(&str, &str); 3] = [("capacity", "32MiB"), ("pages_per_block", "32"), ("op_ratio", "0.15")];

fn spec(workload: &str, settings: &[(&str, &str)], warmup: Option<&str>) -> RunSpec {
    RunSpec {
        workloads: vec![WorkloadSpec { spec: workload.into(), ..WorkloadSpec::default() }],
        overrides: DRIVE.iter().chain(settings).map(|(key, value)| ((*key).into(), json!(value))).collect(),
        warmup: warmup.map(Into::into),
        ..RunSpec::default()
    }
}

/// A result without wall times.
fn run(workload: &str, settings: &[(&str, &str)], warmup: Option<&str>) -> Value {
    let mut result = simulate(&spec(workload, settings, warmup), &mut |_| true).expect("a legal run");
    result.as_object_mut().expect("an object").retain(|key, _| !key.ends_with("wall_s"));
    result
}

fn error(workload: &str, warmup: &str) -> String {
    simulate(&spec(workload, &[], Some(warmup)), &mut |_| true).expect_err("no legal run").to_string()
}

/// Uniform page writes over the whole drive, six times its capacity.
const WRITES: &str = "random:span=32MiB,size=4KiB,align=4KiB,count=50000,seed=3";
const FULL: (&str, &str) = ("precondition", "full");

#[test]
fn without_its_warm_up_a_run_amplifies_as_a_steady_drive_does() {
    let amplification = |result: &Value| result["write_amplification"].as_f64().expect("it writes");
    let steady = amplification(&run(WRITES, &[("precondition", "steady")], None));
    let plain = amplification(&run(WRITES, &[FULL], None));
    for method in ["mser-5", "steady"] {
        let result = run(WRITES, &[FULL], Some(method));
        let (found, warmup) = (amplification(&result), &result["warmup"]);
        assert_eq!((&warmup["method"], &warmup["found"]), (&json!(method), &json!(true)));
        let removed = warmup["requests"].as_u64().expect("a count");
        assert!((1..=25_000).contains(&removed) || method == "steady" && removed <= 40_000, "{warmup}");
        assert_eq!(result["requests"].as_u64(), Some(50_000 - removed));
        assert_eq!(result["counters"]["requests"]["write"], result["requests"]);
        assert_eq!(result["latency_us"]["write"]["count"], result["requests"]);
        assert!(
            (found - steady).abs() * 3.0 < (plain - steady).abs(),
            "{method}: {found} of {plain}, steady {steady}"
        );
    }
}

#[test]
fn a_run_of_which_nothing_is_removed_is_the_plain_run() {
    let settings = [FULL, ("host.queue_depth", "8"), ("dies", "2")];
    let mixed = "random:span=32MiB,size=4KiB|16KiB,count=3000,write=0.5,trim=0.02,flush=0.01";
    let plain = run(mixed, &settings, None);
    assert!(plain.get("warmup").is_none() && plain.get("series").is_none());
    let mut none = run(mixed, &settings, Some("requests=0"));
    let nothing =
        json!({"method": "requests", "found": true, "requests": 0, "of_requests": 3000, "simulated_s": 0.0});
    assert_eq!(none["warmup"], nothing);
    assert_eq!(none["series"]["requests"].as_array().map(Vec::len), Some(750));
    none.as_object_mut().expect("an object").retain(|key, _| key != "warmup" && key != "series");
    assert_eq!(none.to_string(), plain.to_string());
}

/// Windows that are held back until they are complete, of 100 requests: the cut may lie within one.
#[test]
fn a_warm_up_of_windows_that_are_held_back_ends_at_its_request() {
    let mixed = "random:span=32MiB,size=4KiB|16KiB,count=2050,write=0.5,trim=0.02,flush=0.01,rate=5000";
    let hosts: [&[(&str, &str)]; 3] = [
        &[("host.mode", "open")],
        &[("host.queue_depth", "4"), ("host.arbitration", "fair")],
        &[("host.queue_depth", "4"), ("host.arbitration", "weighted"), ("host.iops_limit", "4000")],
    ];
    for host in hosts {
        for own in [("tenants.channels", "look-ahead"), ("tenants.channels", "ssdkeeper")] {
            let alloc =
                [("alloc.kind", "dynamic"), ("channels", "4"), ("tenants.window_requests", "100"), own];
            let mut settings = [&alloc[..], host].concat();
            if own.1 != "look-ahead" {
                settings.push(("tenants.applies", "same"));
            }
            let mixed = if host.len() > 1 { mixed.replace(",rate=5000", "") } else { mixed.to_owned() };
            let plain = run(&mixed, &settings, None);
            let mut none = run(&mixed, &settings, Some("requests=0"));
            assert_eq!(none["warmup"]["of_requests"], json!(2050));
            none.as_object_mut().expect("an object").retain(|key, _| key != "warmup" && key != "series");
            assert_eq!(none.to_string(), plain.to_string(), "{settings:?}");
            for removed in [250, 300, 2049] {
                let rest = run(&mixed, &settings, Some(&format!("requests={removed}")));
                assert_eq!(rest["warmup"]["requests"], json!(removed), "{settings:?}");
                assert_eq!(rest["requests"], json!(2050 - removed), "{settings:?}");
                // The allocator saw all windows.
                assert_eq!(rest["allocation"], plain["allocation"], "{settings:?}");
            }
        }
    }
}

#[test]
fn what_is_too_short_keeps_all_of_it() {
    for (method, too_short, enough) in [("mser-5", 49, 50), ("steady", 124, 125)] {
        // Reads of pages that were written in order: as steady as can be.
        let reads = |count: u32| format!("sequential:span=32MiB,size=4KiB,align=4KiB,count={count},write=0");
        let short = run(&reads(too_short), &[FULL], Some(method));
        assert_eq!((&short["warmup"]["found"], &short["requests"]), (&json!(false), &json!(too_short)));
        let long = run(&reads(enough), &[FULL], Some(method));
        assert_eq!((&long["warmup"]["found"], &long["requests"]), (&json!(true), &json!(enough)));
    }
}

#[test]
fn the_series_is_of_the_whole_run() {
    let result = run(WRITES, &[FULL], Some("requests=49999"));
    assert_eq!(result["requests"], json!(1));
    let series = &result["series"];
    assert_eq!(series["requests_per_window"], json!(64));
    let lengths = ["end_s", "requests", "iops", "write_amplification"].map(|name| &series[name]);
    let latencies = ["read", "write"].map(|name| &series["latency_us"][name]);
    for list in lengths.iter().chain(&latencies) {
        assert_eq!(list.as_array().map(Vec::len), Some(782));
    }
    assert_eq!(series["latency_us"]["read"][5], Value::Null);
    let amplification = |at: usize| series["write_amplification"][at].as_f64().expect("it writes");
    assert!(amplification(0) < amplification(700));
}

#[test]
fn what_can_not_be_removed_is_refused_in_a_line() {
    let expected = "expected mser-5, steady, or requests=N with a whole number N";
    assert_eq!(error(WRITES, "mser"), format!("warm-up method \"mser\": {expected}"));
    let expected = "expected fewer than the 50000 requests of the run";
    assert_eq!(error(WRITES, "requests=50000"), format!("warm-up method requests=50000: {expected}"));
}

/// The length of a trace is known at its end only: what was to be written by then is not.
#[test]
fn a_trace_that_is_too_short_leaves_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/../../traces/package-build.blktrace.0.zst");
    let run = RunSpec {
        requests: Some(folder.path().join("requests.parquet").into()),
        ..spec(trace, &[("capacity", "4GiB")], Some("requests=63649"))
    };
    let error = simulate(&run, &mut |_| true).expect_err("nothing would stay").to_string();
    assert_eq!(error, "warm-up method requests=63649: expected fewer than the 63649 requests of the run");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
}
