//! Transfers of a part of a page, and moves that need no transfer.

use flashweir_ssd::CommandKind::{self, Copies, Erase, Program, Read, Rewrite};
use flashweir_trace::Op;

use super::rig::{ERASE, Outcome, PROGRAM, READ, Setting, TRANSFER, run_both, sectors, write};

/// Pages of 8 KiB with codewords of 1 KiB; a byte takes 1 ns, a command 904 ns.
const CODEWORDS: [Setting; 5] = [
    ("page", "8KiB"),
    ("nand.transfer", "codeword"),
    ("nand.codeword", "1KiB"),
    ("capacity", "512KiB"),
    ("precondition", "full"),
];
/// Time of `count` codewords over the bus, ns.
const fn of(count: u64) -> u64 {
    904 + count * 1024
}

#[test]
fn a_read_brings_the_codewords_of_its_sectors() {
    // First sector, sectors, codewords.
    for (first, count, codewords) in [(0, 1, 1), (1, 1, 1), (1, 2, 2), (6, 8, 4), (0, 16, 8), (15, 1, 1)] {
        let outcome = run_both(&CODEWORDS, &[sectors(0, Op::Read, 16 + first, count)]);
        assert_eq!(outcome.latencies(), [READ + of(codewords)], "{count} sectors from {first}");
    }
    // A request over two pages: half of each.
    let outcome = run_both(&CODEWORDS, &[sectors(0, Op::Read, 8, 16)]);
    assert_eq!(outcome.latencies(), [2 * (READ + of(4))]);
}

#[test]
fn a_read_modify_write_brings_out_what_it_does_not_cover() {
    let whole = 904 + 8192;
    // First sector, sectors, codewords left.
    for (first, count, left) in [(0, 8, 4), (1, 14, 2), (0, 15, 1), (4, 4, 6), (0, 1, 8)] {
        let outcome = run_both(&CODEWORDS, &[sectors(0, Op::Write, first, count)]);
        let expected = READ + of(left) + whole + PROGRAM;
        assert_eq!(outcome.spans(), [(Rewrite, 0, expected)], "{count} sectors from {first}");
    }
    let outcome = run_both(&CODEWORDS, &[sectors(0, Op::Write, 0, 16)]);
    assert_eq!(outcome.spans(), [(Program, 0, whole + PROGRAM)]);
}

#[test]
fn sectors_that_join_in_the_buffer_are_covered() {
    let settings: Vec<Setting> =
        CODEWORDS.into_iter().chain([("buffer.bytes", "16KiB"), ("buffer.ack", "flash")]).collect();
    // The first page occupies the die; two writes to another join meanwhile: codewords 0 and 1, and 4 to 7.
    let requests = [sectors(0, Op::Write, 0, 16), sectors(1, Op::Write, 16, 4), sectors(2, Op::Write, 24, 8)];
    let outcome = super::rig::run(&settings, &requests);
    let (whole, second) = (904 + 8192, outcome.spans()[1]);
    assert_eq!(second.2 - second.1, READ + of(2) + whole + PROGRAM);
}

#[test]
fn whole_pages_cross_by_default() {
    let settings: Vec<Setting> = CODEWORDS.into_iter().filter(|(key, _)| !key.starts_with("nand")).collect();
    let outcome = run_both(&settings, &[sectors(0, Op::Read, 16, 1)]);
    assert_eq!(outcome.latencies(), [READ + 904 + 8192]);
}

/// Overwrites that make a drive of one die collect, with `gc.copyback` at `limit`.
fn collections(limit: &'static str) -> Outcome {
    let settings = [("precondition", "full"), ("op_ratio", "0.25"), ("gc.copyback", limit)];
    let requests: Vec<_> =
        (0..400).map(|number| write(number * 10_000_000, number * (number + 3) * 7 % 61)).collect();
    run_both(&settings, &requests)
}

/// Time of each copy in a command that moves pages, ns.
fn copies(outcome: &Outcome) -> Vec<u64> {
    let of_copies = outcome.commands.iter().filter(|(kind, ..)| *kind == CommandKind::Copies);
    of_copies.map(|(_, _, pages, start, end)| (end - start) / u64::from(*pages)).collect()
}

#[test]
fn a_copyback_does_without_the_bus() {
    let (without, with) = (collections("0"), collections("1000000"));
    assert_eq!(without.counters.gc, with.counters.gc);
    assert_eq!(without.counters.copybacks, 0);
    assert_eq!(with.counters.copybacks, with.counters.gc.programs);
    assert!(with.counters.copybacks > 50, "{}", with.counters.copybacks);
    assert!(copies(&without).iter().all(|time| *time == READ + 2 * TRANSFER + PROGRAM));
    assert!(copies(&with).iter().all(|time| *time == READ + PROGRAM));
    let erases = with.spans().into_iter().filter(|(kind, ..)| *kind == Erase);
    assert!(erases.into_iter().all(|(_, start, end)| end - start == ERASE));
    assert!(with.spans().iter().any(|(kind, ..)| *kind == Copies));
}

#[test]
fn after_so_many_copybacks_a_page_crosses_the_bus() {
    let (one, two) = (collections("1"), collections("2"));
    let (of_one, of_two) = (one.counters.copybacks, two.counters.copybacks);
    assert_eq!(one.counters.gc, two.counters.gc);
    assert!(0 < of_one && of_one < of_two && of_two < two.counters.gc.programs, "{of_one}, {of_two}");
    // Pages of 61 that are never overwritten move on and on: every second, or third, of their moves crosses the bus.
    let share = of_one as f64 / one.counters.gc.programs as f64;
    assert!((0.5..0.95).contains(&share), "{share}");
}

#[test]
fn reads_are_no_copies() {
    let outcome = run_both(&[("precondition", "full"), ("gc.copyback", "3")], &[sectors(0, Op::Read, 0, 8)]);
    assert_eq!(outcome.spans(), [(Read, 0, READ + TRANSFER)]);
}
