//! Cells that age: the retries of a read by cycles, age and reads, to the nanosecond, and pages that are rebuilt.

use flashweir_ssd::CommandKind::{Copies, Erase, Program, Read};
use flashweir_trace::{Op, Request};

use super::rig::{
    ERASE, MS, Outcome, PAGE, PROGRAM, READ, Setting, TRANSFER, drive, flush, read, run, run_both, sectors,
    write,
};

pub(super) const SECOND: u64 = 1_000_000_000;

/// A law without errors, and a code that corrects 8 bits of 8192, 2^-10 of all, without a margin; a retry halves the errors.
const BASE: [Setting; 16] = [
    ("ageing.kind", "power-law"),
    ("ageing.temperature", "25"),
    ("ageing.rated_cycles", "3000"),
    ("ageing.epsilon", "0"),
    ("ageing.alpha", "0"),
    ("ageing.beta", "0"),
    ("ageing.gamma", "0"),
    ("ageing.m", "0"),
    ("ageing.n", "1"),
    ("ageing.p", "0"),
    ("ageing.q", "1"),
    ("ageing.k", "1"),
    ("ageing.ecc_bits", "8"),
    ("ageing.margin", "0"),
    ("ageing.retries", "3"),
    ("ageing.retry_gain", "0.5"),
];
/// Share of wrong bits that is corrected at once.
pub(super) const LIMIT: f64 = 1.0 / 1024.0;

pub(super) fn aged(more: &[Setting]) -> Vec<Setting> {
    BASE.iter().chain(more).copied().collect()
}

/// A page written at 0 and read at some times: what each read takes, ns.
fn reads(settings: &[Setting], times_ns: &[u64]) -> Vec<u64> {
    let requests: Vec<_> =
        [write(0, 0)].into_iter().chain(times_ns.iter().map(|time_ns| read(*time_ns, 0))).collect();
    run_both(settings, &requests).latencies().split_off(1)
}

/// A read with so many retries.
pub(super) fn retried(retries: u64) -> u64 {
    (1 + retries) * (READ + TRANSFER)
}

pub(super) fn text(number: f64) -> &'static str {
    Box::leak(format!("{number:e}").into_boxed_str())
}

#[test]
fn a_read_takes_a_reading_and_a_transfer_for_each_retry() {
    for (times, expected) in [(0.9, 0), (1.1, 1), (1.9, 1), (2.1, 2), (4.1, 3), (7.9, 3)] {
        let settings = aged(&[("ageing.epsilon", text(times * LIMIT))]);
        assert_eq!(reads(&settings, &[MS]), [retried(expected)], "{times}");
        let slow = [("ageing.decode_time", "7us")];
        let settings: Vec<_> = settings.into_iter().chain(slow).collect();
        assert_eq!(reads(&settings, &[MS]), [retried(expected) + expected * 7000]);
    }
}

#[test]
fn soft_decoding_follows_the_last_retry_and_then_the_page_is_lost() {
    let soft = [("ageing.soft_bits", "12"), ("ageing.soft_reads", "6"), ("ageing.soft_time", "9us")];
    let outcome = |times: f64, more: &[Setting]| {
        let settings: Vec<_> =
            aged(more).into_iter().chain([("ageing.epsilon", text(times * LIMIT))]).collect();
        run_both(&settings, &[write(0, 0), read(MS, 0)])
    };
    let found = outcome(8.1, &soft);
    assert_eq!(found.latencies()[1], retried(3 + 6) + 9000);
    let counts = found.counters.ageing;
    assert_eq!((counts.retried_pages, counts.retries, counts.soft_pages, counts.failed_pages), (1, 3, 1, 0));
    // Twelve bits are one and a half times eight.
    let counts = outcome(12.1, &soft).counters.ageing;
    assert_eq!((counts.soft_pages, counts.failed_pages, counts.uncorrectable_pages), (1, 1, 1));
    let lost = outcome(8.1, &[("ageing.soft_bits", "0")]);
    assert_eq!(lost.latencies()[1], retried(3));
    assert_eq!((lost.counters.ageing.soft_pages, lost.counters.ageing.uncorrectable_pages), (0, 1));
}

#[test]
fn a_retry_is_needed_from_a_nanosecond_on() {
    // A day in each second, and as many errors as are corrected after 2 seconds and half a nanosecond.
    let beta = text(LIMIT / (2.0 + 0.5e-9));
    let settings = aged(&[("ageing.pace", "86400"), ("ageing.beta", beta)]);
    assert_eq!(reads(&settings, &[2 * SECOND]), [retried(0)]);
    assert_eq!(reads(&settings, &[2 * SECOND + 1]), [retried(1)]);
    // Whatever was read before.
    let times = [1000 * MS, 1999 * MS, 2 * SECOND, 2 * SECOND + 100_000];
    assert_eq!(reads(&settings, &times), [retried(0), retried(0), retried(0), retried(1)]);
    // At 40 degrees Celsius the time is 7.774 times shorter.
    let warm: Vec<_> = settings.iter().copied().chain([("ageing.temperature", "40")]).collect();
    assert_eq!(reads(&warm, &[257 * MS, 258 * MS]), [retried(0), retried(1)]);
}

#[test]
fn a_retry_is_needed_after_so_many_reads() {
    // 100 reads of the block bring as many errors as are corrected; retries are readings, too.
    let settings = aged(&[("ageing.gamma", text(LIMIT / 100.4)), ("ageing.reads_of", "block")]);
    let times: Vec<u64> = (1..=160).map(|number| number * MS).collect();
    let found = reads(&settings, &times);
    // The first read is the one after none: 101 of them without a retry, then 50 with one and two readings each.
    assert!(found[..101].iter().all(|latency| *latency == retried(0)), "{found:?}");
    assert!(found[101..151].iter().all(|latency| *latency == retried(1)), "{found:?}");
    assert_eq!(found[151], retried(2));
    // By page, each of the four pages of a block may be read as often.
    let by_page: Vec<_> = settings.iter().copied().filter(|(key, _)| *key != "ageing.reads_of").collect();
    assert!(reads(&by_page, &times).iter().all(|latency| *latency == retried(0)));
}

#[test]
fn errors_grow_with_the_cycles_of_the_block_and_an_erase_forgets_reads() {
    let law = [("ageing.alpha", text(LIMIT / 1000.5))];
    let at = |cycles| reads(&aged(&[law[0], ("ageing.cycles", cycles)]), &[MS]);
    assert_eq!((at("1000"), at("1001")), (vec![retried(0)], vec![retried(1)]));
    // Rated for twice as many, a block has the errors of half of them.
    let twice = |cycles| {
        let more = [law[0], ("ageing.cycles", cycles), ("ageing.rated_cycles", "6000")];
        reads(&aged(&more), &[MS])
    };
    assert_eq!((twice("2000"), twice("2002")), (vec![retried(0)], vec![retried(1)]));
    // Blocks that are written over and over: the first one is read until it needs a retry, then erased.
    let settings = aged(&[
        ("ageing.gamma", text(LIMIT / 20.5)),
        ("ageing.reads_of", "block"),
        ("capacity", "16KiB"),
        ("op_ratio", "1"),
    ]);
    let mut requests: Vec<Request> = (0..4).map(|page| write(page * MS, page)).collect();
    requests.extend((0..30).map(|number| read((10 + number) * MS, 0)));
    requests.extend((0..12).map(|number| write((100 + number * 10) * MS, number % 4)));
    requests.extend((0..20).map(|number| read((500 + number) * MS, 0)));
    let outcome = run_both(&settings, &requests);
    let latencies = outcome.latencies();
    assert_eq!(latencies[4 + 29], retried(1));
    assert!(latencies[4 + 30 + 12..].iter().all(|latency| *latency == retried(0)), "{latencies:?}");
}

#[test]
fn data_from_before_the_run_is_as_old_as_it_is_said_to_be() {
    let settings = |days| {
        let more = [("precondition", "full"), ("ageing.pace", "0"), ("ageing.beta", text(LIMIT / 100.5))];
        aged(&[&more[..], &[("ageing.retention", days)]].concat())
    };
    let latency =
        |days| run_both(&settings(days), &[read(MS, 0), write(2 * MS, 1), read(3 * MS, 1)]).latencies();
    assert_eq!(latency("100")[0], retried(0));
    assert_eq!(latency("101")[0], retried(1));
    assert_eq!(latency("101")[2], retried(0), "what the run writes is new");
}

#[test]
fn copies_of_a_collection_take_their_retries() {
    let small: [Setting; 3] = [("precondition", "full"), ("capacity", "48KiB"), ("op_ratio", "0.4")];
    let requests: Vec<_> = [0, 4, 8, 0, 1].into_iter().map(|page| write(0, page)).collect();
    let copies = |more: &[Setting]| {
        let settings: Vec<_> = small.iter().chain(more).copied().collect();
        let spans = run_both(&settings, &requests).spans();
        spans.iter().filter(|span| span.0 == Copies).map(|(_, start, end)| end - start).sum::<u64>()
    };
    let plain = copies(&[]);
    assert_eq!(plain, 3 * (READ + 2 * TRANSFER + PROGRAM));
    assert_eq!(copies(&aged(&[("ageing.epsilon", text(1.5 * LIMIT))])), plain + 3 * (READ + TRANSFER));
    // A page that is copied back is not decoded.
    let back = [("gc.copyback", "1")];
    let unaged = copies(&back);
    let aged = aged(&[("ageing.epsilon", text(1.5 * LIMIT)), back[0]]);
    assert_eq!(copies(&aged), unaged);
}

#[test]
fn programs_and_erases_take_as_long_as_the_cycles_say() {
    let times = |settings: &[Setting], kind| -> Vec<u64> {
        let requests: Vec<_> = (0..20).map(|page| write(0, page % 4)).collect();
        let settings: Vec<_> =
            [("capacity", "16KiB"), ("op_ratio", "1")].iter().chain(settings).copied().collect();
        let spans = run_both(&settings, &requests).spans();
        spans.iter().filter(|span| span.0 == kind).map(|(_, start, end)| end - start).collect()
    };
    let worn = [("ageing.cycles", "2000"), ("ageing.program_growth", "-0.1"), ("nand.erase_growth", "0.25")];
    // A fifth shorter, and half as long again; another cycle is a ten-thousandth of it.
    assert_eq!(times(&aged(&worn), Program)[..4], [TRANSFER + 80_000; 4]);
    assert_eq!(times(&aged(&worn), Erase)[..2], [ERASE * 3 / 2; 2]);
    assert_eq!(times(&aged(&worn[..1]), Program)[0], TRANSFER + PROGRAM);
}

#[test]
fn a_page_that_cannot_be_read_is_rebuilt_of_its_stripe() {
    // One page is read until its block fails at the first reading, which nothing corrects.
    let stripes = |parity| {
        let settings = aged(&[
            ("channels", "4"),
            ("alloc.kind", "superblock"),
            ("alloc.parity", parity),
            ("ageing.gamma", text(LIMIT / 10.5)),
            ("ageing.reads_of", "block"),
            ("ageing.retries", "0"),
            ("ageing.soft_bits", "0"),
            ("op_ratio", "1"),
        ]);
        let writes = (0..12).map(|page| write(page * MS, page));
        let requests: Vec<_> = writes.chain((0..12).map(|number| read((100 + number) * MS, 0))).collect();
        let outcome = run(&settings, &requests);
        (outcome.counters.ageing, outcome)
    };
    let of_reads = |outcome: &Outcome| outcome.commands.iter().filter(|command| command.0 == Read).count();
    let (counts, rebuilt) = stripes("3");
    assert_eq!((counts.failed_pages, counts.rebuilt_pages, counts.uncorrectable_pages), (1, 1, 0));
    assert_eq!((of_reads(&rebuilt), rebuilt.counters.host.reads), (12 + 3, 12 + 3));
    let last: Vec<_> = rebuilt.commands.iter().filter(|command| command.3 >= 111 * MS).collect();
    let mut dies: Vec<u32> = last.iter().map(|command| command.1).collect();
    dies.sort_unstable();
    assert_eq!(dies, [0, 1, 2, 3], "on all dies at once");
    assert_eq!(rebuilt.latencies().last(), Some(&(READ + TRANSFER)));
    let (counts, unprotected) = stripes("0");
    assert_eq!((counts.failed_pages, counts.rebuilt_pages, counts.uncorrectable_pages), (1, 0, 1));
    assert_eq!(of_reads(&unprotected), 12);
}

/// Four dies with parity, on which a block can be read once: any later reading of it fails.
const FRAGILE: [Setting; 7] = [
    ("channels", "4"),
    ("alloc.kind", "superblock"),
    ("alloc.parity", "3"),
    ("ageing.reads_of", "block"),
    ("ageing.retries", "0"),
    ("ageing.soft_bits", "0"),
    ("op_ratio", "1"),
];

fn fragile(more: &[Setting]) -> Vec<Setting> {
    aged(&[&FRAGILE[..], &[("ageing.gamma", text(LIMIT * 1.1))], more].concat())
}

#[test]
fn of_a_stripe_that_is_not_complete_only_what_is_programmed_is_read() {
    // Two pages of three: their parity is not on flash yet.
    let requests = [write(0, 0), write(MS, 1), read(2 * MS, 0), read(3 * MS, 0)];
    let outcome = run_both(&fragile(&[]), &requests);
    let of_reads = outcome.commands.iter().filter(|command| command.0 == Read);
    assert_eq!(of_reads.map(|command| command.1).collect::<Vec<_>>(), [0, 0, 1]);
    let counts = outcome.counters.ageing;
    assert_eq!((counts.failed_pages, counts.rebuilt_pages), (1, 1));
}

#[test]
fn a_page_of_the_buffer_leaves_it_when_its_old_version_is_rebuilt() {
    // Part of a page is written: the old version is read, for the second time, so its stripe is read, too. Slow reads end after the
    // program; the entry leaves the buffer of one page once, with the last of them, and the next page enters then.
    let whole: Vec<_> = (0..12).map(|page| write(page * MS, page)).collect();
    let at = 100 * MS;
    let late = [read(50 * MS, 1), flush(60 * MS), sectors(at, Op::Write, PAGE + 1, 1)];
    let late = late.into_iter().chain([write(at, 13), write(at, 14), write(at, 15)]);
    let requests: Vec<_> = whole.into_iter().chain(late).collect();
    for read_time in ["10us", "700us"] {
        let settings = fragile(&[("buffer.bytes", "4KiB"), ("timing.read", read_time)]);
        let outcome = run(&settings, &requests);
        let counts = outcome.counters.ageing;
        assert_eq!((counts.failed_pages, counts.rebuilt_pages), (1, 1));
        let of_command =
            |kind| outcome.commands.iter().filter(move |command| command.0 == kind && command.3 >= at);
        let ends: Vec<_> =
            of_command(Read).chain(of_command(Program).take(1)).map(|command| command.4).collect();
        assert_eq!(of_command(Read).count(), 1 + 3, "the old version and its stripe");
        assert_eq!(outcome.completions()[15], *ends.iter().max().expect("some"), "{read_time}");
    }
}

#[test]
fn new_drives_of_every_kind_of_cell_need_no_retry() {
    let requests: Vec<_> =
        (0..64).map(|page| write(0, page)).chain((0..500).map(|page| read(0, page % 64))).collect();
    let plain = run(&[], &requests);
    for cell in ["slc", "mlc", "tlc", "qlc"] {
        let settings: &[Setting] = &[("ageing.kind", "power-law"), ("ageing.cell", cell)];
        assert_eq!(run_both(settings, &requests), plain, "{cell}");
    }
}

#[test]
fn blocks_differ_as_they_are_drawn_and_forks_and_slices_agree() {
    let settings = aged(&[("ageing.spread", "0.4"), ("ageing.epsilon", text(LIMIT)), ("nand.seed", "3")]);
    let requests: Vec<_> =
        (0..64).map(|page| write(0, page)).chain((0..64).map(|page| read(9 * SECOND, page))).collect();
    let outcome = run_both(&settings, &requests);
    let retries = outcome.counters.ageing.retries;
    assert!((20..100).contains(&retries), "{retries}");
    // All four pages of a block need the same.
    assert_eq!(outcome.counters.ageing.retried_pages % 4, 0);
    assert_eq!(super::rig::ends_in_slices(&settings, &requests, 7), outcome.completions());
    let mut one = drive(&settings);
    one.serve(&requests[..70]).expect("served");
    let mut fork = one.snapshot();
    for simulation in [&mut one, &mut fork] {
        simulation.serve(&requests[70..]).expect("served");
        simulation.finish().expect("finished");
        assert_eq!(simulation.counters().ageing, outcome.counters.ageing);
    }
}
