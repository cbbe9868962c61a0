//! Superblocks in SLC mode: order of pages, the cliff, folding by all dies of a set, parity, and counts of blocks; all of it by
//! hand.

use flashweir_ssd::CommandKind::{Copies, Erase, Program, Read};
use flashweir_ssd::{Simulation, SlcState};
use flashweir_trace::{Op, Request};

use super::rig::{
    ERASE, MS, Outcome, PROGRAM, SLC_PROGRAM, SLC_READ, Setting, TRANSFER, drive, pages, read, run, run_both,
    slow, write,
};

/// Writes, in SLC mode and not.
const CACHED: u64 = TRANSFER + SLC_PROGRAM;
const DIRECT: u64 = TRANSFER + PROGRAM;
/// A page is read in SLC mode on one die and crosses the bus; then it crosses that of another one and is programmed.
const FOLD: u64 = SLC_READ + TRANSFER + DIRECT;
/// Pages of a superblock in SLC mode: 4 of the 12 rows, of 4 dies.
const SLC_PAGES: u64 = 16;

/// Four channels with a die each, three bits a cell; two superblocks are always in SLC mode.
const BASE: [Setting; 9] = [
    ("channels", "4"),
    ("capacity", "1MiB"),
    ("alloc.kind", "superblock"),
    ("pages_per_block", "12"),
    ("nand.cell", "tlc"),
    ("slc.read_time", "3us"),
    ("slc.program_time", "20us"),
    ("slc.kind", "static"),
    ("slc.static_blocks", "2"),
];
const DIRECTLY: Setting = ("slc.when_full", "direct");

fn with(more: &[Setting]) -> Vec<Setting> {
    BASE.into_iter().chain(more.iter().copied()).collect()
}

fn state(simulation: &Simulation) -> SlcState {
    simulation.slc().expect("a cache")
}

#[test]
fn pages_of_a_superblock_in_slc_mode_go_in_turn_over_its_dies_at_its_speed() {
    let outcome = run_both(&with(&[]), &[pages(0, Op::Write, 5, 6), pages(MS, Op::Read, 7, 4)]);
    assert_eq!(outcome.latencies(), [2 * CACHED, SLC_READ + TRANSFER]);
    let dies: Vec<_> = outcome.commands.iter().map(|(kind, die, ..)| (*kind, *die)).collect();
    let programs = [(Program, 0), (Program, 1), (Program, 2), (Program, 3), (Program, 0), (Program, 1)];
    assert_eq!(dies[..6], programs);
    assert_eq!(dies[6..], [(Read, 0), (Read, 1), (Read, 2), (Read, 3)]);
    // Data from before the run is in superblocks of the native mode.
    let full = run_both(&with(&[("precondition", "full")]), &[read(0, 7)]);
    assert_eq!(full.latencies(), [super::rig::READ + TRANSFER]);
}

#[test]
fn the_cliff_is_where_the_superblocks_in_slc_mode_are_full() {
    for (more, cliff) in [
        (&[][..], 2 * SLC_PAGES),
        // Two sets have two each, of half as many pages.
        (&[("alloc.superblock_dies", "2")], 2 * SLC_PAGES),
        // Of four pages of a row one is parity.
        (&[("alloc.parity", "3"), ("op_ratio", "1")], 2 * SLC_PAGES * 3 / 4),
        (&[("slc.static_blocks", "5")], 5 * SLC_PAGES),
        // Thirteen rows make four in SLC mode, too.
        (&[("pages_per_block", "13")], 2 * SLC_PAGES),
    ] {
        let outcome = run_both(&with(&[&[DIRECTLY], more].concat()), &slow(cliff + 8));
        let latencies = outcome.latencies();
        let (before, after) = latencies.split_at(cliff as usize);
        assert!(before.iter().all(|latency| *latency == CACHED), "{more:?}");
        assert!(after.iter().all(|latency| *latency == DIRECT), "{more:?}");
        let counts = outcome.counters.slc;
        assert_eq!((counts.written, counts.direct, counts.folded), (cliff, 8, 0), "{more:?}");
    }
}

#[test]
fn a_dynamic_cache_has_its_share_of_the_superblocks_that_are_free() {
    for (filled, share) in [(0, "1"), (40, "1"), (100, "0.5"), (256, "1")] {
        let settings = with(&[("slc.kind", "dynamic"), ("slc.dynamic_share", share), DIRECTLY]);
        let mut simulation = drive(&settings);
        simulation.fill(0..filled).expect("it fits");
        simulation.end_of_preconditioning();
        // Superblocks with data, and one that stays erased, take no part.
        let free = simulation.geometry().min_unit_blocks() - u64::div_ceil(filled, 48) - 1;
        let share: f64 = share.parse().expect("a number");
        let blocks = (0..free).filter(|block| (block + 1) as f64 <= share * free as f64).count() as u64;
        let cliff = blocks * SLC_PAGES;
        assert_eq!(state(&simulation).room, cliff, "{filled} pages, share {share}");
        simulation.serve(&slow(cliff + 5)).expect("served");
        simulation.finish().expect("finished");
        let counts = simulation.counters().slc;
        assert_eq!((counts.written, counts.direct), (cliff, 5), "{filled} pages, share {share}");
    }
}

/// Starts, ends and dies of commands of a kind.
fn of_kind(outcome: &Outcome, kind: flashweir_ssd::CommandKind) -> Vec<(u64, u64, u32)> {
    let own = outcome.commands.iter().filter(|command| command.0 == kind);
    own.map(|command| (command.3, command.4, command.1)).collect()
}

#[test]
fn a_superblock_in_slc_mode_is_folded_by_all_dies_at_once_and_erased_as_one() {
    let full = 2 * SLC_PAGES;
    let outcome = run_both(&with(&[]), &slow(full + SLC_PAGES + 1));
    // Each die reads four pages in SLC mode; when all have, each programs four; when all have, each erases its block.
    let (reads, programs) = (4 * (SLC_READ + TRANSFER), 4 * DIRECT);
    for (number, latency) in (0..).zip(outcome.latencies()) {
        let waits = number >= full && number % SLC_PAGES == 0;
        let fold = reads + programs + ERASE;
        assert_eq!(latency, if waits { fold + CACHED } else { CACHED }, "write {number}");
    }
    let at = full * 10 * MS;
    let copies = of_kind(&outcome, Copies);
    let read = (0..4).map(|die| (at, at + reads, die));
    let programmed = (0..4).map(|die| (at + reads, at + reads + programs, die));
    assert!(copies[..8].iter().copied().eq(read.chain(programmed)), "{copies:?}");
    let emptied = at + reads + programs;
    let erases = of_kind(&outcome, Erase);
    assert!(erases[..4].iter().copied().eq((0..4).map(|die| (emptied, emptied + ERASE, die))));
    let counts = outcome.counters.slc;
    assert_eq!((counts.written, counts.direct, counts.folded, counts.erases), (49, 0, 32, 8));
    assert_eq!(
        (outcome.counters.gc.reads, outcome.counters.gc.programs, outcome.counters.gc.erases),
        (32, 32, 8)
    );
}

#[test]
fn parity_is_in_slc_mode_where_its_data_is() {
    let settings = with(&[("alloc.parity", "3"), ("op_ratio", "1")]);
    let full = 2 * SLC_PAGES * 3 / 4;
    let outcome = run_both(&settings, &slow(full + 1));
    let programs = of_kind(&outcome, Program);
    // 24 pages of data and 8 of parity, then the page that waited.
    assert_eq!(programs.len() as u64, full + full / 3 + 1);
    assert!(programs.iter().all(|(start, end, _)| end - start == CACHED), "{programs:?}");
    // Four pages of parity are made anew for the 12 that are folded.
    assert_eq!(outcome.counters.slc.folded, 12);
    assert_eq!(outcome.counters.parity_programs, full / 3 + 4);
    // Of the 16 pages of a superblock each die reads its three of data, and programs four.
    let latency = 3 * (SLC_READ + TRANSFER) + 4 * DIRECT + ERASE + CACHED;
    assert_eq!(outcome.latencies().last(), Some(&latency));
}

#[test]
fn a_step_of_folding_moves_a_page_for_each_die() {
    let settings = with(&[DIRECTLY, ("slc.fold_after", "1ms")]);
    let full = 2 * SLC_PAGES;
    let writes: Vec<Request> = (0..full).map(|page| write(page / 4 * CACHED, page)).collect();
    let idle_from = full / 4 * CACHED;
    for steps in 1..=4 {
        // In the middle of the step after that.
        let until = idle_from + MS + steps * FOLD + FOLD / 2;
        let outcome = run(&settings, &[&writes[..], &[read(until, 60)]].concat());
        assert_eq!(outcome.counters.slc.folded, 4 * (steps + 1).min(4), "{steps}");
        let copies = of_kind(&outcome, Copies);
        let first = idle_from + MS;
        assert_eq!(copies[0], (first, first + SLC_READ + TRANSFER, 0));
        assert_eq!(copies[7], (first + SLC_READ + TRANSFER, first + FOLD, 3));
    }
    let whole = idle_from + MS + 2 * (4 * FOLD + ERASE);
    for (end_ns, room) in [(whole, full), (whole - 1, full), (whole - ERASE, SLC_PAGES)] {
        let mut simulation = drive(&settings);
        simulation.serve(&writes).expect("served");
        simulation.advance_to(end_ns - 1).expect("advanced");
        assert_eq!(state(&simulation).room, room, "at {end_ns}");
    }
}

#[test]
fn wear_of_superblocks_kept_in_slc_mode_is_that_of_their_blocks() {
    let mut simulation = drive(&with(&[]));
    simulation.serve(&slow(4 * SLC_PAGES + 1)).expect("served");
    simulation.finish().expect("finished");
    let own = state(&simulation);
    assert_eq!((own.kept_blocks, own.blocks, own.erases), (8, 8, 12));
    assert_eq!((own.min_erases, own.max_erases), (1, 2));
    assert_eq!(simulation.wear().all.max, 0, "no other block was erased");
}

/// Free, open and full blocks are all blocks; those of the drive's units as well as the superblocks of the translation layer.
fn check_blocks(simulation: &Simulation, what: &str) {
    let map = simulation.block_map(u64::MAX);
    let of_sets: u64 = map.rows.iter().flatten().map(|cell| cell.blocks).sum();
    let free: u64 = map.rows.iter().flatten().map(|cell| cell.free).sum();
    let open: u64 = map.rows.iter().flatten().map(|cell| cell.open).sum();
    let full: u64 = map.full_by_valid.iter().sum();
    assert_eq!(free + open + full, of_sets, "{what}");
    let geometry = simulation.geometry();
    assert_eq!(of_sets * 4, geometry.blocks, "{what}: all blocks are in superblocks");
    let erased: u64 = (0..geometry.channels).map(|channel| simulation.free_blocks(channel)).sum();
    assert!(erased >= free * 4 && erased <= geometry.blocks, "{what}: {erased} of {free}");
}

#[test]
fn superblocks_are_free_open_or_full_whatever_mode_they_are_in() {
    for more in [
        &[("slc.kind", "static")][..],
        &[("slc.kind", "dynamic"), DIRECTLY],
        &[("slc.kind", "both"), ("slc.dynamic_share", "0.6")],
        &[("slc.kind", "dynamic"), ("alloc.parity", "1"), ("op_ratio", "1.5")],
        &[("slc.kind", "dynamic"), ("slc.fold_after", "100us")],
        &[("slc.kind", "both"), ("gc.frontiers", "2"), ("wear.static_gap", "2"), ("op_ratio", "0.8")],
    ] {
        let mut simulation = drive(&with(&[&[("precondition", "full")], more].concat()));
        check_blocks(&simulation, "a full drive");
        let sizes = [1, 2, 3, 7, 1, 5];
        for round in 0..60 {
            let requests: Vec<Request> = (0..20)
                .map(|number| {
                    let number = round * 20 + number;
                    let time_ns = number * 400_000 + round * 9 * MS;
                    pages(time_ns, Op::Write, number * 29 % 249, sizes[number as usize % 6])
                })
                .collect();
            simulation.serve(&requests).expect("served");
            check_blocks(&simulation, &format!("{more:?}, round {round}"));
        }
        simulation.finish().expect("finished");
        let counts = simulation.counters().slc;
        assert!(counts.written > 0 && counts.folded > 0 && counts.erases > 0, "{more:?}: {counts:?}");
    }
}
