//! Limits of suspensions: protected shares, a floor of progress, operations that may not be suspended, overheads of erases,
//! and batches of copies.

use flashweir_ssd::CommandKind::{Copies, Erase, Read};
use flashweir_trace::Request;

use super::rig::{ERASE, Outcome, PROGRAM, READ, Setting, TRANSFER, read, run, write};

const WRITE: u64 = TRANSFER + PROGRAM;
const FETCH: u64 = READ + TRANSFER;
const STOP: u64 = 3_000;
const RESUME: u64 = 2_000;
const SUSPEND: [Setting; 5] = [
    ("sched.kind", "suspend"),
    ("precondition", "full"),
    ("sched.suspend_time", "3us"),
    ("sched.resume_time", "2us"),
    ("sched.write_weight", "0"),
];

fn with(more: &[Setting]) -> Vec<Setting> {
    SUSPEND.iter().chain(more).copied().collect()
}

#[test]
fn a_program_is_not_suspended_in_its_first_and_last_share() {
    let settings = with(&[("sched.protected_start", "0.25"), ("sched.protected_end", "0.1")]);
    let (first, last) = (TRANSFER + PROGRAM / 4, WRITE - PROGRAM / 10);
    // Arrival of a read, and when the program is suspended for it.
    for (arrival, suspended) in [
        (TRANSFER - 1, Some(first)),
        (TRANSFER, Some(first)),
        (first - 1, Some(first)),
        (first, Some(first)),
        (first + 1, Some(first + 1)),
        (last - 1, Some(last - 1)),
        (last, None),
        (last + 1, None),
    ] {
        let outcome = run(&settings, &[write(0, 0), read(arrival, 9)]);
        let expected = match suspended {
            Some(at) => [WRITE + STOP + FETCH + RESUME, at + STOP + FETCH],
            None => [WRITE, WRITE + FETCH],
        };
        assert_eq!(outcome.completions(), expected, "arrival at {arrival}");
    }
    // Where the shares meet nothing is suspended.
    let settings = with(&[("sched.protected_start", "0.5"), ("sched.protected_end", "0.5")]);
    let outcome = run(&settings, &[write(0, 0), read(TRANSFER + PROGRAM / 4, 9)]);
    assert_eq!(outcome.completions(), [WRITE, WRITE + FETCH]);
}

#[test]
fn a_program_runs_for_its_floor_between_two_suspensions() {
    let settings = with(&[("sched.min_run", "20us")]);
    let resumed = 20_000 + STOP + FETCH;
    let free = resumed + RESUME + 20_000;
    for (arrival, suspended) in
        [(resumed + 1, free), (resumed + RESUME, free), (free - 1, free), (free, free), (free + 1, free + 1)]
    {
        let outcome = run(&settings, &[write(0, 0), read(20_000, 9), read(arrival, 10)]);
        let end = WRITE + 2 * (STOP + FETCH + RESUME);
        assert_eq!(outcome.completions(), [end, resumed, suspended + STOP + FETCH], "arrival at {arrival}");
    }
    // Without a floor it is suspended at once.
    let outcome = run(&SUSPEND, &[write(0, 0), read(20_000, 9), read(resumed + 1, 10)]);
    assert_eq!(outcome.completions()[2], resumed + 1 + STOP + FETCH);
    // A program that would be done by then is not suspended again.
    let settings = with(&[("sched.min_run", "85us")]);
    let outcome = run(&settings, &[write(0, 0), read(20_000, 9), read(resumed + 1, 10)]);
    let end = WRITE + STOP + FETCH + RESUME;
    assert_eq!(outcome.completions(), [end, resumed, end + FETCH]);
}

#[test]
fn programs_or_erases_alone_may_be_suspended() {
    let at = TRANSFER + 50_000;
    let program = |suspends| run(&with(&[("sched.suspends", suspends)]), &[write(0, 0), read(at, 9)]);
    assert_eq!(program("program"), program("all"));
    assert_eq!(program("erase").completions(), [WRITE, WRITE + FETCH]);
    // A program that waits for the bus gives its place up anyway: nothing is suspended.
    let (outcome, erase) = erasing(&with(&[("sched.suspends", "program")]), 500_000);
    assert_eq!(outcome.completions()[6], erase + ERASE + FETCH);
}

/// A drive that collects, and a read that comes so long after the erase began: the outcome, and when the erase began.
fn erasing(settings: &[Setting], after_ns: u64) -> (Outcome, u64) {
    let mut settings = settings.to_vec();
    settings.extend([("capacity", "32KiB"), ("op_ratio", "0.5")]);
    let begin =
        |outcome: &Outcome| outcome.spans().iter().find(|span| span.0 == Erase).expect("a block is erased").1;
    let erase = begin(&run(&settings, &collecting()));
    let mut requests = collecting();
    requests.push(read(erase + after_ns, 7));
    let outcome = run(&settings, &requests);
    assert_eq!(begin(&outcome), erase);
    (outcome, erase)
}

/// The last write needs a collection.
fn collecting() -> Vec<Request> {
    let times = [0, 0, 0, 0, 10_000_000, 10_000_001];
    times.into_iter().zip([0, 1, 2, 4, 5, 6]).map(|(time, page)| write(time, page)).collect()
}

#[test]
fn an_erase_has_overheads_of_its_own() {
    let own = with(&[("sched.erase_suspend_time", "50us"), ("sched.erase_resume_time", "30us")]);
    for (settings, stop, resume) in [(SUSPEND.to_vec(), STOP, RESUME), (own.clone(), 50_000, 30_000)] {
        let (outcome, erase) = erasing(&settings, 400_000);
        assert_eq!(outcome.completions()[6], erase + 400_000 + stop + FETCH);
        let span = outcome.spans().into_iter().find(|span| span.0 == Erase).expect("a block is erased");
        assert_eq!(span.2, erase + ERASE + stop + FETCH + resume);
    }
    // As soon done as stopped.
    let (outcome, erase) = erasing(&own, ERASE - 50_000);
    assert_eq!(outcome.completions()[6], erase + ERASE + FETCH);
    let (outcome, erase) = erasing(&own, ERASE - 50_001);
    assert_eq!(outcome.completions()[6], erase + ERASE - 1 + FETCH);
    // Programs keep theirs.
    let outcome = run(&own, &[write(0, 0), read(50_000, 9)]);
    assert_eq!(outcome.completions()[1], 50_000 + STOP + FETCH);
}

/// The last write needs a collection, of a block with three valid pages.
fn collecting_three() -> Vec<Request> {
    let times = [0, 0, 0, 0, 10_000_000];
    times.into_iter().zip([0, 4, 8, 0, 1]).map(|(time, page)| write(time, page)).collect()
}

#[test]
fn no_read_gets_in_between_the_copies_of_a_batch() {
    let small: [Setting; 3] = [("precondition", "full"), ("capacity", "48KiB"), ("op_ratio", "0.4")];
    let preempt: [Setting; 2] = [("sched.kind", "read-first"), ("sched.preempt_gc", "true")];
    let copy = READ + 2 * TRANSFER + PROGRAM;
    for (kind, suspends) in [(&preempt[..], false), (&SUSPEND[..], true)] {
        let settings: Vec<_> = kind.iter().chain(&small).copied().collect();
        let plain = run(&settings, &collecting_three());
        let (_, start, end) = plain.spans().into_iter().find(|span| span.0 == Copies).expect("a collection");
        assert_eq!(end - start, 3 * copy);
        // In the array's time of the first copy.
        let arrival = start + READ + 2 * TRANSFER + 1_000;
        let mut requests = collecting_three();
        requests.push(read(arrival, 11));
        // A program of the array is suspended only where batches are of one copy.
        let first = if suspends { arrival + STOP } else { start + copy };
        for (batch, begins) in [("1", first), ("2", start + 2 * copy), ("3", start + 3 * copy)] {
            let settings: Vec<_> = settings.iter().copied().chain([("gc.batch", batch)]).collect();
            let outcome = run(&settings, &requests);
            let found = outcome.spans().into_iter().find(|span| span.0 == Read).expect("the read").1;
            assert_eq!(found, begins, "batch of {batch}, {kind:?}");
        }
    }
}
