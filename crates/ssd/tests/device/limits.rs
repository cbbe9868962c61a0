//! Rate limits: when requests of a tenant pass, to the nanosecond.

use flashweir_ssd::Simulation;
use flashweir_trace::{Op, Request};

use super::rig::{READ, Setting, TRANSFER, drive, ends_in_slices, flush, pages, read, run};

const ONE: u64 = READ + TRANSFER;
/// Dies enough that nobody waits for one, of pages one after the other.
const WIDE: [Setting; 2] = [("channels", "8"), ("precondition", "full")];

fn of(stream: u16, request: Request) -> Request {
    Request { stream, ..request }
}

/// When requests pass: each takes as long as any other from then on.
#[track_caller]
fn passes(settings: &[Setting], requests: &[Request]) -> Vec<u64> {
    let settings = [&WIDE[..], settings].concat();
    run(&settings, requests).completions().iter().map(|end| end - ONE).collect()
}

#[test]
fn requests_of_a_tenant_pass_at_its_rate() {
    // 50,000 a second: one in 20 us.
    let settings = [("host.iops_limit", "50000")];
    let requests = [read(0, 0), read(0, 1), read(5, 2), read(100_000, 3)];
    assert_eq!(passes(&settings, &requests), [0, 20_000, 40_000, 100_000]);
    for (arrival, passed) in [(19_999, 20_000), (20_000, 20_000), (20_001, 20_001)] {
        let requests = [read(0, 0), read(arrival, 1), read(arrival, 2)];
        assert_eq!(passes(&settings, &requests), [0, passed, passed + 20_000], "it arrives at {arrival}");
    }
}

#[test]
fn a_burst_passes_at_once_and_comes_back_at_the_rate() {
    let settings = [("host.iops_limit", "50000"), ("host.iops_burst", "2")];
    let mut requests: Vec<_> = (0..5).map(|page| read(0, page)).collect();
    assert_eq!(passes(&settings, &requests), [0, 0, 0, 20_000, 40_000]);
    // At 40 us the debt is three requests, at 70 us one and a half: one passes at once, one when the debt is two.
    requests.extend([read(70_000, 5), read(70_000, 6), read(70_000, 7)]);
    assert_eq!(passes(&settings, &requests)[5..], [70_000, 80_000, 100_000]);
}

#[test]
fn bytes_pass_at_their_rate_without_an_error_that_adds_up() {
    // A page of 4096 bytes at 30,000,000 bytes a second: 136,533 1/3 ns.
    let settings = [("host.bytes_limit", "30000000")];
    let requests: Vec<_> = (0..4).map(|page| read(0, page)).collect();
    assert_eq!(passes(&settings, &requests), [0, 136_534, 273_067, 409_600]);
    // The one after two pages waits for both; TRIMs and flushes have no bytes.
    let requests = [pages(0, Op::Read, 0, 2), pages(1, Op::Trim, 8, 1), read(1, 2), flush(1), read(1, 3)];
    let ends = run(&[&WIDE[..], &settings].concat(), &requests).completions();
    assert_eq!(ends, [ONE, 273_067, 273_067 + ONE, 273_067 + 136_533, 409_600 + ONE]);
}

#[test]
fn bytes_of_a_burst_pass_before_the_last_request() {
    let settings = [("host.bytes_limit", "30000000"), ("host.bytes_burst", "8KiB")];
    let requests: Vec<_> = (0..5).map(|page| read(0, page)).collect();
    assert_eq!(passes(&settings, &requests), [0, 0, 0, 136_534, 273_067]);
}

#[test]
fn the_later_of_two_limits_counts() {
    let settings = [("host.iops_limit", "10000"), ("host.bytes_limit", "30000000")];
    // 100 us a request, 136,533 1/3 ns a page: half a page takes less.
    let half = Request { sectors: 4, ..read(0, 0) };
    let requests = [half, read(0, 1), read(0, 2)];
    let ends = run(&[&WIDE[..], &settings].concat(), &requests).completions();
    assert_eq!(ends[1..], [100_000 + ONE, 236_534 + ONE]);
}

#[test]
fn who_waits_for_a_limit_is_passed_by_other_tenants() {
    let settings = [("host.iops_limit", "10000,none,20000"), ("host.slots", "1")];
    let requests = [
        read(0, 0),
        read(0, 1),
        of(1, read(1, 2)),
        of(2, read(1, 3)),
        of(2, read(1, 4)),
        of(1, read(100_000 - ONE + 1, 5)),
    ];
    // The second request of the first tenant passes when the last one holds the slot, and enters when that ends.
    let ends = [ONE, 100_001 + ONE, 2 * ONE, 3 * ONE, 50_001 + ONE, 100_001];
    assert_eq!(run(&[&WIDE[..], &settings].concat(), &requests).completions(), ends);
}

/// Requests of a stream that waited for the limit, and for how long, ns.
fn waits(simulation: &Simulation, stream: u16) -> (u64, u64) {
    simulation.stats().limits.expect("there are limits").of(stream)
}

#[test]
fn a_closed_loop_issues_when_there_is_a_place_and_then_waits() {
    let settings = [
        ("host.mode", "closed"),
        ("host.queue_depth", "2"),
        ("host.iops_limit", "50000"),
        ("host.submit_time", "1us"),
    ];
    let settings = [&WIDE[..], &settings].concat();
    let requests = [read(0, 0), read(0, 1), read(0, 2), of(1, read(0, 3))];
    let outcome = run(&settings, &requests);
    // A place is free as soon as the one before has passed: there are never two outstanding for longer.
    let end = |passed: u64| passed + 1_000 + ONE;
    assert_eq!(
        outcome.requests,
        [(0, end(0)), (0, end(20_000)), (20_000, end(40_000)), (40_000, end(40_000))]
    );
    let mut simulation = drive(&settings);
    simulation.serve(&requests).expect("served");
    simulation.finish().expect("finished");
    assert_eq!((waits(&simulation, 0), waits(&simulation, 1)), ((2, 40_000), (0, 0)));
}

#[test]
fn arbitration_passes_over_tenants_at_their_limit() {
    let base = [("host.mode", "closed"), ("host.arbitration", "round-robin"), ("precondition", "full")];
    let order = |limits: &'static str, count: u64| {
        let mut simulation = drive(&[&base[..], &[("host.iops_limit", limits)]].concat());
        assert!(simulation.arbitrates_late());
        let mut order = Vec::new();
        for page in 0..count {
            let stream =
                simulation.next_stream(&[true, true]).expect("no request is stuck").expect("both wait");
            simulation.serve(&[of(stream, read(0, page))]).expect("served");
            order.push(stream);
        }
        simulation.finish().expect("finished");
        (order, simulation.stats().simulated_ns)
    };
    // The first one may go every 100 us: that is after six of 15 us of the other one.
    assert_eq!(order("10000,none", 9), (vec![0, 1, 1, 1, 1, 1, 1, 0, 1], 9 * ONE));
    // Both wait: for whoever may go first.
    assert_eq!(order("10000,25000", 5), (vec![0, 1, 1, 1, 0], 110_000 + ONE));
}

#[test]
fn slices_of_any_size_and_forks_give_the_same_run() {
    let open = [("host.iops_limit", "40000,none"), ("host.bytes_limit", "none,90MiB"), ("host.slots", "3")];
    let closed = [("host.mode", "closed"), ("host.queue_depth", "3"), ("host.iops_limit", "40000,9000")];
    let requests: Vec<Request> = (0..60).map(|n| of(n as u16 % 3, read(n / 4 * ONE, n % 64))).collect();
    for settings in [open, closed] {
        let settings = [&WIDE[..], &settings].concat();
        let whole = run(&settings, &requests).completions();
        for size in [1, 7, 40] {
            assert_eq!(ends_in_slices(&settings, &requests, size), whole, "slices of {size}");
        }
    }
}
