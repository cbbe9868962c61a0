//! The write buffer: when writes are acknowledged, what waits for what, what joins.

use flashweir_ssd::CommandKind::{Program, Read};
use flashweir_trace::Op;

use super::rig::{PAGE, PROGRAM, READ, Setting, TRANSFER, flush, pages, read, run, run_both, sectors, write};

const WRITE: u64 = TRANSFER + PROGRAM;

/// Room for two pages, one request at a time.
const TWO_PAGES: [Setting; 2] = [("buffer.bytes", "8KiB"), ("host.mode", "closed")];

fn with(settings: &[Setting], more: &[Setting]) -> Vec<Setting> {
    settings.iter().chain(more).copied().collect()
}

#[test]
fn a_write_is_done_when_it_is_in_the_buffer() {
    let outcome = run_both(&TWO_PAGES, &[write(0, 0), write(0, 1)]);
    assert_eq!(outcome.latencies(), [0, 0]);
    assert_eq!(outcome.commands, [], "pages stay until their places are needed");
}

#[test]
fn a_full_buffer_makes_a_write_wait_for_exactly_the_earliest_completion() {
    let outcome = run_both(&TWO_PAGES, &[write(0, 0), write(0, 1), write(0, 2), write(0, 3)]);
    // The third write sends page 0, the fourth page 1; one after the other.
    assert_eq!(outcome.latencies(), [0, 0, WRITE, WRITE]);
    assert_eq!(outcome.spans(), [(Program, 0, WRITE), (Program, WRITE, 2 * WRITE)]);
    // With two channels both leave at once, and the next write finds a place.
    let outcome = run_both(
        &with(&TWO_PAGES, &[("channels", "2")]),
        &[write(0, 0), write(0, 1), write(0, 2), write(0, 3)],
    );
    assert_eq!(outcome.latencies(), [0, 0, WRITE, 0]);
}

#[test]
fn in_order_with_clocks_of_their_own_a_page_leaves_when_older_requests_are_on_flash() {
    let settings = with(&TWO_PAGES, &[("channels", "2"), ("buffer.order", "in-order")]);
    let requests = [write(0, 0), write(0, 1), write(0, 2), write(0, 3), flush(0)];
    let outcome = run_both(&settings, &requests);
    // The third write sends page 0, the fourth page 1, though its channel is idle.
    assert_eq!(outcome.latencies(), [0, 0, WRITE, WRITE, 2 * WRITE]);
    let spans: Vec<_> = (0..4).map(|at| (Program, at * WRITE, (at + 1) * WRITE)).collect();
    assert_eq!(outcome.spans(), spans);
    // Pages of one request go side by side.
    let outcome = run_both(&settings, &[pages(0, Op::Write, 0, 2), pages(0, Op::Write, 2, 2), flush(0)]);
    assert_eq!(outcome.latencies(), [0, WRITE, WRITE]);
}

#[test]
fn a_write_larger_than_the_buffer_goes_through_it() {
    let outcome = run_both(&TWO_PAGES, &[pages(0, Op::Write, 0, 5)]);
    assert_eq!(outcome.latencies(), [3 * WRITE]);
    assert_eq!(outcome.commands.len(), 3);
    assert_eq!(outcome.counters.host.programs, 5, "the other two when the run ends");
}

#[test]
fn writes_to_a_page_that_waits_join_it() {
    let halves =
        [sectors(0, Op::Write, 0, 4), sectors(0, Op::Write, 4, 4), sectors(0, Op::Write, 2, 4), flush(0)];
    let settings = with(&TWO_PAGES, &[("precondition", "full")]);
    let outcome = run_both(&settings, &halves);
    // Together they are the whole page: nothing is read.
    assert_eq!(outcome.spans(), [(Program, 0, WRITE)]);
    assert_eq!(outcome.counters.coalesced, 2);
    assert_eq!(outcome.counters.host_pages_written, 3);
    let outcome = run_both(&settings, &[sectors(0, Op::Write, 0, 4), sectors(0, Op::Write, 5, 3), flush(0)]);
    assert_eq!(outcome.completions()[2], WRITE + READ + TRANSFER, "sector 4 is missing");
}

#[test]
fn nothing_joins_a_page_under_way() {
    // The third write sends page 0 and waits for it; the fourth is to page 1, still waiting: it joins. The fifth is to
    // page 0, which has left.
    let requests = [write(0, 0), write(0, 1), write(0, 2), write(0, 1), write(0, 0)];
    let outcome = run_both(&TWO_PAGES, &requests);
    assert_eq!(outcome.counters.coalesced, 1);
    assert_eq!(outcome.latencies(), [0, 0, WRITE, 0, WRITE]);
}

#[test]
fn a_unit_has_one_page_of_the_buffer_under_way() {
    let settings = with(&TWO_PAGES, &[("buffer.bytes", "64KiB"), ("channels", "2")]);
    let writes = [0, 2, 4, 1].map(|page| write(0, page));
    let outcome = run_both(&settings, &[&writes[..], &[flush(0)]].concat());
    let spans: Vec<_> = outcome.commands.iter().map(|command| (command.1, command.3)).collect();
    assert_eq!(spans, [(0, 0), (1, 0), (0, WRITE), (0, 2 * WRITE)]);
    assert_eq!(outcome.completions()[4], 3 * WRITE, "the flush waits for all of them");
}

#[test]
fn with_acknowledgement_from_flash_a_write_waits_for_its_pages() {
    let settings = with(&TWO_PAGES, &[("buffer.ack", "flash"), ("channels", "2")]);
    let outcome = run_both(&settings, &[write(0, 0), pages(0, Op::Write, 0, 2), flush(0)]);
    assert_eq!(outcome.latencies(), [WRITE, WRITE, 0]);
    assert_eq!(outcome.counters.coalesced, 0);
}

#[test]
fn reads_of_the_buffer_take_no_time_and_parts_of_it_lie_over_the_flash() {
    let settings = with(&TWO_PAGES, &[("precondition", "full")]);
    let requests = [
        sectors(0, Op::Write, 0, 4),
        sectors(0, Op::Read, 1, 3),
        sectors(0, Op::Read, 3, 2),
        sectors(0, Op::Read, 4, 4),
        read(0, 1),
    ];
    let outcome = run_both(&settings, &requests);
    let fetch = READ + TRANSFER;
    assert_eq!(outcome.latencies(), [0, 0, fetch, fetch, fetch]);
    assert_eq!(outcome.counters.buffer_hits, 1);
}

#[test]
fn reads_find_the_die_busy_with_the_buffer() {
    let settings = with(&TWO_PAGES, &[("channels", "2"), ("precondition", "full")]);
    // The third write sends pages 0 and 1; the fourth finds a place; the fifth sends page 2.
    let outcome =
        run_both(&settings, &[write(0, 0), write(0, 2), write(0, 4), write(0, 6), read(0, 8), read(0, 9)]);
    assert_eq!(outcome.latencies()[..4], [0, 0, WRITE, WRITE]);
    assert_eq!(outcome.latencies()[4..], [READ + TRANSFER; 2]);
    let kinds: Vec<_> = outcome.spans().iter().map(|span| span.0).collect();
    assert_eq!(kinds, [Program, Program, Read, Read]);
}

#[test]
fn trim_takes_a_page_out_of_the_buffer() {
    let requests = [write(0, 0), pages(0, Op::Trim, 0, 1), read(0, 0), flush(0)];
    let outcome = run_both(&TWO_PAGES, &requests);
    assert_eq!((outcome.commands.len(), outcome.latencies()), (0, vec![0; 4]));
    assert_eq!(outcome.counters.trimmed_pages, 1, "trimmed in the buffer");
    // Once, where an older version is on flash besides; and none of a page that has no data.
    let requests =
        [write(0, 0), flush(0), write(0, 0), pages(0, Op::Trim, 0, 1), pages(0, Op::Trim, 0, 2), flush(0)];
    assert_eq!(run_both(&TWO_PAGES, &requests).counters.trimmed_pages, 1);
    // A TRIM of part of it does not.
    let requests = [write(0, 0), sectors(0, Op::Trim, 1, 7), read(0, 0), flush(0)];
    assert_eq!(run_both(&TWO_PAGES, &requests).latencies(), [0, 0, 0, WRITE]);
}

#[test]
fn a_page_trimmed_while_it_is_programmed_is_gone_after() {
    let settings = [("buffer.bytes", "8KiB"), ("precondition", "full")];
    let requests = [
        write(0, 0),
        flush(0),
        pages(1, Op::Trim, 0, 1),
        read(2, 0),
        write(3, 0),
        read(4, 0),
        flush(5),
        read(WRITE * 3, 0),
    ];
    let outcome = run(&settings, &requests);
    assert_eq!(outcome.latencies()[2..6], [0; 4]);
    assert_eq!(outcome.completions()[1], WRITE);
    assert_eq!(outcome.completions()[6], 2 * WRITE);
    assert_eq!(outcome.latencies()[7], READ + TRANSFER);
}

#[test]
fn a_flush_waits_for_what_is_in_the_buffer_before_it() {
    let settings = [("buffer.bytes", "64KiB")];
    let requests =
        [write(0, 0), flush(1), write(2, 1), flush(3), flush(4), write(WRITE + 1, 2), flush(WRITE + 2)];
    let outcome = run(&settings, &requests);
    assert_eq!(outcome.completions()[1], 1 + WRITE);
    assert_eq!(outcome.completions()[3..5], [1 + 2 * WRITE; 2]);
    assert_eq!(outcome.completions()[6], 1 + 3 * WRITE);
}

#[test]
fn a_flush_of_a_protected_buffer_waits_for_nothing() {
    let requests = [write(0, 0), flush(1), write(2, 1), flush(3)];
    let settings = [("buffer.bytes", "16KiB"), ("buffer.protected", "true")];
    let outcome = run(&settings, &requests);
    assert_eq!((outcome.latencies(), outcome.commands), (vec![0; 4], vec![]), "and no page leaves for it");
    // Not for room in the buffer either: what is acknowledged is safe.
    let settings = [("buffer.bytes", "4KiB"), ("buffer.protected", "true")];
    let outcome = run(&settings, &[write(0, 0), write(1, 1), flush(2)]);
    assert_eq!(outcome.latencies(), [0, WRITE, 0]);
    // Without a buffer that acknowledges there is nothing to protect.
    let settings = [("buffer.bytes", "16KiB"), ("buffer.protected", "true"), ("buffer.ack", "flash")];
    assert_eq!(run(&settings, &[write(0, 0), flush(1)]).completions(), [WRITE, WRITE]);
}

#[test]
fn planes_of_a_die_leave_the_buffer_in_one_command() {
    let settings = with(&TWO_PAGES, &[("planes", "2"), ("timing.multi_plane", "true")]);
    let outcome = run_both(&settings, &[write(0, 0), write(0, 1), write(0, 2)]);
    assert_eq!(outcome.commands, [(Program, 0, 2, 0, 2 * TRANSFER + PROGRAM)]);
    assert_eq!(outcome.latencies(), [0, 0, 2 * TRANSFER + PROGRAM]);
    // Part of a page that is on flash pairs with nothing.
    let settings = with(&settings, &[("precondition", "full")]);
    let outcome = run_both(&settings, &[sectors(0, Op::Write, PAGE, 1), write(0, 0), flush(0)]);
    assert_eq!(outcome.commands.len(), 2);
    assert_eq!(outcome.completions()[2], 2 * WRITE + READ + TRANSFER);
}

/// Blocks of four pages in a buffer of three: pages 0 and 1 of block 0, page 4 of block 1, page 1 again; one more, for which
/// another has to leave, and at last those by which it shows which one did.
#[test]
fn the_replacement_says_which_page_leaves() {
    let joined = |replacement, pages: &[u64]| {
        let settings = [
            ("buffer.bytes", "12KiB"),
            ("host.mode", "closed"),
            ("pages_per_block", "4"),
            ("buffer.replacement", replacement),
        ];
        let writes: Vec<_> = [0, 1, 4, 1, 8].iter().chain(pages).map(|page| write(0, *page)).collect();
        run_both(&settings, &writes).counters.coalesced - 1
    };
    assert_eq!(joined("fifo", &[0]), 0, "page 0 came first");
    assert_eq!(joined("fifo", &[1, 4]), 2);
    assert_eq!(joined("lru", &[0]), 0, "page 0 rests longest");
    assert_eq!(joined("lru", &[1, 4]), 2);
    assert_eq!(joined("block-lru", &[4]), 0, "block 1 rests longest");
    assert_eq!(joined("block-lru", &[0, 1]), 2);
    assert_eq!(joined("fab", &[0]), 0, "of block 0 most waits");
    assert_eq!(joined("fab", &[1, 4]), 2);
}
