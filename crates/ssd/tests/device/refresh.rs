//! Refresh and read reclaim: data is moved before its bit errors are too many, step by step, when its die is idle or it has waited for
//! too long.

use flashweir_ssd::CommandKind::{Copies, Erase};
use flashweir_trace::Request;

use super::ageing::{LIMIT, SECOND, aged, retried, text};
use super::rig::{ERASE, MS, Outcome, PROGRAM, READ, Setting, TRANSFER, ends_in_slices, read, run, write};

/// A day in each second, and data that needs a retry when it is 3.5 days old.
fn retention(more: &[Setting]) -> Vec<Setting> {
    let law = [("ageing.pace", "86400"), ("ageing.beta", text(LIMIT / 3.5))];
    aged(&[&law[..], more].concat())
}

/// Data of two days is refreshed as soon as its die is idle.
const REFRESH: [Setting; 2] = [("background.refresh.after", "0ns"), ("background.refresh.age", "2")];

/// All 64 pages, at a time.
fn write_all(time_ns: u64) -> impl Iterator<Item = Request> {
    (0..64).map(move |page| write(time_ns, page))
}

#[test]
fn old_data_is_moved_before_it_needs_a_retry() {
    let requests: Vec<_> = write_all(0).chain([read(5 * SECOND, 0)]).collect();
    let plain = run(&retention(&[]), &requests);
    assert_eq!(plain.latencies().last(), Some(&retried(1)));
    assert_eq!(plain.counters.gc.programs, 0);
    let outcome = run(&retention(&REFRESH), &requests);
    assert_eq!(outcome.latencies().last(), Some(&retried(0)));
    // Sixteen blocks, after two seconds and after four: programs of collections, of which it counts the pages.
    let counts = outcome.counters.ageing;
    assert_eq!((counts.refreshed_blocks, counts.reclaimed_blocks, counts.moved_units), (32, 0, 128));
    assert_eq!((outcome.counters.gc.programs, outcome.counters.gc.erases), (128, 32));
    let first = outcome.commands.iter().find(|command| command.0 == Copies).expect("a copy");
    assert!((2 * SECOND..=2 * SECOND + 1).contains(&first.3), "{}", first.3);
}

#[test]
fn what_is_written_anew_is_not_old() {
    let often = (0..5).flat_map(|round| write_all(round * SECOND));
    let requests: Vec<_> = often.chain([read(5 * SECOND, 0)]).collect();
    assert_eq!(run(&retention(&REFRESH), &requests).counters.ageing.refreshed_blocks, 0);
}

#[test]
fn a_drive_that_refreshes_keeps_what_the_same_drive_without_it_loses() {
    // Each page is read every second, for eight. Without a retry, data of 3.5 days can't be read.
    let weak = [("ageing.retries", "0"), ("ageing.soft_bits", "0")];
    let reads =
        (1..9).flat_map(|second| (0..64).map(move |page| read(second * SECOND + page * 3 * MS, page)));
    let requests: Vec<_> = write_all(0).chain(reads).collect();
    for ftl in [
        &[][..],
        &[("ftl.kind", "dftl")],
        &[("channels", "4"), ("alloc.kind", "superblock")],
        &[("ftl.map_unit", "1KiB"), ("op_ratio", "1")],
        &[("gc.frontiers", "2"), ("gc.victim", "fifo")],
    ] {
        let lost = |more: &[Setting]| {
            let settings = retention(&[&weak, ftl, more].concat());
            let counts = run(&settings, &requests).counters.ageing;
            (counts.uncorrectable_pages, counts.refreshed_blocks)
        };
        let (plain, _) = lost(&[]);
        assert!(plain >= 5 * 64, "{ftl:?}: {plain} of the reads after 3.5 s");
        let (kept, refreshed) = lost(&REFRESH);
        assert!(kept == 0 && refreshed > 0, "{ftl:?}: {kept} lost, {refreshed} refreshed");
        // With retries the reads are right in both cases, and take fewer.
        let retries =
            |more: &[Setting]| run(&retention(&[ftl, more].concat()), &requests).counters.ageing.retries;
        assert!(retries(&REFRESH) == 0 && retries(&[]) >= 5 * 64, "{ftl:?}");
    }
}

/// Four pages of a block, and one of them is read so often, each time when the read before it and all that it brings about is done.
fn reads_of_one(count: u64) -> Vec<Request> {
    (0..4).map(|page| write(0, page)).chain((1..=count).map(|number| read(number * 10 * MS, 0))).collect()
}

/// A block needs a retry after 40 readings.
fn disturbed(key: &'static str, value: &'static str) -> Outcome {
    let law = [("ageing.gamma", text(LIMIT / 40.5)), ("ageing.reads_of", "block")];
    run(&aged(&[&law[..], &[("background.refresh.after", "0ns"), (key, value)]].concat()), &reads_of_one(110))
}

#[test]
fn a_block_that_was_read_often_is_reclaimed() {
    let outcome = disturbed("background.refresh.reads", "30");
    let counts = outcome.counters.ageing;
    assert_eq!((counts.refreshed_blocks, counts.reclaimed_blocks, counts.moved_units), (0, 3, 12));
    assert!(outcome.latencies()[4..].iter().all(|latency| *latency == retried(0)));
    let plain = disturbed("background.refresh.reads", "none");
    assert_eq!((plain.counters.ageing.reclaimed_blocks, plain.counters.gc.erases), (0, 0));
    assert_eq!(plain.latencies().last(), Some(&retried(3)), "retries disturb, too: 162 readings and more");
}

#[test]
fn a_block_that_needed_a_retry_is_reclaimed() {
    let outcome = disturbed("background.refresh.retries", "1");
    let counts = outcome.counters.ageing;
    assert_eq!(counts.reclaimed_blocks, 2);
    assert_eq!(counts.retried_pages, 2 + 2 * 4, "a read of each block, and those of its copies");
    assert_eq!(disturbed("background.refresh.retries", "2").counters.ageing.reclaimed_blocks, 1);
}

#[test]
fn a_request_waits_for_one_step_of_a_refresh_at_most() {
    // Sixteen blocks are refreshed from 2 s on, in 24 ms.
    let reads = (0..40).map(|number| read(2 * SECOND + number * 2_037_000, number));
    let requests: Vec<_> = write_all(0).chain(reads).collect();
    let outcome = run(&retention(&REFRESH), &requests);
    assert_eq!(outcome.counters.ageing.refreshed_blocks, 16);
    let latencies = &outcome.latencies()[64..];
    let most = *latencies.iter().max().expect("some");
    assert!(most > retried(0), "some read comes while a step is made");
    assert!(most <= ERASE + retried(0), "{most} ns: the longest step is an erase");
    let copies = outcome.commands.iter().filter(|command| command.0 == Copies);
    assert!(
        copies
            .clone()
            .all(|(_, _, pages, start, end)| { *pages == 1 && end - start == READ + 2 * TRANSFER + PROGRAM })
    );
    assert_eq!(copies.count(), 64);
}

#[test]
fn a_block_that_is_overdue_moves_though_its_die_is_never_idle() {
    // Reads come faster than the die serves them, from before the data is due.
    let reads = (0..2_900).map(|number| read(2 * SECOND - 10 * MS + number * 14_000, number % 64));
    let requests: Vec<_> = write_all(0).chain(reads).collect();
    let of = |more: &[Setting]| {
        let outcome = run(&retention(&[&[("background.refresh.age", "2")], more].concat()), &requests);
        let erases = outcome.commands.iter().filter(|command| command.0 == Erase);
        let first = outcome.commands.iter().find(|command| command.0 == Copies).map(|command| command.3);
        (outcome.counters.ageing.moved_units, erases.count(), first)
    };
    assert_eq!(of(&[("background.refresh.after", "0ns")]), (0, 0, None));
    let (moved, erases, first) = of(&[("background.refresh.overdue", "5ms")]);
    assert!(moved >= 4 && erases >= 1, "{moved} units, {erases} erases");
    assert!(first.expect("a copy") >= 2 * SECOND + 5 * MS);
}

#[test]
fn slices_and_forks_change_nothing() {
    let reads = (0..300).map(|number| read(SECOND + number * 11_700_000, number % 64));
    let requests: Vec<_> = write_all(0).chain(reads).collect();
    for settings in [
        retention(&REFRESH),
        retention(&[("background.refresh.overdue", "1ms"), ("background.refresh.age", "0.7")]),
    ] {
        let outcome = run(&settings, &requests);
        assert!(outcome.counters.ageing.refreshed_blocks > 0);
        assert_eq!(ends_in_slices(&settings, &requests, 97), outcome.completions());
    }
}
