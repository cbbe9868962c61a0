//! Superblocks: pages in turn over dies, parity, and collections of all dies together.

use flashweir_ssd::CommandKind::{Copies, Erase, Program, Read};
use flashweir_trace::Op;

use super::rig::{ERASE, Outcome, PROGRAM, READ, Setting, TRANSFER, pages, read, run, run_both, write};

/// Four channels with a die each, pages of 4 KiB, blocks of 4: superblocks of 16 pages.
const FOUR: [Setting; 3] = [("channels", "4"), ("capacity", "512KiB"), ("alloc.kind", "superblock")];

fn with(more: &[Setting]) -> Vec<Setting> {
    FOUR.into_iter().chain(more.iter().copied()).collect()
}

#[test]
fn the_page_after_goes_to_the_die_after() {
    // Whatever their addresses: 4 to 7 are at page 0 of each die, then 0 to 3 at page 1.
    let outcome = run_both(&with(&[]), &[pages(0, Op::Write, 5, 6), pages(1_000_000, Op::Read, 7, 4)]);
    assert_eq!(outcome.latencies(), [2 * (TRANSFER + PROGRAM), READ + TRANSFER]);
    let dies: Vec<_> = outcome.commands.iter().map(|(kind, die, ..)| (*kind, *die)).collect();
    let programs = [(Program, 0), (Program, 1), (Program, 2), (Program, 3), (Program, 0), (Program, 1)];
    assert_eq!(dies[..6], programs);
    // Pages 7 to 10 are the third to the sixth that were written.
    assert_eq!(dies[6..], [(Read, 0), (Read, 1), (Read, 2), (Read, 3)]);
}

#[test]
fn sets_of_two_dies_take_pages_by_their_address() {
    let outcome = run_both(
        &with(&[("alloc.superblock_dies", "2")]),
        &[pages(0, Op::Write, 0, 2), pages(0, Op::Write, 2, 4)],
    );
    let dies: Vec<_> = outcome.commands.iter().map(|(_, die, ..)| *die).collect();
    // Even pages to dies 0 and 1, odd ones to 2 and 3: 0 and 1 first, then 2 and 3, then 4 and 5.
    assert_eq!(dies, [0, 1, 2, 3, 0, 2]);
    assert_eq!(outcome.latencies(), [TRANSFER + PROGRAM, 2 * (TRANSFER + PROGRAM)]);
}

#[test]
fn parity_is_programmed_with_the_last_page_of_its_stripe() {
    let outcome =
        run_both(&with(&[("alloc.parity", "3")]), &[pages(0, Op::Write, 0, 3), write(1_000_000, 9)]);
    assert_eq!(outcome.latencies(), [TRANSFER + PROGRAM; 2]);
    let dies: Vec<_> = outcome.commands.iter().map(|(kind, die, ..)| (*kind, *die)).collect();
    // Parity of the first row is on die 3, and of the second on die 2.
    assert_eq!(dies, [(Program, 0), (Program, 1), (Program, 2), (Program, 3), (Program, 0)]);
    let counters = &outcome.counters;
    assert_eq!((counters.host.programs, counters.parity_programs, counters.flash().programs), (4, 1, 5));
}

/// Kind, die, pages, start and end.
type Command = (flashweir_ssd::CommandKind, u32, u32, u64, u64);

/// Fills the drive, and overwrites it from page 0 on: until there is no erased superblock but the one held back.
fn overwrite(more: &[Setting], written: u64) -> super::rig::Outcome {
    let settings = with(&[&[("precondition", "full"), ("op_ratio", "0.25")], more].concat());
    let requests: Vec<_> = (0..=written).map(|page| write(page * 1_000_000, page * 7 % 128)).collect();
    run_both(&settings, &requests)
}

#[test]
fn a_superblock_is_collected_by_all_its_dies_at_once() {
    // 8 superblocks of data, 2 spare, 1 held back: after 32 pages a write collects one first.
    let outcome = overwrite(&[], 32);
    assert_eq!(outcome.counters.collections, 1);
    assert_eq!(outcome.counters.gc.erases, 4);
    let moved = outcome.counters.gc.programs;
    assert!((1..16).contains(&moved) && outcome.counters.gc.reads == moved);
    let at = 32_000_000;
    let of_collection: Vec<Command> =
        outcome.commands.iter().copied().filter(|command| command.3 >= at).collect();
    let is_read = |command: &Command| command.4 - command.3 == u64::from(command.2) * (READ + TRANSFER);
    let copies = of_collection.iter().copied().filter(|command| command.0 == Copies);
    let (reads, programs): (Vec<Command>, Vec<Command>) = copies.partition(is_read);
    let pages = |commands: &[Command]| commands.iter().map(|command| u64::from(command.2)).sum::<u64>();
    assert_eq!((pages(&reads), pages(&programs)), (moved, moved));
    // Programs start when all reads are done, erases when all programs are.
    let end_ns = |commands: &[Command]| commands.iter().map(|command| command.4).max().expect("some");
    let (read_ns, programmed_ns) = (end_ns(&reads), end_ns(&programs));
    assert!(reads.iter().all(|read| read.3 == at) && programs.iter().all(|program| program.3 == read_ns));
    let erases: Vec<Command> = of_collection.iter().copied().filter(|command| command.0 == Erase).collect();
    assert_eq!(erases.len(), 4);
    assert!(erases.iter().all(|erase| (erase.3, erase.4) == (programmed_ns, programmed_ns + ERASE)));
    let latency = programmed_ns + ERASE + TRANSFER + PROGRAM - at;
    assert_eq!(outcome.latencies()[32], latency);
}

#[test]
fn collections_with_parity_keep_their_stripes() {
    let outcome = overwrite(&[("alloc.parity", "3"), ("op_ratio", "0.4")], 400);
    let counters = &outcome.counters;
    assert!(counters.collections > 10);
    let data = counters.host.programs + counters.gc.programs;
    // Every third page of data has one; the open superblocks have up to two pages of data without theirs.
    assert!(counters.parity_programs.abs_diff(data / 3) <= 1, "{counters:?}");
}

#[test]
fn both_paths_agree_in_steady_state() {
    for more in [
        &[("alloc.superblock_dies", "2"), ("gc.frontiers", "2")][..],
        &[
            ("gc.victim", "cost-benefit"),
            ("planes", "2"),
            ("capacity", "1MiB"),
            ("timing.multi_plane", "true"),
        ],
        &[("chips", "2"), ("timing.bus", "0"), ("timing.command", "0ns"), ("capacity", "1MiB")],
        &[("ftl.classifier", "generations"), ("op_ratio", "1.0")],
        &[("page", "16KiB"), ("ftl.map_unit", "4KiB"), ("capacity", "2MiB"), ("op_ratio", "0.5")],
    ] {
        let outcome = overwrite(more, 600);
        assert!(outcome.counters.collections > 3, "{more:?}");
    }
}

#[test]
fn a_superblock_is_collected_ahead_when_all_of_its_dies_are_idle() {
    let full = [("precondition", "full"), ("op_ratio", "0.4")];
    let requests: Vec<_> = (0..300).map(|number| write(number * 10_000_000, number * 29 % 128)).collect();
    let late = |outcome: &Outcome| {
        outcome.latencies().iter().filter(|time| **time > 2 * (TRANSFER + PROGRAM)).count()
    };
    let must = run(&with(&full), &requests);
    assert!(late(&must) > 10, "collections in the way of writes");
    for more in [
        &[][..],
        &[("alloc.superblock_dies", "2")],
        &[("alloc.parity", "3")],
        &[("alloc.parity", "1"), ("alloc.superblock_dies", "2")],
    ] {
        let settings = [&full[..], &[("background.collect.after", "50us")], more].concat();
        let ahead = run(&with(&settings), &requests);
        assert!(late(&ahead) * 4 < late(&must), "{more:?}: {} writes are late", late(&ahead));
        // A write waits for a step, and not for a collection.
        let longest = ahead.latencies().into_iter().max().expect("requests");
        assert!(longest <= ERASE + 2 * (TRANSFER + PROGRAM), "{more:?}: {longest}");
        assert!(ahead.counters.gc.erases > 0 && ahead.counters.gc.erases.is_multiple_of(2));
    }
    // Its first step comes when the last of its dies has been idle for so long.
    let settings =
        [&full[..], &[("background.collect.after", "50us"), ("background.collect.until", "9")]].concat();
    let outcome = run(&with(&settings), &[write(0, 0), read(40_000, 9), write(9_000_000_000, 1)]);
    let first = outcome.commands.iter().filter(|command| command.0 == Copies).map(|command| command.3).min();
    let last = outcome.commands.iter().filter(|command| command.3 < 50_000).map(|command| command.4).max();
    assert_eq!(first, last.map(|end_ns| end_ns + 50_000));
}

#[test]
fn a_set_short_of_superblocks_collects_between_the_commands_of_others() {
    let full = [("precondition", "full"), ("op_ratio", "0.6"), ("background.collect.should_below", "3")];
    let requests: Vec<_> = (0..900)
        .map(|number| {
            let time_ns = number * 150_000;
            if number % 3 == 0 { read(time_ns, number * 13 % 128) } else { write(time_ns, number * 29 % 128) }
        })
        .collect();
    for more in [
        &[][..],
        &[("background.collect.pace", "writes"), ("background.collect.pace_copies", "1.5")],
        &[
            ("wear.static_gap", "2"),
            ("background.level.after", "0ns"),
            ("gc.free_blocks", "2"),
            ("op_ratio", "1"),
        ],
        &[
            ("ftl.kind", "dftl"),
            ("ftl.cache_bytes", "256"),
            ("op_ratio", "3"),
            ("background.write_back.after", "0ns"),
        ],
        &[("buffer.bytes", "32KiB"), ("buffer.destage", "idle"), ("buffer.idle_after", "50us")],
        &[("sched.kind", "suspend"), ("dies", "2"), ("capacity", "1MiB"), ("alloc.superblock_dies", "4")],
        &[("ftl.map_unit", "1KiB"), ("alloc.superblock_dies", "2"), ("op_ratio", "1.5")],
        &[("planes", "2"), ("timing.multi_plane", "true"), ("capacity", "1MiB")],
    ] {
        // `run` verifies every read, and that each request completes.
        let outcome = run(&with(&[&full[..], more].concat()), &requests);
        assert!(outcome.counters.gc.erases > 0, "{more:?}");
    }
}
