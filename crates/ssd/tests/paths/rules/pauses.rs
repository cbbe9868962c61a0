//! Pauses: only reads run in them, and no command loses array time by them.

use flashweir_ssd::CommandKind::{Copies, Erase, Program, Read, Rewrite};
use flashweir_ssd::{CommandRecord, PauseRecord, Purpose, Recorded};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use super::{SCHEDULERS, Scheduler, cases, drive, kind, ran, runner, with};

/// The longest that a host command of these kinds waited for its die: until it got it, and while it was paused.
pub(super) fn longest_wait(records: &Recorded, kinds: &[flashweir_ssd::CommandKind]) -> u64 {
    let host = records
        .commands
        .iter()
        .filter(|command| command.purpose == Purpose::Host && kinds.contains(&command.kind));
    let paused = |command: &CommandRecord| pauses_of(command, records).map(length).sum::<u64>();
    host.map(|command| command.start_ns - command.arrived_ns + paused(command)).max().unwrap_or(0)
}

fn length(pause: &PauseRecord) -> u64 {
    pause.end_ns - pause.start_ns
}

/// A die has one command in flight that can be paused: its pauses are those within it.
fn pauses_of<'a>(
    command: &CommandRecord,
    records: &'a Recorded,
) -> impl Iterator<Item = &'a PauseRecord> + use<'a> {
    let CommandRecord { die, kind, start_ns, end_ns, .. } = *command;
    let own = move |pause: &&PauseRecord| {
        pause.die == die && pause.kind == kind && start_ns <= pause.start_ns && pause.end_ns <= end_ns
    };
    records.pauses.iter().filter(own)
}

/// Operations that may not be suspended, floors of progress, and batches of copies.
fn check_limits(
    command: &CommandRecord,
    pauses: &[&PauseRecord],
    scheduler: Scheduler,
) -> Result<(), TestCaseError> {
    let suspended: Vec<_> = pauses.iter().filter(|pause| pause.suspended).collect();
    if scheduler.contains(&("sched.suspends", "erase")) {
        prop_assert!(suspended.is_empty() || command.kind == Erase, "{:?}", command);
    }
    if !scheduler.contains(&("sched.min_run", "30us")) {
        return Ok(());
    }
    prop_assert!(suspended.is_empty() || command.kind != Copies, "a batch is never suspended: {:?}", command);
    for pair in suspended.windows(2) {
        prop_assert!(pair[1].start_ns - pair[0].end_ns >= 5_000 + 30_000 + 7_000, "{:?}", pair);
    }
    if let (Program, Some(first), Some(last)) = (command.kind, suspended.first(), suspended.last()) {
        prop_assert!(first.start_ns - command.start_ns >= 20_000 + 7_000, "{:?}", command);
        prop_assert!(command.end_ns - last.end_ns > 5_000 + 40_000, "{:?}", command);
    }
    if command.kind == Copies {
        prop_assert!(pauses.len() <= command.pages as usize / 2, "one a batch: {:?}", command);
    }
    Ok(())
}

/// Checks every pause of a run. `overhead_ns`: what a suspension costs. Returns how many there were of both kinds.
fn check_pauses(
    records: &Recorded,
    overhead_ns: u64,
    most: u32,
    one_die: bool,
    scheduler: Scheduler,
) -> Result<(usize, usize), TestCaseError> {
    for command in &records.commands {
        let pauses: Vec<_> = pauses_of(command, records).collect();
        if command.kind == Read {
            prop_assert!(pauses.is_empty());
            continue;
        }
        let suspended = pauses.iter().filter(|pause| pause.suspended).count();
        prop_assert_eq!(pauses.len(), command.pauses as usize);
        prop_assert!(suspended <= most as usize);
        prop_assert!(
            suspended == pauses.len() || command.kind == Copies,
            "only copies have places to stop at"
        );
        let paused_ns: u64 = pauses.iter().map(|pause| length(pause)).sum();
        let parts = &command.parts;
        let busy_ns = parts.flash + parts.bus + parts.wait_bus + suspended as u64 * overhead_ns;
        prop_assert_eq!(
            command.end_ns - command.start_ns,
            busy_ns + paused_ns,
            "array time is conserved: {:?}",
            command
        );
        check_limits(command, &pauses, scheduler)?;
        for pause in &pauses {
            let within = records.commands.iter().filter(|other| {
                other.die == pause.die && (pause.start_ns..pause.end_ns).contains(&other.start_ns)
            });
            let mut read_ns = 0;
            for other in within.filter(|other| *other != command) {
                prop_assert!(
                    other.kind == Read && other.end_ns <= pause.end_ns,
                    "{:?} in {:?}",
                    other,
                    pause
                );
                read_ns += other.end_ns - other.start_ns;
            }
            prop_assert!(read_ns == length(pause), "a die that is paused for reads does nothing else");
        }
        // Where nobody else wants the bus it is known when a copy ends.
        if one_die && suspended == 0 && command.kind == Copies {
            let copy_ns = (parts.flash + parts.bus) / u64::from(command.pages);
            let mut before_ns = 0;
            for pause in &pauses {
                prop_assert_eq!(
                    (pause.start_ns - command.start_ns - before_ns) % copy_ns,
                    0,
                    "between two copies"
                );
                before_ns += length(pause);
            }
        }
    }
    let suspended = records.pauses.iter().filter(|pause| pause.suspended).count();
    Ok((suspended, records.pauses.len() - suspended))
}

#[test]
fn only_reads_run_while_a_command_is_paused_and_its_array_time_is_conserved() {
    let shape = (1..3u32, 1..3u32, 1..3u32, 30..80u64, Just(false));
    let ftls = prop::sample::select(vec!["page", "page", "fast", "dftl"]);
    let schedulers = prop::sample::select(vec![3usize, 3, 3, 5, 5, 6, 7, 8, 10, 11]);
    let (suspended, between) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    runner()
        .run(&(cases(shape), ftls, schedulers), |((shape, requests), ftl, scheduler)| {
            let scheduler = SCHEDULERS[scheduler];
            let op = if ftl == "dftl" { "1.5" } else { "0.3" };
            let settings = drive(shape, &[("ftl.kind", ftl), ("op_ratio", op), ("precondition", "full")]);
            let Some(config) = with(&settings, scheduler) else { return Ok(()) };
            let (stats, records) = ran(&config, &requests)?;
            let overhead_ns = if scheduler.contains(&("sched.resume_time", "5us")) { 12_000 } else { 0 };
            let most = match kind(scheduler) {
                "suspend" if scheduler.contains(&("sched.max_suspensions", "2")) => 2,
                "suspend" => 10,
                _ => 0,
            };
            let counted = check_pauses(&records, overhead_ns, most, shape.1 == 1, scheduler)?;
            let counts = stats.sched.expect("it reorders");
            prop_assert_eq!(counted, (counts.suspensions as usize, counts.preemptions as usize));
            prop_assert_eq!(counts.longest_read_wait_ns, longest_wait(&records, &[Read]));
            prop_assert_eq!(counts.longest_write_wait_ns, longest_wait(&records, &[Program, Rewrite]));
            suspended.set(suspended.get() + counted.0);
            between.set(between.get() + counted.1);
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
    println!("{suspended:?} suspensions, {between:?} between copies");
    assert!(suspended.get() > 250 && between.get() > 10, "too few pauses: {suspended:?}, {between:?}");
}
