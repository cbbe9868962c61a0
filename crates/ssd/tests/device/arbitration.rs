//! Slots: when a request that waits at the host enters, and whose, to the nanosecond.

use flashweir_trace::Request;

use super::rig::{PROGRAM, READ, TRANSFER, flush, read, run, write};

const ONE: u64 = READ + TRANSFER;

fn of(stream: u16, request: Request) -> Request {
    Request { stream, ..request }
}

#[test]
fn a_slot_is_free_when_its_request_ends() {
    let settings = [("channels", "2"), ("host.slots", "1"), ("precondition", "full")];
    // The dies of both channels would have time; latencies count from the arrival.
    let outcome = run(&settings, &[read(0, 0), read(3, 1), read(ONE - 1, 2), read(2 * ONE, 3)]);
    assert_eq!(outcome.completions(), [ONE, 2 * ONE, 3 * ONE, 4 * ONE]);
    assert_eq!(outcome.latencies(), [ONE, 2 * ONE - 3, 2 * ONE + 1, 2 * ONE]);
    // Without the limit the second one runs at once.
    let unlimited = [settings[0], settings[2]];
    assert_eq!(run(&unlimited, &[read(0, 0), read(3, 1)]).completions(), [ONE, ONE + 3]);
}

#[test]
fn who_arrives_as_a_slot_becomes_free_is_asked_too() {
    let settings = [("host.slots", "1"), ("host.arbitration", "round-robin"), ("precondition", "full")];
    // The other tenant goes before the second request of the first one if it comes in time.
    for (arrival, ends) in [(ONE - 1, [3, 2]), (ONE, [3, 2]), (ONE + 1, [2, 3])] {
        let outcome = run(&settings, &[read(0, 0), read(0, 1), of(1, read(arrival, 2))]);
        assert_eq!(outcome.completions(), [ONE, ends[0] * ONE, ends[1] * ONE], "it arrives at {arrival}");
    }
}

#[test]
fn a_burst_of_a_tenant_goes_before_the_other_ones() {
    let settings = [
        ("host.slots", "1"),
        ("host.arbitration", "round-robin"),
        ("host.arbitration_burst", "2"),
        ("precondition", "full"),
    ];
    let other = |page| of(1, read(0, page));
    let requests = [read(0, 0), read(0, 1), read(0, 2), other(3), other(4), other(5)];
    let ends = [1, 2, 5, 3, 4, 6].map(|place| place * ONE);
    assert_eq!(run(&settings, &requests).completions(), ends);
}

#[test]
fn requests_that_take_no_time_leave_their_slot_at_once() {
    let settings = [("host.slots", "1"), ("host.arbitration", "fair")];
    let outcome =
        run(&settings, &[read(0, 0), of(1, flush(0)), read(0, 1), write(0, 0), flush(0), read(5, 9)]);
    let one = TRANSFER + PROGRAM;
    assert_eq!(outcome.completions(), [0, 0, 0, one, one, one]);
}

#[test]
fn a_flush_keeps_its_place_among_its_tenants_requests() {
    let settings = [
        ("channels", "2"),
        ("host.slots", "2"),
        ("host.arbitration", "round-robin"),
        ("precondition", "full"),
    ];
    let one = TRANSFER + PROGRAM;
    // It waits for the writes that entered before it, of whichever tenant, and not for the one that enters after it though
    // that arrived first.
    let requests = [write(0, 0), write(0, 1), write(0, 2), of(1, flush(1)), of(1, read(2, 5))];
    let outcome = run(&settings, &requests);
    assert_eq!(outcome.completions()[..3], [one, one, 2 * one]);
    // Both places become free at once: first the other tenant's flush, which ends at once, then a write, then its read.
    assert_eq!(outcome.completions()[3..], [one, one + ONE]);
}

#[test]
fn slices_of_any_size_give_the_same_instants() {
    let settings =
        [("host.slots", "2"), ("host.arbitration", "fair"), ("channels", "2"), ("precondition", "full")];
    let requests: Vec<Request> = (0..40).map(|n| of(n as u16 % 3, read(n / 4 * ONE, n % 64))).collect();
    let whole = run(&settings, &requests);
    for size in [1, 3, 39] {
        let mut simulation = super::rig::drive(&settings);
        for slice in requests.chunks(size) {
            simulation.serve(slice).expect("served");
        }
        simulation.finish().expect("finished");
        let mut records = simulation.take_recorded().requests;
        records.sort_by_key(|record| record.number);
        let completions: Vec<u64> = records.iter().map(|record| record.completion_ns).collect();
        assert_eq!(completions, whole.completions(), "slices of {size}");
    }
}
