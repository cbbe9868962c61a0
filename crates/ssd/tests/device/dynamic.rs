//! Dynamic allocation: to an idle die, and in which order if the old version lies on another one.

use flashweir_ssd::CommandKind::{Program, Read};
use flashweir_trace::Op;

use super::rig::{PROGRAM, READ, Setting, TRANSFER, read, run, sectors, write};

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
fn a_read_of_a_page_whose_program_waits_for_another_die_waits_too() {
    for scheduler in ["fifo", "read-first"] {
        let mut settings = TWO.to_vec();
        settings.push(("sched.kind", scheduler));
        let outcome = run(&settings, &[write(0, 0), sectors(WRITE, Op::Write, 0, 1), read(WRITE + 1, 0)]);
        let programmed = WRITE + READ + TRANSFER + WRITE;
        assert_eq!(outcome.completions()[2], programmed + READ + TRANSFER, "{scheduler}");
    }
}
