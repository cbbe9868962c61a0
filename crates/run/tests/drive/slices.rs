//! Stepping in any slices equals `simulate` with open arrivals, bit for bit; forks are independent.

use flashweir_run::{Completion, Drive, DriveOptions, DriveSpec, RunSpec, WorkloadSpec, simulate};
use flashweir_trace::generate::Spec;
use flashweir_trace::transform::{Merge, Numbered};
use flashweir_trace::{Op, Request, Source};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{drive, poll, reloaded, request};

/// Settings of one dimension of a drive. The first of each is the default, which goes with everything.
type Choices<'a> = &'a [&'a [(&'a str, &'a str)]];

const DIMENSIONS: [Choices<'_>; 11] = [
    &[
        &[("channels", "2")],
        &[("channels", "1")],
        &[("channels", "3"), ("chips", "2")],
        &[("channels", "2"), ("dies", "2"), ("planes", "2")],
        &[("channels", "2"), ("planes", "2"), ("timing.bus", "0")],
    ],
    &[&[], &[("ftl.kind", "fast")], &[("ftl.kind", "bast")], &[("ftl.kind", "dftl"), ("op_ratio", "0.9")]],
    &[&[], &[("alloc.kind", "dynamic")], &[("alloc.order", "cdpw")], &[("alloc.kind", "superblock")]],
    &[
        &[],
        &[("buffer.bytes", "16KiB")],
        &[("buffer.bytes", "16KiB"), ("buffer.ack", "flash")],
        &[("buffer.bytes", "16KiB"), ("buffer.destage", "idle"), ("buffer.idle_after", "30us")],
        &[
            ("buffer.bytes", "64KiB"),
            ("buffer.destage", "marks"),
            ("buffer.high_mark", "0.4"),
            ("buffer.low_mark", "0.1"),
        ],
        &[("buffer.bytes", "16KiB"), ("buffer.destage", "eager")],
        &[("buffer.bytes", "64KiB"), ("buffer.destage", "age"), ("buffer.max_age", "70us")],
        &[("buffer.bytes", "64KiB"), ("buffer.replacement", "lru")],
    ],
    &[
        &[],
        &[("sched.kind", "read-first")],
        &[("sched.kind", "suspend"), ("sched.suspend_time", "7us"), ("sched.resume_time", "5us")],
        &[("sched.kind", "out-of-order"), ("sched.window", "3")],
    ],
    &[
        &[],
        &[("host.slots", "3")],
        &[("host.slots", "1"), ("host.arbitration", "round-robin")],
        &[("host.slots", "4"), ("host.arbitration", "weighted"), ("host.weights", "1,3")],
    ],
    &[
        &[],
        &[("gc.victim", "random")],
        &[("clock", "lock-step")],
        &[("gc.planner", "cycle-stealing")],
        &[("gc.planner", "super-data-block"), ("ftl.kind", "fast")],
        &[("alloc.kind", "dynamic"), ("tenants.channels", "ssdkeeper"), ("tenants.window_requests", "20")],
        &[("alloc.kind", "striped"), ("tenants.channels", "ssdkeeper"), ("tenants.window_requests", "20")],
    ],
    &[
        &[],
        &[("background.collect.after", "0ns"), ("background.collect.until", "9")],
        &[("background.collect.after", "70us"), ("background.collect.should_below", "3")],
        &[
            ("background.collect.should_below", "5"),
            ("background.collect.pace", "free"),
            ("background.collect.pace_max_copies", "3"),
        ],
        &[("background.level.after", "0ns"), ("wear.static_gap", "2")],
        &[("background.write_back.after", "90us")],
    ],
    &[
        &[],
        &[("slc.kind", "static"), ("nand.cell", "tlc")],
        &[("slc.kind", "dynamic"), ("nand.cell", "mlc"), ("slc.fold_after", "60us")],
        &[("slc.kind", "both"), ("nand.cell", "mlc"), ("slc.when_full", "direct"), ("slc.fold_after", "0ns")],
    ],
    &[
        &[],
        &[("host.link", "pcie3x1"), ("host.max_transfer", "4KiB"), ("host.submit_time", "2us")],
        &[("host.iops_limit", "2000"), ("host.iops_burst", "3")],
        &[("host.bytes_limit", "none,20MiB"), ("host.link", "sata3")],
        &[("host.latency_target", "200us,none"), ("host.latency_window", "2ms")],
        &[("host.link", "sata3"), ("host.queue_entries", "2"), ("host.complete_time", "1us")],
        &[("firmware.read_time", "20us"), ("firmware.cores", "2"), ("firmware.complete_time", "1us")],
        &[("host.doorbell", "3"), ("firmware.hmb_bytes", "4KiB"), ("firmware.hmb_miss_time", "3us")],
    ],
    &[&[("precondition", "full")], &[("precondition", "empty")], &[("engine", "event")]],
];

const BASE: [(&str, &str); 5] = [
    ("capacity", "2MiB"),
    ("page", "4KiB"),
    ("pages_per_block", "8"),
    ("op_ratio", "0.3"),
    ("host.mode", "open"),
];

/// A drive that exists: about half of its dimensions are the default.
fn drives() -> impl Strategy<Value = Vec<(&'static str, &'static str)>> {
    let choice = |choices: Choices<'static>| {
        prop_oneof![Just(choices[0]), prop::sample::select(choices.to_vec())].boxed()
    };
    let all: Vec<_> = DIMENSIONS.into_iter().map(choice).collect();
    all.prop_filter_map("no drive", |chosen| {
        let settings: Vec<_> = BASE.iter().chain(chosen.into_iter().flatten()).copied().collect();
        spec(&settings, 1).config().is_ok().then_some(settings)
    })
}

fn overrides(settings: &[(&str, &str)]) -> std::collections::BTreeMap<String, Value> {
    settings.iter().map(|(key, value)| ((*key).into(), json!(value))).collect()
}

fn names(tenants: usize) -> Vec<String> {
    (0..tenants).map(|tenant| format!("tenant {tenant}")).collect()
}

fn spec(settings: &[(&str, &str)], tenants: usize) -> DriveSpec {
    DriveSpec {
        overrides: overrides(settings),
        options: DriveOptions {
            seed: Some(7),
            verify: true,
            latency_parts: true,
            tenants: names(tenants),
            ..DriveOptions::default()
        },
        ..DriveSpec::default()
    }
}

/// A generator's text; requests come in bursts, many at one instant, if they come by a period.
fn workloads() -> impl Strategy<Value = Vec<String>> {
    let times = prop::sample::select(vec!["rate=2000", "rate=20000", "period=400us", "period=1ns"]);
    let one = (times, prop::sample::select(vec!["0.3", "0.7", "0.9"])).prop_map(|(times, write)| {
        format!(
            "random:span=2MiB,size=512B|4KiB|12KiB,align=512,count=150,write={write},trim=0.05,flush=0.03,{times}"
        )
    });
    prop::collection::vec(one, 1..3)
}

fn requests(workloads: &[String]) -> Vec<Request> {
    let sources = (0u16..).zip(workloads).map(|(stream, text)| {
        let spec = Spec::parse(text).expect("a spec").with_seed(7 + u64::from(stream));
        Box::new(Numbered::new(Box::new(spec.generator()) as Box<dyn Source + Send>, stream)) as Box<_>
    });
    let mut merged = Merge::new(sources.collect()).expect("sources");
    let mut requests = Vec::new();
    while merged.read(&mut requests, 64).expect("requests") {}
    requests
}

/// The result without what a stepped drive can't know: wall times, and where its requests come from.
fn comparable(mut result: Value) -> Value {
    let fields = result.as_object_mut().expect("an object");
    // A drive is given a configuration, from which settings without effect are gone.
    fields.retain(|key, _| !key.ends_with("wall_s") && key != "workloads" && key != "no_effect");
    result
}

fn simulated(settings: &[(&str, &str)], workloads: &[String]) -> Value {
    let named = names(workloads.len()).into_iter().zip(workloads);
    let run = RunSpec {
        workloads: named
            .map(|(name, spec)| WorkloadSpec {
                name: Some(name),
                spec: spec.clone().into(),
                ..WorkloadSpec::default()
            })
            .collect(),
        overrides: overrides(settings),
        seed: Some(7),
        verify: true,
        latency_parts: true,
        ..RunSpec::default()
    };
    comparable(simulate(&run, &mut |_| true).unwrap_or_else(|error| panic!("{settings:?}: {error}")))
}

/// One step of a caller: requests to submit, and how to go on.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Submits so many requests for their times, and goes nowhere.
    Submit(usize),
    /// Advances by so many quarters of the way to the next request that was not submitted.
    Advance(u64),
    /// Advances to the next completion before that.
    Complete,
    Poll,
    /// Goes on with a fork.
    Fork,
    /// Goes on with the drive that was saved and loaded.
    Save,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (1..40usize).prop_map(Step::Submit),
        (0..5u64).prop_map(Step::Advance),
        Just(Step::Complete),
        Just(Step::Poll),
        Just(Step::Fork),
        Just(Step::Save),
    ];
    prop::collection::vec(step, 1..60)
}

/// Takes the steps, over and over until all requests are submitted. Returns the completions and the result.
fn stepped(mut drive: Drive, requests: &[Request], steps: &[Step]) -> (Vec<Completion>, Value) {
    let (mut left, mut seen) = (requests, Vec::new());
    for step in steps.iter().cycle() {
        let Some(next) = left.first() else { break };
        match *step {
            Step::Submit(count) => {
                let (these, others) = left.split_at(count.min(left.len()));
                let first = (requests.len() - left.len()) as u64;
                let numbers = drive.submit(these).expect("submitted");
                assert_eq!(numbers, first..first + these.len() as u64);
                left = others;
            }
            Step::Advance(share) => {
                let way_ns = next.time_ns.saturating_sub(drive.now_ns());
                drive.advance_to(drive.now_ns() + way_ns * share / 4).expect("advanced");
            }
            Step::Complete => {
                let found = drive.advance_to_completion(next.time_ns).expect("advanced");
                assert!(found || drive.now_ns() == next.time_ns);
            }
            Step::Poll => drive.poll(&mut seen),
            Step::Fork => drive = drive.fork(),
            Step::Save => drive = reloaded(&drive),
        }
        assert!(drive.now_ns() <= next.time_ns);
        if !steps.iter().any(|step| matches!(step, Step::Submit(_))) {
            break;
        }
    }
    drive.submit(left).expect("submitted");
    let mut fork = drive.fork();
    assert!(fork.drain_while(&mut || true).expect("drained"));
    fork.poll(&mut seen);
    assert_eq!(fork.outstanding(), 0);
    (seen, comparable(drive.finish().expect("finished")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_slices_are_a_run_with_open_arrivals(drive in drives(), workloads in workloads(), steps in steps()) {
        let requests = requests(&workloads);
        let open = || Drive::open(&spec(&drive, workloads.len()), None, &mut |_| true).expect("a drive");
        let (seen, result) = stepped(open(), &requests, &steps);
        prop_assert_eq!(result, simulated(&drive, &workloads), "{:?}", drive);
        // Completions: each once, in the order of their ends, and the same in any other slices.
        prop_assert!(seen.is_sorted_by_key(|done| done.end_ns));
        let (mut seen, mut others) = (seen, stepped(open(), &requests, &[]).0);
        seen.sort_by_key(|done| done.number);
        others.sort_by_key(|done| done.number);
        prop_assert_eq!(seen.len(), requests.len());
        for (number, (done, asked)) in (0u64..).zip(seen.iter().zip(&requests)) {
            prop_assert_eq!((done.number, done.op, done.lba), (number, asked.op, asked.lba));
            prop_assert_eq!((done.sectors, done.stream, done.issue_ns), (asked.sectors, asked.stream, asked.time_ns));
        }
        prop_assert_eq!(seen, others);
    }
}

#[test]
fn a_fork_and_its_drive_do_not_see_each_other() {
    for settings in [&[][..], &[("chips", "2")], &[("clock", "lock-step"), ("buffer.bytes", "32KiB")]] {
        let settings = [&[("precondition", "full"), ("op_ratio", "0.3")], settings].concat();
        let mut one = drive(&settings);
        let warm: Vec<_> = (0..300).map(|at| request(Op::Write, at * 1000, at * 7 % 512)).collect();
        one.submit(&warm).expect("submitted");
        one.advance_to(150_000).expect("advanced");
        let (mut other, mut third) = (one.fork(), one.fork());
        let ask = |drive: &mut Drive, op| {
            let now_ns = drive.now_ns();
            let more: Vec<_> = (0..300).map(|at| request(op, now_ns + at * 500, at * 11 % 512)).collect();
            drive.submit(&more).expect("submitted");
            assert!(drive.drain_while(&mut || true).expect("drained"));
            poll(drive)
        };
        let first = ask(&mut one, Op::Write);
        let reads = ask(&mut other, Op::Read);
        assert_ne!(first, reads);
        assert_eq!(first, ask(&mut third, Op::Write), "{settings:?}");
        assert_eq!(one.counters(), third.counters());
        assert_eq!(comparable(one.finish().unwrap()), comparable(third.finish().unwrap()));
    }
}

/// Requests for later may be submitted in any order of time.
#[test]
fn later_requests_wait_for_their_time_in_any_order() {
    let at = |page: u64| request(Op::Write, page * 1_000_000, page);
    let mut in_order = drive(&[]);
    in_order.submit(&(0..8).map(at).collect::<Vec<_>>()).expect("submitted");
    let mut mixed = drive(&[]);
    mixed.submit(&[at(0), at(5), at(6)]).expect("submitted");
    mixed.submit(&[at(7)]).expect("submitted");
    mixed.submit(&[at(4), at(2), at(3)]).expect("submitted");
    mixed.advance_to(999_999).expect("advanced");
    assert_eq!((mixed.outstanding(), mixed.submit(&[at(1)]).expect("submitted")), (6, 7..8));
    let ends = |mut drive: Drive| {
        drive.advance_to(1 << 40).expect("advanced");
        poll(&mut drive).iter().map(|done| (done.lba, done.issue_ns, done.end_ns)).collect::<Vec<_>>()
    };
    assert_eq!(ends(in_order), ends(mixed));
}

/// A closed loop is a caller that submits when it polls: the same as `simulate` with that queue depth.
#[test]
fn a_closed_loop_of_any_depth_is_its_caller() {
    let workload = "random:span=2MiB,size=4KiB,count=400,write=0.6,seed=3";
    let all: Vec<Request> = requests_of(workload);
    for settings in [&[][..], &[("chips", "2")], &[("buffer.bytes", "16KiB")], &[("clock", "lock-step")]] {
        for depth in [1usize, 4, 16] {
            let settings =
                [&[("precondition", "full"), ("op_ratio", "0.3"), ("capacity", "2MiB")], settings].concat();
            let text = depth.to_string();
            let closed = [
                &settings[..],
                &[("host.queue_depth", &text), ("page", "4KiB"), ("channels", "2"), ("pages_per_block", "8")],
            ]
            .concat();
            let run = RunSpec {
                workloads: vec![WorkloadSpec { spec: workload.into(), ..WorkloadSpec::default() }],
                overrides: overrides(&closed),
                ..RunSpec::default()
            };
            let expected = simulate(&run, &mut |_| true).expect("a run");
            let mut stepped = drive(&settings);
            for request in &all {
                while stepped.outstanding() >= depth as u64 {
                    assert!(stepped.advance_to_completion(u64::MAX).expect("advanced"));
                    while stepped.next_completion().is_some() {}
                }
                let now_ns = stepped.now_ns();
                stepped.submit(&[Request { time_ns: now_ns, ..*request }]).expect("submitted");
            }
            let result = stepped.finish().expect("finished");
            for field in ["latency_us", "flash", "simulated_s", "counters", "wear", "time_share"] {
                assert_eq!(result[field], expected[field], "{settings:?}, depth {depth}: {field}");
            }
        }
    }
}

fn requests_of(workload: &str) -> Vec<Request> {
    let mut requests = Vec::new();
    let mut generator = Spec::parse(workload).expect("a spec").generator();
    while generator.read(&mut requests, 4096) {}
    requests
}

/// The same on both time paths at any present.
#[test]
fn statistics_at_the_present_are_those_of_complete_requests() {
    let stats = |engine: &str| {
        let mut stepped = drive(&[("engine", engine), ("precondition", "full"), ("op_ratio", "0.3")]);
        let requests: Vec<_> = (0..200).map(|at| request(Op::Write, at * 200_000, at * 7 % 512)).collect();
        stepped.submit(&requests).expect("submitted");
        stepped.advance_to(20_000_000).expect("advanced");
        let early = stepped.result();
        let done = poll(&mut stepped).len();
        assert_eq!(early["requests"], done);
        assert!(done > 10 && done < 100, "{done}");
        stepped.reset_stats();
        assert_eq!(stepped.result()["requests"], 0);
        assert_eq!((&early["simulated_s"], &stepped.result()["simulated_s"]), (&json!(0.02), &json!(0.0)));
        // Those submitted before do not count.
        assert!(stepped.drain_while(&mut || true).expect("drained"));
        assert_eq!(stepped.result()["requests"], 0);
        let now_ns = stepped.now_ns();
        stepped.submit(&[request(Op::Read, now_ns + 5, 3)]).expect("submitted");
        let last = stepped.finish().expect("finished");
        assert_eq!((&last["requests"], &last["latency_us"]["read"]["count"]), (&json!(1), &json!(1)));
        assert_eq!(last["flash"]["host"]["reads"], 1);
        (
            early["latency_us"].clone(),
            early["streams"]["workload"]["bytes"].clone(),
            last["latency_us"].clone(),
        )
    };
    assert_eq!(stats("auto"), stats("event"));
}
