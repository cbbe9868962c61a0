//! Work of the drive in idle time: its start, the wait of a request for it, and its gain.

use flashweir_ssd::CommandKind::{Copies, Erase, Program};
use flashweir_trace::Request;

use super::rig::{ERASE, PROGRAM, READ, Setting, TRANSFER, drive, read, run, write};

const WRITE: u64 = TRANSFER + PROGRAM;
/// A page is read, crosses the bus twice, and is programmed.
const COPY: u64 = READ + 2 * TRANSFER + PROGRAM;
const MS: u64 = 1_000_000;

fn with(settings: &[Setting], more: &[Setting]) -> Vec<Setting> {
    settings.iter().chain(more).copied().collect()
}

/// Overwrites of a full drive, `gap_ns` apart.
fn writes(count: u64, gap_ns: u64) -> Vec<Request> {
    (0..count).map(|number| write(number * gap_ns, number * 29 % 64)).collect()
}

#[test]
fn a_page_leaves_the_buffer_once_the_drive_was_idle_for_long_enough() {
    let buffer = [("buffer.bytes", "16KiB"), ("background.destage.after", "1ms")];
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
fn an_idle_unit_collects_before_it_must() {
    let full = [("precondition", "full"), ("op_ratio", "0.25")];
    let requests = writes(300, 10 * MS);
    let must = run(&full, &requests);
    let ahead = run(&with(&full, &[("background.collect.after", "0ns")]), &requests);
    assert!(must.latencies().iter().any(|latency| *latency > ERASE), "collections in the way of writes");
    assert!(ahead.latencies().iter().all(|latency| *latency == WRITE), "none is in the way any more");
    assert!(ahead.counters.gc.erases > 0);
    // One page at a time, and nothing while a request is served.
    assert!(ahead.commands.iter().all(|(kind, _, pages, ..)| *kind != Copies || *pages == 1));
    // Idle for long enough is never, here.
    let never = run(&with(&full, &[("background.collect.after", "10ms")]), &requests);
    assert_eq!(never.latencies(), must.latencies());
}

#[test]
fn a_request_waits_for_a_step_and_not_for_a_collection() {
    let settings = with(
        &[("precondition", "full"), ("op_ratio", "0.25"), ("background.collect.after", "0ns")],
        &[("background.collect.until", "12")],
    );
    // Writes and reads come whenever they like, further apart than a step takes.
    let requests: Vec<Request> = (0..400)
        .map(|number| {
            let time_ns = number * 1_370_001;
            if number % 2 == 0 { write(time_ns, number * 29 % 64) } else { read(time_ns, number * 13 % 64) }
        })
        .collect();
    let outcome = run(&settings, &requests);
    let longest = *outcome.latencies().iter().max().expect("requests");
    assert!(longest > WRITE, "some come in the middle of a step");
    assert!(longest <= ERASE.max(COPY) + WRITE, "{longest}");
}

#[test]
fn a_unit_short_of_blocks_collects_between_the_commands_of_others() {
    let full = [("precondition", "full"), ("op_ratio", "0.5")];
    // Too close together for the die to be idle often.
    let requests = writes(600, 20 * WRITE);
    let settings = with(&full, &[("background.collect.should_below", "3")]);
    let (must, should) = (run(&full, &requests), run(&settings, &requests));
    let longest = |outcome: &super::rig::Outcome| *outcome.latencies().iter().max().expect("requests");
    assert!(should.counters.gc.erases > 0);
    assert!(longest(&should) < longest(&must), "{} after {}", longest(&should), longest(&must));
}

#[test]
fn the_least_worn_block_is_freed_when_the_unit_is_idle() {
    // Two thirds of the data are never written again.
    let requests: Vec<Request> = (0..3000).map(|number| write(number * 10 * MS, number * 7 % 20)).collect();
    let spread = |settings: &[Setting]| {
        let mut simulation = drive(&with(&[("precondition", "full"), ("gc.free_blocks", "3")], settings));
        simulation.serve(&requests).expect("served");
        let wear = simulation.wear().all;
        wear.max - wear.min
    };
    let gap =
        [("wear.static_gap", "4"), ("background.collect.after", "0ns"), ("background.level.after", "0ns")];
    assert!(spread(&[]) > 40, "cold blocks are never erased");
    assert!(spread(&gap) <= 6, "{}", spread(&gap));
    // With its map on flash, too, of which an eighth is in RAM.
    let map = [("ftl.kind", "dftl"), ("ftl.cache_bytes", "64"), ("op_ratio", "1")];
    assert!(spread(&map) > 20, "{}", spread(&map));
    let levels = spread(&with(&map, &gap));
    assert!(levels <= 6, "{levels}");
}

#[test]
fn changed_entries_of_the_map_are_written_when_the_unit_is_idle() {
    let map = [
        ("precondition", "full"),
        ("op_ratio", "3"),
        ("ftl.kind", "dftl"),
        ("ftl.cache_bytes", "64"),
        ("ftl.batch_update", "false"),
    ];
    let requests = writes(200, 100 * MS);
    let must = run(&map, &requests);
    let ahead = run(&with(&map, &[("background.write_back.after", "1ms")]), &requests);
    // A miss then has an entry to read, and none to write.
    let miss = READ + TRANSFER + WRITE;
    let longer =
        |outcome: &super::rig::Outcome| outcome.latencies().iter().filter(|time| **time > miss).count();
    assert!(
        longer(&must) > 100 && longer(&ahead) < longer(&must) / 2,
        "{} after {}",
        longer(&ahead),
        longer(&must)
    );
}

#[test]
fn a_run_ends_with_its_requests() {
    let settings = [("precondition", "full"), ("op_ratio", "0.25"), ("background.collect.after", "0ns")];
    let outcome = run(&settings, &writes(40, 0));
    let last = outcome.commands.iter().map(|(.., end)| *end).max();
    assert_eq!(last, outcome.completions().into_iter().max());
    assert!(outcome.commands.iter().all(|(kind, ..)| *kind != Erase || outcome.counters.gc.erases > 0));
}

#[test]
fn every_drive_can_work_ahead() {
    let ahead = [("background.collect.after", "200us"), ("background.collect.should_below", "2")];
    let requests: Vec<Request> = (0..500)
        .map(|number| {
            let time_ns = number * 300_000;
            if number % 3 == 0 { read(time_ns, number * 13 % 64) } else { write(time_ns, number * 29 % 64) }
        })
        .collect();
    for settings in [
        &[][..],
        &[("gc.frontiers", "2")],
        &[("gc.victim", "fifo")],
        &[("gc.victim", "random"), ("channels", "2"), ("planes", "2"), ("timing.multi_plane", "true")],
        &[("ftl.kind", "dftl"), ("op_ratio", "3"), ("ftl.cache_bytes", "128")],
        &[("ftl.kind", "fast"), ("op_ratio", "1")],
        &[("ftl.kind", "bast"), ("op_ratio", "1")],
        &[("ftl.kind", "kast"), ("op_ratio", "1")],
        &[("ftl.kind", "log-block"), ("op_ratio", "1"), ("channels", "2")],
        &[("alloc.kind", "dynamic"), ("channels", "2")],
        &[("sched.kind", "suspend"), ("dies", "2")],
        &[
            ("clock", "lock-step"),
            ("channels", "2"),
            ("buffer.bytes", "32KiB"),
            ("background.destage.after", "50us"),
        ],
        &[("gc.planner", "cycle-filling"), ("channels", "4"), ("buffer.bytes", "32KiB")],
        &[
            ("gc.planner", "forwarding"),
            ("channels", "4"),
            ("buffer.bytes", "32KiB"),
            ("background.destage.after", "50us"),
        ],
    ] {
        // `run` verifies every read, and that each request completes.
        let outcome = run(&[&[("precondition", "full")], &ahead[..], settings].concat(), &requests);
        assert!(outcome.counters.gc.erases > 0, "{settings:?}");
    }
}
