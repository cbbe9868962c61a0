//! Several tenants on one drive: what options and mixes do to their requests.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use flashweir_run::{
    RunSpec, TraceOptions, Traces, WorkloadSpec, plan, simulate, simulate_sharing, trace_info,
};
use flashweir_trace::format::{Options, Trace};
use flashweir_trace::{Op, Request};
use serde_json::{Value, json};

const MIB: u64 = 1 << 20;
const DRIVE: [(&str, &str); 3] = [("capacity", "64MiB"), ("pages_per_block", "16"), ("host.mode", "open")];

fn spec(workloads: Vec<WorkloadSpec>, settings: &[(&str, &str)]) -> RunSpec {
    RunSpec {
        workloads,
        overrides: DRIVE.iter().chain(settings).map(|(key, value)| ((*key).into(), json!(value))).collect(),
        ..RunSpec::default()
    }
}

fn workload(given: Value) -> WorkloadSpec {
    serde_json::from_value(given).expect("a workload")
}

fn mix(path: &Path) -> Vec<WorkloadSpec> {
    vec![WorkloadSpec { spec: format!("mix:{}", path.display()).into(), ..WorkloadSpec::default() }]
}

fn quiet(run: &RunSpec) -> Result<Value, String> {
    let mut result = simulate(run, &mut |_| true).map_err(|error| error.to_string())?;
    result.as_object_mut().expect("an object").retain(|key, _| !key.ends_with("wall_s"));
    Ok(result)
}

/// The requests of a run as the drive saw them.
fn requests(run: &RunSpec) -> Vec<Request> {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log.parquet");
    simulate(&RunSpec { requests: Some(log.clone().into()), ..run.clone() }, &mut |_| true)
        .expect("a result");
    let mut found = Vec::new();
    let mut trace = Trace::open(&log, &Options::default()).expect("a log");
    while trace.read(&mut found, 1000).expect("a log") {}
    found.sort_by_key(|request| (request.time_ns, request.stream, request.lba));
    found
}

/// A trace of MSR's table: requests `gap_us` apart, alternately writes and reads, from `first_s` seconds after 2007.
fn trace(folder: &Path, name: &str, first_s: u64, count: u64, gap_us: u64) -> PathBuf {
    let mut text = String::new();
    for at in 0..count {
        let ticks = 128_116_512_000_000_000 + first_s * 10_000_000 + at * gap_us * 10;
        let op = if at.is_multiple_of(2) { "Write" } else { "Read" };
        writeln!(text, "{ticks},h,0,{op},{},8192,1", at * 7919 % 30_000 * 4096).expect("text");
    }
    let path = folder.join(name);
    std::fs::write(&path, text).expect("written");
    path
}

fn file(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("written");
    path
}

#[test]
fn options_do_to_a_workload_what_they_say() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = trace(folder.path(), "a.csv", 0, 100, 1000);
    let given = json!({"spec": path, "time_scale": "1/3", "start": "7ms", "volume": "2MiB", "offset": "1MiB",
        "ops": "write", "limit": 20, "format": "msr"});
    let found = requests(&spec(vec![workload(given)], &[]));
    assert_eq!(found.len(), 20);
    for (at, request) in (0..).zip(&found) {
        assert_eq!((request.op, request.time_ns), (Op::Write, 7_000_000 + at * 2_000_000 / 3));
        let start = at * 2 * 7919 % 30_000 * 8 % 4096;
        assert_eq!(request.lba, 2048 + start.min(4096 - 16));
    }
    // As a number, and as text.
    let scaled = |scale: Value| {
        quiet(&spec(vec![workload(json!({"spec": path, "time_scale": scale, "volume": MIB}))], &[]))
            .expect("a result")
    };
    assert_eq!(scaled(json!(0.25))["latency_us"], scaled(json!("1/4"))["latency_us"]);
}

#[test]
fn a_workload_lasts_as_long_as_it_should() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = trace(folder.path(), "a.csv", 0, 100, 1000);
    for (more, last_ns) in [
        (json!({}), 3_000_000_000u64),
        (json!({"time_scale": "0.5"}), 1_500_000_000),
        (json!({"ops": "write", "limit": 10}), 3_000_000_000),
    ] {
        let mut given = json!({"spec": path, "duration": "3s", "volume": "8MiB"});
        given.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        let run = spec(vec![workload(given)], &[]);
        assert_eq!(requests(&run).last().expect("requests").time_ns, last_ns, "{more}");
        let shared = simulate_sharing(&run, Some(&Traces::default()), None, &mut |_| true).expect("a result");
        assert_eq!(shared["latency_us"], quiet(&run).expect("a result")["latency_us"]);
    }
}

#[test]
fn a_mix_is_its_tenants() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = trace(folder.path(), "a.csv", 0, 100, 1000);
    let generated = "random:span=4MiB,count=200,write=0.5,rate=1000";
    let text = format!(
        "time_scale = 0.5\nvolumes = \"shared\"\n[tenants.web]\nworkload = \"a.csv\"\nvolume = \"8MiB\"\n\
         [tenants.db]\nworkload = \"{generated}\"\ntime_scale = \"1/3\"\nstart = \"1ms\"\n"
    );
    let toml = file(folder.path(), "m.toml", &text);
    let tenants = json!({"web": {"workload": "a.csv", "volume": "8MiB"},
        "db": {"workload": generated, "time_scale": "1/3", "start": "1ms"}});
    let whole = json!({"time_scale": "1/2", "volumes": "shared", "tenants": tenants}).to_string();
    let json_file = file(folder.path(), "m.json", &whole);
    let by_hand = vec![
        workload(json!({"name": "web", "spec": path, "time_scale": "0.5", "volume": "8MiB"})),
        workload(json!({"name": "db", "spec": generated, "time_scale": "1/6", "start": "1ms"})),
    ];
    let expected = requests(&spec(by_hand, &[]));
    for path in [toml, json_file] {
        let run = spec(mix(&path), &[]);
        assert_eq!(requests(&run), expected);
        let result = quiet(&run).expect("a result");
        assert_eq!(result["streams"]["db"]["stream"], 1);
        assert_eq!(result["workloads"][0]["name"], "web");
        assert_eq!(result["workloads"][1]["options"]["time_scale"], "1/6");
    }
}

#[test]
fn separate_volumes_are_disjoint_and_cover_the_drive_evenly() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut text = String::new();
    for (rank, volume) in ["", "volume = \"10MiB\"", "", "volume = \"5KiB\""].iter().enumerate() {
        trace(folder.path(), &format!("{rank}.csv"), 0, 500, 100);
        writeln!(text, "[tenants.t{rank}]\nworkload = \"{rank}.csv\"\n{volume}").expect("text");
    }
    let run = spec(mix(&file(folder.path(), "m.toml", &text)), &[("precondition", "steady")]);
    let mut ranges = [(u64::MAX, 0); 4];
    for request in requests(&run) {
        let range = &mut ranges[usize::from(request.stream)];
        *range = (range.0.min(request.lba), range.1.max(request.end()));
    }
    assert!(ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{ranges:?}");
    let pages = |bytes: u64| bytes / 4096;
    let share = (pages(64 * MIB) - pages(10 * MIB) - 2) / 2 * 8;
    let starts = [0, share, share + pages(10 * MIB) * 8, 2 * share + pages(10 * MIB) * 8];
    for (range, start) in ranges.iter().zip(starts) {
        assert!(range.0 >= start && range.0 < start + share, "{ranges:?}, {starts:?}");
    }
    assert!(ranges[3].1 <= 64 * MIB / 512);
}

#[test]
fn traces_stay_apart_as_they_were_recorded_if_asked_to() {
    let folder = tempfile::tempdir().expect("a folder");
    trace(folder.path(), "late.csv", 5, 10, 1000);
    trace(folder.path(), "early.csv", 2, 10, 1000);
    let tenants = "[tenants.late]\nworkload = \"late.csv\"\n[tenants.early]\nworkload = \"early.csv\"\nstart = \"1s\"\n";
    let first = |head: &str| {
        let path = file(folder.path(), "m.toml", &format!("{head}\n{tenants}"));
        let found = requests(&spec(mix(&path), &[]));
        [0, 1].map(|stream| {
            found.iter().find(|one| one.stream == stream).expect("requests").time_ns / 1_000_000
        })
    };
    // A run's log begins at its first request, so times are held against that.
    let apart = |[late, early]: [u64; 2]| i128::from(late) - i128::from(early);
    assert_eq!(apart(first("align = \"clock\"")), 2000);
    assert_eq!(apart(first("align = \"clock\"\ntime_scale = \"1/10\"")), 300 - 1000);
    assert_eq!(apart(first("align = \"start\"")), -1000);
}

#[test]
fn steady_state_is_that_of_the_tenants_own_addresses() {
    // All that is ever written is a quarter of the drive: its other pages leave a steady drive nothing to move.
    let run = |volume: &str| {
        let given = json!({"spec": "random:span=64MiB,size=4KiB,count=4000,rate=100", "volume": volume});
        let settings = [("precondition", "steady"), ("op_ratio", "0.1")];
        quiet(&spec(vec![workload(given)], &settings)).expect("a result")
    };
    let amplification = |result: Value| result["write_amplification"].as_f64().expect("it writes");
    assert!(amplification(run("4MiB")) < amplification(run("64MiB")) - 0.5);
}

#[test]
fn a_plan_holds_what_a_mix_comes_to() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = trace(folder.path(), "a.csv", 0, 100, 1000);
    let mix_file = file(
        folder.path(),
        "m.toml",
        "[tenants.a]\nworkload = \"a.csv\"\n[tenants.b]\nworkload = \"random:count=5,rate=1,span=1MiB\"\nlimit = 3\n",
    );
    let planned = plan(&spec(mix(&mix_file), &[])).expect("a plan");
    assert_eq!(planned["workloads"][0]["path"], json!(path));
    assert_eq!(planned["workloads"][0]["options"], json!({"volume": "32MiB"}));
    assert_eq!(planned["workloads"][1]["options"], json!({"volume": "32MiB", "offset": "32MiB", "limit": 3}));
    let one =
        plan(&spec(vec![workload(json!({"spec": "random:count=5,rate=1,span=1MiB", "limit": 3}))], &[]));
    assert_eq!(one.expect("a plan")["requests"], 3);
}

#[test]
fn a_mix_says_what_it_holds() {
    let folder = tempfile::tempdir().expect("a folder");
    trace(folder.path(), "a.csv", 0, 101, 1000);
    let text = "[tenants.a]\nworkload = \"a.csv\"\ntime_scale = 2\n\
                [tenants.b]\nworkload = \"a.csv\"\nops = \"write\"\nlimit = 19\nstart = \"1s\"\n";
    let path = PathBuf::from(format!("mix:{}", file(folder.path(), "m.toml", text).display()));
    let found = trace_info(&path, &TraceOptions::default(), &mut |_| true).expect("a mix");
    assert_eq!(
        (&found["requests"], &found["reads"], &found["duration_s"]),
        (&json!(120), &json!(50), &json!(1.036))
    );
    let [a, b] = ["a", "b"].map(|name| &found["tenants"][name]);
    assert_eq!(
        (&a["duration_s"], &a["read_ratio"], &a["bytes"]),
        (&json!(0.2), &json!(50.0 / 101.0), &json!(101 * 8192))
    );
    assert_eq!(
        (&b["first_s"], &b["duration_s"], &b["share"]),
        (&json!(1.0), &json!(0.036), &json!(19.0 / 120.0))
    );
}

const A: &str = "[tenants.a]\nworkload = \"a.csv\"\n";

/// A folder with traces of many requests, of one, and without dates.
fn traces() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    trace(folder.path(), "a.csv", 0, 10, 1000);
    trace(folder.path(), "one.csv", 0, 1, 1000);
    file(folder.path(), "b.spc", "0,1,4096,w,0.1\n0,2,4096,w,0.2\n");
    folder
}

/// Each mix is refused with one line that holds this.
fn refused(folder: &Path, cases: &[(String, &str)]) {
    for (text, expected) in cases {
        let path = file(folder, "m.toml", text);
        let found = quiet(&spec(mix(&path), &[])).expect_err(expected);
        assert!(found.contains(expected) && !found.contains('\n'), "{found}\nexpected {expected}");
        let of_run = found.starts_with("workload ");
        assert!(of_run || found.starts_with(&path.display().to_string()), "{found}");
    }
}

#[test]
fn what_makes_no_mix_is_said_in_one_line() {
    let (folder, a) = (traces(), A);
    let mut many = String::new();
    (0..65_536).for_each(|at| writeln!(many, "[tenants.t{at}]\nworkload='a.csv'").expect("text"));
    let cases = [
        ("volmes = \"shared\"\n".to_owned() + a, "volmes: unknown key; expected one of align,"),
        (format!("{a}scale = 1\n"), "tenants.a: scale: unknown key; expected one of workload,"),
        (String::new(), "tenants: expected tables"),
        ("[tenants]\n".into(), "tenants: expected tables"),
        (format!("{a}{a}"), "line 3: duplicate key"),
        (
            "{\"tenants\": {\"a\": {\"workload\": \"a.csv\"},\n\"a\": {}}}".into(),
            "key \"a\" is there twice at line 2",
        ),
        ("[tenants.a]\nlimit = 3\n".into(), "tenants.a: workload: expected a trace file or a generator"),
        ("[tenants.a]\nworkload = \"none.csv\"\n".into(), "tenants.a: workload \"none.csv\": no such file"),
        ("[tenants.a]\nworkload = \"mix:m.toml\"\n".into(), "a mix holds no mixes"),
        (format!("volumes = \"own\"\n{a}"), "volumes \"own\": expected separate or shared"),
        ("tenants = 3\n".into(), "tenants = 3: expected tables"),
        (many, "tenants: 65536 workloads: expected at most 65535"),
        ("[tenants.a\n".into(), "line 1: "),
    ];
    refused(folder.path(), &cases);
    let absent = quiet(&spec(mix(&folder.path().join("none.toml")), &[])).expect_err("absent");
    assert!(absent.contains("none.toml: No such file"), "{absent}");
}

#[test]
fn options_of_a_tenant_that_make_no_sense_are_said_in_one_line() {
    let (folder, a) = (traces(), A);
    let of = |text: &str| format!("{a}{text}\n");
    let cases = [
        (of("time_scale = 0"), "tenants.a: time_scale \"0\": expected a number above 0"),
        (
            format!("time_scale = 0\n{a}"),
            "tenants.a: time_scale \"0\" of all tenants: expected a number above 0",
        ),
        (of("time_scale = nan"), "tenants.a: time_scale = null: expected a text or a number"),
        (of("start = \"soon\""), "tenants.a: start \"soon\": expected a time"),
        (of("ops = \"reads\""), "tenants.a: ops \"reads\": expected a list of operations"),
        (of("limit = 0"), "tenants.a: limit 0: expected at least 1"),
        (of("limit = \"3\""), "tenants.a: limit = \"3\": expected a whole number"),
        (of("align = \"end\""), "tenants.a: align \"end\": expected start or clock"),
        (of("offset = \"1MiB\""), "tenants.a.offset: expected volumes = \"shared\""),
        (of("volume = \"1000\""), "tenants.a: volume \"1000\": expected a size in whole sectors"),
        (of("volume = \"512B\""), "tenants.a: volume 512B: smaller than a page of the drive, 4KiB"),
        (of("volume = \"65MiB\""), "tenants.a: volume 65MiB: larger than the drive, which has"),
        (
            format!("{}[tenants.b]\nworkload = \"a.csv\"\n", of("volume = \"64MiB\"")),
            "2 tenants: their volumes take 64MiB, which leaves less than a page",
        ),
        (
            "[tenants.a]\nworkload = \"random:cuont=1\"\n".into(),
            "tenants.a: workload key \"cuont\": no such key",
        ),
        (
            "[tenants.a]\nworkload = \"random:count=1,span=1MiB\"\nstart = \"1s\"\n".into(),
            "tenants.a: start: expected requests with times",
        ),
        (
            "[tenants.a]\nworkload = \"random:count=1,span=1MiB\"\nskip_bad = 1\n".into(),
            "expected a trace: a generator has no format",
        ),
        ("duration = \"1h\"\n[tenants.one]\nworkload = \"one.csv\"\n".into(), "workload one: duration"),
        (
            format!("align = \"clock\"\nduration = \"1h\"\n{a}"),
            "expected align = start: stretched one by one",
        ),
        (
            format!("align = \"clock\"\n{a}[tenants.b]\nworkload = \"b.spc\"\n"),
            "workload b: align = clock needs a trace whose times count from a known date",
        ),
    ];
    refused(folder.path(), &cases);
}

#[test]
fn options_without_effect_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = file(folder.path(), "m.toml", "[tenants.a]\nworkload = \"random:count=5,span=1MiB\"\n");
    let named = WorkloadSpec { name: Some("x".into()), ..mix(&path).remove(0) };
    let optioned = WorkloadSpec { limit: Some(3), ..mix(&path).remove(0) };
    let timed = workload(json!({"spec": "random:count=5,span=1MiB,rate=10", "time_scale": 2}));
    let cases = [
        (spec(vec![named], &[]), "expected the mix alone and without a name"),
        (spec(vec![mix(&path).remove(0), timed.clone()], &[]), "expected the mix alone"),
        (spec(vec![optioned], &[]), "expected options in the mix"),
        (
            spec(vec![timed], &[("host.mode", "closed")]),
            "time_scale: host.mode = closed takes requests as fast",
        ),
        (
            RunSpec { timeline: Some(path.clone().into()), ..spec(mix(&path), &[]) },
            "is read or written already",
        ),
    ];
    for (run, expected) in cases {
        let found = quiet(&run).expect_err(expected);
        assert!(found.contains(expected), "{found}");
        if run.timeline.is_none() {
            assert_eq!(plan(&run).expect_err(expected).to_string(), found);
        }
    }
    let unknown = serde_json::from_value::<WorkloadSpec>(json!({"spec": "random", "tiem_scale": 1}));
    assert!(unknown.expect_err("unknown").to_string().contains("tiem_scale"));
}

#[test]
fn every_read_of_a_mix_of_recorded_traces_is_the_last_write() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/traces");
    let names =
        ["msr-hm_0-first1000.msr.csv.zst", "msr-web_3.msr-excel.tsv.zst", "fiu-mail_cheetah_9997.fiu.zst"];
    if !names.iter().all(|name| folder.join(name).exists()) {
        return;
    }
    for volumes in ["separate", "shared"] {
        let mut text = format!("volumes = \"{volumes}\"\nduration = \"2s\"\n");
        for (rank, name) in names.iter().enumerate() {
            let path = folder.join(name);
            writeln!(
                text,
                "[tenants.t{rank}]\nworkload = \"{}\"\nlimit = 5000\nvolume = \"16MiB\"",
                path.display()
            )
            .expect("text");
        }
        let scratch = tempfile::tempdir().expect("a folder");
        let run = spec(
            mix(&file(scratch.path(), "m.toml", &text)),
            &[("precondition", "full"), ("op_ratio", "0.1")],
        );
        let result = quiet(&RunSpec { verify: true, ..run }).expect("verified");
        assert_eq!(result["streams"].as_object().expect("streams").len(), 3);
        assert_eq!(result["workloads"][2]["options"]["duration"], "2s");
    }
}
