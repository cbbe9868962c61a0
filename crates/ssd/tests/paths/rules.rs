//! The rules of scheduling below the FTL, over random drives and streams, from the records of commands.

use std::collections::BTreeMap;

use flashweir_ssd::CommandKind::{Erase, Program, Read, Rewrite};
use flashweir_ssd::{CommandRecord, Config, Recorded, RunError, Stats};
use flashweir_trace::{Op, Request};
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};

use super::drives::{self, config, digest};
use super::recorded;

mod pauses;

use pauses::longest_wait;

type Settings = Vec<(&'static str, String)>;
type Scheduler = &'static [(&'static str, &'static str)];

/// Sectors of a page.
const PAGE: u64 = 2;

const SCHEDULERS: [Scheduler; 13] = [
    &[],
    &[("sched.kind", "read-first")],
    &[("sched.kind", "read-first"), ("sched.write_bound", "1ms")],
    &[("sched.kind", "read-first"), ("sched.preempt_gc", "true")],
    &[("sched.kind", "read-priority")],
    &[("sched.kind", "read-priority"), ("sched.preempt_gc", "true")],
    &[("sched.kind", "suspend"), ("sched.write_weight", "0"), ("sched.resume_time", "0")],
    &[
        ("sched.kind", "suspend"),
        ("sched.suspend_time", "7us"),
        ("sched.resume_time", "5us"),
        ("sched.write_weight", "0.3"),
    ],
    &[
        ("sched.kind", "suspend"),
        ("sched.resume_time", "0"),
        ("sched.write_bound", "3ms"),
        ("sched.max_suspensions", "2"),
    ],
    &[("sched.kind", "out-of-order"), ("sched.window", "5")],
    &[("sched.kind", "flin")],
    &[
        ("sched.kind", "suspend"),
        ("sched.suspend_time", "7us"),
        ("sched.resume_time", "5us"),
        ("sched.write_weight", "0"),
        ("sched.min_run", "30us"),
        ("sched.protected_start", "0.1"),
        ("sched.protected_end", "0.2"),
        ("gc.batch", "2"),
    ],
    &[("sched.kind", "suspend"), ("sched.suspends", "erase"), ("sched.resume_time", "0")],
];

fn kind(scheduler: Scheduler) -> &'static str {
    scheduler.first().map_or("fifo", |(_, kind)| kind)
}

/// Channels, dies of each, planes of those, pages of each plane, and whether dies have cache program.
type Shape = (u32, u32, u32, u64, bool);

/// A drive of that shape, every page of it as large as the smallest request.
fn drive((channels, dies, planes, pages, cache): Shape, more: &[(&'static str, &str)]) -> Settings {
    let capacity = u64::from(channels * dies * planes) * pages * PAGE * 512;
    let base = [
        ("channels", channels.to_string()),
        ("dies", dies.to_string()),
        ("planes", planes.to_string()),
        ("capacity", capacity.to_string()),
        ("page", (PAGE * 512).to_string()),
        ("pages_per_block", "8".into()),
        ("host.mode", "open".into()),
        ("timing.read", "20us".into()),
        ("timing.program", "200us".into()),
        ("timing.bus", "10".into()),
        ("timing.cache_program", cache.to_string()),
    ];
    let more = more.iter().map(|(key, value)| (*key, (*value).to_owned()));
    base.into_iter().chain(more).collect()
}

fn with(settings: &Settings, scheduler: Scheduler) -> Option<Config> {
    let scheduler = scheduler.iter().map(|(key, value)| (*key, (*value).to_owned()));
    let settings: Vec<_> = settings.iter().cloned().chain(scheduler).collect();
    config(&settings, "event")
}

/// Reads and writes of one page each: this share of reads, and this mean time between them.
fn stream(pages: u64) -> impl Strategy<Value = Vec<Request>> {
    let one = (0..100u32, 0..10_000u64, 0..pages, 0..6u32);
    (5..95u32, 1..200_000u64, prop::collection::vec(one, 1..250)).prop_map(|(reads, gap, raw)| {
        let mut time_ns = 0;
        let request = |(kind, fraction, page, together)| {
            time_ns += if together == 0 { 0 } else { 2 * gap * fraction / 10_000 };
            let op = if kind < reads { Op::Read } else { Op::Write };
            Request { time_ns, lba: page * PAGE, sectors: PAGE as u32, stream: 0, op, handle: 0 }
        };
        raw.into_iter().map(request).collect()
    })
}

fn cases(shape: impl Strategy<Value = Shape>) -> impl Strategy<Value = (Shape, Vec<Request>)> {
    shape.prop_flat_map(|shape| {
        let (channels, dies, planes, pages, _) = shape;
        (Just(shape), stream(u64::from(channels * dies * planes) * pages))
    })
}

fn runner() -> TestRunner {
    let (_, settings) = drives::cases();
    TestRunner::new(ProptestConfig { cases: settings.cases / 2, ..settings })
}

fn ran(config: &Config, requests: &[Request]) -> Result<(Stats, Recorded), TestCaseError> {
    recorded(config, requests, 11).map_err(|error: RunError| TestCaseError::fail(error.to_string()))
}

/// When every request was done.
fn completions(records: &Recorded) -> Vec<u64> {
    let mut requests: Vec<_> =
        records.requests.iter().map(|record| (record.number, record.completion_ns)).collect();
    requests.sort_unstable();
    requests.into_iter().map(|(_, completion_ns)| completion_ns).collect()
}

/// The commands of each die by when they started.
fn by_die(records: &Recorded) -> BTreeMap<u32, Vec<CommandRecord>> {
    let mut dies = BTreeMap::<_, Vec<_>>::new();
    for command in &records.commands {
        dies.entry(command.die).or_default().push(*command);
    }
    for commands in dies.values_mut() {
        commands.sort_by_key(|command| (command.start_ns, command.end_ns));
    }
    dies
}

#[test]
fn the_same_type_keeps_its_order_and_nothing_passes_a_command_of_its_page() {
    let shape = (1..3u32, 1..4u32, 1..3u32, 2..20u64, any::<bool>());
    let moved = std::cell::Cell::new(0);
    runner()
        .run(&(cases(shape), prop::sample::select(SCHEDULERS.to_vec())), |((shape, requests), scheduler)| {
            let settings = drive(shape, &[("ftl.kind", "direct")]);
            let Some(config) = with(&settings, scheduler) else { return Ok(()) };
            let (stats, records) = ran(&config, &requests)?;
            moved.set(moved.get() + stats.sched.map_or(0, |counts| counts.moved));
            let page = |command: &CommandRecord| requests[command.request.unwrap_or(0) as usize].lba / PAGE;
            let (channels, dies, planes, ..) = shape;
            let plane =
                |command: &CommandRecord| page(command) / u64::from(channels * dies) % u64::from(planes);
            for commands in by_die(&records).values() {
                let in_order = |commands: &mut dyn Iterator<Item = &CommandRecord>| {
                    commands.map(|command| command.request).collect::<Vec<_>>().is_sorted()
                };
                if !["read-priority", "out-of-order", "flin"].contains(&kind(scheduler)) {
                    prop_assert!(
                        in_order(&mut commands.iter().filter(|command| command.kind == Read)),
                        "reads"
                    );
                }
                let writes = || commands.iter().filter(|command| command.kind == Program);
                if ["out-of-order", "flin"].contains(&kind(scheduler)) {
                    for number in 0..u64::from(planes) {
                        prop_assert!(
                            in_order(&mut writes().filter(|write| plane(write) == number)),
                            "writes"
                        );
                    }
                } else {
                    prop_assert!(in_order(&mut writes()), "writes");
                }
                for (place, later) in commands.iter().enumerate() {
                    for earlier in commands[..place].iter().filter(|earlier| page(earlier) == page(later)) {
                        if earlier.kind == Read && later.kind == Read {
                            continue;
                        }
                        prop_assert!(earlier.request < later.request, "{:?} passes {:?}", earlier, later);
                        let apart = earlier.kind == Program && later.kind == Program
                            || earlier.end_ns <= later.start_ns;
                        prop_assert!(apart, "{:?} overlaps {:?}", earlier, later);
                    }
                }
            }
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(moved.get() > 300, "too few commands move: {}", moved.get());
}

/// On a die with a bus of its own nothing waits but for the die, so what a write is estimated to take when a read passes it is
/// what it takes, unless more reads do. A write that is late was therefore passed by none, and has nothing but what
/// came before it ahead of it: it is as late first come, first served. A read only ever gets earlier. So whatever reads come,
/// nothing starves.
#[test]
fn a_write_is_done_within_the_bound_or_when_it_is_first_come_first_served() {
    let shape = (1..3u32, Just(1u32), 1..3u32, 2..30u64, Just(false));
    let kinds = prop::sample::select(vec!["read-first", "suspend"]);
    let bounds = prop::sample::select(vec![0, 230_000, 300_000, 500_000, 1_000_000, 5_000_000]);
    let (late, passed) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    runner()
        .run(&(cases(shape), kinds, bounds), |((shape, requests), kind, bound)| {
            let mut settings = drive(shape, &[("ftl.kind", "direct")]);
            let fifo = with(&settings, &[]).expect("legal");
            settings.extend([("sched.kind", kind.to_owned()), ("sched.write_bound", bound.to_string())]);
            if kind == "suspend" {
                settings.extend([("sched.resume_time", "0".into()), ("sched.write_weight", "0".into())]);
            }
            let bounded = with(&settings, &[]).expect("legal");
            let (stats, records) = ran(&bounded, &requests)?;
            let (first, in_turn) = ran(&fifo, &requests)?;
            for ((request, done), in_turn) in
                requests.iter().zip(completions(&records)).zip(completions(&in_turn))
            {
                match request.op {
                    Op::Read => {
                        prop_assert!(done <= in_turn, "{:?} done at {}, in turn {}", request, done, in_turn);
                    }
                    _ if done - request.time_ns <= bound => {}
                    _ => {
                        prop_assert_eq!(done, in_turn, "{:?}", request);
                        late.set(late.get() + 1);
                    }
                }
            }
            if bound <= 200_000 {
                prop_assert_eq!(digest(&stats), digest(&first));
            }
            passed.set(passed.get() + stats.sched.map_or(0, |counts| counts.moved + counts.suspensions));
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(late.get() > 100 && passed.get() > 100, "too few are late or passed: {late:?}, {passed:?}");
}

#[test]
fn without_a_bound_writes_starve_under_reads_without_end_and_the_result_says_so() {
    let settings = drive((1, 1, 1, 64, false), &[("ftl.kind", "direct")]);
    // A read takes 30.24 us; one comes every 29 us, or a write.
    let request = |number: u64| {
        let op = if number % 50 == 7 { Op::Write } else { Op::Read };
        let page = if op == Op::Write { 60 } else { number % 50 };
        Request { time_ns: number * 29_000, lba: page * PAGE, sectors: PAGE as u32, stream: 0, op, handle: 0 }
    };
    let requests: Vec<_> = (0..2000).map(request).collect();
    for scheduler in [SCHEDULERS[1], SCHEDULERS[4], SCHEDULERS[6]] {
        let config = with(&settings, scheduler).expect("legal");
        let (stats, records) = ran(&config, &requests).expect("runs");
        let longest_ns = stats.sched.expect("it reorders").longest_write_wait_ns;
        assert!(longest_ns > 1900 * 29_000, "{scheduler:?}: {longest_ns}");
        assert_eq!(longest_ns, longest_wait(&records, &[Program, Rewrite]), "{scheduler:?}");
    }
    let mut bounded = settings.clone();
    bounded.extend([("sched.kind", "read-first".into()), ("sched.write_bound", "1ms".into())]);
    let (stats, _) = ran(&with(&bounded, &[]).expect("legal"), &requests).expect("runs");
    let (_, in_turn) = ran(&with(&settings, &[]).expect("legal"), &requests).expect("runs");
    let longest = longest_wait(&in_turn, &[Program]).max(1_000_000);
    assert!(stats.sched.expect("it reorders").longest_write_wait_ns <= longest);
}

#[test]
fn what_changes_the_flash_keeps_its_order_whatever_the_scheduler() {
    // With one plane a die is one unit.
    let shape = (1..3u32, 1..3u32, Just(1u32), 20..60u64, any::<bool>());
    let ftls = prop::sample::select(vec!["page", "page", "log-block", "fast", "bast", "dftl"]);
    let erases = std::cell::Cell::new(0);
    runner()
        .run(&(cases(shape), ftls, 1..SCHEDULERS.len()), |((shape, requests), ftl, scheduler)| {
            let scheduler = SCHEDULERS[scheduler];
            let op = if ftl == "dftl" { "1.5" } else { "0.3" };
            let settings = drive(shape, &[("ftl.kind", ftl), ("op_ratio", op), ("precondition", "full")]);
            let Some(config) = with(&settings, scheduler) else { return Ok(()) };
            let fifo = with(&settings, &[]).expect("legal");
            let (records, in_turn) = (ran(&config, &requests)?.1, ran(&fifo, &requests)?.1);
            let (dies, dies_in_turn) = (by_die(&records), by_die(&in_turn));
            prop_assert!(dies.keys().eq(dies_in_turn.keys()));
            for (commands, in_turn) in dies.values().zip(dies_in_turn.values()) {
                let what = |commands: &[CommandRecord], reads: bool| -> Vec<_> {
                    let of = commands.iter().filter(|command| (command.kind == Read) == reads);
                    of.map(|command| {
                        (command.request, command.kind.name(), command.purpose.name(), command.pages)
                    })
                    .collect()
                };
                prop_assert_eq!(what(commands, false), what(in_turn, false));
                let (mut reads, mut reads_in_turn) = (what(commands, true), what(in_turn, true));
                if ["read-priority", "out-of-order", "flin"].contains(&kind(scheduler)) {
                    reads.sort_unstable();
                    reads_in_turn.sort_unstable();
                }
                prop_assert_eq!(reads, reads_in_turn);
                let changes: Vec<_> = commands.iter().filter(|command| command.kind != Read).collect();
                for two in changes.windows(2) {
                    let overlap = shape.4 && two[0].kind == Program && two[1].kind == Program;
                    prop_assert!(overlap || two[0].end_ns <= two[1].start_ns, "{:?}", two);
                }
                erases.set(erases.get() + changes.iter().filter(|command| command.kind == Erase).count());
            }
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(erases.get() > 300, "too few collections: {erases:?}");
}
