//! Work of the drive in idle time: its start, the wait of a request for it, and its gain.

use flashweir_ssd::CommandKind::{Copies, Erase, Program};
use flashweir_trace::{Op, Request};

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

/// Four dies that are written, collected and erased as one.
const SET: [Setting; 5] = [
    ("channels", "4"),
    ("capacity", "512KiB"),
    ("alloc.kind", "superblock"),
    ("op_ratio", "0.5"),
    ("precondition", "full"),
];

#[test]
fn a_step_of_a_set_of_dies_moves_as_many_pages_as_it_has_planes() {
    let writes: Vec<_> = (0..300).map(|number| write(number * 10 * MS, number * 37 % 128)).collect();
    let outcome = run(&with(&SET, &[("background.collect.after", "0ns")]), &writes);
    assert!(outcome.latencies().iter().all(|latency| *latency == WRITE), "all of it between writes");
    let copies: Vec<_> = outcome.commands.iter().filter(|command| command.0 == Copies).collect();
    let together = |first: u64| copies.iter().filter(|command| command.3 == first).count();
    assert_eq!(
        copies.iter().map(|command| together(command.3)).max(),
        Some(4),
        "dies that begin at one instant"
    );
    assert!(copies.iter().all(|command| command.2 <= 4), "pages of a die in one step");
}

#[test]
fn reads_get_in_between_the_steps_of_a_superblock_that_a_page_waits_for() {
    // Superblocks of 128 pages on four dies.
    let large = [("pages_per_block", "32"), ("capacity", "4MiB"), ("timing.erase", "50us")];
    let writes = (0..3000).map(|number| write(number * MS / 4, number * 389 % 1024));
    let reads = (0..3000).map(|number| read(number * MS / 4 + 1, number * 241 % 1024));
    let mut requests: Vec<_> = writes.chain(reads).collect();
    requests.sort_by_key(|request| request.time_ns);
    let buffered = [("buffer.bytes", "64KiB"), ("sched.kind", "read-first"), ("sched.preempt_gc", "true")];
    let longest = |ahead: &[Setting]| {
        let outcome = run(&[&SET[..], &large, &buffered, ahead].concat(), &requests);
        let reads = requests.iter().zip(outcome.latencies()).filter(|(request, _)| request.op == Op::Read);
        (reads.map(|(_, latency)| latency).max().expect("reads"), outcome.counters.gc.erases)
    };
    let (at_once, erases) = longest(&[]);
    let (by_steps, more_erases) = longest(&[("background.collect.should_below", "1")]);
    assert!(erases > 0 && more_erases > 0);
    assert!(by_steps <= 4 * COPY, "{by_steps} ns: a step, and the page itself");
    assert!(at_once > 2 * by_steps, "{at_once} ns at once, {by_steps} ns by steps");
}

#[test]
fn a_burst_after_idle_time_takes_the_freed_blocks_and_the_rest_of_the_open_one() {
    for until in ["2", "3", "4", "5", "6"] {
        let blocks: u64 = until.parse().expect("a number");
        for before in 200..204 {
            let settings = [
                ("precondition", "full"),
                ("background.collect.after", "0ns"),
                ("background.collect.until", until),
            ];
            let at = before * 10 * MS + 1000 * MS;
            let burst = (0..60).map(|number| write(at, (7 * number + 3) % 64));
            let outcome =
                run(&settings, &writes(before, 10 * MS).into_iter().chain(burst).collect::<Vec<_>>());
            // Each page that was programmed left one less in the open block of four.
            let programmed: u64 =
                outcome.commands.iter().filter(|command| command.3 < at).fold(0, |sum, command| {
                    sum + if matches!(command.0, Copies | Program) { u64::from(command.2) } else { 0 }
                });
            let left = programmed.next_multiple_of(4) - programmed;
            let ends = &outcome.completions()[before as usize..];
            let apart = std::iter::once(ends[0] - at).chain(ends.windows(2).map(|pair| pair[1] - pair[0]));
            let undelayed = apart.take_while(|gap| *gap == WRITE).count() as u64;
            assert_eq!(undelayed, 4 * blocks + left, "{blocks} blocks free, after {before} writes");
        }
    }
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
            ("buffer.destage", "idle"),
            ("buffer.idle_after", "50us"),
        ],
        &[("gc.planner", "cycle-filling"), ("channels", "4"), ("buffer.bytes", "32KiB")],
        &[
            ("gc.planner", "forwarding"),
            ("channels", "4"),
            ("buffer.bytes", "32KiB"),
            ("buffer.destage", "eager"),
        ],
        &[("gc.planner", "forwarding"), ("channels", "2"), ("planes", "2"), ("buffer.bytes", "32KiB")],
        &[("alloc.kind", "superblock"), ("channels", "2"), ("op_ratio", "0.5")],
    ] {
        // `run` verifies every read, and that each request completes.
        let outcome = run(&[&[("precondition", "full")], &ahead[..], settings].concat(), &requests);
        assert!(outcome.counters.gc.erases > 0, "{settings:?}");
    }
}

/// A drive that always collects between writes, at some pace, with one write at a time.
fn paced(pace: &[Setting]) -> Vec<Setting> {
    let base = [("precondition", "full"), ("op_ratio", "1"), ("background.collect.should_below", "100")];
    with(&with(&base, &[("host.mode", "closed"), ("host.queue_depth", "1")]), pace)
}

#[test]
fn so_many_pages_are_copied_for_each_page_written() {
    let pace = [("background.collect.pace", "writes"), ("background.collect.pace_copies", "1.25")];
    let counters = run(&paced(&pace), &writes(4000, 0)).counters;
    let ratio = counters.gc.programs as f64 / counters.host.programs as f64;
    assert!((ratio / 1.25 - 1.0).abs() < 0.005, "{ratio}");
}

#[test]
fn spare_blocks_settle_where_copies_are_what_the_load_needs() {
    let pace = [
        ("background.collect.should_below", "12"),
        ("background.collect.pace", "free"),
        ("background.collect.pace_max_copies", "3"),
    ];
    // 64 blocks of data, and 19 spare ones.
    let larger = with(&pace, &[("capacity", "1MiB"), ("op_ratio", "0.3")]);
    let mut simulation = drive(&paced(&larger));
    let (mut blocks, count, mut seed) = (0, 6000, 1u64);
    for _ in 0..count {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        simulation.serve(&[write(0, (seed >> 33) % 256)]).expect("served");
        // One erased block is none that the unit may fill.
        blocks += simulation.free_blocks(0) - 1;
    }
    let counters = simulation.counters();
    let copies = counters.gc.programs as f64 / counters.host.programs as f64;
    // Copies for a page are 3 (1 - s / 12), on average, too.
    let (expected, mean) = (12.0 * (1.0 - copies / 3.0), blocks as f64 / count as f64);
    assert!((mean - expected).abs() < 0.2, "{mean} spare blocks, where {expected} were expected");
}

#[test]
fn collection_delays_a_write_by_what_the_pace_says() {
    const DELAY: u64 = 600_000;
    let pace = [("background.collect.pace", "latency"), ("background.collect.pace_delay", "600us")];
    let latencies = run(&paced(&pace), &writes(4000, 0)).latencies();
    let mean = latencies.iter().sum::<u64>() as f64 / latencies.len() as f64;
    let expected = (WRITE + DELAY) as f64;
    assert!((mean / expected - 1.0).abs() < 0.01, "{mean} ns, where {expected} were expected");
    let longest = *latencies.iter().max().expect("requests");
    assert!(longest <= WRITE + DELAY + ERASE, "{longest}: a step begins while any credit is left");
}
