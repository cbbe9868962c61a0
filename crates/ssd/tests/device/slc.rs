//! The SLC cache: where the cliff is, rates before and after it, what folding costs, and what idle time gives back; all of it
//! by hand.

use flashweir_ssd::CommandKind::{Copies, Erase, Program, Read};
use flashweir_ssd::{Simulation, SlcState};
use flashweir_trace::{Op, Request};

use super::rig::{
    ERASE, MS, PROGRAM, READ, SLC_PROGRAM, SLC_READ, Setting, TRANSFER, drive, pages, read, run, run_both,
    slow, write,
};

/// Writes, in SLC mode and not.
const CACHED: u64 = TRANSFER + SLC_PROGRAM;
const DIRECT: u64 = TRANSFER + PROGRAM;
/// A page is read in SLC mode, crosses the bus twice, and is programmed in the other.
const FOLD: u64 = SLC_READ + 2 * TRANSFER + PROGRAM;
/// Pages of a block, and of one in SLC mode.
const BLOCK: u64 = 12;
const SLC_BLOCK: u64 = 4;

/// Three bits a cell: blocks of 12 pages hold 4 in SLC mode.
const TLC: [Setting; 4] =
    [("pages_per_block", "12"), ("nand.cell", "tlc"), ("slc.read_time", "3us"), ("slc.program_time", "20us")];

/// Two blocks of its own.
const STATIC: [Setting; 2] = [("slc.kind", "static"), ("slc.static_blocks", "2")];

fn with(settings: &[&[Setting]]) -> Vec<Setting> {
    TLC.iter().chain(settings.iter().copied().flatten()).copied().collect()
}

fn state(simulation: &Simulation) -> SlcState {
    simulation.slc().expect("a cache")
}

#[test]
fn pages_in_slc_mode_are_programmed_and_read_at_its_speed() {
    let outcome = run_both(&with(&[&STATIC]), &[write(0, 7), read(MS, 7)]);
    assert_eq!(outcome.spans(), [(Program, 0, CACHED), (Read, MS, MS + SLC_READ + TRANSFER)]);
    let counts = outcome.counters.slc;
    assert_eq!((counts.written, counts.direct, counts.folded), (1, 0, 0));
    // Without a cache, at the speed of the flash.
    let plain = run_both(&with(&[]), &[write(0, 7), read(MS, 7)]);
    assert_eq!(plain.latencies(), [DIRECT, READ + TRANSFER]);
    // Data from before the run has been folded.
    let full = run_both(&with(&[&STATIC, &[("precondition", "full")]]), &[read(0, 7)]);
    assert_eq!(full.latencies(), [READ + TRANSFER]);
}

#[test]
fn a_static_cache_takes_its_blocks_and_then_writes_are_direct() {
    let settings = with(&[&STATIC, &[("slc.when_full", "direct")]]);
    let outcome = run_both(&settings, &slow(20));
    let cliff = 2 * SLC_BLOCK as usize;
    assert!(outcome.latencies()[..cliff].iter().all(|latency| *latency == CACHED));
    assert!(outcome.latencies()[cliff..].iter().all(|latency| *latency == DIRECT));
    let counts = outcome.counters.slc;
    assert_eq!((counts.written, counts.direct, counts.folded, counts.erases), (8, 12, 0, 0));
}

#[test]
fn a_write_to_a_full_cache_waits_for_its_oldest_block() {
    let outcome = run_both(&with(&[&STATIC]), &slow(30));
    let folds = SLC_BLOCK * FOLD + ERASE;
    for (number, latency) in (0..).zip(outcome.latencies()) {
        let waits = number >= 2 * SLC_BLOCK && number % SLC_BLOCK == 0;
        assert_eq!(latency, if waits { folds + CACHED } else { CACHED }, "write {number}");
    }
    // Blocks of 4 pages at writes 8, 12, 16, 20, 24 and 28.
    let counts = outcome.counters.slc;
    assert_eq!((counts.written, counts.direct, counts.folded, counts.erases), (30, 0, 24, 6));
    assert_eq!(outcome.counters.flash().programs, 30 + 24);
    let copies = outcome.commands.iter().filter(|(kind, ..)| *kind == Copies);
    assert!(copies.clone().count() == 6 && copies.clone().all(|(_, _, pages, ..)| *pages == 4));
}

#[test]
fn pages_overwritten_or_trimmed_in_the_cache_are_not_folded() {
    let mut requests = slow(8);
    requests.extend([write(200 * MS, 1), pages(210 * MS, Op::Trim, 2, 1), write(220 * MS, 20)]);
    let outcome = run_both(&with(&[&STATIC]), &requests);
    // The write of page 1 waits for all four pages of the first block, since its own is the newest.
    assert_eq!(outcome.latencies()[8], SLC_BLOCK * FOLD + ERASE + CACHED);
    let requests = [0, 1, 2, 3, 0, 1, 2, 4, 5].map(|page| write(page * 10 * MS, page));
    let mut requests: Vec<Request> = requests.to_vec();
    for (number, request) in (0..).zip(&mut requests) {
        request.time_ns = number * 10 * MS;
    }
    let outcome = run_both(&with(&[&STATIC]), &requests);
    // Of the first block page 3 is left.
    assert_eq!(outcome.latencies()[8], FOLD + ERASE + CACHED);
    let counts = outcome.counters.slc;
    assert_eq!((counts.written, counts.overwritten, counts.folded), (9, 3, 1));
}

#[test]
fn a_kept_block_in_which_all_is_stale_is_erased_and_written_again() {
    let settings = with(&[&STATIC, &[("slc.when_full", "direct")]]);
    let mut requests = slow(8);
    requests.extend((0..4).map(|page| pages((100 + page) * MS, Op::Trim, page, 1)));
    requests.push(write(200 * MS, 30));
    let outcome = run_both(&settings, &requests);
    assert_eq!(outcome.latencies()[12], ERASE + CACHED);
    let counts = outcome.counters.slc;
    assert_eq!((counts.written, counts.direct, counts.trimmed, counts.erases), (9, 0, 4, 1));
}

#[test]
fn a_dynamic_cache_is_its_share_of_what_is_free() {
    for (filled, share) in [(0, "1"), (77, "1"), (77, "0.5"), (230, "1"), (230, "0.5"), (384, "1")] {
        let settings = [
            ("capacity", "1536KiB"),
            ("slc.kind", "dynamic"),
            ("slc.dynamic_share", share),
            ("slc.when_full", "direct"),
        ];
        let mut simulation = drive(&with(&[&settings]));
        simulation.fill(0..filled).expect("it fits");
        simulation.end_of_preconditioning();
        let geometry = simulation.geometry();
        // Of 49 blocks those with data, and one that stays erased, take no part.
        let free = geometry.min_unit_blocks() - filled.div_ceil(BLOCK) - 1;
        let share: f64 = share.parse().expect("a number");
        let blocks = (0..free).filter(|block| (block + 1) as f64 <= share * free as f64).count() as u64;
        assert_eq!(state(&simulation).room, blocks * SLC_BLOCK, "{filled} pages, share {share}");
        let cliff = blocks * SLC_BLOCK;
        simulation.serve(&slow(cliff + 5)).expect("served");
        simulation.finish().expect("finished");
        let counts = simulation.counters().slc;
        assert_eq!((counts.written, counts.direct), (cliff, 5), "{filled} pages, share {share}");
    }
}

#[test]
fn idle_time_folds_a_page_after_the_other() {
    let settings = with(&[&STATIC, &[("slc.when_full", "direct"), ("slc.fold_after", "1ms")]]);
    let full = 2 * SLC_BLOCK;
    // The cache is full at 8 writes; after 1 ms the die folds, until the next request comes.
    let writes: Vec<Request> = (0..full).map(|page| write(page * CACHED, page)).collect();
    let idle_from = full * CACHED;
    for folded in 1..=4 {
        let until = idle_from + MS + folded * FOLD;
        // In the middle of the page after that.
        let last = read(until + FOLD / 2, 60);
        let requests: Vec<Request> = writes.iter().copied().chain([last]).collect();
        let outcome = run(&settings, &requests);
        let expected = if folded < 4 { folded + 1 } else { 4 };
        assert_eq!(outcome.counters.slc.folded, expected, "{folded}");
        let first = outcome.commands.iter().find(|(kind, ..)| *kind == Copies).expect("a page is folded");
        assert_eq!((first.3, first.4), (idle_from + MS, idle_from + MS + FOLD));
    }
    // Two blocks are folded in this time, and their erases are done: the cache is as empty as before.
    let whole = idle_from + MS + 2 * (SLC_BLOCK * FOLD + ERASE);
    for (end_ns, room) in [(whole, full), (whole - 1, full), (whole - ERASE, SLC_BLOCK)] {
        let mut simulation = drive(&settings);
        simulation.serve(&writes).expect("served");
        simulation.advance_to(end_ns - 1).expect("advanced");
        assert_eq!(state(&simulation).room, room, "at {end_ns}");
    }
    let erases = run(&settings, &[writes, vec![read(whole + MS, 60)]].concat());
    assert_eq!(erases.commands.iter().filter(|(kind, ..)| *kind == Erase).count(), 2);
}

#[test]
fn a_page_written_once_and_folded_is_programmed_twice() {
    let settings =
        with(&[&STATIC, &[("capacity", "1536KiB"), ("slc.fold_after", "0ns"), ("precondition", "empty")]]);
    let mut requests = slow(240);
    requests.push(read(10_000 * MS, 0));
    let outcome = run(&settings, &requests);
    let counts = outcome.counters.slc;
    assert_eq!((counts.written, counts.folded, counts.direct), (240, 240, 0));
    assert_eq!(outcome.counters.flash().programs, 2 * 240);
}

#[test]
fn wear_of_kept_blocks_is_apart() {
    let mut simulation = drive(&with(&[&STATIC]));
    simulation.serve(&slow(60)).expect("served");
    simulation.finish().expect("finished");
    let own = state(&simulation);
    assert_eq!((own.kept_blocks, own.erases, own.min_erases, own.max_erases), (2, 13, 6, 7));
    assert_eq!(simulation.wear().all.max, 0, "no other block was erased");
}

/// Channels that are managed.
const MANAGED: [&[Setting]; 4] = [
    &[("clock", "lock-step")],
    &[("clock", "lock-step"), ("gc.planner", "cycle-stealing")],
    &[("gc.planner", "cycle-filling")],
    &[("gc.planner", "forwarding"), ("buffer.bytes", "4KiB")],
];

#[test]
fn managed_channels_fold_step_by_step() {
    let (requests, folds) = (slow(30), SLC_BLOCK * FOLD + ERASE);
    for managed in &MANAGED[..3] {
        let outcome = run(&with(&[&STATIC, managed]), &requests);
        for (number, latency) in (0..).zip(outcome.latencies()) {
            let waits = number >= 2 * SLC_BLOCK && number % SLC_BLOCK == 0;
            assert_eq!(latency, if waits { folds + CACHED } else { CACHED }, "{managed:?}: write {number}");
        }
        let copies = outcome.commands.iter().filter(|(kind, ..)| *kind == Copies);
        assert!(copies.clone().count() == 24 && copies.clone().all(|(_, _, pages, ..)| *pages == 1));
        assert_eq!((outcome.counters.slc.folded, outcome.counters.slc.erases), (24, 6));
    }
    // A read that comes while a block is folded waits for the page that is moved, and not for the block.
    let mut requests = slow(9);
    let second = requests[8].time_ns + FOLD;
    for (time_ns, waits) in [(second, FOLD), (second - 1, 1)] {
        requests.push(read(time_ns, 7));
        requests[8..].sort_by_key(|request| request.time_ns);
        let outcome = run(&with(&[&STATIC, &[("gc.planner", "cycle-filling")]]), &requests);
        assert_eq!(outcome.latencies()[9], waits + SLC_READ + TRANSFER, "at {time_ns}");
        requests.pop();
    }
}

#[test]
fn a_kept_block_without_data_is_erased_in_a_step_of_its_own() {
    let mut requests = slow(8);
    requests.extend((0..4).map(|page| pages((100 + page) * MS, Op::Trim, page, 1)));
    requests.push(write(200 * MS, 30));
    for managed in &MANAGED[..3] {
        let outcome = run(&with(&[&STATIC, &[("slc.when_full", "direct")], managed]), &requests);
        assert_eq!(outcome.latencies()[12], ERASE + CACHED, "{managed:?}");
        assert_eq!(outcome.counters.collections, 0);
    }
}

#[test]
fn every_planner_goes_with_every_cache() {
    let kinds: [&[Setting]; 4] = [
        &STATIC,
        &[("slc.kind", "dynamic"), ("slc.when_full", "direct")],
        &[("slc.kind", "dynamic"), ("slc.dynamic_share", "0.6")],
        &[("slc.kind", "both"), ("slc.static_blocks", "1"), ("slc.fold_after", "100us")],
    ];
    let more: [&[Setting]; 9] = [
        &[],
        &[("alloc.kind", "dynamic"), ("sched.kind", "suspend")],
        &[("gc.frontiers", "2"), ("planes", "2"), ("timing.multi_plane", "true"), ("capacity", "1536KiB")],
        &[("ftl.map_unit", "1KiB"), ("op_ratio", "0.8"), ("sched.kind", "read-first")],
        &[
            ("alloc.kind", "superblock"),
            ("chips", "2"),
            ("alloc.superblock_dies", "2"),
            ("capacity", "1536KiB"),
        ],
        &[("alloc.kind", "superblock"), ("ftl.map_unit", "1KiB"), ("alloc.parity", "1"), ("op_ratio", "1")],
        &[("ftl.kind", "dftl"), ("ftl.cache_bytes", "256"), ("op_ratio", "2")],
        &[("ftl.kind", "dftl"), ("ftl.cache_bytes", "64"), ("op_ratio", "3"), ("alloc.kind", "dynamic")],
        &[("ftl.kind", "dftl"), ("ftl.cache_bytes", "256"), ("op_ratio", "2"), ("alloc.kind", "superblock")],
    ];
    let requests: Vec<Request> = (0..900)
        .map(|number| {
            let (time_ns, page) = (number * 60_000, number * 29 % 150);
            if number % 4 == 0 { read(time_ns, page) } else { write(time_ns, page * 7 % 190) }
        })
        .collect();
    let base = [("channels", "2"), ("capacity", "768KiB"), ("precondition", "full"), ("op_ratio", "0.5")];
    for (kind, more) in kinds.iter().flat_map(|kind| more.iter().map(move |more| (kind, more))) {
        for managed in MANAGED {
            let outcome = run(&with(&[&base, kind, more, managed]), &requests);
            let counters = &outcome.counters;
            let moved = counters.slc.folded + counters.gc.programs;
            assert!(counters.slc.written > 0 && moved > 0, "{kind:?} {more:?} {managed:?}: {counters:?}");
        }
    }
}
