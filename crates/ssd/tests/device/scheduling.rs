//! Reads before writes, and where they may not go before.

use flashweir_ssd::CommandKind::{Program, Read};

use super::rig::{PROGRAM, READ, Setting, TRANSFER, flush, read, run, write};

const READ_PRIORITY: [Setting; 2] = [("sched.kind", "read-priority"), ("precondition", "full")];
const WRITE: u64 = TRANSFER + PROGRAM;
const FETCH: u64 = READ + TRANSFER;

#[test]
fn reads_pass_writes_that_wait() {
    let outcome = run(&READ_PRIORITY, &[write(0, 0), write(1, 1), write(2, 2), read(3, 9), read(4, 10)]);
    let expected = [
        (Program, 0, WRITE),
        (Read, WRITE, WRITE + FETCH),
        (Read, WRITE + FETCH, WRITE + 2 * FETCH),
        (Program, WRITE + 2 * FETCH, 2 * WRITE + 2 * FETCH),
        (Program, 2 * WRITE + 2 * FETCH, 3 * WRITE + 2 * FETCH),
    ];
    assert_eq!(outcome.spans(), expected);
    assert_eq!(
        outcome.completions()[3..],
        [WRITE + FETCH, WRITE + 2 * FETCH],
        "reads in the order of arrival"
    );
}

#[test]
fn a_read_passes_nothing_that_has_started() {
    // It arrives one ns before the die is free, just then, and after the next program has begun.
    for (arrival, end) in [(WRITE - 1, WRITE + FETCH), (WRITE, WRITE + FETCH), (WRITE + 1, 2 * WRITE + FETCH)]
    {
        let outcome = run(&READ_PRIORITY, &[write(0, 0), write(0, 1), read(arrival, 9)]);
        assert_eq!(outcome.completions()[2], end, "arrival at {arrival}");
    }
}

#[test]
fn what_arrives_at_one_instant_is_ordered_before_any_of_it_starts() {
    let outcome = run(&READ_PRIORITY, &[write(0, 0), read(0, 9), read(0, 10)]);
    assert_eq!(outcome.completions(), [2 * FETCH + WRITE, FETCH, 2 * FETCH]);
}

#[test]
fn a_read_never_passes_a_write_to_its_page() {
    let outcome = run(&READ_PRIORITY, &[write(0, 0), write(1, 1), write(2, 2), read(3, 1), read(4, 9)]);
    // Page 9 goes first; page 1 only after its own write, but before the write of page 2.
    let free = WRITE + FETCH;
    assert_eq!(
        outcome.completions(),
        [WRITE, free + WRITE, free + WRITE + FETCH + WRITE, free + WRITE + FETCH, free]
    );
}

#[test]
fn until_its_block_is_erased_a_page_that_is_moved_is_read_where_it_was() {
    use flashweir_ssd::CommandKind::{Copies, Erase};
    let mut settings = READ_PRIORITY.to_vec();
    settings.extend([("capacity", "32KiB"), ("op_ratio", "0.5")]);
    // Page 3 is moved by the collection that the last write needs, page 7 is not.
    let requests = [
        write(0, 0),
        write(0, 1),
        write(0, 2),
        write(0, 4),
        read(10_000_000, 5),
        write(10_000_001, 6),
        read(10_000_002, 3),
        read(10_000_003, 7),
    ];
    let outcome = run(&settings, &requests);
    let kinds: Vec<_> = outcome.spans()[4..].iter().map(|span| span.0).collect();
    assert_eq!(kinds, [Read, Read, Read, Copies, Erase, Program]);
    assert!(outcome.completions()[6] < outcome.completions()[7], "in the order of arrival");
}

#[test]
fn fifo_keeps_the_order_of_arrival() {
    let settings = [("precondition", "full"), ("engine", "event")];
    let outcome = run(&settings, &[write(0, 0), write(1, 1), read(2, 9), flush(3)]);
    assert_eq!(outcome.completions(), [WRITE, 2 * WRITE, 2 * WRITE + FETCH, 2 * WRITE]);
}
