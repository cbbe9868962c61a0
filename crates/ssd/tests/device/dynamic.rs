//! Dynamic allocation: to an idle die, and in which order if the old version lies on another one.

use flashweir_ssd::CommandKind::{Program, Read, Rewrite};
use flashweir_trace::Op;

use super::rig::{PROGRAM, READ, Setting, TRANSFER, flush, read, run, sectors, write};

const WRITE: u64 = TRANSFER + PROGRAM;
const TWO: [Setting; 2] = [("channels", "2"), ("alloc.kind", "dynamic")];

#[test]
fn pages_go_to_the_next_idle_channel_and_wait_if_there_is_none() {
    for late in [WRITE - 1, WRITE, WRITE + 1] {
        let outcome = run(&TWO, &[write(0, 0), write(0, 0), write(1, 0), write(late, 7)]);
        let spans: Vec<_> = outcome.commands.iter().map(|command| (command.1, command.3)).collect();
        assert_eq!(spans[..2], [(0, 0), (1, 0)]);
        assert_eq!(spans[2], (0, WRITE), "the third waits for the first to end, not a ns less");
        assert_eq!(spans[3], (1, late.max(WRITE)));
    }
}

#[test]
fn a_channel_that_is_fixed_is_waited_for() {
    let settings = [("channels", "2"), ("alloc.kind", "dynamic"), ("alloc.mode", "1")];
    let outcome = run(&settings, &[write(0, 0), write(0, 2), write(0, 1)]);
    assert_eq!(outcome.completions(), [WRITE, 2 * WRITE, WRITE]);
}

#[test]
fn the_old_version_is_read_before_the_new_one_is_programmed_elsewhere() {
    let outcome = run(&TWO, &[write(0, 0), sectors(WRITE, Op::Write, 0, 1)]);
    let fetched = WRITE + READ + TRANSFER;
    assert_eq!(
        outcome.commands[1..],
        [(Read, 0, 1, WRITE, fetched), (Program, 1, 1, fetched, fetched + WRITE)]
    );
}

#[test]
fn a_data_block_goes_to_an_idle_channel_and_its_pages_stay_there() {
    // Pages 0, 2, 4 and 6 are a data block, and the odd ones another.
    let settings = [("channels", "2"), ("alloc.kind", "dynamic"), ("ftl.kind", "fast"), ("op_ratio", "1")];
    let requests = [write(0, 1), write(0, 3), write(0, 0), write(2 * WRITE, 2)];
    let outcome = run(&settings, &requests);
    let dies: Vec<_> = outcome.commands.iter().map(|command| (command.1, command.3)).collect();
    assert_eq!(
        dies,
        [(0, 0), (1, 0), (0, WRITE), (1, 2 * WRITE)],
        "page 3 waits for page 1, and page 0 for nobody"
    );
}

#[test]
fn a_cycle_writes_one_page_to_a_unit_and_in_order_nothing_overtakes_it() {
    // Pages 0, 2, 4 and 6 are a data block on the first channel, and 1 is on the second one.
    let settings = [
        ("channels", "2"),
        ("alloc.kind", "dynamic"),
        ("ftl.kind", "fast"),
        ("op_ratio", "1"),
        ("clock", "lock-step"),
        ("buffer.bytes", "16KiB"),
        ("buffer.order", "in-order"),
        ("buffer.ack", "flash"),
    ];
    let outcome = run(&settings, &[write(0, 0), write(0, 2), write(0, 1), flush(1)]);
    let ends = outcome.completions();
    assert!(
        ends[0] < ends[1] && ends[1] <= ends[2],
        "{ends:?}: the second page of a unit is of another cycle"
    );
}

/// The read of a page, ns.
const FETCH: u64 = READ + TRANSFER;

#[test]
fn no_die_waits_while_the_old_version_is_read() {
    let outcome = run(&TWO, &[write(0, 0), sectors(WRITE, Op::Write, 0, 1), write(WRITE, 5)]);
    let fetched = WRITE + FETCH;
    assert_eq!(
        outcome.commands[1..],
        [
            (Read, 0, 1, WRITE, fetched),
            (Program, 1, 1, WRITE, 2 * WRITE),
            (Program, 0, 1, fetched, fetched + WRITE)
        ],
        "the other die takes a page at once"
    );
}

#[test]
fn a_page_that_was_read_goes_to_the_first_die_that_is_idle() {
    // Page 2 is on die 0, which has another read then. Die 1 is busy until about the end of the first.
    let fetched = 2 * WRITE + FETCH;
    for idle in [fetched - 1, fetched, fetched + 1] {
        let requests = [
            write(0, 0),
            write(0, 1),
            write(WRITE, 2),
            write(idle - WRITE, 3),
            sectors(2 * WRITE, Op::Write, 2 * 8, 1),
            read(2 * WRITE + 1, 0),
        ];
        let outcome = run(&TWO, &requests);
        let start = fetched.max(idle);
        assert_eq!(outcome.commands.last(), Some(&(Program, 1, 1, start, start + WRITE)), "{idle}");
        assert_eq!(outcome.completions()[4..], [start + WRITE, fetched + FETCH]);
    }
}

#[test]
fn a_page_that_was_read_goes_before_those_that_wait() {
    let requests = [write(0, 0), sectors(WRITE, Op::Write, 0, 1), write(WRITE, 5), write(WRITE, 6)];
    let outcome = run(&TWO, &requests);
    let fetched = WRITE + FETCH;
    assert_eq!(outcome.completions()[1..], [fetched + WRITE, 2 * WRITE, 3 * WRITE]);
}

#[test]
fn writes_to_parts_of_one_page_follow_one_another() {
    let requests = [write(0, 0), sectors(WRITE, Op::Write, 0, 1), sectors(WRITE, Op::Write, 1, 1)];
    let outcome = run(&TWO, &requests);
    let first = WRITE + FETCH + WRITE;
    assert_eq!(
        outcome.commands[2..],
        [
            (Program, 1, 1, WRITE + FETCH, first),
            (Read, 1, 1, first, first + FETCH),
            (Program, 0, 1, first + FETCH, first + FETCH + WRITE)
        ]
    );
    // A whole page that comes between them needs no read, and none is made for what it replaces.
    let requests = [requests[0], requests[1], write(WRITE, 0), read(WRITE + FETCH + 1, 0)];
    let outcome = run(&TWO, &requests);
    assert_eq!(outcome.counters.rewrite_reads, 1);
}

#[test]
fn a_read_in_between_finds_the_version_before() {
    for scheduler in ["fifo", "read-first"] {
        let mut settings = TWO.to_vec();
        settings.push(("sched.kind", scheduler));
        let outcome = run(&settings, &[write(0, 0), sectors(WRITE, Op::Write, 0, 1), read(WRITE + 1, 0)]);
        assert_eq!(outcome.completions()[2], WRITE + 2 * FETCH, "{scheduler}");
    }
}

#[test]
fn where_a_page_has_one_die_it_is_read_and_programmed_in_one_command() {
    let settings = [("channels", "2"), ("alloc.kind", "dynamic"), ("alloc.mode", "1")];
    let outcome = run(&settings, &[write(0, 0), sectors(WRITE, Op::Write, 0, 1)]);
    let end = WRITE + READ + 2 * TRANSFER + PROGRAM;
    assert_eq!(outcome.commands[1..], [(Rewrite, 0, 1, WRITE, end)]);
}

/// Entries of a buffer are completed as pages of requests are, and joined and trimmed meanwhile.
#[test]
fn pages_of_the_buffer_are_completed_before_they_get_a_unit() {
    let settings = [TWO[0], TWO[1], ("buffer.bytes", "8KiB"), ("buffer.ack", "flash")];
    let fetched = WRITE + FETCH;
    let part = |time_ns, sector| sectors(time_ns, Op::Write, sector, 1);
    let outcome = run(&settings, &[write(0, 0), part(WRITE, 0), write(WRITE, 5), part(WRITE + 1, 1)]);
    assert_eq!(
        outcome.completions()[1..],
        [fetched + WRITE, 2 * WRITE, fetched + WRITE],
        "one program of both"
    );
    let trim = sectors(WRITE + 1, Op::Trim, 0, 8);
    let outcome =
        run(&settings, &[write(0, 0), part(WRITE, 0), trim, part(WRITE + 2, 1), read(WRITE * 4, 0)]);
    assert_eq!(outcome.commands.len(), 4, "{:?}", outcome.commands);
}
