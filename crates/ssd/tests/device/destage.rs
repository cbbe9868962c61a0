//! Pages that leave the write buffer before they must: when the first one starts, and how many do.

use flashweir_ssd::CommandKind::Program;
use flashweir_trace::Request;

use super::rig::{Outcome, PROGRAM, READ, Setting, TRANSFER, read, run, write};

const WRITE: u64 = TRANSFER + PROGRAM;
const MS: u64 = 1_000_000;

fn with(settings: &[Setting], more: &[Setting]) -> Vec<Setting> {
    settings.iter().chain(more).copied().collect()
}

/// Starts of programs, ns.
fn starts(outcome: &Outcome) -> Vec<u64> {
    outcome.spans().iter().filter(|(kind, ..)| *kind == Program).map(|(_, start, _)| *start).collect()
}

/// Writes of pages 0, 1, ... at these times, then a read late enough.
fn at(times: &[u64]) -> Vec<Request> {
    let writes = times.iter().zip(0..).map(|(time_ns, page)| write(*time_ns, page));
    writes.chain([read(100 * MS, 60)]).collect()
}

#[test]
fn a_page_leaves_the_buffer_once_the_drive_was_idle_for_long_enough() {
    let buffer = [("buffer.bytes", "16KiB"), ("buffer.destage", "idle"), ("buffer.idle_after", "1ms")];
    let outcome = run(&buffer, &[write(0, 0), write(MS / 2, 1), read(10 * MS, 9)]);
    assert_eq!(outcome.spans(), [(Program, MS, MS + WRITE), (Program, MS + WRITE, MS + 2 * WRITE)]);
    // A command of somebody else's begins the time anew.
    let settings = with(&buffer, &[("precondition", "full")]);
    let outcome = run(&settings, &[write(0, 0), read(MS - 1, 9), read(10 * MS, 9)]);
    let begins = MS - 1 + READ + TRANSFER + MS;
    assert_eq!(outcome.spans()[1], (Program, begins, begins + WRITE));
    // Without the key it stays.
    assert_eq!(run(&buffer[..1], &[write(0, 0), read(10 * MS, 9)]).commands, []);
}

#[test]
fn an_eager_buffer_sends_a_page_on_when_its_unit_is_free() {
    let eager = [("buffer.bytes", "64KiB"), ("buffer.destage", "eager")];
    let outcome = run(&eager, &at(&[0, 10, 20, MS]));
    assert_eq!(starts(&outcome), [0, WRITE, 2 * WRITE, MS]);
    assert_eq!(outcome.latencies()[..4], [0; 4], "acknowledged from the buffer");
    // Two channels: pages 0 and 1 are on different ones.
    let outcome = run(&with(&eager, &[("channels", "2")]), &at(&[0, 10, 20, MS]));
    assert_eq!(starts(&outcome), [0, 10, WRITE, MS]);
}

#[test]
fn pages_leave_between_the_marks() {
    // Six of eight pages, and two.
    let marks = [("buffer.bytes", "32KiB"), ("buffer.destage", "marks"), ("buffer.low_mark", "0.25")];
    let outcome = run(&marks, &at(&[0, 1, 2, 3, 4, 50]));
    assert_eq!(starts(&outcome), [50, 50 + WRITE, 50 + 2 * WRITE, 50 + 3 * WRITE], "four of six leave");
    assert_eq!(starts(&run(&marks, &at(&[0, 1, 2, 3, 4]))), [0; 0], "five do not");
    // On three channels each takes a page at a time: pages 0 to 2, then the next two only, since one channel has none left.
    let outcome = run(&with(&marks, &[("channels", "3")]), &at(&[0, 1, 2, 3, 4, 50]));
    assert_eq!(
        starts(&outcome),
        [50, 50, 50, 50 + WRITE, 50 + WRITE, 50 + WRITE],
        "by whole rounds of units"
    );
}

#[test]
fn a_page_leaves_at_its_age_whatever_is_written_to_it_meanwhile() {
    let age = [("buffer.bytes", "32KiB"), ("buffer.destage", "age"), ("buffer.max_age", "2ms")];
    assert_eq!(starts(&run(&age, &at(&[0, MS, 3 * MS]))), [2 * MS, 3 * MS, 5 * MS]);
    // Overwritten twice, it is as old as its first write.
    let requests = [write(0, 7), write(MS, 7), write(MS + 5, 7), read(100 * MS, 60)];
    assert_eq!(starts(&run(&age, &requests)), [2 * MS]);
    // With `lru`, too, by which it would leave last; the others stay until they are as old.
    let requests = [write(0, 7), write(10, 8), write(20, 9), write(MS, 7), read(100 * MS, 60)];
    let outcome = run(&with(&age, &[("buffer.replacement", "lru")]), &requests);
    assert_eq!(starts(&outcome), [2 * MS, 2 * MS + WRITE, 2 * MS + 2 * WRITE]);
}

#[test]
fn every_drive_destages_by_every_policy() {
    let requests: Vec<Request> = (0..400)
        .map(|number| {
            let time_ns = number * 90_000;
            if number % 4 == 0 { read(time_ns, number * 13 % 64) } else { write(time_ns, number * 29 % 64) }
        })
        .collect();
    let policies: [&[Setting]; 4] = [
        &[("buffer.destage", "marks"), ("buffer.low_mark", "0")],
        &[("buffer.destage", "eager")],
        &[("buffer.destage", "idle"), ("buffer.idle_after", "10us")],
        &[("buffer.destage", "age"), ("buffer.max_age", "300us")],
    ];
    for settings in [
        &[("channels", "2")][..],
        &[("planes", "2"), ("planes_bound", "true")],
        &[("planes", "2"), ("timing.multi_plane", "true"), ("alloc.order", "CPDW")],
        &[("ftl.map_unit", "1KiB")],
        &[("ftl.map_unit", "1KiB"), ("buffer.coalesce", "false")],
        &[("ftl.kind", "fast"), ("op_ratio", "1"), ("buffer.replacement", "block-lru")],
        &[("alloc.kind", "dynamic"), ("channels", "3")],
        &[("clock", "lock-step"), ("channels", "3"), ("buffer.order", "in-order")],
        &[("clock", "lock-step"), ("channels", "2"), ("alloc.kind", "dynamic")],
        &[("gc.planner", "cycle-filling"), ("channels", "2"), ("alloc.kind", "dynamic")],
        &[("gc.planner", "forwarding"), ("channels", "2"), ("ftl.map_unit", "2KiB")],
    ] {
        for policy in policies {
            let base = [("precondition", "full"), ("buffer.bytes", "32KiB")];
            let full = run(&[&base, settings].concat(), &requests);
            let ahead = run(&[&base, settings, policy].concat(), &requests);
            assert_ne!(ahead.commands, full.commands, "{policy:?} of {settings:?}");
        }
    }
}
