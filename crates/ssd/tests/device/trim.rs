//! TRIM with a granularity and a backlog: when pages are forgotten, who waits for it, and what it costs; by hand.

use flashweir_ssd::CommandKind::Read;
use flashweir_trace::{Op, Request};

use super::rig::{
    MS, Outcome, PAGE, PROGRAM, READ, Setting, TRANSFER, drive, pages, read, run, sectors, slow, write,
};

/// Eight pages, written before `DONE`, then a TRIM of all of them.
const DONE: u64 = 200 * MS;

fn trim(time_ns: u64, page: u64, count: u32) -> Request {
    pages(time_ns, Op::Trim, page, count)
}

fn trimmed(more: &[Request]) -> Vec<Request> {
    [&slow(8)[..], &[trim(DONE, 0, 8)], more].concat()
}

const BACKLOG: [Setting; 4] =
    [("trim.backlog", "8"), ("trim.batch", "3"), ("trim.page_time", "10us"), ("trim.idle_after", "1ms")];

#[test]
fn pages_are_forgotten_in_steps_when_the_drive_is_idle() {
    // Steps of 3, 3 and 2 pages begin 1 ms after the TRIM, which takes no time.
    let begins = DONE + MS;
    for (time_ns, left) in [
        (DONE, 8),
        (begins + 29_999, 8),
        (begins + 30_000, 5),
        (begins + 59_999, 5),
        (begins + 60_000, 2),
        (begins + 79_999, 2),
        (begins + 80_000, 0),
    ] {
        let mut simulation = drive(&BACKLOG);
        simulation.serve(&trimmed(&[])).expect("served");
        simulation.advance_to(time_ns).expect("advanced");
        assert_eq!(simulation.trim_backlog(), Some(left), "at {time_ns}");
        let counts = simulation.counters().trim;
        assert_eq!((counts.deferred, counts.idle, counts.must), (8, 8 - left, 0), "at {time_ns}");
    }
}

#[test]
fn a_request_puts_the_next_step_off() {
    // A read in the first step, of a page that was never written: the next step begins 1 ms after it.
    let asked = DONE + MS + 10_000;
    for (time_ns, left) in [(asked + MS - 1, 5), (asked + MS + 29_999, 5), (asked + MS + 30_000, 2)] {
        let mut simulation = drive(&BACKLOG);
        simulation.serve(&trimmed(&[read(asked, 40)])).expect("served");
        simulation.advance_to(time_ns).expect("advanced");
        assert_eq!(simulation.trim_backlog(), Some(left), "at {time_ns}");
    }
}

#[test]
fn a_trim_that_leaves_too_much_waits_for_it() {
    let settings = [&[("trim.backlog", "4")], &BACKLOG[1..]].concat();
    // Of 8 pages 3 and 3 are forgotten before no more than 4 are left.
    let outcome = run(&settings, &trimmed(&[]));
    assert_eq!(outcome.latencies()[8], 2 * 30_000);
    let counts = outcome.counters.trim;
    assert_eq!((counts.waited, counts.deferred, counts.must, counts.idle), (1, 8, 6, 0));
    // At 5 pages it takes one step, at 8 none.
    for (most, latency) in [("5", 30_000), ("7", 30_000), ("8", 0)] {
        let outcome = run(&[&[("trim.backlog", most)], &BACKLOG[1..]].concat(), &trimmed(&[]));
        assert_eq!(outcome.latencies()[8], latency, "{most}");
    }
    // Without a backlog the TRIM forgets them itself, in no time but that of the firmware.
    let plain = run(&[], &trimmed(&[]));
    assert_eq!((plain.latencies()[8], plain.counters.trim.deferred, plain.counters.trimmed_pages), (0, 0, 8));
}

#[test]
fn pages_that_were_given_up_hold_nothing_and_are_written_again() {
    let never: Vec<Setting> = [&BACKLOG[..3], &[("trim.idle_after", "10s")]].concat();
    let more = [read(DONE + 10, 3), write(DONE + 20, 3), read(DONE + MS, 3), trim(DONE + 2 * MS, 2, 3)];
    let outcome = run(&never, &trimmed(&more));
    assert_eq!(outcome.latencies()[9..], [0, TRANSFER + PROGRAM, READ + TRANSFER, 0]);
    assert_eq!(outcome.commands.iter().filter(|(kind, ..)| *kind == Read).count(), 1);
    // Page 3 is left for later again; 2 and 4 wait already.
    let counts = outcome.counters.trim;
    assert_eq!((counts.deferred, counts.rewritten), (9, 1));
    assert_eq!(outcome.counters.trimmed_pages, 9);
    // A write of a part of such a page has nothing to read.
    let part = sectors(DONE + 20, Op::Write, 3 * PAGE + 2, 2);
    assert_eq!(run(&never, &trimmed(&[part])).latencies()[9], TRANSFER + PROGRAM);
}

#[test]
fn collection_copies_what_is_not_forgotten() {
    // Every second page is given up, and the others are overwritten: victims hold some of both.
    let base = [("capacity", "256KiB"), ("precondition", "full"), ("op_ratio", "0.2")];
    let requests: Vec<Request> = (0..32)
        .map(|number| trim(number * 1_000, 2 * number + 1, 1))
        .chain((0..200).map(|number| write(100 * MS + number * 10 * MS, number * 29 % 32 * 2)))
        .collect();
    let with = |backlog: &[Setting]| run(&[&base[..], backlog].concat(), &requests).counters;
    let at_once = with(&[]);
    let in_time = with(&[("trim.backlog", "64"), ("trim.page_time", "10us")]);
    let never = with(&[("trim.backlog", "64"), ("trim.idle_after", "100s")]);
    assert_eq!(in_time.gc, at_once.gc);
    assert_eq!((in_time.trim.idle, never.trim.idle), (32, 0));
    assert!(never.gc.programs > at_once.gc.programs, "{} and {}", never.gc.programs, at_once.gc.programs);
}

#[test]
fn parts_smaller_than_the_granularity_keep_their_data() {
    // Ranges of 16 KiB are four pages.
    let settings = [("trim.granularity", "16KiB")];
    let reads: Vec<Request> = (0..8).map(|page| read(DONE + (1 + page) * MS, page)).collect();
    let found = |settings: &[Setting], trims: &[Request]| -> (Outcome, Vec<bool>) {
        let outcome = run(settings, &[&slow(8)[..], trims, &reads].concat());
        let latencies = outcome.latencies()[8 + trims.len()..].iter().map(|latency| *latency > 0).collect();
        (outcome, latencies)
    };
    for (first, count, kept_sectors, left) in [
        (1, 7, 3 * PAGE, [true, true, true, true, false, false, false, false]),
        (0, 4, 0, [false, false, false, false, true, true, true, true]),
        (1, 3, 3 * PAGE, [true; 8]),
        (3, 4, 4 * PAGE, [true; 8]),
        (0, 8, 0, [false; 8]),
    ] {
        let (outcome, found) = found(&settings, &[trim(DONE, first, count)]);
        assert_eq!(found, left, "{first} and {count}");
        assert_eq!(outcome.counters.trim.kept_sectors, kept_sectors, "{first} and {count}");
    }
    // Smaller than a page, it changes nothing: a page is what is mapped.
    let (_, small) = found(&[("trim.granularity", "512")], &[trim(DONE, 1, 2)]);
    assert_eq!(small, [true, false, false, true, true, true, true, true]);
}

#[test]
fn every_drive_with_a_backlog_reads_what_it_should() {
    let drives: [&[Setting]; 11] = [
        &[],
        &[("buffer.bytes", "16KiB")],
        &[("alloc.kind", "dynamic"), ("sched.kind", "read-first")],
        &[("alloc.kind", "superblock"), ("ftl.map_unit", "1KiB"), ("op_ratio", "1")],
        &[("ftl.kind", "dftl"), ("ftl.cache_bytes", "128"), ("op_ratio", "2")],
        &[("ftl.kind", "dftl"), ("ftl.cache_bytes", "64"), ("op_ratio", "3"), ("alloc.kind", "dynamic")],
        &[("ftl.kind", "fast"), ("op_ratio", "1")],
        &[("gc.planner", "cycle-filling"), ("buffer.bytes", "16KiB")],
        &[("clock", "lock-step"), ("gc.planner", "forwarding"), ("buffer.bytes", "16KiB")],
        &[
            ("clock", "lock-step"),
            ("buffer.bytes", "16KiB"),
            ("ftl.kind", "dftl"),
            ("ftl.cache_bytes", "128"),
            ("op_ratio", "2"),
        ],
        &[
            ("nand.cell", "tlc"),
            ("slc.kind", "static"),
            ("pages_per_block", "12"),
            ("slc.fold_after", "100us"),
        ],
    ];
    let trims: [&[Setting]; 3] = [
        &[("trim.backlog", "6"), ("trim.batch", "2"), ("trim.page_time", "7us")],
        &[("trim.backlog", "100"), ("trim.idle_after", "300us"), ("trim.granularity", "8KiB")],
        &[("trim.backlog", "1"), ("trim.batch", "1"), ("trim.page_time", "40us"), ("host.link", "sata3")],
    ];
    let requests: Vec<Request> = (0..1500)
        .map(|number: u64| {
            let (time_ns, at) = (number * 90_000 + number / 50 * 2 * MS, number * 2_654_435_761 % 997);
            let (page, count) = (at % 120, 1 + (at % 5) as u32);
            match at % 7 {
                0 | 1 => pages(time_ns, Op::Trim, page, count.min(8)),
                2 => sectors(time_ns, Op::Write, page * PAGE + 3, 4),
                3 | 4 => pages(time_ns, Op::Write, page, count),
                _ => pages(time_ns, Op::Read, page, count),
            }
        })
        .collect();
    let base = [("channels", "2"), ("capacity", "512KiB"), ("precondition", "full"), ("op_ratio", "0.5")];
    for (settings, more) in drives.iter().flat_map(|one| trims.iter().map(move |more| (one, more))) {
        let counters = run(&[&base[..], settings, more].concat(), &requests).counters;
        let counts = counters.trim;
        let done = counts.idle + counts.must + counts.rewritten;
        assert!(counts.deferred > 100 && counts.rewritten > 0, "{settings:?} {more:?}: {counts:?}");
        assert!(counts.deferred - done <= 1000, "{settings:?} {more:?}: {counts:?}");
    }
}
