//! Pages covered in part, pages not there, TRIM.

use flashweir_ssd::CommandKind::{Program, Read, Rewrite};
use flashweir_trace::Op;

use super::rig::{PAGE, PROGRAM, READ, TRANSFER, drive, flush, pages, read, run, run_both, sectors, write};

#[test]
fn reading_what_was_never_written_costs_nothing() {
    let outcome = run_both(&[], &[pages(0, Op::Read, 0, 3), write(0, 1), pages(1_000_000, Op::Read, 0, 3)]);
    assert_eq!(outcome.latencies(), [0, TRANSFER + PROGRAM, READ + TRANSFER]);
    assert_eq!(outcome.counters.unmapped_page_reads, 5);
    assert_eq!(outcome.commands.len(), 2);
}

#[test]
fn what_is_read_before_it_is_written_was_there() {
    let requests = [
        pages(0, Op::Read, 0, 3),
        write(1_000_000, 1),
        sectors(2_000_000, Op::Write, 3 * PAGE, 1),
        sectors(3_000_000, Op::Write, 2 * PAGE, 1),
        // Of these four pages the first one was trimmed.
        pages(4_000_000, Op::Trim, 4, 1),
        pages(5_000_000, Op::Read, 4, 4),
    ];
    let outcome = run_both(&[("precondition", "on-read")], &requests);
    let part = READ + 2 * TRANSFER + PROGRAM;
    assert_eq!(
        outcome.latencies(),
        [3 * (READ + TRANSFER), TRANSFER + PROGRAM, TRANSFER + PROGRAM, part, 0, 3 * (READ + TRANSFER)]
    );
    let counters = &outcome.counters;
    assert_eq!((counters.preexisting_pages, counters.unmapped_page_reads), (6, 1));
    assert_eq!((counters.host_pages_written, counters.host.programs), (3, 3));
}

#[test]
fn a_page_that_was_there_lies_under_what_waits_in_the_buffer() {
    let settings = [("precondition", "on-read"), ("buffer.bytes", "8KiB")];
    let requests = [write(0, 9), sectors(0, Op::Write, 0, 3), pages(1_000, Op::Read, 0, 1), flush(2_000)];
    let outcome = run(&settings, &requests);
    assert_eq!((outcome.counters.preexisting_pages, outcome.counters.unmapped_page_reads), (1, 0));
    // The content before completes the page when it leaves the buffer.
    assert_eq!(outcome.counters.rewrite_reads, 1);
}

#[test]
fn a_page_written_in_part_is_read_first_if_it_is_there() {
    let part = sectors(0, Op::Write, 3, 2);
    let outcome = run_both(&[], &[part]);
    assert_eq!(outcome.spans(), [(Program, 0, TRANSFER + PROGRAM)]);
    assert_eq!(outcome.counters.rewrite_reads, 0);
    let outcome = run_both(&[("precondition", "full")], &[part]);
    assert_eq!(outcome.spans(), [(Rewrite, 0, READ + 2 * TRANSFER + PROGRAM)]);
    assert_eq!((outcome.counters.rewrite_reads, outcome.counters.host.reads), (1, 1));
}

#[test]
fn every_alignment_touches_the_pages_it_covers() {
    for first in 0..PAGE {
        for length in 1..=20u32 {
            let end = first + u64::from(length);
            let touched = end.div_ceil(PAGE);
            let partial =
                (0..touched).filter(|page| first > page * PAGE || end < (page + 1) * PAGE).count() as u64;
            let requests =
                [sectors(0, Op::Write, first, length), sectors(9_000_000, Op::Read, first, length)];
            let outcome = run_both(&[("precondition", "full")], &requests);
            let counters = &outcome.counters;
            assert_eq!(counters.host.programs, touched, "{first}+{length}");
            assert_eq!(counters.rewrite_reads, partial, "{first}+{length}");
            assert_eq!(counters.host.reads, touched + partial, "{first}+{length}");
            let write = touched * (TRANSFER + PROGRAM) + partial * (READ + TRANSFER);
            assert_eq!(outcome.latencies(), [write, touched * (READ + TRANSFER)], "{first}+{length}");
        }
    }
}

#[test]
fn page_sizes_from_one_sector_to_512() {
    for (size, sectors_a_page) in [("512B", 1), ("1KiB", 2), ("1.5KiB", 3), ("33KiB", 66), ("256KiB", 512u64)]
    {
        let bus = [("page", size), ("capacity", "8MiB"), ("timing.bus", "0"), ("timing.command", "0")];
        for (buffer, ack) in [("0", "buffer"), ("2MiB", "flash")] {
            let mut settings = bus.to_vec();
            settings.extend([("buffer.bytes", buffer), ("host.mode", "closed")]);
            if ack == "flash" {
                settings.push(("buffer.ack", ack));
            }
            let last = 3 * sectors_a_page - 1;
            let requests = [
                sectors(0, Op::Write, 0, 4 * sectors_a_page as u32),
                sectors(0, Op::Write, last, 1),
                sectors(0, Op::Read, last, 2),
                sectors(0, Op::Write, last, 2),
                sectors(0, Op::Read, 0, 4 * sectors_a_page as u32),
            ];
            let outcome = run_both(&settings, &requests);
            let parts = u64::from(sectors_a_page > 1);
            let latencies =
                [4 * PROGRAM, PROGRAM + parts * READ, 2 * READ, 2 * (PROGRAM + parts * READ), 4 * READ];
            assert_eq!(outcome.latencies(), latencies, "{size}, buffer {buffer}");
        }
    }
}

#[test]
fn trim_forgets_whole_pages_and_keeps_pages_covered_in_part() {
    // Half of page 0, all of pages 1 and 2, half of page 3.
    let trim = sectors(0, Op::Trim, PAGE / 2, 3 * PAGE as u32);
    let reads = [0, 1, 2, 3].map(|page| read(1_000_000, page));
    let requests: Vec<_> = [trim].into_iter().chain(reads).collect();
    let outcome = run_both(&[("precondition", "full")], &requests);
    assert_eq!(outcome.latencies()[0], 0, "no flash is touched");
    assert_eq!(outcome.counters.trimmed_pages, 2);
    assert_eq!(outcome.counters.unmapped_page_reads, 2);
    assert_eq!(outcome.spans().iter().map(|span| span.0).collect::<Vec<_>>(), [Read, Read]);
}

#[test]
fn a_trimmed_page_is_as_new() {
    let requests = [
        pages(0, Op::Trim, 5, 1),
        pages(0, Op::Trim, 5, 1),
        sectors(0, Op::Write, 5 * PAGE, 1),
        sectors(0, Op::Write, 5 * PAGE, 1),
    ];
    let outcome = run_both(&[("precondition", "full")], &requests);
    let kinds: Vec<_> = outcome.spans().iter().map(|span| span.0).collect();
    assert_eq!(kinds, [Program, Rewrite], "nothing to read for the first part of it, then there is");
    assert_eq!(outcome.counters.trimmed_pages, 1);
}

#[test]
fn trimmed_pages_are_not_copied() {
    let settings = [("capacity", "32KiB"), ("op_ratio", "0.5"), ("precondition", "full")];
    let mut requests = vec![pages(0, Op::Trim, 0, 4)];
    requests.extend((4..9).map(|page| write(1, page % 8)));
    let outcome = run_both(&settings, &requests);
    assert_eq!((outcome.counters.gc.erases, outcome.counters.gc.programs), (1, 0));
}

#[test]
fn zero_length_requests_take_no_time_and_do_nothing() {
    let ops = [Op::Read, Op::Write, Op::Trim];
    for buffer in ["0", "64KiB"] {
        for lba in [0, 3, 8] {
            let requests: Vec<_> = ops.map(|op| sectors(5, op, lba, 0)).to_vec();
            let settings = [("precondition", "full"), ("buffer.bytes", buffer), ("host.mode", "closed")];
            let outcome = run_both(&settings, &requests);
            assert_eq!((outcome.commands.len(), outcome.latencies()), (0, vec![0, 0, 0]));
        }
    }
}

#[test]
fn with_direct_translation_pages_are_written_in_place() {
    let settings = [("ftl.kind", "direct")];
    let outcome = run(&settings, &[read(0, 3), write(0, 3), write(0, 3), sectors(0, Op::Write, 24, 1)]);
    let kinds: Vec<_> = outcome.spans().iter().map(|span| span.0).collect();
    assert_eq!(kinds, [Read, Program, Program, Rewrite]);
}

#[test]
fn writes_in_no_time_make_the_work_that_they_make_in_time() {
    let requests: Vec<_> = (0..2000u64)
        .map(|number| {
            pages(
                number * 10_000_000,
                if number % 9 == 4 { Op::Trim } else { Op::Write },
                number * number % 61,
                3,
            )
        })
        .collect();
    for setting in [("gc.victim", "random"), ("ftl.kind", "bast"), ("ftl.kind", "fast"), ("ftl.kind", "dftl")]
    {
        let mut untimed = drive(&[setting]);
        untimed.overwrite(&requests, false).expect("room");
        let (found, timed) = (untimed.counters(), run(&[setting], &requests).counters);
        assert_eq!(
            (found.host, found.gc, found.mapping),
            (timed.host, timed.gc, timed.mapping),
            "{setting:?}"
        );
        assert!(found.gc.erases > 1000, "{setting:?}");
    }
}
