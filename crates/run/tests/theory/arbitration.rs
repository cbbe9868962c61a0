//! Shares of tenants that always have a request waiting, and to whom the time of the flash is charged.

use flashweir_ssd::config::layers::{Layer, resolve};
use flashweir_ssd::{DieTime, Options, Simulation};
use flashweir_trace::Request;
use flashweir_trace::generate::{Generator, Spec};

/// A full drive of 16 MiB that collects soon.
fn start(settings: &[(&str, &str)]) -> Simulation {
    let base = [("capacity", "16MiB"), ("pages_per_block", "16"), ("op_ratio", "0.3"), ("channels", "4")];
    let settings = base.into_iter().chain(settings.iter().copied());
    let config =
        resolve(&[Layer::from_assignments("test", settings)]).unwrap_or_else(|error| panic!("{error}"));
    let mut simulation =
        Simulation::new(&config, Options { verify: true, ..Options::default() }).expect("checked");
    let pages = simulation.geometry().logical_pages;
    simulation.fill(0..pages).expect("a new drive takes its capacity");
    simulation.end_of_preconditioning();
    simulation
}

/// Endless workloads.
fn tenants(specs: &[&str]) -> Vec<Generator> {
    let tenant = |spec: &&str| Spec::parse(spec).unwrap_or_else(|error| panic!("{error}")).endless();
    specs.iter().map(tenant).collect()
}

/// Service given to each tenant, and the most flash time that one request was charged.
#[derive(Debug)]
struct Given {
    requests: Vec<u64>,
    flash_ns: Vec<u64>,
    most_ns: u64,
    /// The largest distance of two tenants' flash time divided by their weights, at any time.
    apart_ns: u64,
    dies: Vec<DieTime>,
}

/// Serves requests of tenants that never run out.
fn serve(settings: &[(&str, &str)], specs: &[&str], weights: &[u64], count: u64) -> Given {
    let (mut simulation, mut tenants) = (start(settings), tenants(specs));
    let mut requests = vec![0; tenants.len()];
    let (mut before, mut most_ns, mut apart_ns) = (vec![0; tenants.len()], 0, 0);
    let waiting = vec![true; tenants.len()];
    let mut slice: Vec<Request> = Vec::new();
    for _ in 0..count {
        let stream = simulation.next_stream(&waiting).expect("no request is stuck").expect("all wait");
        slice.clear();
        tenants[usize::from(stream)].read(&mut slice, 1);
        slice[0].stream = stream;
        simulation.serve(&slice).expect("legal requests");
        requests[usize::from(stream)] += 1;
        let mut now = simulation.stats().flash_ns;
        now.resize(tenants.len(), 0);
        let charged = now.iter().zip(&before).map(|(now, before)| now - before);
        most_ns = charged.fold(most_ns, u64::max);
        let shares: Vec<u64> = now.iter().zip(weights).map(|(ns, weight)| ns / weight).collect();
        apart_ns = apart_ns.max(shares.iter().max().expect("some") - shares.iter().min().expect("some"));
        before = now;
    }
    simulation.finish().expect("no request is stuck");
    let stats = simulation.stats();
    Given { requests, flash_ns: stats.flash_ns, most_ns, apart_ns, dies: stats.dies }
}

const SMALL: &str = "random:span=16MiB,size=4KiB,write=0.5";
const WRITES: &str = "random:span=16MiB,size=4KiB,write=0.9";
const READS: &str = "random:span=16MiB,size=8KiB,write=0,seed=2";
const LARGE: &str = "random:span=16MiB,size=64KiB,align=4KiB,write=0.5,seed=3";

#[test]
fn round_robin_serves_as_many_requests_of_each() {
    for depth in ["1", "7"] {
        let settings = [("host.arbitration", "round-robin"), ("host.queue_depth", depth)];
        let given = serve(&settings, &[LARGE, SMALL, SMALL], &[1, 1, 1], 3001);
        assert_eq!(given.requests, [1001, 1000, 1000]);
        assert!(given.flash_ns[0] > 10 * given.flash_ns[1], "{given:?}");
    }
}

#[test]
fn weighted_serves_requests_in_proportion() {
    let settings = [("host.arbitration", "weighted"), ("host.weights", "4,2"), ("host.queue_depth", "3")];
    let given = serve(&settings, &[SMALL, LARGE, SMALL], &[4, 2, 1], 3500);
    assert_eq!(given.requests, [2000, 1000, 500]);
}

#[test]
fn fair_gives_flash_time_within_one_request_though_some_are_16_times_as_large() {
    for (weights, text) in [([1, 1], "1"), ([1, 4], "1,4")] {
        for (engine, depth) in [("busy-until", "1"), ("busy-until", "8"), ("event", "8")] {
            let settings = [
                ("host.arbitration", "fair"),
                ("host.weights", text),
                ("host.queue_depth", depth),
                ("engine", engine),
            ];
            let given = serve(&settings, &[LARGE, SMALL], &weights, 4000);
            assert!(given.apart_ns <= given.most_ns, "{given:?}");
            assert!(
                given.flash_ns[0] > 10 * given.most_ns && given.requests[1] > 8 * given.requests[0],
                "{given:?}"
            );
        }
    }
}

#[test]
fn with_a_buffer_fair_stays_within_what_the_buffer_holds() {
    let settings = [("host.arbitration", "fair"), ("buffer.bytes", "256KiB"), ("host.queue_depth", "4")];
    let writes = ["random:span=16MiB,size=64KiB,align=4KiB", "random:span=16MiB,size=4KiB,seed=3"];
    let given = serve(&settings, &writes, &[1, 1], 6000);
    // 64 pages that were taken but not charged, all of one tenant.
    assert!(given.apart_ns <= 64 * given.most_ns, "{given:?}");
    let [large, small] = [given.flash_ns[0] as f64, given.flash_ns[1] as f64];
    assert!((large / small - 1.0).abs() < 0.05, "{large} {small}");
}

#[test]
fn all_that_dies_do_is_charged_to_somebody() {
    let drives: [&[(&str, &str)]; 8] = [
        &[],
        &[("engine", "event"), ("host.queue_depth", "9")],
        &[("alloc.kind", "dynamic"), ("host.queue_depth", "4")],
        &[
            ("planes", "2"),
            ("timing.multi_plane", "true"),
            ("buffer.bytes", "64KiB"),
            ("host.queue_depth", "4"),
        ],
        &[("ftl.kind", "dftl"), ("ftl.cache_bytes", "1KiB"), ("op_ratio", "0.6")],
        &[("ftl.kind", "fast")],
        &[("ftl.kind", "fast"), ("gc.planner", "forwarding"), ("buffer.bytes", "64KiB")],
        &[("ftl.kind", "fast"), ("gc.planner", "cycle-filling"), ("buffer.bytes", "64KiB")],
    ];
    for drive in drives {
        let settings: Vec<_> = drive
            .iter()
            .copied()
            .chain([("host.arbitration", "weighted"), ("host.weights", "1,2,1")])
            .collect();
        let given = serve(&settings, &[WRITES, WRITES, READS], &[1, 2, 1], 4000);
        let dies: u64 = given.dies.iter().map(DieTime::total).sum();
        assert_eq!(given.flash_ns.iter().sum::<u64>(), dies, "{drive:?}");
        // A tenant that only reads pays for no collection, unless its look-ups push changed entries of a map out of
        // RAM.
        let collections: u64 = given.dies.iter().map(|die| die.gc).sum();
        assert!(collections > 0, "{drive:?}");
        let reads_alone = given.requests[2] * 2 * 200_000;
        let looks_up = drive.contains(&("ftl.kind", "dftl"));
        assert!(looks_up || given.flash_ns[2] <= reads_alone, "{drive:?}: {given:?}");
        let [one, two] = [given.flash_ns[0] as f64, given.flash_ns[1] as f64];
        assert!((two / one - 2.0).abs() < 0.5, "{drive:?}: {one} {two}");
    }
}
