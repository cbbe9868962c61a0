//! Power cuts in a result: what they say, that they change nothing else, and what is refused.

mod matrix;
mod model;
mod promises;
mod twice;
mod zones;

/// Random drives and workloads of the tests of both time paths.
#[path = "../../../ssd/tests/paths/drives/mod.rs"]
mod drives;

use flashweir_run::{RunSpec, WorkloadSpec, simulate};
use serde_json::{Value, json};

const WORKLOAD: &str = "random:span=1MiB,size=1KiB,count=2000,write=1,seed=4";

/// A small drive with a write buffer.
const DRIVE: [(&str, &str); 8] = [
    ("channels", "4"),
    ("page", "2KiB"),
    ("pages_per_block", "16"),
    ("capacity", "1MiB"),
    ("op_ratio", "0.375"),
    ("precondition", "full"),
    ("buffer.bytes", "32KiB"),
    ("clock", "lock-step"),
];

fn spec(settings: &[(&str, &str)], power_cut: Option<Value>) -> RunSpec {
    RunSpec {
        workloads: vec![WorkloadSpec { spec: WORKLOAD.into(), ..WorkloadSpec::default() }],
        overrides: DRIVE.iter().chain(settings).map(|(key, value)| ((*key).into(), json!(value))).collect(),
        power_cut,
        ..RunSpec::default()
    }
}

/// The result without wall times.
fn run(spec: &RunSpec) -> Result<Value, String> {
    let mut result = simulate(spec, &mut |_| true).map_err(|error| error.to_string())?;
    for key in ["wall_s", "setup_wall_s", "precondition_wall_s", "verified"] {
        result[key].take();
    }
    Ok(result)
}

#[test]
fn cuts_change_nothing_else_and_are_the_same_every_time() {
    for settings in [
        &[][..],
        &[("ftl.kind", "fast")],
        &[("clock", "async")],
        &[("clock", "async"), ("host.queue_depth", "4")],
    ] {
        let plain = run(&spec(settings, None)).expect("a legal run");
        let mut cut =
            run(&RunSpec { verify: true, ..spec(settings, Some(json!(200))) }).expect("a legal run");
        let again = run(&spec(settings, Some(json!("200")))).expect("a legal run");
        assert_eq!(cut, again, "{settings:?}");
        let cuts = cut.as_object_mut().and_then(|result| result.remove("power_cuts")).expect("cuts");
        assert_eq!(cut, plain, "{settings:?}");
        assert_eq!(cuts["cuts"], json!(200));
        assert_eq!(cuts["flushed_sectors_lost"], json!(0));
        assert_eq!(cuts["details"].as_array().map(Vec::len), Some(200));
    }
}

#[test]
fn a_buffer_loses_what_it_holds_and_only_in_order_a_prefix_survives() {
    let cuts = |settings: &[(&str, &str)]| {
        run(&spec(settings, Some(json!(500)))).expect("a legal run")["power_cuts"].take()
    };
    let any = cuts(&[]);
    let in_order = cuts(&[("buffer.order", "in-order")]);
    let flash = cuts(&[("buffer.ack", "flash")]);
    let number = |cuts: &Value, path: &str| cuts.pointer(path).and_then(Value::as_f64).expect("a number");
    for buffered in [&any, &in_order] {
        // 16 pages of 4 sectors.
        let lost = number(buffered, "/acknowledged_sectors_lost/max");
        assert!(lost > 16.0 && lost <= 64.0, "{lost}");
    }
    assert!(number(&any, "/violations/mean") > 1.0);
    assert!(number(&any, "/prefixes") < 250.0);
    assert_eq!((&in_order["violations"]["total"], &in_order["prefixes"]), (&json!(0), &json!(500)));
    assert!(number(&in_order, "/torn_requests/max") <= 1.0);
    assert_eq!(flash["acknowledged_sectors_lost"]["total"], json!(0));
    assert_eq!(any["worst"]["acknowledged_sectors_lost"], any["acknowledged_sectors_lost"]["max"]);
}

#[test]
fn in_order_a_prefix_survives_wherever_pages_come_to_flash_one_after_the_other() {
    let bus = [("timing.bus", "40"), ("chips", "2")];
    let types = [("timing.read", "20us,40us,60us"), ("timing.program", "100us,300us,800us")];
    let drives: [&[(&str, &str)]; 9] = [
        &[],
        &bus,
        &types,
        &[("planes", "2")],
        &[("nand.spread", "0.2")],
        &[("gc.planner", "cycle-filling")],
        &[("gc.planner", "forwarding"), ("planes", "2"), bus[0], bus[1]],
        &[("alloc.kind", "dynamic")],
        &[("alloc.kind", "superblock"), bus[0], bus[1]],
    ];
    for (own, clock) in drives.iter().flat_map(|own| [(own, "async"), (own, "lock-step")]) {
        let settings = |order| {
            let base = [("clock", clock), ("op_ratio", "1"), ("buffer.order", order)];
            base.iter().chain(*own).copied().collect::<Vec<_>>()
        };
        let cuts = |order| {
            let result = run(&spec(&settings(order), Some(json!(300))));
            result.unwrap_or_else(|error| panic!("{own:?}, {clock}: {error}"))["power_cuts"].take()
        };
        let (any, in_order) = (cuts("any"), cuts("in-order"));
        assert!(any["violations"]["total"].as_f64() > Some(0.0), "{own:?}, {clock}: {any}");
        let found = (&in_order["violations"]["total"], &in_order["prefixes"]);
        assert_eq!(found, (&json!(0), &json!(300)), "{own:?}, {clock}");
    }
}

#[test]
fn cuts_at_given_times_come_in_their_order() {
    let result = run(&spec(&[], Some(json!(["20ms", "0s", "700us"])))).expect("a legal run");
    let details = result["power_cuts"]["details"].as_array().expect("a list").clone();
    let times: Vec<_> = details.iter().map(|detail| detail["time_s"].as_f64()).collect();
    assert_eq!(times, [Some(0.0), Some(0.0007), Some(0.02)]);
    // At the first instant the buffer has taken as much as it holds, and nothing is programmed.
    assert!(
        details[0]["acknowledged_sectors_lost"].as_u64() > Some(16) && details[0]["prefix"] == json!(true)
    );
}

#[test]
fn what_makes_no_sense_is_refused_in_a_line() {
    let refused =
        |settings: &[(&str, &str)], cut: Value| run(&spec(settings, Some(cut))).expect_err("refused");
    assert!(
        refused(&[], json!("1 fortnight")).starts_with("power cut 1 fortnight: expected a time of the run")
    );
    let async_clock = ("clock", "async");
    let direct = refused(&[async_clock, ("ftl.kind", "direct"), ("precondition", "empty")], json!(3));
    assert!(direct.contains("power cuts, ftl.kind=direct"), "{direct}");
}

#[test]
fn a_cut_beyond_the_end_says_when_that_was_and_leaves_no_file() {
    let log = std::env::temp_dir().join(format!("flashweir-power-{}.parquet", std::process::id()));
    let spec = RunSpec { requests: Some(log.clone().into()), ..spec(&[], Some(json!(["1ms", "2000s"]))) };
    let message = run(&spec).expect_err("beyond the end");
    assert!(
        message.starts_with("power cut at 2000 s: expected a time within the run, which ended at "),
        "{message}"
    );
    assert!(!log.exists());
}
