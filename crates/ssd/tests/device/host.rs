//! When requests enter: queue depth, times of the workload, flushes.

use flashweir_trace::{Op, Request};

use super::rig::{PROGRAM, READ, TRANSFER, flush, pages, read, run, run_both, write};

#[test]
fn a_closed_loop_keeps_as_many_requests_under_way() {
    for (depth, expected) in
        [("1", [0, 1, 2, 3]), ("2", [0, 0, 1, 2]), ("3", [0, 0, 0, 1]), ("4", [0, 0, 0, 0])]
    {
        let settings = [("host.mode", "closed"), ("host.queue_depth", depth), ("precondition", "full")];
        // Times of the workload mean nothing in a closed loop.
        let requests = [read(9, 0), read(7, 1), read(5, 2), read(3, 3)];
        let outcome = run_both(&settings, &requests);
        let issues: Vec<_> = outcome.requests.iter().map(|(issue, _)| issue / (READ + TRANSFER)).collect();
        assert_eq!(issues, expected, "depth {depth}");
    }
}

#[test]
fn the_earliest_completion_lets_the_next_request_in() {
    let settings =
        [("channels", "2"), ("host.mode", "closed"), ("host.queue_depth", "2"), ("precondition", "full")];
    // A write on one channel is overtaken by reads on the other.
    let outcome = run_both(&settings, &[write(0, 0), read(0, 1), read(0, 3), read(0, 5), write(0, 2)]);
    let one = READ + TRANSFER;
    let issues: Vec<_> = outcome.requests.iter().map(|(issue, _)| *issue).collect();
    assert_eq!(issues, [0, 0, one, 2 * one, 3 * one]);
}

#[test]
fn requests_without_flash_let_the_next_one_in_at_once() {
    let settings = [("host.mode", "closed"), ("host.queue_depth", "2")];
    let requests = [read(0, 0), read(0, 1), pages(0, Op::Trim, 0, 1), write(0, 0), read(0, 9), write(0, 1)];
    let outcome = run_both(&settings, &requests);
    assert!(outcome.requests.iter().all(|(issue, _)| *issue == 0), "{:?}", outcome.requests);
}

#[test]
fn an_open_loop_takes_requests_at_their_times() {
    let times = [3, 3, 17, 1_000_003];
    let requests = times.map(|time| read(time, 1));
    for (scale, expected) in [
        ("1", times),
        ("0.5", [2, 2, 9, 500_002]), // to the nearest ns, halves up
        ("2", [6, 6, 34, 2_000_006]),
        ("0.001", [0, 0, 0, 1_000]),
    ] {
        let outcome = run_both(&[("host.time_scale", scale), ("precondition", "full")], &requests);
        let issues: Vec<_> = outcome.requests.iter().map(|(issue, _)| *issue).collect();
        assert_eq!(issues, expected, "scale {scale}");
    }
}

#[test]
fn ties_of_an_open_loop_keep_the_order_of_the_workload() {
    let end = TRANSFER + PROGRAM;
    // The second and third arrive as the die becomes free, and with one another.
    let outcome = run_both(&[("precondition", "full")], &[write(0, 0), read(end, 1), write(end, 2)]);
    assert_eq!(outcome.completions(), [end, end + READ + TRANSFER, end + READ + TRANSFER + end]);
}

#[test]
fn a_flush_waits_for_the_writes_before_it_only() {
    let one = TRANSFER + PROGRAM;
    let settings = [("channels", "2"), ("precondition", "full")];
    // Reads before it don't hold it, nor do writes after it; zero-time requests neither.
    let requests = [
        write(0, 0),
        flush(1),
        read(2, 2),
        write(3, 1),
        flush(one),
        flush(one + 3),
        read(one + 4, 4),
        flush(one + 4),
    ];
    let outcome = run_both(&settings, &requests);
    assert_eq!(outcome.completions()[1], one);
    assert_eq!(outcome.completions()[4], one + 3);
    assert_eq!(outcome.latencies()[5..], [0, READ + TRANSFER + READ + TRANSFER - 4, 0]);
}

#[test]
fn several_flushes_wait_for_the_same_write() {
    let one = TRANSFER + PROGRAM;
    let outcome = run_both(&[], &[write(0, 0), flush(0), flush(5), write(6, 1), flush(6), flush(one - 1)]);
    assert_eq!(outcome.completions(), [one, one, one, 2 * one, 2 * one, 2 * one]);
}

#[test]
fn a_flush_of_a_drive_at_rest_takes_no_time() {
    let outcome =
        run_both(&[("host.mode", "closed")], &[flush(0), write(0, 0), flush(0), read(0, 0), flush(0)]);
    assert_eq!(outcome.latencies(), [0, TRANSFER + PROGRAM, 0, READ + TRANSFER, 0]);
}

#[test]
fn slices_of_any_size_give_the_same_run() {
    let requests: Vec<Request> = (0..60)
        .map(|n| if n % 3 == 0 { read(n * 7_000, n % 64) } else { write(n * 7_000, n * 5 % 64) })
        .collect();
    for settings in [&[("dies", "2")] as &[_], &[("channels", "2"), ("host.mode", "closed")]] {
        let whole = run(settings, &requests);
        let mut simulation = super::rig::drive(settings);
        for slice in requests.chunks(7) {
            simulation.serve(slice).expect("served");
        }
        simulation.finish().expect("finished");
        assert_eq!(simulation.counters(), whole.counters);
        let mut records = simulation.take_recorded().requests;
        records.sort_by_key(|record| record.number);
        let ends: Vec<_> = records.iter().map(|record| record.completion_ns).collect();
        assert_eq!(ends, whole.completions());
    }
}
