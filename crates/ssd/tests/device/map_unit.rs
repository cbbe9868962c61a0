//! Mapping units of 4 KiB in pages of 16 KiB: pages are read once, filled, and padded. And units of 16 KiB that are four pages.

use flashweir_ssd::CommandKind::{Program, Read, Rewrite};
use flashweir_trace::Op;

use super::rig::{
    Outcome, PAGE, PROGRAM, READ, Setting, TRANSFER, flush, pages, run, run_both, sectors, write,
};

/// The drive of all tests: one die, pages of 16 KiB, a byte takes 1 ns on the bus and a command 904 ns.
const UNITS: [Setting; 2] = [("page", "16KiB"), ("ftl.map_unit", "4KiB")];
/// A page of flash over the bus, ns.
const WHOLE: u64 = 904 + 16_384;
/// Mapping units of a page.
const PER_PAGE: u64 = 4;

fn with(more: &[Setting]) -> Vec<Setting> {
    UNITS.into_iter().chain(more.iter().copied()).collect()
}

/// Runs requests on a drive that is full.
fn on_full(requests: &[flashweir_trace::Request]) -> Outcome {
    run_both(&with(&[("precondition", "full")]), requests)
}

#[test]
fn reads_of_one_page_are_one_command() {
    // First sector, sectors, pages of flash: 512 B, 4 KiB, 16 KiB, 16 KiB over two pages, 128 KiB.
    for (first, count, flash) in
        [(0, 1, 1), (8, 8, 1), (4, 8, 1), (0, 32, 1), (28, 8, 2), (16, 32, 2), (0, 256, 8)]
    {
        let outcome = on_full(&[sectors(0, Op::Read, first, count)]);
        assert_eq!(outcome.latencies(), [flash * (READ + WHOLE)], "{count} sectors from {first}");
        assert_eq!(outcome.counters.host.reads, flash);
        assert!(outcome.spans().iter().all(|(kind, _, _)| *kind == Read));
    }
}

#[test]
fn codewords_of_all_parts_cross_once() {
    let codewords = [("nand.transfer", "codeword"), ("nand.codeword", "1KiB"), ("precondition", "full")];
    // First sector, sectors, codewords of 1 KiB.
    for (first, count, asked) in [(0, 1, 1), (0, 8, 4), (7, 2, 2), (8, 16, 8), (0, 32, 16)] {
        let outcome = run_both(&with(&codewords), &[sectors(0, Op::Read, first, count)]);
        assert_eq!(outcome.latencies(), [READ + 904 + asked * 1024], "{count} sectors from {first}");
    }
}

#[test]
fn a_write_fills_pages_and_pads_the_last_one() {
    // First sector, sectors, pages of flash, units padded: 512 B, 4 KiB, 16 KiB wherever it begins, 20 KiB, 128 KiB.
    for (first, count, flash, padded) in
        [(0, 1, 1, 3), (8, 8, 1, 3), (0, 32, 1, 0), (16, 32, 1, 0), (8, 40, 2, 3), (0, 256, 8, 0)]
    {
        let outcome = run_both(&UNITS, &[sectors(0, Op::Write, first, count)]);
        assert_eq!(outcome.latencies(), [flash * (WHOLE + PROGRAM)], "{count} sectors from {first}");
        let counters = &outcome.counters;
        assert_eq!((counters.host.programs, counters.padded_units), (flash, padded));
        assert!(outcome.spans().iter().all(|(kind, _, _)| *kind == Program));
    }
}

#[test]
fn a_write_in_part_reads_each_old_page_once() {
    // First sector, sectors, old pages: in one unit, over two units of a page, over two pages, both ends of 16 and 20 KiB.
    for (first, count, old) in [(0, 1, 1), (4, 8, 1), (0, 12, 1), (28, 8, 2), (4, 24, 1), (4, 32, 2)] {
        let outcome = on_full(&[sectors(0, Op::Write, first, count)]);
        let units = (first + u64::from(count)).div_ceil(PAGE) - first / PAGE;
        let flash = units.div_ceil(PER_PAGE);
        let expected = old * (READ + WHOLE) + flash * (WHOLE + PROGRAM);
        assert_eq!(outcome.latencies(), [expected], "{count} sectors from {first}");
        let counters = &outcome.counters;
        assert_eq!((counters.rewrite_reads, counters.host.programs), (old, flash));
        assert_eq!(outcome.spans()[0].0, Rewrite);
    }
}

#[test]
fn planes_go_together_page_by_page() {
    let settings = with(&[
        ("planes", "2"),
        ("timing.multi_plane", "true"),
        ("capacity", "512KiB"),
        ("precondition", "full"),
    ]);
    for (op, array) in [(Op::Read, READ), (Op::Write, PROGRAM)] {
        let outcome = run_both(&settings, &[sectors(0, op, 0, 256)]);
        assert_eq!(outcome.latencies(), [4 * (array + 2 * WHOLE)]);
        assert!(outcome.commands.iter().all(|(_, _, pages, _, _)| *pages == 2));
    }
}

#[test]
fn the_buffer_sends_whole_pages_and_a_flush_the_rest() {
    let settings = with(&[("buffer.bytes", "64KiB")]);
    let written = |count: u64| -> Vec<_> {
        (0..count).map(|unit| write(unit, unit * 2)).chain([flush(1000)]).collect()
    };
    for (count, flash, padded) in [(1, 1, 3), (4, 1, 0), (5, 2, 3), (8, 2, 0)] {
        let outcome = run(&settings, &written(count));
        assert_eq!(outcome.latencies()[count as usize], flash * (WHOLE + PROGRAM), "{count} units");
        let counters = &outcome.counters;
        assert_eq!((counters.host.programs, counters.padded_units), (flash, padded));
    }
}

#[test]
fn a_full_buffer_makes_room_by_a_whole_page() {
    let requests: Vec<_> = (0..9).map(|unit| write(unit, unit)).collect();
    let outcome = run(&with(&[("buffer.bytes", "32KiB")]), &requests);
    assert_eq!(outcome.latencies()[..8], [0; 8]);
    assert_eq!(outcome.latencies()[8], WHOLE + PROGRAM);
    // Two units are less than a page, and nothing else makes room.
    let outcome = run(&with(&[("buffer.bytes", "8KiB")]), &requests[..3]);
    assert_eq!(outcome.latencies(), [0, 0, WHOLE + PROGRAM]);
}

#[test]
fn a_unit_written_alone_has_a_page_of_its_own() {
    let requests = [pages(0, Op::Write, 0, 1), pages(1_000_000, Op::Read, 0, 4)];
    let outcome = on_full(&requests);
    assert_eq!((outcome.counters.host.programs, outcome.counters.padded_units), (1, 3));
    // Three units are where they were, one is in the new page.
    assert_eq!(outcome.latencies()[1], 2 * (READ + WHOLE));
}

#[test]
fn collections_pack_mapping_units() {
    let requests: Vec<_> = (0..400_u64).map(|turn| write(turn * 10_000_000, turn * 37 % 64)).collect();
    for more in [[("gc.frontiers", "1")], [("gc.frontiers", "2")]] {
        let settings = with(&[("precondition", "full"), ("op_ratio", "1"), more[0]]);
        let counters = run_both(&settings, &requests).counters;
        assert_eq!(counters.host.programs, 400, "a page a write");
        assert!(counters.gc.programs > 0 && counters.moved_units > 0, "{counters:?}");
        assert!(counters.moved_units <= PER_PAGE * counters.gc.programs.min(counters.gc.reads));
        let empty = counters.padded_units - 3 * 400;
        assert_eq!(counters.moved_units + empty, PER_PAGE * counters.gc.programs);
    }
}

#[test]
fn units_that_are_bound_late_fill_pages() {
    let late = [("channels", "2"), ("capacity", "512KiB"), ("alloc.kind", "dynamic")];
    // First sector, sectors, pages of flash, units padded: a page, two of them side by side, and three.
    for (first, count, flash, padded) in [(0, 32, 1_u64, 0), (8, 64, 2, 0), (16, 72, 3, 3)] {
        let outcome = run(&with(&late), &[sectors(0, Op::Write, first, count)]);
        assert_eq!(
            outcome.latencies(),
            [flash.div_ceil(2) * (WHOLE + PROGRAM)],
            "{count} sectors from {first}"
        );
        let counters = &outcome.counters;
        assert_eq!((counters.host.programs, counters.padded_units), (flash, padded));
    }
    // Through the buffer, whatever the addresses.
    let requests: Vec<_> = (0..8).map(|unit| write(unit, unit * 7 % 16)).chain([flush(1000)]).collect();
    let outcome = run(&with(&[late[0], late[1], late[2], ("buffer.bytes", "64KiB")]), &requests);
    assert_eq!(outcome.latencies()[8], WHOLE + PROGRAM, "two channels");
    assert_eq!((outcome.counters.host.programs, outcome.counters.padded_units), (2, 0));
}

#[test]
fn codewords_of_synchronized_channels_cross_side_by_side() {
    let settings = [
        ("channels", "2"),
        ("units", "synchronized"),
        ("page", "8KiB"),
        ("ftl.map_unit", "4KiB"),
        ("nand.transfer", "codeword"),
        ("nand.codeword", "1KiB"),
        ("precondition", "full"),
    ];
    // First sector, sectors, codewords on the channel with most: one unit, both of a channel, and one of each channel.
    for (first, count, asked) in [(0, 8, 4), (0, 16, 8), (8, 16, 4), (4, 16, 6), (0, 32, 8)] {
        let outcome = run_both(&settings, &[sectors(0, Op::Read, first, count)]);
        assert_eq!(outcome.latencies(), [READ + 904 + asked * 1024], "{count} sectors from {first}");
    }
}

/// Mapping units of four pages of 4 KiB, two of them in a block.
const LARGE: [Setting; 2] = [("ftl.map_unit", "16KiB"), ("pages_per_block", "8")];

fn large(more: &[Setting]) -> Vec<Setting> {
    LARGE.into_iter().chain(more.iter().copied()).collect()
}

#[test]
fn a_read_of_a_large_unit_takes_the_pages_that_it_wants() {
    // First sector, sectors, pages: 512 B, 4 KiB, over two pages, 16 KiB, over two units, 128 KiB.
    for (first, count, flash) in [(3, 1, 1), (8, 8, 1), (4, 8, 2), (0, 32, 4), (28, 8, 2), (0, 256, 32)] {
        let outcome = run_both(&large(&[("precondition", "full")]), &[sectors(0, Op::Read, first, count)]);
        assert_eq!(outcome.latencies(), [flash * (READ + TRANSFER)], "{count} sectors from {first}");
        assert_eq!(outcome.counters.host.reads, flash);
    }
    let typed = large(&[("precondition", "full"), ("timing.read", "10us,20us,40us")]);
    // Pages 0 to 3 of the block are of the first unit, pages 4 to 7 of the second one.
    for (first, array) in [(0, 10_000), (8, 20_000), (16, 40_000), (24, 10_000), (32, 20_000), (40, 40_000)] {
        let outcome = run_both(&typed, &[sectors(0, Op::Read, first, 8)]);
        assert_eq!(outcome.latencies(), [array + TRANSFER], "sector {first}");
    }
}

#[test]
fn a_write_of_less_than_a_large_unit_reads_the_pages_that_it_leaves() {
    let programs = 4 * (TRANSFER + PROGRAM);
    // First sector, sectors, pages read: 512 B, 4 KiB, 4 KiB over two pages, 12 KiB, and all.
    for (first, count, old) in [(0, 1, 4), (0, 8, 3), (4, 8, 4), (0, 24, 1), (0, 32, 0)] {
        let write = [sectors(0, Op::Write, first, count)];
        let outcome = run_both(&large(&[("precondition", "full")]), &write);
        assert_eq!(outcome.latencies(), [old * (READ + TRANSFER) + programs], "{count} sectors from {first}");
        let counters = &outcome.counters;
        assert_eq!((counters.rewrite_reads, counters.host.reads, counters.host.programs), (old, old, 4));
        // Nothing is there yet.
        assert_eq!(run_both(&LARGE, &write).latencies(), [programs]);
    }
    let codewords = [("precondition", "full"), ("nand.transfer", "codeword"), ("nand.codeword", "1KiB")];
    let outcome = run_both(&large(&codewords), &[sectors(0, Op::Write, 0, 6)]);
    // A codeword is left of the page that is written, and four of each of the others.
    assert_eq!(outcome.latencies(), [4 * READ + 4 * 904 + 13 * 1024 + programs]);
}

#[test]
fn collections_move_large_units_whole() {
    let page = |turn: u64| ((turn * 2_654_435_761) >> 7) % 64;
    let requests: Vec<_> = (0..200_u64).map(|turn| write(turn * 10_000_000, page(turn))).collect();
    let settings = [LARGE[0], ("pages_per_block", "16"), ("op_ratio", "0.25"), ("precondition", "full")];
    let counters = run_both(&settings, &requests).counters;
    assert_eq!((counters.host.programs, counters.rewrite_reads), (800, 600));
    assert!(counters.gc.programs > 0, "{counters:?}");
    assert_eq!(counters.gc.programs, counters.gc.reads);
    assert!(counters.gc.programs.is_multiple_of(4));
}
