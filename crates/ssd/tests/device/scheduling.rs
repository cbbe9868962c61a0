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

/// Zhu et al. 2017, figure 6.
#[test]
fn a_write_that_gives_way_to_one_read_ends_that_much_later() {
    let run = |settings: &[Setting]| {
        let mut all = vec![
            ("precondition", "full"),
            ("timing.read", "20us"),
            ("timing.program", "200us"),
            ("timing.bus", "0"),
        ];
        all.extend([("timing.command", "0"), ("engine", "event")]);
        all.extend(settings);
        let requests = [write(0, 0), read(0, 1), read(0, 2), read(0, 3), read(0, 4)];
        run(&all, &requests).completions().into_iter().map(|end| end / 1000).collect::<Vec<_>>()
    };
    assert_eq!(run(&[]), [200, 220, 240, 260, 280]);
    // R1 goes from 220 to 20 us, W from 200 to 220, and R2 stays where it was.
    let bounded = |bound| run(&[("sched.kind", "read-first"), ("sched.write_bound", bound)]);
    assert_eq!(bounded("220us"), [220, 20, 240, 260, 280]);
    assert_eq!(bounded("219999"), [200, 220, 240, 260, 280]);
    assert_eq!(bounded("none"), [280, 20, 40, 60, 80]);
    assert_eq!(bounded("0"), run(&[]));
}

const SUSPEND: [Setting; 5] = [
    ("sched.kind", "suspend"),
    ("precondition", "full"),
    ("sched.suspend_time", "3us"),
    ("sched.resume_time", "2us"),
    ("sched.write_weight", "0"),
];

#[test]
fn a_program_is_suspended_while_its_array_is_busy() {
    const STOP: u64 = 3_000;
    const RESUME: u64 = 2_000;
    // On the bus it is not; then it is, until stopping would take as long as its rest.
    for (arrival, starts, ends) in [
        (TRANSFER - 1, TRANSFER + STOP, WRITE + STOP + FETCH + RESUME),
        (TRANSFER, TRANSFER + STOP, WRITE + STOP + FETCH + RESUME),
        (50_000, 50_000 + STOP, WRITE + STOP + FETCH + RESUME),
        (WRITE - STOP - 1, WRITE - 1, WRITE + STOP + FETCH + RESUME),
        (WRITE - STOP, WRITE, WRITE),
        (WRITE - 1, WRITE, WRITE),
    ] {
        let outcome = run(&SUSPEND, &[write(0, 0), read(arrival, 9)]);
        assert_eq!(outcome.completions(), [ends, starts + FETCH], "arrival at {arrival}");
    }
}

#[test]
fn a_program_is_not_suspended_for_a_read_of_its_page_nor_more_often_than_it_may() {
    let outcome = run(&SUSPEND, &[write(0, 0), read(50_000, 0)]);
    assert_eq!(outcome.completions(), [WRITE, WRITE + FETCH]);
    let mut once = SUSPEND.to_vec();
    once.push(("sched.max_suspensions", "1"));
    let outcome = run(&once, &[write(0, 0), read(20_000, 9), read(60_000, 10)]);
    let end = WRITE + 3_000 + FETCH + 2_000;
    assert_eq!(outcome.completions(), [end, 20_000 + 3_000 + FETCH, end + FETCH]);
    // One that comes while it is suspended needs no suspension of its own.
    let outcome = run(&once, &[write(0, 0), read(20_000, 9), read(30_000, 10)]);
    let first = 20_000 + 3_000 + FETCH;
    assert_eq!(outcome.completions(), [end + FETCH, first, first + FETCH]);
}

#[test]
fn a_page_loaded_behind_a_program_is_suspended_as_any_other() {
    let mut settings =
        vec![("sched.kind", "suspend"), ("precondition", "full"), ("timing.cache_program", "true")];
    settings.extend([("sched.resume_time", "0"), ("sched.write_weight", "0")]);
    // The second page is in the register when the read comes: the die first has to be done with one of them.
    let outcome = run(&settings, &[write(0, 0), write(0, 1), read(50_000, 9)]);
    assert_eq!(outcome.completions(), [WRITE, WRITE + PROGRAM + FETCH, WRITE + FETCH]);
}
