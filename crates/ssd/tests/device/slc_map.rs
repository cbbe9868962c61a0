//! The SLC cache beside a map on flash: translation pages in blocks of the native mode, and entries of pages that are folded; all of
//! it by hand.

use flashweir_ssd::CommandKind::{Erase, Program};

use super::rig::{
    ERASE, MS, PROGRAM, READ, SLC_PROGRAM, SLC_READ, Setting, TRANSFER, read, run, run_both, slow,
};

/// Writes, in SLC mode and not.
const CACHED: u64 = TRANSFER + SLC_PROGRAM;
const DIRECT: u64 = TRANSFER + PROGRAM;
/// A translation page is read; it is read and written anew.
const LOAD: u64 = READ + TRANSFER;
const UPDATE: u64 = LOAD + DIRECT;
/// A page is read in SLC mode, crosses the bus twice, and is programmed in the other.
const FOLD: u64 = SLC_READ + 2 * TRANSFER + PROGRAM;
/// Pages of a block in SLC mode.
const SLC_BLOCK: u64 = 4;

/// Three bits a cell, two blocks of 12 pages always in SLC mode, one translation page.
const BASE: [Setting; 8] = [
    ("ftl.kind", "dftl"),
    ("op_ratio", "3"),
    ("pages_per_block", "12"),
    ("nand.cell", "tlc"),
    ("slc.read_time", "3us"),
    ("slc.program_time", "20us"),
    ("slc.kind", "static"),
    ("slc.static_blocks", "2"),
];

/// RAM for one entry.
const ONE: Setting = ("ftl.cache_bytes", "8");

fn with(more: &[Setting]) -> Vec<Setting> {
    BASE.into_iter().chain(more.iter().copied()).collect()
}

#[test]
fn data_is_in_slc_mode_and_translation_pages_are_not() {
    let requests = [slow(3), vec![read(40 * MS, 0)]].concat();
    let outcome = run_both(&with(&[ONE]), &requests);
    // The first entry makes room for the second one; its translation page is new. After that a write looks its entry up there, too.
    let reads = LOAD + UPDATE + SLC_READ + TRANSFER;
    assert_eq!(outcome.latencies(), [CACHED, DIRECT + CACHED, LOAD + UPDATE + CACHED, reads]);
    let programs = outcome.spans().into_iter().filter(|(kind, ..)| *kind == Program);
    let times: Vec<u64> = programs.map(|(_, start, end)| end - start).collect();
    assert_eq!(times, [CACHED, DIRECT, CACHED, DIRECT, CACHED, DIRECT]);
    assert_eq!((outcome.counters.slc.written, outcome.counters.slc.direct), (3, 0));
}

#[test]
fn a_full_cache_is_past_its_cliff_whatever_the_map_costs() {
    let outcome = run_both(&with(&[("slc.when_full", "direct")]), &slow(20));
    let cliff = 2 * SLC_BLOCK as usize;
    assert!(outcome.latencies()[..cliff].iter().all(|latency| *latency == CACHED));
    assert!(outcome.latencies()[cliff..].iter().all(|latency| *latency == DIRECT));
    let counts = outcome.counters.slc;
    assert_eq!((counts.written, counts.direct, counts.folded), (8, 12, 0));
}

#[test]
fn entries_in_ram_of_pages_that_are_folded_are_only_marked() {
    let outcome = run_both(&with(&[]), &slow(13));
    for (number, latency) in (0..).zip(outcome.latencies()) {
        let waits = number >= 2 * SLC_BLOCK && number % SLC_BLOCK == 0;
        let fold = SLC_BLOCK * FOLD + ERASE;
        assert_eq!(latency, if waits { fold + CACHED } else { CACHED }, "write {number}");
    }
    assert_eq!((outcome.counters.map.updates, outcome.counters.slc.folded), (0, 8));
}

#[test]
fn the_translation_page_of_pages_that_are_folded_is_written_once_before_the_erase() {
    let outcome = run_both(&with(&[ONE]), &slow(9));
    // Its entry is looked up, and the one written before makes room; four pages are folded, and their translation page is written; then the erase.
    let fold = SLC_BLOCK * FOLD + UPDATE + ERASE;
    assert_eq!(outcome.latencies()[8], LOAD + UPDATE + fold + CACHED);
    assert_eq!((outcome.counters.map.updates, outcome.counters.slc.folded), (1, 4));
    let spans = outcome.spans();
    let erase = spans.iter().position(|(kind, ..)| *kind == Erase).expect("a block is erased");
    assert_eq!((spans[erase - 1].0, spans[erase - 1].2), (Program, spans[erase].1));
}

#[test]
fn idle_time_folds_and_then_updates_the_map() {
    let settings = with(&[ONE, ("slc.when_full", "direct"), ("slc.fold_after", "1ms")]);
    let end = 70 * MS + LOAD + UPDATE + CACHED;
    let erase = end + MS + SLC_BLOCK * FOLD + UPDATE;
    for (at, erases) in [(erase + 1, 1), (erase - 1, 0)] {
        let outcome = run(&settings, &[slow(8), vec![read(at, 60)]].concat());
        // Blocks are folded between writes, too, as soon as they are full.
        let first = outcome.spans().iter().filter(|(kind, ..)| *kind == Erase).count();
        assert_eq!(first, 1 + erases, "at {at}");
        assert_eq!(outcome.counters.map.updates, 2);
    }
}
