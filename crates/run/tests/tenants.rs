//! Results of each tenant, among the others and alone.

use flashweir_run::{Phase, Progress, RunSpec, WorkloadSpec, plan, simulate};
use serde_json::{Value, json};

const DRIVE: [(&str, &str); 4] =
    [("capacity", "32MiB"), ("pages_per_block", "16"), ("op_ratio", "0.2"), ("host.mode", "open")];

fn spec(workloads: &[(&str, Value)], settings: &[(&str, &str)]) -> RunSpec {
    let named = |(name, given): &(&str, Value)| {
        let mut given = given.clone();
        given["name"] = json!(name);
        serde_json::from_value::<WorkloadSpec>(given).expect("a workload")
    };
    RunSpec {
        workloads: workloads.iter().map(named).collect(),
        overrides: DRIVE.iter().chain(settings).map(|(key, value)| ((*key).into(), json!(value))).collect(),
        seed: Some(5),
        alone: true,
        ..RunSpec::default()
    }
}

fn quiet(run: &RunSpec) -> Value {
    let mut result = simulate(run, &mut |_| true).expect("a result");
    result.as_object_mut().expect("an object").retain(|key, _| !key.ends_with("wall_s"));
    result
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// True if two numbers are the same to the last digit, or nearly.
fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * a.abs().max(b.abs())
}

fn random(rate: u32, write: &str, volume: &str, offset: &str) -> Value {
    let spec = format!("random:span=16MiB,size=4KiB,count=3000,write={write},rate={rate}");
    json!({"spec": spec, "volume": volume, "offset": offset})
}

fn halves() -> [(&'static str, Value); 2] {
    [("a", random(1500, "0.5", "16MiB", "0")), ("b", random(1500, "0.5", "16MiB", "16MiB"))]
}

#[test]
fn streams_add_up_to_the_whole() {
    let tenants = [("a", random(500, "0.3", "16MiB", "0")), ("b", random(2000, "0.9", "16MiB", "16MiB"))];
    for warmup in [None, Some("requests=2000".to_owned()), Some("mser-5".to_owned())] {
        let result = quiet(&RunSpec { warmup, alone: false, ..spec(&tenants, &[("precondition", "full")]) });
        let streams = result["streams"].as_object().expect("streams");
        let sum =
            |path: &str| streams.values().map(|one| number(one.pointer(path).expect("there"))).sum::<f64>();
        assert!(same(sum("/requests"), number(&result["requests"])));
        for op in ["read", "write"] {
            assert!(same(sum(&format!("/bytes/{op}")), number(&result["counters"]["bytes"][op])));
        }
        for one in streams.values() {
            let active = number(&one["active_s"]);
            assert!(active <= number(&result["simulated_s"]));
            assert!((number(&one["iops"]) * active - number(&one["requests"])).abs() < 1e-6);
            let moved = number(&one["bytes"]["read"]) + number(&one["bytes"]["write"]);
            assert!((number(&one["bandwidth_mib_s"]) * active * 1_048_576.0 - moved).abs() < 1e-3);
            assert!(one["slowdown"].is_null() && one["alone_latency_us"].is_null());
        }
        assert!(result["fairness"].is_null());
    }
}

#[test]
fn one_tenant_is_as_fast_as_alone() {
    for warmup in [None, Some("requests=100".to_owned())] {
        let result = quiet(&RunSpec { warmup, ..spec(&[("a", random(1500, "0.5", "16MiB", "0"))], &[]) });
        let one = &result["streams"]["a"];
        assert_eq!(one["slowdown"], json!({"all": 1.0, "read": 1.0, "write": 1.0}));
        assert_eq!(one["alone_latency_us"], one["latency_us"]);
        assert_eq!(result["fairness"], json!({"jain": 1.0, "max_slowdown": 1.0}));
    }
}

#[test]
fn who_is_alone_most_of_the_time_is_as_fast_as_alone() {
    // The second begins when the first has long ended.
    let mut tenants = halves();
    tenants[1].1["start"] = json!("100s");
    for settings in [&[("precondition", "steady")][..], &[("precondition", "full"), ("engine", "event")][..]]
    {
        let result = quiet(&spec(&tenants, settings));
        let first = &result["streams"]["a"];
        assert_eq!(first["slowdown"]["all"], 1.0);
        assert_eq!(first["alone_latency_us"], first["latency_us"]);
    }
}

#[test]
fn two_of_a_kind_share_fairly() {
    let result = quiet(&spec(&halves(), &[("precondition", "full")]));
    let [a, b] = ["a", "b"].map(|name| number(&result["streams"][name]["slowdown"]["all"]));
    assert!(a > 1.02 && b > 1.02, "{a} {b}");
    assert!(number(&result["fairness"]["jain"]) > 0.995, "{}", result["fairness"]);
    assert!(same(number(&result["fairness"]["max_slowdown"]), a.max(b)));
}

#[test]
fn a_light_tenant_suffers_more_from_a_heavy_one() {
    let tenants =
        [("light", random(100, "0.0", "16MiB", "0")), ("heavy", random(3000, "0.9", "16MiB", "16MiB"))];
    let result = quiet(&spec(&tenants, &[("precondition", "full")]));
    let [light, heavy] = ["light", "heavy"].map(|name| number(&result["streams"][name]["slowdown"]["all"]));
    assert!(light > heavy, "{light} {heavy}");
    assert!(result["streams"]["light"]["slowdown"]["write"].is_null());
    let jain = number(&result["fairness"]["jain"]);
    let (x, y) = (1.0 / light, 1.0 / heavy);
    assert!((jain - (x + y) * (x + y) / (2.0 * (x * x + y * y))).abs() < 1e-12);
}

#[test]
fn of_a_run_without_its_warm_up_the_same_requests_are_compared() {
    let mut tenants = halves();
    tenants[1].1["start"] = json!("100s");
    let run = spec(&tenants, &[("precondition", "full")]);
    // All of the first tenant, and some of the second.
    let result = quiet(&RunSpec { warmup: Some("requests=3500".into()), ..run.clone() });
    assert!(result["streams"].get("a").is_none());
    assert_eq!(
        result["streams"]["b"]["alone_latency_us"]["write"]["count"],
        result["streams"]["b"]["latency_us"]["write"]["count"]
    );
    assert_eq!(result["fairness"]["jain"], 1.0);
    let result = quiet(&RunSpec { warmup: Some("requests=500".into()), ..run });
    assert_eq!(result["streams"]["a"]["requests"], 2500);
    assert_eq!(result["streams"]["a"]["slowdown"]["all"], 1.0);
}

#[test]
fn running_alone_changes_nothing_of_the_run_of_all() {
    let folder = tempfile::tempdir().expect("a folder");
    for settings in [&[("gc.victim", "random")][..], &[("ftl.kind", "dftl"), ("engine", "event")][..]] {
        let run = spec(&halves(), &[&[("precondition", "full")], settings].concat());
        let with = quiet(&run);
        let watched = RunSpec {
            verify: true,
            requests: Some(folder.path().join("log.parquet").into()),
            activity: Some(json!(true)),
            ..run.clone()
        };
        let watched = quiet(&watched);
        let without = quiet(&RunSpec { alone: false, ..run });
        for key in ["latency_us", "flash", "time_share", "counters", "wear"] {
            assert_eq!(with[key], without[key], "{key}");
            assert_eq!(watched[key], without[key], "{key}");
        }
        assert_eq!(watched["fairness"], with["fairness"]);
    }
}

#[test]
fn progress_names_the_tenant_that_runs_alone() {
    let mut reported = Vec::new();
    let stopped = simulate(&spec(&halves(), &[]), &mut |state: &Progress| {
        reported.extend(state.tenant.clone().map(|tenant| (state.phase, tenant)));
        state.tenant.as_deref() != Some("b")
    });
    let stopped = stopped.map(|_| ()).expect_err("stopped").to_string();
    assert!(stopped.starts_with("stopped while running alone (b): "), "{stopped}");
    assert_eq!(reported.first(), Some(&(Phase::Alone, "a".into())));
    assert_eq!(reported.last(), Some(&(Phase::Alone, "b".into())));
}

#[test]
fn plans_know_of_runs_alone() {
    let run = spec(&halves(), &[]);
    let (with, without) =
        (plan(&run).expect("a plan"), plan(&RunSpec { alone: false, ..run.clone() }).expect("a plan"));
    assert_eq!((&with["alone"], &without["alone"]), (&json!(2), &json!(0)));
    assert!(same(number(&with["memory_bytes"]), 2.0 * number(&without["memory_bytes"])));
    let cut = RunSpec { power_cut: Some(json!(3)), ..run };
    plan(&cut).expect("a plan");
}

#[test]
fn power_is_cut_in_the_run_of_all_and_not_in_those_alone() {
    let run = |power_cut: Option<serde_json::Value>| {
        simulate(&RunSpec { power_cut, ..spec(&halves(), &[]) }, &mut |_| true).expect("a legal run")
    };
    let (plain, mut cut) = (run(None), run(Some(json!(30))));
    let cuts = cut.as_object_mut().and_then(|result| result.remove("power_cuts")).expect("cuts");
    assert_eq!((&cuts["cuts"], &cuts["flushed_sectors_lost"]), (&json!(30), &json!(0)));
    assert!(plain["fairness"]["jain"].is_f64());
    for key in ["tenants", "fairness", "latency_us", "counters"] {
        assert_eq!(cut[key], plain[key], "{key}");
    }
}

#[test]
fn alone_a_tenant_has_all_channels_whatever_it_is_given_among_others() {
    let of = |settings: &[(&str, &str)]| {
        quiet(&spec(&halves(), &[&[("alloc.kind", "dynamic")], settings].concat()))
    };
    let plain = of(&[]);
    for channels in ["shared", "isolated", "ssdkeeper", "look-ahead"] {
        let result = of(&[("tenants.channels", channels), ("tenants.window_requests", "500")]);
        for name in ["a", "b"] {
            let alone = |result: &Value| result["streams"][name]["alone_latency_us"].clone();
            assert_eq!(alone(&result), alone(&plain), "{channels}, {name}");
        }
    }
}
