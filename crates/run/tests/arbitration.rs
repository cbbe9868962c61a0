//! Arbitration over whole runs: what it must not change, on whichever path, in whatever slices.

use flashweir_run::{RunSpec, WorkloadSpec, simulate};
use serde_json::Value;

const ARBITRATIONS: [&str; 4] = ["arrival", "round-robin", "weighted", "fair"];
/// Two tenants that read and write a drive that collects, the first in large requests.
const TENANTS: [&str; 2] = [
    "random:span=8MiB,size=32KiB,align=4KiB,write=0.5,trim=0.05,flush=0.05,count=300",
    "random:span=8MiB,size=4KiB,write=0.7,flush=0.02,count=1500,seed=2",
];

fn spec(settings: &[(&str, &str)], workloads: &[&str]) -> RunSpec {
    let base =
        [("capacity", "8MiB"), ("pages_per_block", "8"), ("op_ratio", "0.4"), ("precondition", "full")];
    let workload = |spec: &&str| WorkloadSpec { spec: (*spec).into(), ..WorkloadSpec::default() };
    RunSpec {
        workloads: workloads.iter().map(workload).collect(),
        overrides: base
            .iter()
            .chain(settings)
            .map(|(key, value)| ((*key).into(), Value::String((*value).into())))
            .collect(),
        verify: true,
        latency_parts: true,
        ..RunSpec::default()
    }
}

/// The result without what depends on the machine or repeats the input.
fn result_of(run: &RunSpec) -> Value {
    let mut result = simulate(run, &mut |_| true).unwrap_or_else(|error| panic!("{error}"));
    let object = result.as_object_mut().expect("an object");
    for key in ["config", "wall_s", "setup_wall_s", "precondition_wall_s", "engine"] {
        object.remove(key);
    }
    result
}

fn result(settings: &[(&str, &str)], workloads: &[&str]) -> Value {
    result_of(&spec(settings, workloads))
}

#[test]
fn the_result_says_the_flash_time_of_each_tenant() {
    let at = |result: &Value, name: &str| result["streams"][name]["flash_time_s"].as_f64().expect("a number");
    let with = |arbitration| {
        let run = [("host.arbitration", arbitration), ("host.queue_depth", "4")];
        result(
            &run,
            &["random:span=8MiB,size=32KiB,write=0,count=500", "random:span=8MiB,write=0,count=4000"],
        )
    };
    // Both ask for as many pages.
    let fair = with("fair");
    assert!((at(&fair, "workload 0") - at(&fair, "workload 1")).abs() < 1e-9, "{}", fair["streams"]);
    // Then neither ends before the other: the time that each is active is that of the run.
    for name in ["workload 0", "workload 1"] {
        let active = fair["streams"][name]["active_s"].as_f64().expect("a number");
        assert!(active > 0.97 * fair["simulated_s"].as_f64().expect("a number"), "{name}: {active}");
    }
    let by_turns = with("round-robin");
    let active = by_turns["streams"]["workload 0"]["active_s"].as_f64().expect("a number");
    assert!(active < 0.7 * by_turns["simulated_s"].as_f64().expect("a number"), "{active}");
}

#[test]
fn with_one_tenant_all_are_arrival() {
    let timed = format!("{},rate=9000", TENANTS[1]);
    for (host, workload) in [
        (&[("host.queue_depth", "4"), ("host.mode", "closed")], TENANTS[0]),
        (&[("host.mode", "open"), ("host.slots", "3")], &timed),
    ] {
        let results = ARBITRATIONS
            .map(|arbitration| result(&[host[0], host[1], ("host.arbitration", arbitration)], &[workload]));
        assert!(results.iter().all(|result| *result == results[0]), "{host:?}");
    }
}

#[test]
fn workloads_without_times_take_turns_anyway() {
    let with =
        |arbitration| result(&[("host.arbitration", arbitration), ("host.queue_depth", "3")], &TENANTS);
    assert_eq!(with("arrival"), with("round-robin"));
    assert_ne!(with("arrival"), with("fair"));
}

#[test]
fn both_paths_ask_for_the_same_requests() {
    for host in [
        &[("host.queue_depth", "1")] as &[_],
        &[("host.queue_depth", "5")],
        &[("host.queue_depth", "1"), ("buffer.bytes", "64KiB")],
        &[("host.queue_depth", "1"), ("buffer.bytes", "64KiB"), ("buffer.ack", "flash")],
    ] {
        for arbitration in ["round-robin", "weighted", "fair"] {
            let weights = if arbitration == "round-robin" { "1" } else { "2,3" };
            let on = |engine| {
                let own = [("host.arbitration", arbitration), ("host.weights", weights), ("engine", engine)];
                result(&host.iter().copied().chain(own).collect::<Vec<_>>(), &TENANTS)
            };
            assert_eq!(on("busy-until"), on("event"), "{arbitration} on {host:?}");
        }
    }
}

#[test]
fn every_request_is_served_whoever_goes_next() {
    let timed = TENANTS.map(|tenant| format!("{tenant},rate=4000"));
    let timed = timed.each_ref().map(String::as_str);
    for host in [
        &[("host.queue_depth", "2")] as &[_],
        &[("host.mode", "open"), ("host.slots", "2")],
        &[
            ("host.mode", "open"),
            ("host.slots", "2"),
            ("buffer.bytes", "64KiB"),
            ("sched.kind", "read-first"),
        ],
        &[("host.mode", "open"), ("host.slots", "2"), ("ftl.kind", "fast"), ("gc.planner", "cycle-filling")],
    ] {
        let results = ARBITRATIONS.map(|arbitration| {
            let weighs = matches!(arbitration, "weighted" | "fair");
            let own = [("host.arbitration", arbitration), ("host.weights", if weighs { "2,3" } else { "1" })];
            result(&host.iter().copied().chain(own).collect::<Vec<_>>(), &timed)
        });
        for key in ["requests", "bytes"] {
            let counted = results.each_ref().map(|result| &result["counters"][key]);
            assert!(counted.iter().all(|count| *count == counted[0]), "{host:?}: {counted:?}");
        }
        for (number, result) in results.iter().enumerate() {
            let others = &results[number + 1..];
            assert!(others.iter().all(|other| other["latency_us"] != result["latency_us"]), "{host:?}");
        }
    }
}

#[test]
fn slices_do_not_matter_nor_who_looks_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let timed = TENANTS.map(|tenant| format!("{tenant},rate=4000"));
    let timed = timed.each_ref().map(String::as_str);
    for host in
        [[("host.mode", "closed"), ("host.queue_depth", "3")], [("host.mode", "open"), ("host.slots", "3")]]
    {
        for arbitration in ARBITRATIONS {
            let plain = spec(&[host[0], host[1], ("host.arbitration", arbitration)], &timed);
            // Slices are smaller where requests are recorded.
            let recorded =
                RunSpec { requests: Some(folder.path().join("log.parquet").into()), ..plain.clone() };
            assert_eq!(result_of(&plain), result_of(&recorded), "{host:?} {arbitration}");
            let with_warmup = RunSpec { warmup: Some("requests=600".into()), ..plain.clone() };
            let (whole, rest) = (result_of(&plain), result_of(&with_warmup));
            assert_eq!(rest["requests"], 1200, "{host:?} {arbitration}");
            let programs = |result: &Value| result["flash"]["programs"].as_u64().expect("a number");
            assert!(programs(&rest) < programs(&whole), "{host:?} {arbitration}");
        }
    }
}

#[test]
fn requests_that_are_all_there_at_once_are_a_closed_loop() {
    for arbitration in ["round-robin", "weighted", "fair"] {
        for buffer in ["0", "64KiB"] {
            for sched in ["fifo", "read-first"] {
                let own =
                    [("host.arbitration", arbitration), ("buffer.bytes", buffer), ("sched.kind", sched)];
                let weights = ("host.weights", if arbitration == "round-robin" { "1" } else { "1,2" });
                let with = |host: [(&'static str, &'static str); 2]| {
                    let run: Vec<_> = own.into_iter().chain([weights]).chain(host).collect();
                    result(&run, &TENANTS)
                };
                let open = with([("host.mode", "open"), ("host.slots", "5")]);
                let closed = with([("host.mode", "closed"), ("host.queue_depth", "5")]);
                for key in ["simulated_s", "flash", "counters", "channels", "wear", "sched"] {
                    assert_eq!(open[key], closed[key], "{key}: {own:?}");
                }
                assert_ne!(open["latency_us"], closed["latency_us"], "latencies count from the arrival");
            }
        }
    }
}

#[test]
fn as_many_slots_as_requests_are_no_limit() {
    let timed = TENANTS.map(|tenant| format!("{tenant},rate=4000"));
    let timed = timed.each_ref().map(String::as_str);
    for sched in ["fifo", "suspend"] {
        let limited = [("host.slots", "1000000"), ("host.mode", "open"), ("sched.kind", sched)];
        let unlimited = [("host.slots", "none"), ("host.mode", "open"), ("sched.kind", sched)];
        assert_eq!(result(&limited, &timed), result(&unlimited, &timed));
    }
}

#[test]
fn tenants_are_folded_into_the_drive_each_for_itself() {
    let far = [
        "random:span=64MiB,size=4KiB,write=0.5,count=400",
        "random:span=64MiB,offset=64MiB,size=4KiB,count=300",
    ];
    let run = RunSpec { wrap: true, ..spec(&[("host.arbitration", "fair")], &far) };
    assert_eq!(result_of(&run)["requests"], 700);
    let error =
        simulate(&spec(&[("host.arbitration", "fair")], &far), &mut |_| true).expect_err("beyond the drive");
    assert!(error.to_string().contains("--wrap"), "{error}");
}

#[test]
fn power_is_cut_where_writes_change_their_order() {
    let slots = [("host.mode", "open"), ("host.slots", "2"), ("host.arbitration", "fair")];
    let limits = [("host.mode", "open"), ("host.iops_limit", "3000")];
    let cores = [("host.link", "pcie3x1"), ("firmware.cores", "2"), ("firmware.write_time", "20us")];
    for settings in [&slots[..], &limits[..], &cores[..]] {
        let run = RunSpec { power_cut: Some(50.into()), verify: true, ..spec(settings, &TENANTS) };
        let cuts = result_of(&run)["power_cuts"].clone();
        assert_eq!((&cuts["cuts"], &cuts["flushed_sectors_lost"]), (&50.into(), &0.into()), "{settings:?}");
        assert_eq!(cuts["acknowledged_sectors_lost"]["total"], 0, "without a buffer, {settings:?}");
    }
}
