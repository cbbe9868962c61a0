//! Replays to files and simulated drives: every request is in the log, whatever ends the replay.

use std::path::PathBuf;

use flashweir_trace::format::{Options, Trace};
use flashweir_trace::{LogRecord, Op};

use super::*;
use crate::ErrorKind;

/// A folder with a trace of timed requests: `count`, 20 us apart.
struct Rig {
    folder: tempfile::TempDir,
    trace: PathBuf,
}

impl Rig {
    fn new(count: u64) -> Self {
        Self::with(|number| (if number % 3 == 0 { "Write" } else { "Read" }, number % 200 * 4096), count)
    }

    fn with(request: impl Fn(u64) -> (&'static str, u64), count: u64) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let trace = folder.path().join("trace.msr.csv");
        let line = |number: u64| {
            let (op, offset) = request(number);
            format!("{},host,0,{op},{offset},4096,0\n", 128_166_372_000_000_000 + number * 200)
        };
        std::fs::write(&trace, (0..count).map(line).collect::<String>()).expect("written");
        Self { folder, trace }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn spec(&self, target: &str) -> ReplaySpec {
        let target = if target.starts_with("sim:") { target.into() } else { self.name(target) };
        ReplaySpec {
            trace: self.name("trace.msr.csv"),
            target,
            size: Some("4MiB".into()),
            log: Some(self.path("log.parquet")),
            ..ReplaySpec::default()
        }
    }

    fn name(&self, name: &str) -> String {
        self.path(name).to_str().expect("a name").to_owned()
    }
}

fn go(spec: &ReplaySpec) -> Result<Value, Error> {
    replay(spec, &mut |_| true)
}

fn read_log(path: &Path) -> Vec<LogRecord> {
    let mut trace = Trace::open(path, &Options::default()).expect("a log");
    let mut records = Vec::new();
    while trace.read_log(&mut records, 1000).expect("read") {}
    assert_eq!(trace.report().clamped_times, 0, "by time");
    records
}

#[test]
fn a_file_and_a_simulated_drive_give_the_same_log() {
    let rig = Rig::new(2000);
    let key = |record: &LogRecord| (record.request.op as u8, record.request.lba, record.request.sectors);
    let mut both = Vec::new();
    for target in ["file", "sim:slc-2006,capacity=4MiB,op_ratio=0.3"] {
        let spec = rig.spec(target);
        let done = go(&spec).expect("replayed");
        assert_eq!(done["requests"], 2000);
        assert_eq!(done["by_op"]["write"], 667);
        assert!(done["elapsed_s"].as_f64().is_some_and(|seconds| seconds >= 0.039), "{done}");
        let log = read_log(&rig.path("log.parquet"));
        let dues: Vec<u64> = log.iter().filter_map(|record| record.due_ns).collect();
        assert_eq!((dues.len(), dues[0]), (2000, 0));
        assert!(dues.windows(2).all(|pair| pair[1] - pair[0] == 20_000), "due times are the trace's");
        assert!(
            log.iter()
                .all(|record| record.issue_ns >= record.due_ns && record.completion_ns >= record.issue_ns)
        );
        both.push(log.iter().map(key).collect::<Vec<_>>());
        assert!(!journal_of(&rig.path("log.parquet")).exists());
        std::fs::remove_file(rig.path("log.parquet")).expect("there");
    }
    assert_eq!(both[0], both[1]);
    assert_eq!(rig.path("file").metadata().expect("made").len(), 4 << 20);
}

#[test]
fn closed_loops_scales_and_choices_act() {
    let rig = Rig::new(600);
    let sim = rig.spec("sim:slc-2006,capacity=4MiB,op_ratio=0.3");
    let closed = ReplaySpec { timing: Pace::Closed, depth: Some(4), ..sim.clone() };
    let done = go(&closed).expect("replayed");
    assert_eq!((&done["max_outstanding"], &done["lateness_us"]), (&json!(4), &Value::Null));
    std::fs::remove_file(rig.path("log.parquet")).expect("there");
    let slow = go(&ReplaySpec { scale: 10.0, log: None, ..sim.clone() }).expect("replayed");
    assert!((slow["planned_s"].as_f64().expect("a number") - 0.1198).abs() < 1e-9, "{slow}");
    let reads = ReplaySpec { only: Some("read".into()), limit: Some(100), log: None, ..sim.clone() };
    let done = go(&reads).expect("replayed");
    assert_eq!((&done["requests"], &done["by_op"]["write"]), (&json!(100), &json!(0)));
    for (wrong, part) in [
        (ReplaySpec { scale: -1.0, ..sim.clone() }, "scale"),
        (ReplaySpec { scale: 2.0, timing: Pace::Asap, ..sim.clone() }, "timing original"),
        (ReplaySpec { depth: Some(0), ..sim.clone() }, "at least 1"),
        (ReplaySpec { engine: Engine::Sync, depth: Some(2), ..sim.clone() }, "io_uring"),
        (ReplaySpec { until_steady: true, ..sim.clone() }, "snia or random"),
        (ReplaySpec { trace: "random:count=10".into(), ..sim.clone() }, "asap or closed"),
        (ReplaySpec { target: sim.trace.clone(), ..sim.clone() }, "another file than the trace"),
        (ReplaySpec { log: Some(rig.trace.clone()), ..sim.clone() }, "a file of its own"),
        (ReplaySpec { only: Some("reads".into()), ..sim.clone() }, "read, write, trim and flush"),
        (ReplaySpec { size: Some("many".into()), ..rig.spec("file") }, "size"),
    ] {
        let error = go(&wrong).expect_err(part);
        assert!(error.to_string().contains(part), "{part}: {error}");
        assert!(matches!(error.kind(), ErrorKind::Config | ErrorKind::Trace), "{error}");
    }
}

#[test]
fn what_was_too_slow_is_said() {
    let rig = Rig::new(600);
    let sim = ReplaySpec { log: None, ..rig.spec("sim:slc-2006,capacity=4MiB,op_ratio=0.3") };
    let done = go(&ReplaySpec { depth: Some(1), ..sim.clone() }).expect("replayed");
    assert_eq!(done["late_by_host"], 0);
    assert!(done["late_by_drive"].as_u64().is_some_and(|late| late > 300), "{done}");
    let said = done["warnings"][0].as_str().expect("a warning");
    assert!(said.starts_with("the drive and not the processor was the limit: 0 requests"), "{said}");
    let done = go(&ReplaySpec { scale: 1000.0, ..sim }).expect("replayed");
    assert_eq!((&done["late_by_drive"], &done["warnings"]), (&json!(0), &json!([])));
}

#[test]
fn requests_beyond_the_target_are_refused_before_anything_is_written_or_folded() {
    let rig = Rig::with(|number| ("Write", number << 20), 8);
    let spec = rig.spec("file");
    let error = go(&spec).expect_err("too small").to_string();
    assert!(
        error.contains("request 5, a write of sectors 8192 to 8200") && error.contains("--wrap"),
        "{error}"
    );
    assert!(!rig.path("file").exists() && !rig.path("log.parquet").exists());
    assert_eq!(go(&ReplaySpec { wrap: true, ..spec }).expect("replayed")["requests"], 8);
    assert!(read_log(&rig.path("log.parquet")).iter().all(|record| record.request.end() <= 8192));
}

#[test]
fn a_dry_run_says_everything_and_does_nothing() {
    let rig = Rig::new(600);
    let spec = ReplaySpec { dry_run: true, precondition: Method::Snia, ..rig.spec("file") };
    let plan = go(&spec).expect("a dry run");
    assert_eq!(plan["requests"], 600);
    assert_eq!(plan["bytes"]["write"], 200 * 4096);
    assert_eq!(plan["range_bytes"], json!([0, 200 * 4096]));
    assert_eq!((&plan["opens"], &plan["precondition_bytes"]), (&json!("to write"), &json!(8 << 20)));
    assert_eq!(plan["refused"], Value::Null);
    assert!(!rig.path("file").exists() && !journal_of(&rig.path("log.parquet")).exists());
    std::fs::write(rig.path("file"), vec![1; 8 << 20]).expect("written");
    let plan = go(&ReplaySpec { size: None, ..spec.clone() }).expect("a dry run");
    assert!(plan["refused"].as_str().is_some_and(|reason| reason.contains("not empty")), "{plan}");
    let erase = Some(rig.name("file"));
    assert_eq!(go(&ReplaySpec { size: None, erase, ..spec }).expect("a dry run")["refused"], Value::Null);
    assert_eq!(std::fs::read(rig.path("file")).expect("read"), vec![1; 8 << 20]);
}

#[test]
fn reading_needs_nobodys_leave_and_writing_does() {
    let rig = Rig::new(300);
    std::fs::write(rig.path("file"), vec![1; 8 << 20]).expect("written");
    let spec = ReplaySpec { size: None, ..rig.spec("file") };
    let error = go(&spec).expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::Device);
    assert!(!journal_of(&rig.path("log.parquet")).exists());
    go(&ReplaySpec { only: Some("read".into()), ..spec.clone() }).expect("only read");
    assert_eq!(std::fs::read(rig.path("file")).expect("read"), vec![1; 8 << 20]);
    let erase = Some(rig.name("file"));
    std::fs::remove_file(rig.path("log.parquet")).expect("there");
    go(&ReplaySpec { erase, ..spec }).expect("named");
    assert_ne!(std::fs::read(rig.path("file")).expect("read"), vec![1; 8 << 20]);
}

#[test]
fn whoever_stops_a_replay_has_a_log_of_what_was_done() {
    let rig = Rig::new(400_000);
    let spec = rig.spec("file");
    let mut calls = 0;
    let stopped = replay(&spec, &mut |state| {
        calls += u32::from(state.phase == Phase::Run && state.done > 0);
        calls < 2
    });
    let error = stopped.expect_err("stopped");
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    let log = read_log(&rig.path("log.parquet"));
    assert!(!log.is_empty() && log.len() < 400_000);
    let message =
        format!("{} of 400000 requests are done, and {} has them", log.len(), rig.name("log.parquet"));
    assert!(error.to_string().contains(&message), "{error}");
    assert!(!journal_of(&rig.path("log.parquet")).exists());
}

#[test]
fn a_journal_that_was_left_is_recovered_and_never_replaced() {
    let rig = Rig::new(100);
    let spec = rig.spec("sim:slc-2006,capacity=4MiB,op_ratio=0.3");
    go(&spec).expect("replayed");
    let expected = read_log(&rig.path("log.parquet"));
    // A killed replay leaves the journal only.
    let mut journal = log::create(spec.log.as_deref()).expect("created").expect("wanted");
    let mut by_end = expected.clone();
    by_end.sort_by_key(|record| record.completion_ns);
    for record in &by_end[..60] {
        journal.0.push(record).expect("written");
    }
    // As long as its writer lives, nobody else touches it.
    let message = recover(&rig.path("log.parquet")).expect_err("is written").to_string();
    let owner = format!("process {}", std::process::id());
    assert!(message.contains(&owner) && message.contains("is writing to it"), "{message}");
    let message = go(&spec).expect_err("is written").to_string();
    assert!(message.contains(&owner) && !message.contains("--recover"), "{message}");
    drop(journal);
    std::fs::remove_file(rig.path("log.parquet")).expect("there");
    let error = go(&spec).expect_err("something is there").to_string();
    assert!(error.contains("--recover"), "{error}");
    let seen = read_log(&journal_of(&rig.path("log.parquet")));
    assert_eq!(seen.len(), 60, "read as it is");
    let (log, requests) = recover(&rig.path("log.parquet")).expect("recovered");
    assert_eq!((log.as_path(), requests), (rig.path("log.parquet").as_path(), 60));
    assert_eq!(read_log(&log), seen);
    assert!(seen.iter().all(|record| expected.contains(record)));
    assert!(recover(&rig.path("log.parquet")).expect_err("nothing is left").to_string().contains("killed"));
}

#[test]
fn a_trace_that_can_not_be_read_further_leaves_what_was_done() {
    let rig = Rig::new(5000);
    let text = std::fs::read_to_string(&rig.trace).expect("read");
    std::fs::write(&rig.trace, format!("{text}nonsense\n")).expect("written");
    let error = go(&rig.spec("sim:slc-2006,capacity=4MiB,op_ratio=0.3")).expect_err("a bad line");
    assert_eq!(error.kind(), ErrorKind::Trace);
    assert!(!rig.path("log.parquet").exists(), "found before anything was done");
}

#[test]
fn preconditioning_is_reported() {
    let rig = Rig::new(100);
    let sim = rig.spec("sim:slc-2006,capacity=8MiB,op_ratio=0.2");
    let spec = ReplaySpec { precondition: Method::Random, until_steady: true, log: None, ..sim };
    let mut phases = Vec::new();
    let done = replay(&spec, &mut |state| {
        phases.push(state.phase);
        true
    });
    let done = done.expect("replayed");
    assert_eq!(done["preconditioned"]["method"], "random");
    assert_eq!(done["preconditioned"]["steady"], true);
    assert!(done["preconditioned"]["rounds"].as_array().is_some_and(|rounds| rounds.len() >= 5));
    assert_eq!(done["requests"], 100);
    let all = go(&ReplaySpec { precondition: Method::Snia, ..rig.spec("file") }).expect("replayed");
    assert_eq!(all["preconditioned"]["bytes"], 8 << 20);
}

#[test]
fn every_operation_is_executed_on_files() {
    let rig = Rig::new(0);
    let trace = rig.name("ops.fio");
    let lines = "fio version 3 iolog\n0 d add\n0 d open\n1000 d write 0 4096\n2000 d sync\n3000 d trim 0 4096\n\
                 4000 d datasync\n5000 d read 0 4096\n6000 d close\n";
    std::fs::write(&trace, lines).expect("written");
    for engine in [Engine::IoUring, Engine::Sync] {
        let target = rig.name(&format!("{engine:?}"));
        let spec = ReplaySpec { trace: trace.clone(), target, engine, log: None, ..rig.spec("x") };
        let done = go(&spec).expect("replayed");
        let count = |op: Op| done["by_op"][op.name()].as_u64();
        assert_eq!(
            [count(Op::Read), count(Op::Write), count(Op::Trim)],
            [Some(1), Some(1), Some(1)],
            "{done}"
        );
        assert_eq!(count(Op::Flush), Some(2));
    }
}
