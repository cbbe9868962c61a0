//! Superblocks: pages in turn over dies, parity, and collections of all dies together.

use flashweir_ssd::CommandKind::{Copies, Erase, Program, Read};
use flashweir_trace::Op;

use super::rig::{
    ERASE, Outcome, PROGRAM, READ, Setting, TRANSFER, pages, read, run, run_both, sectors, write,
};

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

#[test]
fn what_is_read_first_lies_on_the_die_where_a_full_drive_has_it() {
    for more in [
        &[] as &[Setting],
        &[("alloc.superblock_dies", "2")],
        &[("alloc.parity", "3")],
        &[("ftl.map_unit", "1KiB")],
        &[("ftl.map_unit", "1KiB"), ("alloc.parity", "1")],
        &[("ftl.kind", "zones"), ("ftl.host", "log")],
        &[("ftl.kind", "zones"), ("ftl.host", "log"), ("ftl.max_active", "3")],
        &[("ftl.kind", "zones"), ("ftl.host", "log"), ("alloc.superblock_dies", "2")],
    ] {
        // Pages of one die more than others to begin with: 0, 4, 8.
        let numbers = (0..128).step_by(4).chain((0..128).map(|number| number * 37 % 128));
        let reads: Vec<_> = (1..).zip(numbers).map(|(at, number)| read(at * 1_000_000, number)).collect();
        let dies = ["full", "on-read"].map(|state| {
            let outcome = run_both(&with(&[more, &[("precondition", state)]].concat()), &reads);
            let of_data = outcome.commands.into_iter().filter(|(kind, ..)| *kind == Read);
            of_data.map(|(_, die, ..)| die).collect::<Vec<_>>()
        });
        assert_eq!(dies[0], dies[1], "{more:?}");
    }
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
fn a_collection_begun_ahead_is_completed_by_two_commands_a_die() {
    // Idle for 50 us, the drive makes a step; then so many pages come that it has to free a superblock at once.
    let ahead = [("precondition", "full"), ("op_ratio", "0.25"), ("background.collect.after", "50us")];
    let first: Vec<_> = (0..24).map(|page| write(0, page * 7 % 128)).collect();
    let at = run(&with(&ahead), &first).completions().into_iter().max().expect("requests") + 50_001;
    let burst = (24..60).map(|page| write(at, page * 7 % 128));
    let outcome = run(&with(&ahead), &first.into_iter().chain(burst).collect::<Vec<_>>());
    let of_kind = |kind, from_ns: u64, to_ns: u64| {
        let is_of = move |command: &&Command| command.0 == kind && (from_ns..to_ns).contains(&command.3);
        outcome.commands.iter().filter(is_of)
    };
    assert!(of_kind(Copies, 0, at).count() > 0, "begun ahead");
    assert_eq!(of_kind(Erase, 0, at).count(), 0, "and not ended");
    let erased_ns = of_kind(Erase, at, u64::MAX).map(|erase| erase.3).min().expect("a collection");
    for die in 0..4 {
        let copies: Vec<_> = of_kind(Copies, at, erased_ns).filter(|copy| copy.1 == die).collect();
        // The step's own program, then reads and programs of all that is left.
        assert!(copies.len() <= 3, "{copies:?}");
    }
    let pages: u32 = of_kind(Copies, at, erased_ns).map(|copy| copy.2).sum();
    assert!(pages > 8, "more than a command a die and page: {pages}");
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

/// Overwrites of a full drive that begin to collect, in a closed loop.
fn managed(more: &[Setting], count: u64) -> Outcome {
    let base = [
        ("precondition", "full"),
        ("op_ratio", "0.6"),
        ("host.mode", "closed"),
        ("host.queue_depth", "8"),
        ("buffer.bytes", "64KiB"),
    ];
    let requests: Vec<_> = (0..count)
        .map(|number| if number % 9 == 8 { read(0, number * 13 % 128) } else { write(0, number * 29 % 128) })
        .collect();
    // `run` verifies every read, and that each request completes.
    run(&with(&[&base[..], more].concat()), &requests)
}

const STEP: Setting = ("clock", "lock-step");
const TWO_SETS: Setting = ("alloc.superblock_dies", "2");

#[test]
fn a_cycle_writes_a_page_to_each_plane_of_an_open_superblock() {
    let planes = [("planes", "2"), ("timing.multi_plane", "true"), ("capacity", "1MiB")];
    for more in [&[STEP][..], &[("gc.planner", "cycle-filling"), TWO_SETS]] {
        // Six pages: to all dies, then to two of them; of sets of two dies three each.
        let outcome = run(&with(more), &[pages(0, Op::Write, 0, 6)]);
        assert_eq!(outcome.latencies(), [2 * (TRANSFER + PROGRAM)], "{more:?}");
        let first: Vec<u32> =
            outcome.commands.iter().filter(|command| command.3 == 0).map(|command| command.1).collect();
        assert_eq!(first, [0, 1, 2, 3], "{more:?}");
        // With two planes a cycle has room for all: its planes are programmed as one command.
        let both = run(&with(&[more, &planes].concat()), &[pages(0, Op::Write, 0, 8)]);
        assert_eq!(both.latencies(), [2 * TRANSFER + PROGRAM], "{more:?}");
    }
    // The page of parity is one of its cycle: a plane that has it takes no page of data in that cycle.
    let parity = run(&with(&[STEP, ("alloc.parity", "3")]), &[pages(0, Op::Write, 0, 6)]);
    assert_eq!(parity.latencies(), [2 * (TRANSFER + PROGRAM)]);
    assert_eq!(parity.commands.iter().filter(|command| command.3 == 0).count(), 4);
    assert_eq!(parity.counters.parity_programs, 2);
}

#[test]
fn a_step_moves_a_page_for_each_plane_of_a_superblock() {
    let outcome = managed(&[STEP], 200);
    let copies: Vec<_> = outcome.commands.iter().filter(|command| command.0 == Copies).collect();
    // Reads of one step begin together, when all before them is done; there are as many as dies, at most.
    let mut begins: Vec<u64> = copies.iter().map(|command| command.3).collect();
    begins.dedup();
    let together = |at: u64| copies.iter().filter(|command| command.3 == at).count();
    assert!(outcome.counters.collections > 3);
    assert!(begins.iter().any(|at| together(*at) > 1) && begins.iter().all(|at| together(*at) <= 4));
    let erases: Vec<_> = outcome.commands.iter().filter(|command| command.0 == Erase).collect();
    assert!(erases.chunks(4).all(|erases| erases.iter().all(|erase| erase.3 == erases[0].3)));
}

#[test]
fn a_planner_has_sets_of_dies_as_units() {
    let collected = |more: &[Setting]| {
        let outcome = managed(&[&[TWO_SETS][..], more].concat(), 400);
        // Dies with a copy or an erase while one of the other set has one.
        let of_set = |set: u32| {
            let works = outcome.commands.iter().filter(move |command| matches!(command.0, Copies | Erase));
            works
                .filter(move |command| command.1 / 2 == set)
                .map(|command| (command.3, command.4))
                .collect::<Vec<_>>()
        };
        let (first, second) = (of_set(0), of_set(1));
        let together =
            |(start, end): &(u64, u64)| second.iter().any(|other| other.0 < *end && *start < other.1);
        assert!(!first.is_empty() && !second.is_empty(), "{more:?}");
        (first.iter().filter(|work| together(work)).count() * 100 / first.len(), outcome)
    };
    let spare = ("gc.spare_blocks", "1000");
    let (alone, none) = collected(&[STEP]);
    assert_eq!(alone, 0, "with a common clock the other set idles");
    let (stolen, stealing) = collected(&[STEP, ("gc.planner", "cycle-stealing")]);
    assert!(stolen > 30, "{stolen}");
    assert!(stealing.completions().last() < none.completions().last());
    assert_eq!(collected(&[STEP, ("gc.planner", "cycle-filling"), spare]).1, stealing);
    assert_eq!(collected(&[STEP, ("gc.planner", "selective-filling"), spare]).1, stealing);
    let (filled, _) = collected(&[("gc.planner", "cycle-filling"), spare]);
    assert!(filled > 30, "{filled}");
    let (ahead, _) = collected(&[("gc.planner", "forwarding"), spare]);
    assert!(ahead > 0);
}

#[test]
fn managed_superblocks_go_with_everything() {
    for planner in [
        &[STEP][..],
        &[STEP, ("gc.planner", "cycle-stealing")],
        &[("gc.planner", "cycle-filling")],
        &[("gc.planner", "forwarding")],
    ] {
        for more in [
            &[][..],
            &[("alloc.parity", "1"), ("op_ratio", "1")],
            &[("ftl.kind", "dftl"), ("ftl.cache_bytes", "256"), ("op_ratio", "3")],
            &[("ftl.map_unit", "1KiB"), ("op_ratio", "1.5")],
            &[("ftl.classifier", "generations"), ("op_ratio", "2")],
            &[("gc.frontiers", "2"), ("wear.static_gap", "2"), ("op_ratio", "1")],
            &[("dies", "2"), ("capacity", "1MiB"), ("sched.kind", "suspend")],
            &[("planes", "2"), ("timing.multi_plane", "true"), ("capacity", "1MiB")],
            &[("background.collect.after", "20us"), ("background.collect.should_below", "3")],
            &[("buffer.coalesce", "false"), ("buffer.replacement", "lru"), ("buffer.ack", "buffer")],
        ] {
            let outcome = managed(&[&[TWO_SETS][..], planner, more].concat(), 400);
            assert!(outcome.counters.gc.erases > 0, "{planner:?}, {more:?}");
        }
    }
}

#[test]
fn in_order_no_page_of_a_superblock_is_on_flash_before_an_older_request() {
    for more in [
        &[][..],
        &[TWO_SETS],
        &[("alloc.parity", "1"), ("op_ratio", "1")],
        &[("alloc.parity", "3"), ("op_ratio", "1")],
    ] {
        let base = [STEP, ("buffer.order", "in-order"), ("buffer.bytes", "24KiB"), ("buffer.ack", "flash")];
        let requests: Vec<_> = (0..200)
            .map(|number| pages(number * 1_000, Op::Write, number * 29 % 126, 1 + number as u32 % 3))
            .collect();
        let settings = with(&[&base[..], &[("precondition", "full"), ("op_ratio", "0.6")], more].concat());
        let completions = run(&settings, &requests).completions();
        assert!(completions.is_sorted(), "{more:?}");
    }
}

#[test]
fn pages_of_a_cycle_are_programmed_together_though_old_versions_are_read_for_some() {
    let base = [STEP, ("buffer.order", "in-order"), ("buffer.bytes", "32KiB"), ("buffer.ack", "flash")];
    let settings = with(&[&base[..], &[("precondition", "full"), ("op_ratio", "0.6")]].concat());
    // Half of page 0, pages 1 and 2, half of page 3, after one page: what page 3 keeps is on the die that programs page 2.
    let at = 10_000_000;
    let outcome = run(&settings, &[write(0, 9), sectors(at, Op::Write, 4, 24)]);
    let later = |kind| outcome.commands.iter().filter(move |command| command.0 == kind && command.3 >= at);
    assert_eq!(later(Read).count(), 2);
    let begins: Vec<u64> = later(Program).map(|command| command.3).collect();
    assert_eq!(begins, [at + READ + TRANSFER; 4]);
}
