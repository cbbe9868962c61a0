//! A run ends with an empty write buffer: what that costs counts, and everything else ends with the last completion.

#![expect(clippy::float_cmp, reason = "counts, and quotients of them that are exact")]

use flashweir_run::{Drive, DriveSpec, RunSpec, WorkloadSpec, simulate};
use flashweir_trace::{Op, Request};
use serde_json::{Value, json};

/// A drive whose buffer holds a quarter of it.
const DRIVE: [(&str, &str); 5] = [
    ("channels", "2"),
    ("capacity", "4MiB"),
    ("page", "4KiB"),
    ("pages_per_block", "16"),
    ("buffer.bytes", "1MiB"),
];
/// Fewer pages than the buffer holds: none of them leaves it before the end.
const FEW: &str = "sequential:span=4MiB,size=4KiB,count=100";
const MANY: &str = "sequential:span=4MiB,size=4KiB,count=900";

fn spec(workloads: &[&str], settings: &[(&str, &str)]) -> RunSpec {
    let workload = |spec: &&str| WorkloadSpec { spec: (*spec).into(), ..WorkloadSpec::default() };
    RunSpec {
        workloads: workloads.iter().map(workload).collect(),
        overrides: DRIVE.iter().chain(settings).map(|(key, value)| ((*key).into(), json!(value))).collect(),
        verify: true,
        ..RunSpec::default()
    }
}

fn run(spec: &RunSpec) -> Value {
    simulate(spec, &mut |_| true).unwrap_or_else(|error| panic!("{error}"))
}

fn number(result: &Value, pointer: &str) -> f64 {
    result.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("{pointer} is a number"))
}

#[test]
fn a_page_that_the_buffer_only_delays_is_programmed_once() {
    for (workload, pages) in [(FEW, 100.0), (MANY, 900.0)] {
        for settings in [
            &[][..],
            &[("engine", "event")],
            &[("host.queue_depth", "8"), ("dies", "2")],
            &[("buffer.ack", "flash")],
            &[("buffer.order", "in-order"), ("clock", "lock-step")],
            &[("alloc.kind", "dynamic"), ("dies", "2")],
            &[("planes", "2"), ("timing.multi_plane", "true")],
            &[("gc.planner", "forwarding"), ("ftl.kind", "log-block")],
            &[("clock", "lock-step")],
            &[("host.mode", "open"), ("host.slots", "3")],
        ] {
            let result = run(&spec(&[workload], settings));
            assert_eq!(number(&result, "/write_amplification"), 1.0, "{workload} {settings:?}");
            assert_eq!(number(&result, "/flash/programs"), pages, "{settings:?}");
            let simulated_s = number(&result, "/simulated_s");
            assert_eq!(result["iops"].as_f64(), (simulated_s > 0.0).then(|| pages / simulated_s));
        }
    }
}

#[test]
fn a_page_that_was_written_twice_or_trimmed_in_the_buffer_is_not() {
    let twice = run(&spec(&["sequential:span=200KiB,size=4KiB,count=100"], &[]));
    assert_eq!((number(&twice, "/write_amplification"), number(&twice, "/drain/pages")), (0.5, 50.0));
    assert_eq!(number(&twice, "/counters/coalesced_pages"), 50.0);
}

#[test]
fn the_time_of_the_drain_is_that_of_its_commands() {
    let result =
        run(&spec(&[FEW], &[("timing.program", "500us"), ("timing.bus", "0"), ("timing.command", "0")]));
    assert_eq!(number(&result, "/simulated_s"), 0.0);
    assert_eq!((number(&result, "/drain/pages"), number(&result, "/drain/flash/programs")), (100.0, 100.0));
    // Two channels of one die, busy from the first page to the last.
    assert!((number(&result, "/drain/time_s") - 50.0 * 500e-6).abs() < 1e-12, "{}", result["drain"]);
    assert_eq!(number(&result, "/time_share/host"), 1.0);
    let unbuffered = run(&spec(&[FEW], &[("buffer.bytes", "0")]));
    assert_eq!(number(&unbuffered, "/drain/pages"), 0.0);
    assert_eq!(number(&unbuffered, "/drain/time_s"), 0.0);
}

#[test]
fn both_time_paths_drain_alike() {
    let mixed = "random:span=4MiB,size=512B|4KiB|40KiB:0.4,align=512,count=1500,write=0.6,trim=0.03";
    let of = |engine| {
        let settings = [("engine", engine), ("precondition", "full"), ("op_ratio", "0.2")];
        let mut result = run(&spec(&[mixed], &settings));
        let object = result.as_object_mut().expect("an object");
        object.retain(|key, _| !key.ends_with("wall_s") && key != "engine" && key != "config");
        result
    };
    let timeline = of("busy-until");
    assert!(number(&timeline, "/drain/pages") > 100.0 && number(&timeline, "/drain/flash/erases") > 0.0);
    assert_eq!(timeline, of("event"));
}

#[test]
fn a_power_cut_when_the_last_request_is_done_loses_what_would_be_drained() {
    let plain = run(&spec(&[FEW], &[("host.mode", "open")]));
    let cut = |time: &str| {
        let workload = "sequential:span=4MiB,size=4KiB,count=100,rate=1000";
        let spec = RunSpec { power_cut: Some(json!(time)), ..spec(&[workload], &[("host.mode", "open")]) };
        simulate(&spec, &mut |_| true).map_err(|error| error.to_string())
    };
    assert_eq!(number(&plain, "/drain/pages"), 100.0);
    let (before, after) = (cut("1ns").expect("within"), cut("10s").expect_err("beyond"));
    assert!(number(&before, "/power_cuts/acknowledged_sectors_lost/total") <= 8.0);
    let end_s: f64 = after
        .split("ended at ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next())
        .expect("says when")
        .parse()
        .expect("a time");
    let end = cut(&format!("{}ns", (end_s * 1e9).round())).expect("within");
    assert_eq!(number(&end, "/power_cuts/acknowledged_sectors_lost/total"), 800.0);
    assert_eq!(number(&end, "/drain/pages"), 100.0);
}

#[test]
fn what_the_buffer_held_at_the_cut_of_a_warm_up_is_not_amplification() {
    let spec = RunSpec { warmup: Some("requests=600".into()), ..spec(&[MANY], &[]) };
    let rest = run(&spec);
    let carried = number(&rest, "/drain/carried_pages");
    assert!(carried > 0.0, "the buffer was not empty");
    assert_eq!(number(&rest, "/write_amplification"), 1.0);
    assert_eq!(number(&rest, "/flash/programs"), 300.0 + carried);
    let windows = rest["series"]["write_amplification"].as_array().expect("a series");
    let programs: f64 = windows.iter().map(|window| window.as_f64().expect("it writes")).sum();
    assert!(programs < windows.len() as f64, "the drain is of no window");
}

#[test]
fn tenants_pay_for_their_pages_together_and_alone() {
    let other = "sequential:span=1MiB,offset=2MiB,size=4KiB,count=50";
    let run = run(&RunSpec { alone: true, ..spec(&[FEW, other], &[]) });
    let streams = run["streams"].as_object().expect("streams");
    let times: Vec<f64> = streams.values().map(|stream| number(stream, "/flash_time_s")).collect();
    assert!((times[0] - 2.0 * times[1]).abs() < 1e-12 && times[1] > 0.0, "{times:?}");
    assert_eq!(number(&run, "/drain/pages"), 150.0);
}

#[test]
fn activity_shows_the_drain() {
    let run = run(&RunSpec { activity: Some(json!("all")), ..spec(&[FEW], &[]) });
    let end_s = number(&run, "/simulated_s") + number(&run, "/drain/time_s");
    assert!((number(&run, "/activity/to_s") - end_s).abs() < 1e-12);
    let dirty = run["activity"]["dirty_pages"].as_array().expect("bins");
    assert!(dirty[0].as_f64() > dirty[dirty.len() - 1].as_f64());
}

#[test]
fn a_stepped_drive_is_drained_when_it_is_finished() {
    let overrides = DRIVE.iter().map(|(key, value)| ((*key).into(), json!(value))).collect();
    let spec = DriveSpec { overrides, ..DriveSpec::default() };
    let mut drive = Drive::open(&spec, None, &mut |_| true).expect("a drive");
    let requests: Vec<Request> = (0..100)
        .map(|page| Request { time_ns: page, lba: page * 8, sectors: 8, stream: 0, op: Op::Write, handle: 0 })
        .collect();
    drive.submit(&requests).expect("submitted");
    drive.advance_to(1_000_000_000).expect("advanced");
    let before = drive.result();
    assert_eq!((number(&before, "/flash/programs"), number(&before, "/drain/pages")), (0.0, 0.0));
    let mut fork = drive.fork();
    fork.reset_stats();
    let reset = fork.finish().expect("finished");
    assert_eq!(number(&reset, "/drain/carried_pages"), 100.0);
    assert_eq!(number(&reset, "/flash/programs"), 100.0);
    let after = drive.finish().expect("finished");
    assert_eq!((number(&after, "/simulated_s"), number(&after, "/drain/pages")), (1.0, 100.0));
    assert_eq!(number(&after, "/write_amplification"), 1.0);
    assert!(number(&after, "/drain/time_s") > 0.0);
}

/// Without coalescing a page waits in several versions; all of those that a TRIM finds waiting count, also at a planner's channels.
#[test]
fn versions_that_a_trim_finds_waiting_count_each() {
    let managed = [("gc.planner", "cycle-filling"), ("buffer.bytes", "0")];
    let buffered = [("buffer.coalesce", "false"), ("gc.planner", "none")];
    for settings in [&managed[..], &buffered] {
        let more = [("op_ratio", "0.5"), ("precondition", "full"), ("host.mode", "open")];
        let settings: Vec<_> = more.iter().chain(settings).copied().collect();
        let workload = "random:span=512KiB,size=16KiB,count=2000,write=0.9,trim=0.1,rate=4000";
        let result = run(&spec(&[workload], &settings));
        let page = 4096.0;
        let gone = number(&result, "/counters/trimmed_pages") + number(&result, "/counters/coalesced_pages");
        let written = number(&result, "/counters/bytes/write") / page;
        let programmed = number(&result, "/flash/host/programs");
        assert!(programmed < written, "some are trimmed while they wait");
        // Trimmed are pages on flash, too.
        assert!(programmed + gone >= written, "{settings:?}: {programmed} + {gone} < {written}");
    }
}

/// A version that waits where its data block has no unit yet, and a newer one that comes when it has.
#[test]
fn versions_of_a_page_leave_in_their_order_though_its_data_block_gets_its_unit_in_between() {
    let settings = [
        ("capacity", "10MiB"),
        ("channels", "4"),
        ("pages_per_block", "8"),
        ("op_ratio", "0.3"),
        ("alloc.kind", "dynamic"),
        ("gc.planner", "super-data-block"),
        ("buffer.replacement", "fab"),
        ("buffer.coalesce", "false"),
    ];
    for kind in ["bast", "fast", "log-block"] {
        let settings: Vec<_> = settings.into_iter().chain([("ftl.kind", kind)]).collect();
        let result = run(&spec(&["random:span=2560KiB,size=16KiB,count=1000,write=0.9,rate=500"], &settings));
        assert!(number(&result, "/flash/host/programs") > 0.0);
    }
}
