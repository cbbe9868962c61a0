//! Dies that share a channel, channels that share nothing, and commands over several planes.

use flashweir_ssd::CommandKind::{Program, Read, Rewrite};
use flashweir_trace::Op;

use super::rig::{PAGE, PROGRAM, READ, Setting, TRANSFER, pages, read, run, run_both, sectors, write};

/// Two dies on one channel; page n is on die n mod 2.
const TWO_CHIPS: [Setting; 2] = [("chips", "2"), ("precondition", "full")];
const TWO_DIES: [Setting; 2] = [("dies", "2"), ("precondition", "full")];

#[test]
fn dies_of_a_channel_read_together_and_take_turns_on_its_bus() {
    for settings in [TWO_CHIPS, TWO_DIES] {
        let outcome = run(&settings, &[read(0, 0), read(0, 1)]);
        assert_eq!(outcome.completions(), [READ + TRANSFER, READ + 2 * TRANSFER]);
        let outcome = run(&settings, &[write(0, 0), write(0, 1)]);
        assert_eq!(outcome.completions(), [TRANSFER + PROGRAM, 2 * TRANSFER + PROGRAM]);
    }
}

#[test]
fn the_bus_goes_to_whoever_asked_first() {
    // A read asks for the bus when its array is done, a write when it starts.
    for (arrival, read_end, write_end) in [
        (READ - 1, READ - 1 + 2 * TRANSFER, READ - 1 + TRANSFER + PROGRAM),
        (READ + 1, READ + TRANSFER, READ + 2 * TRANSFER + PROGRAM),
        (READ + TRANSFER - 1, READ + TRANSFER, READ + 2 * TRANSFER + PROGRAM),
        (READ + TRANSFER, READ + TRANSFER, READ + 2 * TRANSFER + PROGRAM),
        (READ + TRANSFER + 1, READ + TRANSFER, READ + 1 + 2 * TRANSFER + PROGRAM),
    ] {
        let outcome = run(&TWO_CHIPS, &[read(0, 0), write(arrival, 1)]);
        assert_eq!(outcome.completions(), [read_end, write_end], "the write at {arrival}");
    }
}

#[test]
fn three_dies_are_served_in_the_order_of_asking() {
    let settings = [("chips", "3"), ("capacity", "384KiB"), ("precondition", "full")];
    let outcome = run(&settings, &[read(0, 2), read(1, 0), read(2, 1)]);
    let ends = [READ + TRANSFER, READ + 2 * TRANSFER, READ + 3 * TRANSFER];
    assert_eq!(outcome.completions(), ends);
}

#[test]
fn a_waiting_die_is_held() {
    // The second read's die holds its page until the bus is free, so the third starts after that.
    let outcome = run(&TWO_CHIPS, &[read(0, 0), read(0, 1), read(1, 3)]);
    assert_eq!(outcome.commands[2].3, READ + 2 * TRANSFER);
}

#[test]
fn channels_share_nothing() {
    let settings = [("channels", "2"), ("precondition", "full")];
    let outcome = run_both(&settings, &[read(0, 0), read(0, 1), write(0, 2), write(0, 3)]);
    let second = READ + TRANSFER;
    assert_eq!(
        outcome.completions(),
        [second, second, second + TRANSFER + PROGRAM, second + TRANSFER + PROGRAM]
    );
}

#[test]
fn a_bus_without_time_leaves_the_dies_alone() {
    let settings = [("dies", "2"), ("precondition", "full"), ("timing.bus", "0"), ("timing.command", "0")];
    let outcome = run_both(&settings, &[read(0, 0), read(0, 1), write(0, 2), write(0, 3)]);
    assert_eq!(outcome.completions(), [READ, READ, READ + PROGRAM, READ + PROGRAM]);
}

#[test]
fn a_rewrite_crosses_the_bus_twice_and_leaves_it_free_between() {
    // Read, out, in, program: another die's transfer fits before, not between out and in.
    let outcome = run(&TWO_CHIPS, &[sectors(0, Op::Write, 0, 1), read(0, 1)]);
    let rewrite = READ + 2 * TRANSFER + PROGRAM;
    assert_eq!(outcome.completions()[0], rewrite);
    assert_eq!(outcome.completions()[1], READ + 3 * TRANSFER);
    let outcome = run(&TWO_CHIPS, &[read(0, 1), sectors(0, Op::Write, 0, 1)]);
    assert_eq!(outcome.completions(), [READ + TRANSFER, rewrite + TRANSFER]);
}

#[test]
fn with_cache_program_dies_load_in_turn() {
    let settings = [("chips", "2"), ("timing.cache_program", "true")];
    let outcome = run(&settings, &[write(0, 0), write(0, 1), write(0, 2), write(0, 3)]);
    // Both second pages are in long before the arrays are free.
    let first = TRANSFER + PROGRAM;
    let ends = [first, first + TRANSFER, first + PROGRAM, first + TRANSFER + PROGRAM];
    assert_eq!(outcome.completions(), ends);
    let starts: Vec<_> = outcome.commands.iter().map(|command| (command.1, command.3)).collect();
    assert_eq!(starts, [(0, 0), (1, 0), (0, TRANSFER), (1, 2 * TRANSFER)]);
}

/// Two planes in one die; page n is in plane n mod 2.
const PLANES: [Setting; 3] = [("planes", "2"), ("timing.multi_plane", "true"), ("precondition", "full")];

#[test]
fn planes_share_one_array_time_and_transfer_one_after_the_other() {
    let outcome = run_both(&PLANES, &[pages(0, Op::Read, 0, 2), pages(1_000_000, Op::Write, 4, 2)]);
    let read_end = READ + 2 * TRANSFER;
    let write_end = 1_000_000 + 2 * TRANSFER + PROGRAM;
    assert_eq!(outcome.commands, [(Read, 0, 2, 0, read_end), (Program, 0, 2, 1_000_000, write_end)]);
    assert_eq!((outcome.counters.host.reads, outcome.counters.host.programs), (2, 2));
}

#[test]
fn a_plane_takes_part_once_in_a_command() {
    let outcome = run_both(&PLANES, &[pages(0, Op::Write, 0, 5)]);
    let pages: Vec<_> = outcome.commands.iter().map(|command| command.2).collect();
    assert_eq!(pages, [2, 2, 1]);
    let end = 2 * (2 * TRANSFER + PROGRAM) + TRANSFER + PROGRAM;
    assert_eq!(outcome.completions(), [end]);
}

#[test]
fn only_pages_of_one_request_go_together() {
    let outcome = run_both(&PLANES, &[write(0, 0), write(0, 1)]);
    assert_eq!(outcome.completions(), [TRANSFER + PROGRAM, 2 * (TRANSFER + PROGRAM)]);
}

#[test]
fn without_multi_plane_commands_planes_wait_for_their_die() {
    let settings = [("planes", "2"), ("precondition", "full")];
    let outcome = run_both(&settings, &[pages(0, Op::Read, 0, 2)]);
    assert_eq!(outcome.completions(), [2 * (READ + TRANSFER)]);
}

#[test]
fn the_slowest_plane_sets_the_array_time() {
    let mut settings = PLANES.to_vec();
    settings.extend([("timing.read", "10us,50us"), ("timing.program", "100us,300us")]);
    // One more page in plane 0 makes its next one of the other type than that of plane 1.
    let outcome = run_both(&settings, &[write(0, 0), pages(1_000_000, Op::Write, 0, 2)]);
    assert_eq!(outcome.latencies()[1], 2 * TRANSFER + 300_000);
    let outcome = run_both(&settings, &[write(0, 0), write(0, 1), pages(1_000_000, Op::Read, 0, 2)]);
    assert_eq!(outcome.latencies()[2], 2 * TRANSFER + 10_000);
}

#[test]
fn a_rewrite_pairs_with_nothing() {
    // The last sector of page 0 and the first of page 1: two planes, both rewritten, one after the other.
    let outcome = run_both(&PLANES, &[sectors(0, Op::Write, PAGE - 1, 2)]);
    let rewrite = READ + 2 * TRANSFER + PROGRAM;
    assert_eq!(outcome.commands, [(Rewrite, 0, 1, 0, rewrite), (Rewrite, 0, 1, rewrite, 2 * rewrite)]);
    // A half page, then a whole one in the other plane: rewrite and program.
    let outcome = run_both(&PLANES, &[sectors(0, Op::Write, PAGE / 2, PAGE as u32 * 3 / 2)]);
    let kinds: Vec<_> = outcome.commands.iter().map(|command| (command.0, command.2)).collect();
    assert_eq!(kinds, [(Rewrite, 1), (Program, 1)]);
}

#[test]
fn a_collection_between_two_pages_of_a_request_keeps_their_order() {
    use flashweir_ssd::CommandKind::Erase;
    let mut settings = PLANES.to_vec();
    settings.extend([("capacity", "64KiB"), ("op_ratio", "0.5")]);
    // Plane 0 (even pages) has room for one page more; plane 1 must collect for its second.
    let mut requests: Vec<_> = [1, 3, 5].map(|page| write(0, page)).to_vec();
    requests.push(pages(10_000_000, Op::Write, 1, 3)); // pages 1, 2, 3: planes 1, 0, 1
    let outcome = run_both(&settings, &requests);
    let kinds: Vec<_> = outcome.commands[3..].iter().map(|command| (command.0, command.2)).collect();
    let erase = kinds.iter().position(|(kind, _)| *kind == Erase);
    assert_eq!(kinds[0], (Program, 2), "placed before the collection, runs before it: {kinds:?}");
    assert!(erase.is_some_and(|at| at + 2 == kinds.len()), "{kinds:?}");
    assert_eq!(kinds.last(), Some(&(Program, 1)));
}
