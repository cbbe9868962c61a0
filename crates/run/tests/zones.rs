//! One workload on a conventional drive, with placement by handle, and on zones: amplification by host and drive, and their product.

use flashweir_run::{RunSpec, WorkloadSpec, simulate};
use serde_json::{Value, json};

type Setting = (&'static str, &'static str);

/// Superblocks of 2 MiB over eight dies.
const DRIVE: [Setting; 5] = [
    ("capacity", "256MiB"),
    ("op_ratio", "0.15"),
    ("pages_per_block", "64"),
    ("alloc.kind", "superblock"),
    ("precondition", "full"),
];

/// Small objects in buckets anywhere, large ones in regions one behind the other; handles tell them apart.
const CACHE: &str = "cachelib:span=256MiB,region=2MiB,small_writes=0.2,count=150000,write=1,request=64KiB";

fn run(workload: &str, settings: &[Setting]) -> Value {
    let overrides = DRIVE.iter().chain(settings).map(|(key, value)| ((*key).to_owned(), json!(value)));
    let workloads = vec![WorkloadSpec { spec: workload.into(), ..WorkloadSpec::default() }];
    let run = RunSpec { workloads, overrides: overrides.collect(), ..RunSpec::default() };
    simulate(&run, &mut |_| true).unwrap_or_else(|error| panic!("{settings:?}: {error}"))
}

fn number(result: &Value, place: &str) -> f64 {
    result.pointer(place).and_then(Value::as_f64).unwrap_or_else(|| panic!("{place}: no number"))
}

#[test]
fn whoever_collects_the_same_data_in_the_same_blocks_cost_the_same() {
    let drives: [&[Setting]; 4] = [
        &[("ftl.classifier", "host-and-collected")],
        &[("ftl.classifier", "stream"), ("ftl.groups", "2")],
        &[("ftl.kind", "zones")],
        &[("ftl.kind", "zones"), ("ftl.separate", "handles"), ("ftl.handles", "2")],
    ];
    let results = drives.map(|drive| run(CACHE, drive));
    let total = results.each_ref().map(|result| number(result, "/write_amplification"));
    for (drive, result) in drives.iter().zip(&results) {
        println!("{drive:?}: {} {}", result["write_amplification"], result["zones"]);
    }
    assert_eq!((total[0].to_bits(), total[1].to_bits()), (total[2].to_bits(), total[3].to_bits()));
    assert!(total[1] < 0.5 * total[0], "handles keep regions together: {total:?}");
    for (result, total) in results.iter().zip(total).skip(2) {
        let (host, device) =
            (number(result, "/zones/host_amplification"), number(result, "/zones/device_amplification"));
        assert_eq!(device.to_bits(), 1.0_f64.to_bits());
        assert!((host * device - total).abs() < 1e-9);
        assert!(number(result, "/zones/resets") > 0.0 && number(result, "/zones/copied_pages") > 0.0);
    }
}

#[test]
fn a_workload_that_writes_zones_in_order_is_amplified_by_nobody() {
    let zones = [("ftl.kind", "zones"), ("ftl.host", "none"), ("precondition", "on-read")];
    // Whole zones, with and without parity.
    let once = "sequential:span=256MiB,size=64KiB,count=4088,write=1";
    for (parity, expected) in [("0", 1.0), ("7", 8.0 / 7.0)] {
        let result = run(once, &[&zones[..], &[("alloc.parity", parity)]].concat());
        assert!((number(&result, "/write_amplification") - expected).abs() < 1e-9, "{}", result["zones"]);
        let (host, device) =
            (number(&result, "/zones/host_amplification"), number(&result, "/zones/device_amplification"));
        assert!((host - 1.0).abs() < 1e-9 && (device - expected).abs() < 1e-9);
    }
    // Without a host that resets zones nothing can be written twice.
    let twice = run("sequential:span=256MiB,size=64KiB,count=8192,write=1", &zones);
    assert_eq!(twice["zones"]["errors"]["zone_full"], json!(4096));
    assert_eq!(twice["zones"]["refused_bytes"], json!(256_u64 << 20));
    assert_eq!(twice["zones"]["states"]["full"], json!(128));
}

#[test]
fn a_log_with_more_zones_than_may_be_active_is_refused() {
    let workloads = vec![WorkloadSpec { spec: CACHE.into(), ..WorkloadSpec::default() }];
    let settings = [("ftl.kind", "zones"), ("alloc.superblock_dies", "2"), ("ftl.max_active", "7")];
    let overrides = DRIVE.iter().chain(&settings).map(|(key, value)| ((*key).to_owned(), json!(value)));
    let run = RunSpec { workloads, overrides: overrides.collect(), ..RunSpec::default() };
    let message = run.config().expect_err("eight are needed").to_string();
    assert_eq!(
        message,
        "ftl.max_active = 7, ftl.host=log, ftl.separate: the log writes 2 zones at a time in each of 4 sets of dies: expected \
         at least 8, or fewer sets (alloc.superblock_dies)"
    );
}

/// A table of commands to zones of 2 MiB.
fn commands(name: &str, rows: &str) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("flashweir-zones-{}-{name}.csv", std::process::id()));
    std::fs::write(&path, format!("time_us,op,offset_bytes,size_bytes\n{rows}")).expect("a scratch file");
    path
}

const NO_HOST: [Setting; 3] = [("ftl.kind", "zones"), ("ftl.host", "none"), ("precondition", "empty")];

fn of_table(path: &std::path::Path, settings: &[Setting]) -> Result<Value, String> {
    let settings = DRIVE.iter().chain(settings);
    let overrides = settings.map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
    let workloads =
        vec![WorkloadSpec { spec: path.to_string_lossy().into_owned().into(), ..WorkloadSpec::default() }];
    let columns = Some("time=time_us,op=op,lba=offset_bytes,size=size_bytes".into());
    let run = RunSpec { workloads, columns, verify: true, overrides, ..RunSpec::default() };
    simulate(&run, &mut |_| true).map_err(|error| error.to_string())
}

#[test]
fn a_table_of_commands_to_zones_runs_and_its_result_counts_them() {
    let zone = 2 << 20;
    let rows = format!(
        "0,append,0,65536\n1000,append,0,65536\n2000,open,{zone},{zone}\n3000,finish,0,{zone}\n90000,write,{zone},4096\n\
         91000,close,{zone},{zone}\n92000,finish,0,{zone}\n93000,reset,0,{zone}\n94000,close,0,{zone}\n"
    );
    let path = commands("runs", &rows);
    for (finish, padded) in [("pad", 512 - 32), ("mark", 0)] {
        let result = of_table(&path, &[&NO_HOST[..], &[("ftl.finish", finish)]].concat()).expect("legal");
        let zones = &result["zones"];
        assert_eq!((&zones["finished"], &zones["padded_pages"]), (&json!(1), &json!(padded)));
        assert_eq!((&zones["resets"], &zones["errors"]["invalid_transition"]), (&json!(1), &json!(1)));
        assert_eq!(zones["states"]["closed"], json!(1));
        for (op, count) in
            [("append", 2), ("finish", 2), ("open", 1), ("close", 2), ("reset", 1), ("write", 1)]
        {
            assert_eq!(result["latency_us"][op]["count"], json!(count), "{op}");
        }
        let device = f64::from(padded + 33) / 33.0;
        assert!((number(&result, "/zones/device_amplification") - device).abs() < 1e-9);
        assert!((number(&result, "/write_amplification") - device).abs() < 1e-9);
        assert!((number(&result, "/latency_us/finish/max") > 0.0) == (finish == "pad"));
    }
    std::fs::remove_file(path).expect("removable");
}

#[test]
fn a_drive_without_zones_refuses_a_command_to_one_in_a_line() {
    let path = commands("refused", "0,write,0,4096\n1,append,0,4096\n");
    let message = of_table(&path, &[]).expect_err("no zones");
    std::fs::remove_file(path).expect("removable");
    assert!(
        message.contains("request 2 is append, a command to a zone, which the drive does not take"),
        "{message}"
    );
    assert_eq!(message.lines().count(), 1);
}

/// Zones of 512 KiB over eight dies, whose host is the workload.
const COMMANDED: [Setting; 7] = [
    ("capacity", "32MiB"),
    ("op_ratio", "0.15"),
    ("pages_per_block", "16"),
    ("alloc.kind", "superblock"),
    ("ftl.kind", "zones"),
    ("ftl.host", "none"),
    ("host.queue_depth", "8"),
];

/// A run of generated commands to zones.
fn generated(more: &str, settings: &[Setting], power_cut: Option<Value>) -> Result<Value, String> {
    let settings = COMMANDED.iter().chain(settings);
    let overrides = settings.map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
    let spec = format!("zones:span=32MiB,zone=512KiB,open=3,request=16KiB,write=0.8,count=2000,{more}");
    let workloads = vec![WorkloadSpec { spec: spec.into(), ..WorkloadSpec::default() }];
    let run = RunSpec { workloads, verify: true, overrides, power_cut, ..RunSpec::default() };
    simulate(&run, &mut |_| true).map_err(|error| error.to_string())
}

#[test]
fn generated_commands_to_zones_keep_their_rules_on_full_drives_and_empty_ones() {
    for (precondition, buffer, cuts) in [("full", "0", None), ("empty", "256KiB", Some(json!(5)))] {
        let settings = [("precondition", precondition), ("buffer.bytes", buffer)];
        let result = generated("finish_at=0.75", &settings, cuts).expect("legal");
        let zones = &result["zones"];
        let failures = zones["errors"].as_object().expect("by status");
        assert!(failures.values().all(|count| *count == json!(0)), "{failures:?}");
        let (finished, padded) = (number(&result, "/zones/finished"), number(&result, "/zones/padded_pages"));
        assert!(finished > 20.0 && number(&result, "/zones/resets") > 0.0, "{zones}");
        assert!((padded - 32.0 * finished).abs() < 0.5, "a quarter of a zone of 128 pages: {zones}");
        assert!(number(&result, "/latency_us/append/count") > 500.0);
        assert!(zones.get("zrwa").is_none() && zones["states"].get("offline").is_none());
    }
}

#[test]
fn random_write_areas_save_flash_what_is_written_again_in_them() {
    let areas = [("ftl.zrwa_size", "64KiB"), ("ftl.zrwa_granularity", "16KiB"), ("precondition", "empty")];
    let result = generated("window=64KiB,rewrite=0.5", &areas, None).expect("legal");
    let zrwa = |name: &str| number(&result, &format!("/zones/zrwa/{name}"));
    let failures = result["zones"]["errors"].as_object().expect("by status");
    assert!(failures.values().all(|count| *count == json!(0)), "{failures:?}");
    assert!(zrwa("commits") > 50.0 && zrwa("implicit_commits") > 50.0 && zrwa("rewritten_pages") > 500.0);
    let written = number(&result, "/latency_us/write/count") * 4.0;
    let amplification = number(&result, "/write_amplification");
    assert!((amplification - zrwa("committed_pages") / written).abs() < 1e-9, "{}", result["zones"]);
    assert!((0.6..0.72).contains(&amplification), "two of three writes reach the flash: {amplification}");
    let cut = generated("window=64KiB,rewrite=0.5", &areas, Some(json!(300))).expect("legal");
    let lost = number(&cut, "/power_cuts/acknowledged_sectors_lost/total");
    assert!(lost.abs() < 0.5, "areas outlive a loss of power: {}", cut["power_cuts"]);
}

#[test]
fn pages_of_bound_planes_are_committed_once_with_a_buffer_and_without() {
    let of = |buffer| {
        let settings = [
            ("planes", "2"),
            ("planes_bound", "true"),
            ("pages_per_block", "8"),
            ("ftl.zrwa_size", "64KiB"),
            ("ftl.zrwa_granularity", "16KiB"),
            ("precondition", "empty"),
            ("host.queue_depth", "1"),
            ("buffer.bytes", buffer),
        ];
        let result = generated("window=64KiB,finish_at=0.75", &settings, None).expect("legal");
        let count = |name| result.pointer(name).and_then(Value::as_u64).expect("a count");
        ["/zones/zrwa/committed_pages", "/zones/padded_pages"].map(count)
    };
    let without = of("0");
    assert!(without[0] > 500 && without[1] > 50, "{without:?}");
    assert_eq!(without, of("64KiB"));
}

#[test]
fn zones_with_worn_blocks_are_lost_one_by_one() {
    let worn = [
        ("ageing.kind", "power-law"),
        ("ageing.cycles", "2500"),
        ("ageing.spread", "0.5"),
        ("ageing.retire", "6"),
        ("precondition", "empty"),
    ];
    let result = generated("finish_at=0.75", &worn, None).expect("legal");
    let zones = &result["zones"];
    let lost = |state: &str| zones["states"].get(state).and_then(Value::as_u64).unwrap_or(0);
    let (lost, retired) = (lost("read_only") + lost("offline"), number(&result, "/ageing/retired_blocks"));
    assert!((1..64).contains(&lost), "{zones}");
    assert!((retired - 8.0 * lost as f64).abs() < 0.5, "a zone has eight blocks: {retired}, {zones}");
    assert_eq!(zones["states"]["read_only"], json!(1), "{zones}");
    assert!(zones["errors"]["zone_read_only"].as_u64() > Some(0), "{zones}");
}

/// Behind a log of the host a zone with a worn block is collected, and then offline: the drive has a spare block less.
#[test]
fn worn_blocks_leave_zones_behind_a_log_of_the_host() {
    let aged = [
        ("capacity", "8MiB"),
        ("channels", "1"),
        ("pages_per_block", "16"),
        ("op_ratio", "0.6"),
        ("precondition", "full"),
        ("ftl.kind", "zones"),
        ("ageing.kind", "power-law"),
        ("ageing.cycles", "4500"),
        ("ageing.spread", "0.4"),
        ("ageing.retire", "6"),
    ];
    let result = run("random:span=8MiB,size=4KiB,count=8000,write=0.9", &aged);
    let (retired, offline) =
        (number(&result, "/ageing/retired_blocks"), number(&result, "/zones/states/offline"));
    assert!(retired > 20.0 && result["ageing"]["read_only"].is_null(), "{}", result["ageing"]);
    assert!((retired - offline).abs() < 0.5, "each was a zone: {retired}, {}", result["zones"]);
}
