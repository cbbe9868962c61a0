//! Queues in closed form: the firmware's cores and the link, which serve random arrivals in fixed times.

use flashweir_ssd::config::layers::{Layer, resolve};
use flashweir_ssd::{Completion, Options, Simulation, Stats};
use flashweir_trace::generate::{Generator, Spec};
use flashweir_trace::{Op, Request};

/// Requests of a run.
const COUNT: usize = 200_000;
/// The time of a core for a command, or of the link for its data, ns.
const SERVICE_NS: u64 = 4096;

/// Poisson arrivals of 4 KiB requests, of so many a second.
fn arrivals(rate: f64, write: u32, seed: u32) -> Vec<Request> {
    let spec = format!("random:span=4MiB,size=4KiB,count={COUNT},write={write},rate={rate},seed={seed}");
    let mut generator: Generator = Spec::parse(&spec).unwrap_or_else(|error| panic!("{error}")).generator();
    let mut requests = Vec::new();
    while generator.read(&mut requests, COUNT) {}
    requests
}

/// Requests of a drive that is never written: reads need no flash, so nothing but the interface takes time.
fn run(settings: &[(&str, &str)], requests: &[Request]) -> (Vec<Completion>, Stats) {
    let base = [("capacity", "4MiB"), ("op_ratio", "2"), ("precondition", "empty"), ("host.mode", "open")];
    let settings = base.into_iter().chain(settings.iter().copied());
    let config =
        resolve(&[Layer::from_assignments("test", settings)]).unwrap_or_else(|error| panic!("{error}"));
    let mut simulation = Simulation::new(&config, Options::default()).expect("checked");
    simulation.keep_completions();
    simulation.serve(requests).expect("served");
    simulation.finish().expect("finished");
    let mut completions = Vec::new();
    simulation.take_completions(&mut completions);
    (completions, simulation.stats())
}

/// The mean wait of a tenant's requests, as a share of the service time.
fn mean_wait(completions: &[Completion], stream: u16) -> f64 {
    let own = completions.iter().filter(|completion| completion.stream == stream);
    let (sum, count) =
        own.fold((0, 0), |(sum, count), completion| (sum + completion.latency_ns - SERVICE_NS, count + 1));
    sum as f64 / f64::from(count) / SERVICE_NS as f64
}

#[track_caller]
fn assert_close(measured: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((measured / expected - 1.0).abs() < tolerance, "{what}: {measured}, expected {expected}");
}

/// Arrivals a second that keep one server busy for this share of the time.
fn rate(load: f64) -> f64 {
    load * 1e9 / SERVICE_NS as f64
}

#[test]
fn a_core_and_the_link_are_queues_of_fixed_service() {
    for load in [0.3, 0.6, 0.8] {
        // Pollaczek and Khinchine, with a service time that does not vary.
        let expected = load / (2.0 * (1.0 - load));
        for (settings, what) in
            [(("firmware.read_time", "4096ns"), "a core"), (("host.link", "1GB/s"), "the link")]
        {
            let (completions, stats) = run(&[settings], &arrivals(rate(load), 0, 1));
            assert_close(mean_wait(&completions, 0), expected, 0.05, &format!("{what} at {load}"));
            let interface = stats.interface.expect("there");
            let busy_ns = interface.core_ns.iter().sum::<u64>() + interface.link_ns[1];
            assert_eq!(busy_ns, COUNT as u64 * SERVICE_NS);
            assert_close(busy_ns as f64 / stats.simulated_ns as f64, load, 0.02, "utilization");
        }
    }
}

#[test]
fn an_urgent_tenant_has_priority_without_preemption() {
    let (urgent, normal) = (0.3, 0.5);
    let mut requests: Vec<_> = arrivals(rate(urgent), 0, 1)
        .into_iter()
        .map(|request| Request { stream: 1, ..request })
        .chain(arrivals(rate(normal), 0, 2))
        .collect();
    requests.sort_by_key(|request| request.time_ns);
    // Where one of them has ended, the other is alone.
    let end_ns = |stream| {
        requests.iter().rfind(|request| request.stream == stream).map_or(0, |request| request.time_ns)
    };
    let until_ns = end_ns(0).min(end_ns(1));
    requests.retain(|request| request.time_ns <= until_ns);
    let settings =
        [("firmware.read_time", "4096ns"), ("host.arbitration", "weighted"), ("host.weights", "1,urgent")];
    let (completions, _) = run(&settings, &requests);
    // Cobham: what is left of the command at work, then of the classes before and of its own.
    let residual = f64::midpoint(urgent, normal);
    let waits = [residual / ((1.0 - urgent) * (1.0 - urgent - normal)), residual / (1.0 - urgent)];
    assert_close(mean_wait(&completions, 1), waits[1], 0.05, "urgent");
    assert_close(mean_wait(&completions, 0), waits[0], 0.05, "not urgent");
}

#[test]
fn the_link_bounds_the_bandwidth_both_ways() {
    for (write, link) in [(0, "pcie3x4"), (1, "pcie1x2"), (0, "sata3")] {
        let requests = arrivals(1e9, write, 3);
        let settings = [
            ("host.link", link),
            ("timing.read", "100ns"),
            ("timing.program", "100ns"),
            ("timing.erase", "100ns"),
            ("timing.bus", "0"),
            ("channels", "16"),
        ];
        let (_, stats) = run(&settings, &requests);
        let op = if write == 0 { Op::Read } else { Op::Write };
        let rate = stats.counters.bytes[op as usize] as f64 * 1e9 / stats.simulated_ns as f64;
        let config = resolve(&[Layer::from_assignments("test", [("host.link", link)])]).expect("legal");
        let bound = config.host.link.bytes_per_second().expect("a link") as f64;
        assert!(rate <= bound && rate > 0.99 * bound, "{link}: {rate} of {bound}");
    }
}
