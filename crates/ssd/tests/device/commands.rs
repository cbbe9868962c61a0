//! Durations of commands, and that a die runs one at a time, without gaps.

use flashweir_ssd::CommandKind::{Copies, Erase, Program, Read};

use flashweir_trace::Op;

use super::rig::{ERASE, PROGRAM, READ, TRANSFER, pages, read, run_both, sectors, write};

#[test]
fn a_read_takes_read_and_transfer_a_program_transfer_and_program() {
    let outcome = run_both(&[("precondition", "full")], &[read(7, 3), write(1_000_000, 3)]);
    assert_eq!(
        outcome.spans(),
        [(Read, 7, 7 + READ + TRANSFER), (Program, 1_000_000, 1_000_000 + TRANSFER + PROGRAM)]
    );
    assert_eq!(outcome.latencies(), [READ + TRANSFER, TRANSFER + PROGRAM]);
}

#[test]
fn the_next_command_starts_when_the_die_is_free_and_never_before() {
    let kinds = [(Read, READ + TRANSFER), (Program, TRANSFER + PROGRAM)];
    for (first, first_ns) in kinds {
        for (second, second_ns) in kinds {
            for arrival in [0, 1, first_ns - 1, first_ns, first_ns + 1] {
                let request =
                    |kind, time, page| if kind == Read { read(time, page) } else { write(time, page) };
                let requests = [request(first, 0, 1), request(second, arrival, 2)];
                let outcome = run_both(&[("precondition", "full")], &requests);
                let start = arrival.max(first_ns);
                let expected = [(first, 0, first_ns), (second, start, start + second_ns)];
                assert_eq!(outcome.spans(), expected, "arrival at {arrival}");
            }
        }
    }
}

#[test]
fn the_bus_time_is_rounded_once_a_page() {
    let latency = |bus, command, page| {
        let settings = [("timing.bus", bus), ("timing.command", command), ("page", page)];
        run_both(&settings, &[sectors(0, Op::Write, 0, 1)]).latencies()[0] - PROGRAM
    };
    assert_eq!(latency("25", "0", "4KiB"), 102_400);
    assert_eq!(latency("3.003", "0", "8KiB"), 24_601); // 24600.576 ns
    assert_eq!(latency("0", "904", "4KiB"), 904);
    assert_eq!(latency("0", "0", "4KiB"), 0);
    assert_eq!(latency("0.001", "1", "512B"), 2); // 0.512 ns
    assert_eq!(latency("0.0004", "1", "4KiB"), 1); // less than a picosecond a byte
}

#[test]
fn pages_have_the_times_of_their_type() {
    let settings =
        [("timing.read", "10us,20us,30us"), ("timing.program", "100us,300us"), ("pages_per_block", "4")];
    let writes: Vec<_> = (0..6).map(|page| write(0, page)).collect();
    let outcome = run_both(&settings, &writes);
    let programs: Vec<_> = outcome.spans().iter().map(|(_, start, end)| end - start - TRANSFER).collect();
    // Types start again in each block: pages 0 to 3 of one, then 0 and 1 of the next.
    assert_eq!(programs, [100_000, 300_000, 100_000, 300_000, 100_000, 300_000]);
    let reads: Vec<_> = (0..6).map(|page| read(10_000_000, page)).collect();
    let requests: Vec<_> = writes.into_iter().chain(reads).collect();
    let outcome = run_both(&settings, &requests);
    let times: Vec<_> = outcome.spans()[6..].iter().map(|(_, start, end)| end - start - TRANSFER).collect();
    assert_eq!(times, [10_000, 20_000, 30_000, 10_000, 10_000, 20_000]);
}

#[test]
fn with_cache_program_the_next_page_comes_in_while_the_array_programs() {
    let settings = [("timing.cache_program", "true")];
    let outcome = run_both(&settings, &[write(0, 0), write(0, 1), write(0, 2), write(0, 3)]);
    // The register is free when the page before it goes on to the array; programs are back to back.
    let end = |page| TRANSFER + page * PROGRAM;
    assert_eq!(
        outcome.spans(),
        [
            (Program, 0, end(1)),
            (Program, end(0), end(2)),
            (Program, end(1), end(3)),
            (Program, end(2), end(4))
        ]
    );
}

#[test]
fn a_cached_page_enters_at_the_moment_the_register_is_free() {
    let settings = [("timing.cache_program", "true")];
    let end = TRANSFER + PROGRAM;
    // The register is free from TRANSFER on. A page that is in when the array is done waits for nothing, a later one makes
    // the array wait.
    for arrival in
        [TRANSFER - 1, TRANSFER, TRANSFER + 1, end - TRANSFER - 1, end - TRANSFER, end - TRANSFER + 1, end]
    {
        let outcome = run_both(&settings, &[write(0, 0), write(arrival, 1)]);
        let start = arrival.max(TRANSFER);
        let programmed = end.max(start + TRANSFER);
        assert_eq!(outcome.spans(), [(Program, 0, end), (Program, start, programmed + PROGRAM)], "{arrival}");
    }
}

#[test]
fn with_cache_read_the_next_page_is_sensed_while_the_last_one_leaves() {
    let settings = [("nand.cache_read", "true"), ("precondition", "full")];
    let fetch = READ + TRANSFER;
    // The second read comes at, before and after the time at which the first one has left the register.
    for (arrival, starts) in [
        (0, READ),
        (READ - 1, READ),
        (READ, READ),
        (READ + 1, READ + 1),
        (fetch, fetch),
        (fetch + 1, fetch + 1),
    ] {
        let outcome = run_both(&settings, &[read(0, 0), read(arrival, 9)]);
        assert_eq!(
            outcome.spans(),
            [(Read, 0, fetch), (Read, starts, starts + fetch)],
            "arrival at {arrival}"
        );
    }
    // Without it the second one waits for all of the first.
    let outcome = run_both(&settings[1..], &[read(0, 0), read(0, 9)]);
    assert_eq!(outcome.completions(), [fetch, 2 * fetch]);
    // A program waits for the transfer, and a read for the program.
    let outcome = run_both(&settings, &[read(0, 0), write(0, 1), read(0, 9)]);
    let programmed = fetch + TRANSFER + PROGRAM;
    assert_eq!(outcome.completions(), [fetch, programmed, programmed + fetch]);
}

#[test]
fn with_cache_read_a_slow_bus_sets_the_pace() {
    // 13,192 ns a transfer: a page is sensed in 10,000 and stays in the register until the one before has left.
    let settings = [("nand.cache_read", "true"), ("timing.bus", "3"), ("precondition", "full")];
    let transfer = 904 + 3 * 4096;
    let outcome = run_both(&settings, &[read(0, 0), read(0, 9), read(0, 18)]);
    let ends: Vec<u64> = (1..=3).map(|number| READ + number * transfer).collect();
    assert_eq!(outcome.completions(), ends);
    let starts: Vec<u64> = outcome.spans().iter().map(|span| span.1).collect();
    assert_eq!(starts, [0, READ, READ + transfer]);
    // The pages of one request likewise.
    let outcome = run_both(&settings, &[pages(0, Op::Read, 0, 3)]);
    assert_eq!(outcome.completions(), [READ + 3 * transfer]);
}

#[test]
fn with_cache_program_a_slow_bus_sets_the_pace() {
    let settings = [("timing.cache_program", "true"), ("timing.bus", "100"), ("timing.command", "400ns")];
    let transfer = 410_000;
    let outcome = run_both(&settings, &[write(0, 0), write(0, 1), write(0, 2)]);
    let expected: Vec<_> =
        (0..3).map(|page| (Program, page * transfer, (page + 1) * transfer + PROGRAM)).collect();
    assert_eq!(outcome.spans(), expected);
}

#[test]
fn only_programs_overlap() {
    let settings = [("timing.cache_program", "true"), ("precondition", "full")];
    let outcome = run_both(&settings, &[write(0, 0), read(1, 5), write(2, 1), write(3, 2)]);
    let (first, second) = (TRANSFER + PROGRAM, TRANSFER + PROGRAM + READ + TRANSFER);
    assert_eq!(
        outcome.spans(),
        [
            (Program, 0, first),
            (Read, first, second),
            (Program, second, second + TRANSFER + PROGRAM),
            (Program, second + TRANSFER, second + TRANSFER + 2 * PROGRAM),
        ]
    );
}

/// Eight pages in blocks of four, two blocks to spare: the fifth write after filling has to collect.
const SMALL: [(&str, &str); 4] =
    [("capacity", "32KiB"), ("op_ratio", "0.5"), ("precondition", "full"), ("gc.victim", "greedy")];

#[test]
fn a_collection_is_its_copies_then_the_erase_then_the_program_that_waits() {
    let copy = READ + 2 * TRANSFER + PROGRAM;
    let program = TRANSFER + PROGRAM;
    // Pages 0 to 3 and 4 to 7 lie in a block each; what is not overwritten of the emptier one is copied.
    for (overwritten, copies) in [([0, 1, 2, 3], 0), ([0, 1, 2, 4], 1), ([0, 1, 4, 5], 2)] {
        let late = 10_000_000;
        let mut requests = overwritten.map(|page| write(0, page)).to_vec();
        requests.push(write(late, 6));
        let outcome = run_both(&SMALL, &requests);
        let mut expected = Vec::new();
        let mut now = late;
        if copies > 0 {
            expected.push((Copies, 0, copies, now, now + u64::from(copies) * copy));
            now += u64::from(copies) * copy;
        }
        expected.push((Erase, 0, 1, now, now + ERASE));
        now += ERASE;
        expected.push((Program, 0, 1, now, now + program));
        assert_eq!(outcome.commands[4..], expected);
        assert_eq!(outcome.completions()[4], now + program);
        assert_eq!(outcome.counters.gc.programs, u64::from(copies));
        assert_eq!(outcome.counters.collections, 1);
    }
}

#[test]
fn copies_take_the_times_of_the_pages_they_leave_and_enter() {
    let mut settings = SMALL.to_vec();
    settings.extend([("timing.read", "10us,20us"), ("timing.program", "100us,300us")]);
    // Page 3 is of type 1 where it is, and of type 0 where it goes; the program after it is of type 1.
    let requests = [write(0, 0), write(0, 1), write(0, 2), write(0, 4), write(10_000_000, 6)];
    let outcome = run_both(&settings, &requests);
    let times: Vec<_> = outcome.spans()[4..].iter().map(|(_, start, end)| end - start).collect();
    assert_eq!(times, [20_000 + 2 * TRANSFER + 100_000, ERASE, TRANSFER + 300_000]);
}

#[test]
fn a_request_during_a_collection_waits_for_all_of_it() {
    let requests =
        [write(0, 0), write(0, 1), write(0, 2), write(0, 4), write(10_000_000, 6), read(10_000_001, 7)];
    let outcome = run_both(&SMALL, &requests);
    assert_eq!(outcome.commands.last().map(|command| command.3), Some(outcome.completions()[4]));
}
