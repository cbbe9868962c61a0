//! A simulated target is the drive that `simulate` runs.

use flashweir_run::RunSpec;
use flashweir_ssd::config::layers::{Layer, resolve, to_value};
use flashweir_ssd::precondition::{Preconditioner, Step};
use flashweir_ssd::{Options, Simulation};
use flashweir_trace::Op;
use proptest::prelude::*;

use super::*;
use crate::open;

/// Small drives: each time path, with and without buffer, full and empty.
const DRIVES: [&str; 13] = [
    "",
    "precondition=full,op_ratio=0.2",
    "precondition=full,op_ratio=0.2,chips=2",
    "chips=2,planes=2,timing.bus=0,op_ratio=0.2",
    "buffer.bytes=16KiB,precondition=full,op_ratio=0.2",
    "buffer.bytes=16KiB,buffer.ack=flash",
    "alloc.kind=dynamic,precondition=full,op_ratio=0.3",
    "sched.kind=read-first,precondition=full,op_ratio=0.2",
    "sched.kind=suspend,sched.suspend_time=7us,sched.resume_time=5us",
    "engine=event,precondition=full,op_ratio=0.2",
    "clock=lock-step,buffer.bytes=32KiB,precondition=full,op_ratio=0.3",
    "ftl.kind=fast,gc.planner=selective-filling,buffer.bytes=64KiB,precondition=full,op_ratio=0.3",
    "ftl.kind=fast,precondition=full,op_ratio=0.3",
];
const SMALL: &str = "channels=2,capacity=2MiB,page=4KiB,pages_per_block=8";

fn settings(drive: &str) -> String {
    let own = drive.split(',').filter(|part| !part.is_empty());
    SMALL.split(',').chain(own).collect::<Vec<_>>().join(",")
}

fn target(drive: &str) -> SimTarget {
    let name = format!("sim:,{}", settings(drive));
    SimTarget::open(&name, &OpenOptions::default()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let op =
        prop::sample::select(vec![Op::Read, Op::Read, Op::Write, Op::Write, Op::Write, Op::Trim, Op::Flush]);
    let one = (op, 0..500u64, 1..40u32, 0..200_000u64);
    prop::collection::vec(one, 1..120).prop_map(|all| {
        let mut time_ns = 0;
        let numbered = all.into_iter().zip(0u16..);
        numbered
            .map(|((op, page, sectors, gap_ns), stream)| {
                time_ns += gap_ns;
                let (lba, sectors) = if op == Op::Flush { (0, 0) } else { (page * 8, sectors) };
                // The stream holds the number of the request: the drive gets stream 0.
                Request { time_ns, lba: lba % 4000, sectors, stream, op, handle: 0 }
            })
            .collect()
    })
}

/// (number, issue, completion), in the order of completion.
type Seen = Vec<(u16, u64, u64)>;

fn execute(target: &mut SimTarget, requests: &[Request], timing: Timing) -> Seen {
    let mut seen = Vec::new();
    let mut sink = |record: LogRecord| {
        assert_eq!(record.due_ns.is_some(), matches!(timing, Timing::Times { .. }));
        assert_eq!(Some(record.request.time_ns), record.due_ns.or(record.issue_ns));
        let times = (record.issue_ns.unwrap_or(0), record.completion_ns.unwrap_or(0));
        seen.push((record.request.stream, times.0, times.1));
        Ok(())
    };
    target.execute(&mut requests.iter().map(|request| Ok(*request)), timing, &mut sink).expect("executed");
    assert!(seen.is_sorted_by_key(|(_, _, end_ns)| *end_ns), "in the order of completion");
    seen
}

/// Results of a run of the simulator with the same requests, by number.
fn simulated(drive: &str, host: &str, requests: &[Request]) -> Seen {
    let text = format!("{},{host}", settings(drive));
    let pairs = text.split(',').filter_map(|part| part.split_once('='));
    let config = resolve(&[Layer::from_assignments("test", pairs)]).expect("a drive");
    let mut simulation =
        Simulation::new(&config, Options { seed: 1, ..Options::default() }).expect("a drive");
    let mut preconditioner = Preconditioner::new(config.precondition, simulation.geometry().logical_pages);
    while preconditioner.step(&mut simulation).expect("filled") != Step::Done {}
    simulation.end_of_preconditioning();
    simulation.keep_completions();
    let plain: Vec<Request> = requests.iter().map(|request| Request { stream: 0, ..*request }).collect();
    simulation.serve(&plain).expect("served");
    simulation.finish().expect("finished");
    let mut completions = Vec::new();
    simulation.take_completions(&mut completions);
    let seen = completions.iter();
    by_number(seen.map(|end| (end.number as u16, end.issue_ns, end.issue_ns + end.latency_ns)).collect())
}

fn by_number(mut seen: Seen) -> Seen {
    seen.sort_unstable();
    seen
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_closed_loop_is_the_one_of_a_run(
        drive in prop::sample::select(DRIVES.to_vec()),
        depth in prop::sample::select(vec![1u32, 2, 5, 16]),
        requests in requests(),
    ) {
        let seen = by_number(execute(&mut target(drive), &requests, Timing::Closed { depth }));
        prop_assert_eq!(seen, simulated(drive, &format!("host.queue_depth={depth}"), &requests), "{}", drive);
    }

    #[test]
    fn the_workloads_times_are_those_of_a_run(
        drive in prop::sample::select(DRIVES.to_vec()),
        scale in prop::sample::select(vec![1.0, 0.25, 3.0]),
        requests in requests(),
    ) {
        let seen = by_number(execute(&mut target(drive), &requests, Timing::Times { scale }));
        let host = format!("host.mode=open,host.time_scale={scale}");
        prop_assert_eq!(seen, simulated(drive, &host, &requests), "{}", drive);
    }

    #[test]
    fn several_calls_are_one(
        drive in prop::sample::select(DRIVES.to_vec()),
        cut in 0..120usize,
        requests in requests(),
    ) {
        let cut = cut.min(requests.len());
        let closed = Timing::Closed { depth: 1 };
        let whole = execute(&mut target(drive), &requests, closed);
        let mut parts = target(drive);
        let mut seen = execute(&mut parts, &requests[..cut], closed);
        seen.extend(execute(&mut parts, &requests[cut..], closed));
        prop_assert_eq!(seen, whole);
    }

    /// Times never go back, whatever the calls are, and a fork goes on as the drive does.
    #[test]
    fn calls_of_any_kind_follow_one_another(
        drive in prop::sample::select(DRIVES.to_vec()),
        steps in prop::collection::vec((requests(), 0..4u32, 0..1_000_000u64), 1..4),
    ) {
        let mut target = target(drive);
        let mut last_ns = 0;
        for (requests, kind, pause_ns) in steps {
            let timing = if kind == 0 { Timing::Times { scale: 0.5 } } else { Timing::Closed { depth: kind * kind } };
            target.pause(pause_ns).expect("paused");
            last_ns += pause_ns;
            prop_assert!(target.now_ns() >= last_ns);
            let mut fork = target.fork();
            let seen = execute(&mut target, &requests, timing);
            prop_assert_eq!(seen.len(), requests.len());
            prop_assert!(seen.iter().all(|(_, issue_ns, end_ns)| last_ns <= *issue_ns && issue_ns <= end_ns));
            prop_assert_eq!(&seen, &execute(&mut fork, &requests, timing));
            last_ns = seen.iter().map(|(.., end_ns)| *end_ns).max().unwrap_or(last_ns).max(last_ns);
            prop_assert!(target.now_ns() >= last_ns);
        }
    }
}

#[test]
fn with_a_limit_of_requests_under_way_the_others_are_late() {
    let options = OpenOptions { max_outstanding: 1, ..OpenOptions::default() };
    let mut target = SimTarget::open("sim:slc-2006,capacity=8MiB,op_ratio=0.3", &options).expect("opened");
    let request = |lba| Request { time_ns: 5, lba, sectors: 8, stream: lba as u16, op: Op::Write, handle: 0 };
    let seen = execute(&mut target, &[request(0), request(8)], Timing::Times { scale: 1.0 });
    assert_eq!(seen[0].1, 5);
    assert_eq!(seen[1].1, seen[0].2);
}

#[test]
fn a_buffer_keeps_what_waits_in_it_between_calls() {
    let mut target = target("buffer.bytes=16KiB");
    let write = Request { time_ns: 0, lba: 0, sectors: 8, stream: 0, op: Op::Write, handle: 0 };
    execute(&mut target, &[write], Timing::Closed { depth: 1 });
    target.pause(1 << 40).expect("paused");
    let read = Request { op: Op::Read, ..write };
    let seen = execute(&mut target, &[read], Timing::Closed { depth: 1 });
    assert_eq!(seen[0].1, seen[0].2, "from the buffer, at once");
    assert_eq!(target.counters().flash().programs, 0);
}

#[test]
fn names_say_preset_or_file_and_settings() {
    let config = |name: &str| config::parse(name).map_err(|error| error.to_string());
    let preset = RunSpec { device: Some("tlc".into()), ..RunSpec::default() }.config_with_open_arrivals();
    assert_eq!(config("sim:tlc"), Ok(preset.expect("preset").0));
    let fab = config("sim:tlc,buffer.bytes=1MiB,buffer.ack=flash,buffer.replacement=fab").expect("a drive");
    assert_eq!(to_value(&fab)["buffer"]["replacement"], "fab", "judged by a host with several requests");
    assert_eq!(config("sim:tlc,channels=2").map(|config| config.channels), Ok(2));
    assert_eq!(config("sim:").map(|config| config.channels), Ok(8));
    assert_eq!(config("sim:channels=3").map(|config| config.channels), Ok(3));
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("drive.toml");
    std::fs::write(&file, "channels = 5").expect("written");
    assert_eq!(config(&format!("sim:{},chips=3", file.display())).map(|config| config.channels), Ok(5));
    for (wrong, part) in [
        ("sim:tlcc", "no such preset or file"),
        ("sim:tlc,chanels=2", "did you mean"),
        ("sim:tlc,x", "KEY=VALUE"),
        ("sim:tlc,host.mode=open", "--depth or --timing"),
        ("sim:tlc,channels=0", "channels"),
    ] {
        let error = config(wrong).expect_err(wrong);
        assert!(error.contains(part) && error.lines().count() == 1, "{wrong}: {error}");
    }
}

#[test]
fn errors_and_wishes_to_stop_leave_no_request_out() {
    let options = OpenOptions::default();
    let mut target = open("sim:slc-2006,capacity=8MiB,op_ratio=0.3", &options).expect("opened");
    let request = |lba| Request { time_ns: 0, lba, sectors: 8, stream: 0, op: Op::Write, handle: 0 };
    let mut seen = 0;
    let mut requests = vec![Ok(request(0)), Ok(request(8)), Ok(request(1 << 40))].into_iter();
    let mut sink = |_| {
        seen += 1;
        Ok(())
    };
    let error = target.execute(&mut requests, Timing::Closed { depth: 8 }, &mut sink).expect_err("beyond");
    assert!(error.to_string().contains("beyond the drive"), "{error}");
    assert_eq!(seen, 2);
    let mut target = open("sim:slc-2006,capacity=8MiB,op_ratio=0.3", &options).expect("opened");
    let stop = options.stop.clone();
    let mut endless = (0u64..).map(|number| {
        if number == 100 {
            stop.ask();
        }
        Ok(request(number % 8))
    });
    let mut seen = 0;
    let mut sink = |_| {
        seen += 1;
        Ok(())
    };
    let error = target.execute(&mut endless, Timing::Closed { depth: 8 }, &mut sink).expect_err("stopped");
    assert!(matches!(error, Error::Cancelled { .. }), "{error}");
    assert_eq!(seen, 100);
}

#[test]
fn a_drive_with_zones_is_no_session() {
    let spec = |more: &str| crate::session::SessionSpec {
        target: format!("sim:mlc-2006,capacity=64MiB,op_ratio=0.5,ftl.kind=zones{more}"),
        erase: None,
        seed: 1,
        engine: crate::real::Engine::default(),
    };
    let refused = crate::session::Session::open(&spec(",ftl.host=none")).expect_err("zones").to_string();
    assert!(refused.contains("it has zones") && refused.contains("can be measured by"), "{refused}");
    // Above a log of the host any address is overwritten.
    crate::session::Session::open(&spec("")).expect("a log");
}
