//! Cuts of real drives: what is removed and what stays make the whole, whatever the slices, the drive and the time path.

use flashweir_ssd::config::Precondition;
use flashweir_ssd::config::layers::{Layer, resolve};
use flashweir_ssd::{Latencies, Options};
use flashweir_trace::Op;
use flashweir_trace::generate::Spec;
use proptest::prelude::*;

use super::*;

/// Drives of all kinds, small and full; the first four can take either time path.
const DRIVES: [&[(&str, &str)]; 8] = [
    &[],
    &[("host.queue_depth", "9")],
    &[("buffer.bytes", "64KiB"), ("timing.multi_plane", "true"), ("planes", "2")],
    &[("host.mode", "open")],
    &[("host.mode", "open"), ("host.time_scale", "0.05"), ("dies", "2")],
    &[("buffer.bytes", "64KiB"), ("host.queue_depth", "32")],
    &[("sched.kind", "read-first"), ("host.queue_depth", "16"), ("dies", "2")],
    &[("alloc.kind", "dynamic"), ("host.queue_depth", "16")],
];

fn start(changes: &[(&str, &str)]) -> Simulation {
    let base = [("capacity", "4MiB"), ("pages_per_block", "8"), ("channels", "2"), ("precondition", "full")];
    let settings = base.into_iter().chain(changes.iter().copied());
    let config = resolve(&[Layer::from_assignments("test", settings)]).expect("a legal drive");
    let mut simulation = Simulation::new(&config, Options::default()).expect("a legal drive");
    assert_eq!(config.precondition, Precondition::Full);
    let pages = simulation.geometry().logical_pages;
    simulation.fill(0..pages).expect("its capacity fits");
    simulation.end_of_preconditioning();
    simulation
}

fn requests(count: usize, seed: u64) -> Vec<Request> {
    let spec = format!(
        "random:span=4MiB,size=512B|4KiB|12KiB,align=512,write=0.6,trim=0.03,flush=0.02,rate=2000,count={count},seed={seed}"
    );
    let mut all = Vec::new();
    Spec::parse(&spec).expect("a spec").generator().read(&mut all, count);
    for (number, request) in all.iter_mut().enumerate() {
        request.stream = (number % 3 == 0).into();
    }
    all
}

/// Serves all requests in slices of the given sizes in turn.
fn follow(
    drive: &[(&str, &str)],
    requests: &[Request],
    method: Method,
    slices: &[usize],
) -> (Warmup, Simulation) {
    let mut simulation = start(drive);
    let mut warmup = Warmup::new(method, &mut simulation);
    let mut left = requests;
    for slice in slices.iter().cycle() {
        let (now, after) = left.split_at(left.len().min(*slice));
        warmup.serve(&mut simulation, now).expect("served");
        left = after;
        if left.is_empty() {
            break;
        }
    }
    simulation.finish().expect("finished");
    (warmup, simulation)
}

fn said(latencies: &Latencies) -> String {
    let one = |stream, op| (latencies.summary(stream, op), latencies.buckets(stream, op));
    let all = Op::ALL.map(|op| (one(None, op), one(Some(0), op), one(Some(1), op)));
    format!("{:?} {all:?}", latencies.streams())
}

/// Everything of the statistics, as text.
fn digest(stats: &Stats) -> String {
    let Stats { counters, latencies, dies, buses, simulated_ns, .. } = stats;
    format!("{counters:?} {dies:?} {buses:?} {simulated_ns} {}", said(latencies))
}

/// Everything of an outcome, as text.
fn outcome(warmup: Warmup, simulation: &mut Simulation) -> String {
    let outcome = warmup.finish(simulation).expect("shorter than the run");
    format!("{:?} {} {}", outcome.removed, outcome.series, digest(&outcome.rest))
}

fn methods(count: usize) -> impl Strategy<Value = Method> {
    prop_oneof![Just(Method::Mser5), Just(Method::Steady), (0..count as u64).prop_map(Method::Requests)]
}

fn sum(series: &Value, of: impl Fn(usize) -> f64) -> f64 {
    (0..series["requests"].as_array().expect("a list").len()).map(of).sum()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn slices_do_not_matter(
        drive in 0..DRIVES.len(),
        (count, method) in (60..2600usize).prop_flat_map(|count| (Just(count), methods(count))),
        slices in prop::collection::vec(1..300usize, 1..5),
    ) {
        let requests = requests(count, 3);
        let (warmup, mut simulation) = follow(DRIVES[drive], &requests, method, &slices);
        let found = outcome(warmup, &mut simulation);
        let (warmup, mut simulation) = follow(DRIVES[drive], &requests, method, &[count]);
        prop_assert_eq!(found, outcome(warmup, &mut simulation));
    }

    #[test]
    fn the_parts_make_the_whole(drive in 0..DRIVES.len(), count in 1..4300usize, seed in 0..9u64) {
        let requests = requests(count, seed);
        let mut plain = start(DRIVES[drive]);
        plain.serve(&requests).expect("served");
        plain.finish().expect("finished");
        let whole = plain.stats();
        let (mut warmup, mut simulation) = follow(DRIVES[drive], &requests, Method::Mser5, &[64]);
        warmup.book(&mut simulation);
        warmup.parts.finish();
        let followed = Stats { latencies: warmup.parts.latencies(0), ..simulation.stats() };
        prop_assert_eq!(digest(&followed), digest(&whole));
        // Of the first part on: everything but the time before the first request.
        let mut all = warmup.parts.rest(0, &whole);
        all.simulated_ns = whole.simulated_ns;
        prop_assert_eq!(digest(&all), digest(&whole));

        let series = warmup.windows.series(&whole, simulation.geometry().program_bytes());
        let list = |of: &Value| of.as_array().expect("a list").clone();
        let (windows, size) = (list(&series["requests"]), warmup.windows.size());
        prop_assert!(windows.len() <= windows::MOST);
        prop_assert!(windows[..windows.len() - 1].iter().all(|window| *window == size));
        let total: u64 = windows.iter().map(|window| window.as_u64().expect("a count")).sum();
        prop_assert_eq!(total, count as u64);
        let ends = list(&series["end_s"]);
        prop_assert_eq!(ends.last().and_then(Value::as_f64), Some(whole.simulated_ns as f64 / 1e9));
        prop_assert!(ends.is_sorted_by_key(Value::as_f64));
        for (name, values) in [("iops", &series["iops"]), ("read", &series["latency_us"]["read"])] {
            prop_assert_eq!(list(values).len(), windows.len(), "{}", name);
        }
        // Requests add up from rates and times, where a window took time.
        let start = |at: usize| if at == 0 { 0.0 } else { ends[at - 1].as_f64().expect("a time") };
        let served = sum(&series, |at| match series["iops"][at].as_f64() {
            Some(rate) => rate * (ends[at].as_f64().expect("a time") - start(at)),
            None => windows[at].as_f64().expect("a count"),
        });
        prop_assume!(!DRIVES[drive].contains(&("host.mode", "open")));
        prop_assert!((served / count as f64 - 1.0).abs() < 1e-6, "{}", served);
    }

    #[test]
    fn removed_and_rest_make_the_whole(
        drive in 0..DRIVES.len(),
        (count, cut) in (2..2000usize).prop_flat_map(|count| (Just(count), 1..count)),
    ) {
        let requests = requests(count, 5);
        let mut plain = start(DRIVES[drive]);
        plain.keep_completions();
        plain.serve(&requests[..cut]).expect("served");
        let entered_ns = plain.enter(&requests[cut]).expect("enters");
        let (before, times) = (plain.counters(), plain.times());
        plain.serve(&requests[cut..]).expect("served");
        plain.finish().expect("finished");
        let (whole, mut completions) = (plain.stats(), Vec::new());
        plain.take_completions(&mut completions);

        let (warmup, mut simulation) = follow(DRIVES[drive], &requests, Method::Requests(cut as u64), &[100]);
        let Outcome { rest, removed, .. } = warmup.finish(&mut simulation).expect("shorter than the run");
        prop_assert_eq!((removed.requests, removed.of_requests, removed.found), (cut as u64, count as u64, true));
        prop_assert_eq!(rest.simulated_ns, whole.simulated_ns - entered_ns);
        prop_assert!((removed.simulated_s - entered_ns as f64 / 1e9).abs() < 1e-12);

        let (mut latencies, mut counters) = (Latencies::default(), whole.counters.since(&before));
        (counters.requests, counters.bytes) = Default::default();
        for completion in completions.iter().filter(|completion| completion.number >= cut as u64) {
            let Completion { latency_ns, stream, op, .. } = *completion;
            latencies.add(stream, op, [(latency_ns, 1)], latency_ns.into(), latency_ns);
            counters.requests[op as usize] += 1;
            counters.bytes[op as usize] += completion.bytes();
        }
        prop_assert_eq!(said(&rest.latencies), said(&latencies));
        prop_assert_eq!(&rest.counters, &counters);
        for (at, die) in rest.dies.iter().enumerate() {
            prop_assert_eq!(die, &whole.dies[at].since(&times.dies[at]));
            prop_assert!(die.total() <= rest.elapsed_ns(), "no die is busy for longer than there is time");
        }
    }

    #[test]
    fn both_time_paths_cut_alike(
        drive in 0..4usize,
        (count, method) in (60..2600usize).prop_flat_map(|count| (Just(count), methods(count))),
        seed in 0..9u64,
    ) {
        let requests = requests(count, seed);
        let on = |engine: &'static str| {
            let drive: Vec<_> = DRIVES[drive].iter().copied().chain([("engine", engine)]).collect();
            let (warmup, mut simulation) = follow(&drive, &requests, method, &[500]);
            warmup.finish(&mut simulation).expect("shorter than the run")
        };
        let (events, timeline) = (on("event"), on("busy-until"));
        prop_assert_eq!(format!("{:?}", events.removed), format!("{:?}", timeline.removed));
        prop_assert_eq!(events.rest.simulated_ns, timeline.rest.simulated_ns);
        prop_assert_eq!(said(&events.rest.latencies), said(&timeline.rest.latencies));
        prop_assert_eq!(&events.rest.counters, &timeline.rest.counters);
        prop_assert_eq!(events.series, timeline.series);
    }
}

#[test]
fn a_long_run_has_from_500_to_1000_windows() {
    for (count, size, windows) in
        [(999, 1, 999), (1000, 1, 1000), (1001, 2, 501), (2000, 2, 1000), (4001, 8, 501)]
    {
        let (warmup, simulation) = follow(&[], &requests(count, 1), Method::Steady, &[4096]);
        let series = warmup.windows.series(&simulation.stats(), 8);
        let found = series["requests"].as_array().expect("a list").len();
        assert_eq!((warmup.windows.size(), found), (size, windows), "{count}");
    }
}

#[test]
fn a_run_without_requests_has_nothing_to_cut() {
    for method in [Method::Mser5, Method::Steady, Method::Requests(0)] {
        let (warmup, mut simulation) = follow(&[], &[], method, &[1]);
        let outcome = warmup.finish(&mut simulation).expect("nothing is removed");
        assert_eq!((outcome.removed.requests, outcome.removed.of_requests), (0, 0));
        assert_eq!(outcome.series["end_s"], serde_json::json!([]));
    }
    let (warmup, mut simulation) = follow(&[], &requests(10, 1), Method::Requests(10), &[1]);
    let error = warmup.finish(&mut simulation).expect_err("nothing would stay");
    assert_eq!(
        error.to_string(),
        "warm-up method requests=10: expected fewer than the 10 requests of the run"
    );
}

#[test]
fn methods_have_names() {
    assert_eq!(Method::parse("mser-5").expect("a method"), Method::Mser5);
    assert_eq!(Method::parse("steady").expect("a method"), Method::Steady);
    assert_eq!(Method::parse("requests=0").expect("a method"), Method::Requests(0));
    for text in [
        "",
        "mser",
        "MSER-5",
        "requests",
        "requests=",
        "requests=-1",
        "requests=1.5",
        "requests=99999999999999999999",
    ] {
        let error = Method::parse(text).expect_err("no method").to_string();
        let expected = "expected mser-5, steady, or requests=N with a whole number N";
        assert_eq!(error, format!("warm-up method {text:?}: {expected}"));
    }
}
