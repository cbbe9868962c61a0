//! Properties over random drives and workloads, everything under verification: the busy-until path and the event path
//! give the same results, every request completes, and a fork of a drive goes on as the drive does.

mod combinations;
mod dies;
mod managed;
mod matrix;
mod power;
mod rules;

use flashweir_ssd::config::layers::{Layer, resolve};
use std::collections::BTreeMap;

use flashweir_ssd::{Completion, Config, Options, Recorded, RunError, Simulation, Stats};
use flashweir_trace::{Op, Request};
use proptest::prelude::*;

/// Schedulers with settings of their own; half of them the one that does without events.
const SCHEDULERS: [&[(&str, &str)]; 14] = [
    &[],
    &[],
    &[],
    &[],
    &[],
    &[],
    &[],
    &[("sched.kind", "read-first")],
    &[("sched.kind", "read-first"), ("sched.write_bound", "2ms")],
    &[("sched.kind", "read-first"), ("sched.preempt_gc", "true")],
    &[("sched.kind", "read-priority")],
    &[("sched.kind", "suspend"), ("sched.suspend_time", "7us"), ("sched.resume_time", "5us")],
    &[("sched.kind", "suspend"), ("sched.write_bound", "3ms"), ("sched.max_suspensions", "2")],
    &[("sched.kind", "out-of-order"), ("sched.window", "3")],
];

/// Hosts of an open loop: half of them hand over every request as it arrives.
const OPEN: [&[(&str, &str)]; 8] = [
    &[],
    &[],
    &[],
    &[],
    &[("host.slots", "3")],
    &[("host.slots", "1"), ("host.arbitration", "round-robin")],
    &[("host.slots", "4"), ("host.arbitration", "weighted"), ("host.weights", "1,3")],
    &[("host.slots", "2"), ("host.arbitration", "fair")],
];

/// Which page leaves the buffer next.
const REPLACEMENTS: [&str; 5] = ["fifo", "fifo", "lru", "block-lru", "fab"];

/// Settings of a small drive, as on the command line.
fn settings() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let shape = (1..4u32, 1..3u32, 1..3u32, 1..3u32, 1..5u64, 1..12u32, 16..200u64, 20..80u32);
    let gc = (
        prop::sample::select(vec!["greedy", "fifo", "random", "d-choices", "cost-benefit"]),
        1..3u32,
        1..3u32,
        any::<bool>(),
        prop::sample::select(vec![0, 0, 3]),
    );
    let flash = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), 0..3u32);
    let host = (
        any::<bool>(),
        prop::sample::select(vec![1, 1, 2, 7]),
        prop::sample::select(vec![0u64, 1, 2, 3, 4, 9]),
        (any::<bool>(), prop::sample::select(REPLACEMENTS.to_vec())),
        prop::sample::select(SCHEDULERS.to_vec()),
        prop::sample::select(vec!["striped", "striped", "dynamic"]),
        prop::sample::select(vec!["empty", "full"]),
        prop::sample::select(OPEN.to_vec()),
    );
    let ftl = prop::sample::select(vec!["page", "page", "log-block", "fast", "bast", "kast", "dftl", "dftl"]);
    // Entries that each unit caches, if its map lies on flash.
    let map = (prop::sample::select(vec![1, 9, 1000]), any::<bool>());
    (shape, gc, flash, host, ftl, map).prop_map(|(shape, gc, flash, host, ftl, (cached, batch))| {
        let (channels, chips, dies, planes, sectors, pages_per_block, pages, op_percent) = shape;
        let (victim, frontiers, free_blocks, dynamic, gap) = gc;
        let (solo, cache, typed, free_bus, command) = flash;
        let (open, depth, buffer_pages, (ack_flash, replacement), sched, alloc, precondition, slots) = host;
        let (chips, dies) = if solo { (1, 1) } else { (chips, dies) };
        let no_cache = free_bus || alloc == "dynamic" || (buffer_pages > 0 && planes == 1);
        let page = sectors * 512;
        let units = u64::from(channels * chips * dies * planes);
        let (frontiers, gap, alloc) = if ftl == "dftl" { (1, 0, "striped") } else { (frontiers, gap, alloc) };
        // What translation pages need comes out of the spare blocks.
        let for_map = (pages * 4).div_ceil(page).div_ceil(pages_per_block.into()) + 2;
        let more = if ftl == "dftl" { for_map * u64::from(pages_per_block) * 100 / pages + 1 } else { 0 };
        let mut settings = vec![
            ("channels", channels.to_string()),
            ("chips", chips.to_string()),
            ("dies", dies.to_string()),
            ("planes", planes.to_string()),
            ("page", page.to_string()),
            ("pages_per_block", pages_per_block.to_string()),
            ("capacity", (pages * units * page).to_string()),
            ("op_ratio", (f64::from(op_percent + more as u32) / 100.0).to_string()),
            ("gc.victim", victim.into()),
            ("gc.frontiers", frontiers.to_string()),
            ("gc.free_blocks", free_blocks.to_string()),
            ("wear.dynamic", (dynamic && free_blocks + frontiers > 2).to_string()),
            ("wear.static_gap", gap.to_string()),
            ("timing.cache_program", (cache && !no_cache).to_string()),
            ("timing.multi_plane", (planes > 1 && typed).to_string()),
            ("timing.bus", if free_bus { "0" } else { "25" }.into()),
            ("timing.command", if free_bus { 0 } else { command * 700 }.to_string()),
            ("timing.read", if typed { "10us,13us,31us" } else { "20us" }.into()),
            ("timing.program", if typed { "100us,300us" } else { "200us" }.into()),
            ("alloc.kind", if units > 1 { alloc } else { "striped" }.into()),
            ("buffer.bytes", (buffer_pages * page).to_string()),
            ("precondition", precondition.into()),
        ];
        settings.extend(sched.iter().map(|(key, value)| (*key, (*value).to_owned())));
        if ftl == "dftl" {
            settings.push(("ftl.kind", "dftl".into()));
            settings.push(("ftl.cache_bytes", (8 * units * cached).to_string()));
            settings.push(("ftl.batch_update", batch.to_string()));
        } else if ftl != "page" {
            let victims = ["gc.victim", "gc.frontiers", "gc.free_blocks"];
            settings.retain(|(key, _)| {
                !victims.contains(key) && !key.starts_with("wear.") && *key != "alloc.kind"
            });
            settings.push(("ftl.kind", ftl.into()));
        }
        if buffer_pages > 0 && ack_flash {
            settings.push(("buffer.ack", "flash".into()));
        } else if buffer_pages > 0 {
            settings.push(("buffer.replacement", replacement.into()));
        }
        if open {
            settings.push(("host.mode", "open".into()));
            settings.extend(slots.iter().map(|(key, value)| (*key, (*value).to_owned())));
        } else {
            settings.push(("host.queue_depth", depth.to_string()));
        }
        settings
    })
}

/// Requests over a drive of `sectors`, most of them small, close in time.
fn requests(sectors: u64) -> impl Strategy<Value = Vec<Request>> {
    let one = (0..sectors, 1..40u32, 0..100u32, 0..400_000u64, 0..2u16);
    prop::collection::vec(one, 1..300).prop_map(move |raw| {
        let mut time_ns = 0;
        raw.into_iter()
            .map(|(lba, length, kind, gap, stream)| {
                time_ns += gap;
                let op = match kind {
                    0..=29 => Op::Read,
                    30..=89 => Op::Write,
                    90..=95 => Op::Trim,
                    _ => Op::Flush,
                };
                let length = length.min((sectors - lba) as u32);
                let (lba, sectors) = if op == Op::Flush { (0, 0) } else { (lba, length) };
                Request { time_ns, lba, sectors, stream, op }
            })
            .collect()
    })
}

fn config(settings: &[(&'static str, String)], engine: &str) -> Option<Config> {
    let all = settings.iter().map(|(key, value)| (*key, value.as_str())).chain([("engine", engine)]);
    resolve(&[Layer::from_assignments("test", all)]).ok()
}

fn start(config: &Config, verify: bool) -> Simulation {
    let mut simulation = Simulation::new(
        config,
        Options { seed: 5, verify, record: verify, latency_parts: true, ..Options::default() },
    )
    .expect("a checked configuration");
    if config.precondition == flashweir_ssd::config::Precondition::Full {
        let pages = simulation.geometry().logical_pages;
        simulation.fill(0..pages).expect("a new drive takes its capacity");
        simulation.end_of_preconditioning();
    }
    simulation
}

fn run(config: &Config, requests: &[Request], verify: bool) -> Result<Stats, RunError> {
    let mut simulation = start(config, verify);
    simulation.serve(requests)?;
    simulation.finish()?;
    Ok(simulation.stats())
}

/// A verified and recorded run in slices, with what was recorded.
fn recorded(config: &Config, requests: &[Request], slice: usize) -> Result<(Stats, Recorded), RunError> {
    let mut simulation = start(config, true);
    let channels = 0..simulation.geometry().channels;
    let mut free: Vec<_> = channels.clone().map(|channel| simulation.free_blocks(channel)).collect();
    let mut all = Recorded::default();
    for (number, slice) in requests.chunks(slice).map(Some).chain([None]).enumerate() {
        match slice {
            Some(slice) => simulation.serve(slice)?,
            None => simulation.finish()?,
        }
        let recorded = simulation.take_recorded();
        let settled = all.settled_ns;
        assert!(settled <= recorded.settled_ns);
        assert!(recorded.commands.iter().all(|command| command.start_ns >= settled), "slice {number}");
        assert!(recorded.dirty_pages.iter().all(|dirty| dirty.time_ns >= settled), "slice {number}");
        assert!(recorded.full.iter().all(|full| full.start_ns >= settled), "slice {number}");
        assert!(recorded.holds.iter().all(|hold| hold.start_ns >= settled), "slice {number}");
        let settled = all.queues_settled_ns;
        assert!(recorded.queues.iter().all(|queue| queue.time_ns >= settled), "slice {number}");
        all.holds.extend(recorded.holds);
        all.queues.extend(recorded.queues);
        all.queues_settled_ns = recorded.queues_settled_ns;
        let settled = all.settled_ns;
        all.commands.extend(recorded.commands);
        assert!(recorded.pauses.iter().all(|pause| pause.end_ns >= settled), "slice {number}");
        all.pauses.extend(recorded.pauses);
        assert!(recorded.transfers.iter().all(|transfer| transfer.start_ns >= settled), "slice {number}");
        all.transfers.extend(recorded.transfers);
        all.issues.extend(recorded.issues);
        all.requests.extend(recorded.requests);
        all.dirty_pages.extend(recorded.dirty_pages);
        all.full.extend(recorded.full);
        all.settled_ns = recorded.settled_ns;
    }
    let geometry = simulation.geometry();
    for command in &all.commands {
        let channel = (command.die / geometry.dies_per_channel()) as usize;
        let is_erase = command.kind == flashweir_ssd::CommandKind::Erase;
        let erased = if is_erase { u64::from(command.pages) } else { 0 };
        free[channel] = free[channel] + erased - u64::from(command.opens);
    }
    let counted: Vec<_> = channels.map(|channel| simulation.free_blocks(channel)).collect();
    assert_eq!(free, counted, "commands account for every block");
    let stats = simulation.stats();
    dies::check(&stats, &all);
    for (channel, bus) in stats.buses.iter().enumerate() {
        let transfers = all.transfers.iter();
        let spans =
            transfers.filter(|transfer| (transfer.die / geometry.dies_per_channel()) as usize == channel);
        let spans: Vec<_> = spans.map(|transfer| (transfer.start_ns, transfer.end_ns)).collect();
        assert!(spans.is_sorted_by(|before, after| before.1 <= after.0), "one at a time");
        assert_eq!(spans.iter().map(|(start, end)| end - start).sum::<u64>(), bus.total());
    }
    Ok((stats, all))
}

/// Everything that was recorded, in an order of its own: within an instant, either path has its order.
fn normal(recorded: &Recorded) -> String {
    let Recorded { mut commands, mut transfers, mut requests, dirty_pages, full, .. } = recorded.clone();
    transfers.sort_by_key(|transfer| (transfer.start_ns, transfer.die));
    commands.sort_by_key(|command| (command.start_ns, command.die, command.end_ns));
    requests.sort_by_key(|request| request.number);
    let issued = recorded.issues.iter().map(|issue| (issue.number, issue.issue_ns));
    assert!(issued.eq(requests.iter().map(|request| (request.number, request.issue_ns))));
    assert!(dirty_pages.is_sorted_by_key(|dirty| dirty.time_ns));
    assert!(full.is_sorted_by(|before, after| before.end_ns <= after.start_ns));
    let mut changes = BTreeMap::<_, i32>::new();
    let mut held = BTreeMap::<_, i32>::new();
    for dirty in &dirty_pages {
        *changes.entry((dirty.time_ns, dirty.channel)).or_default() += dirty.change;
        let held = held.entry(dirty.channel).or_default();
        *held += dirty.change;
        assert!(*held >= 0);
    }
    changes.retain(|_, change| *change != 0);
    let queues = dies::changes(recorded);
    format!("{commands:?} {transfers:?} {requests:?} {changes:?} {full:?} {queues:?}")
}

/// Everything of the statistics, as text.
fn digest(stats: &Stats) -> String {
    let latencies: Vec<_> = Op::ALL
        .into_iter()
        .map(|op| (stats.latencies.summary(Some(0), op), stats.latencies.summary(Some(1), op)))
        .collect();
    let Stats { counters, collections, lock_step, dies, buses, flash_ns, simulated_ns, parts, .. } = stats;
    format!(
        "{counters:?} {collections:?} {lock_step:?} {dies:?} {buses:?} {flash_ns:?} {simulated_ns:?} {latencies:?} {parts:?}"
    )
}

/// A drive's settings and the requests that it gets.
type Case = (Vec<(&'static str, String)>, Vec<Request>);

fn cases() -> (impl Strategy<Value = Case>, ProptestConfig) {
    let cases = std::env::var("FLASHWEIR_FUZZ_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(400);
    let strategy = settings().prop_flat_map(|settings| {
        let sectors = config(&settings, "event").map_or(64, |config| {
            let geometry = flashweir_ssd::Geometry::new(&config).expect("checked");
            geometry.capacity_sectors()
        });
        (Just(settings), requests(sectors))
    });
    (strategy, ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() })
}

#[test]
fn both_paths_agree_and_every_request_completes() {
    let (strategy, settings) = cases();
    let mut runner = proptest::test_runner::TestRunner::new(settings);
    let (mut compared, mut ran) = (0, 0);
    let full = std::cell::Cell::new(0);
    let (compared, ran) = (&mut compared, &mut ran);
    let (compared, ran) = (std::cell::RefCell::new(compared), std::cell::RefCell::new(ran));
    runner
        .run(&strategy, |(settings, requests)| {
            let Some(events) = config(&settings, "event") else { return Ok(()) };
            let (by_events, records) =
                recorded(&events, &requests, 7).map_err(|error| TestCaseError::fail(error.to_string()))?;
            let done: u64 = by_events.counters.requests.iter().sum();
            prop_assert_eq!(done, requests.len() as u64);
            prop_assert_eq!(digest(&by_events), digest(&run(&events, &requests, false).expect("ran before")));
            **ran.borrow_mut() += 1;
            if let Some(timeline) = config(&settings, "timeline") {
                let (by_times, same_records) = recorded(&timeline, &requests, 13).expect("ran by events");
                prop_assert_eq!(digest(&by_events), digest(&by_times));
                prop_assert_eq!(normal(&records), normal(&same_records));
                **compared.borrow_mut() += 1;
                full.set(full.get() + usize::from(!records.full.is_empty()));
            }
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(**compared.borrow() * 10 > **ran.borrow(), "too few of the random drives suit both paths");
    assert!(full.get() * 100 > **ran.borrow(), "too few of the random drives have a full buffer");
}

#[test]
fn a_fork_goes_on_as_the_drive_does() {
    let (strategy, settings) = cases();
    let mut runner =
        proptest::test_runner::TestRunner::new(ProptestConfig { cases: settings.cases / 4, ..settings });
    runner
        .run(&strategy, |(settings, requests)| {
            let Some(config) = config(&settings, "auto") else { return Ok(()) };
            let (first, second) = requests.split_at(requests.len() / 2);
            let mut drive = start(&config, true);
            drive.serve(first).map_err(|error| TestCaseError::fail(error.to_string()))?;
            let mut fork = drive.snapshot();
            let mut digests = Vec::new();
            for simulation in [&mut drive, &mut fork] {
                simulation.serve(second).map_err(|error| TestCaseError::fail(error.to_string()))?;
                simulation.finish().map_err(|error| TestCaseError::fail(error.to_string()))?;
                digests.push(digest(&simulation.stats()));
            }
            prop_assert_eq!(&digests[0], &digests[1]);
            prop_assert_eq!(&digests[0], &digest(&run(&config, &requests, true).expect("ran in parts")));
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
}

/// The digest of a run that is stopped and looked at before every `step`-th request; when each of these entered; and all
/// completions in the order of the requests.
fn watched(config: &Config, requests: &[Request], step: usize) -> (String, Vec<u64>, Vec<Completion>) {
    let mut simulation = start(config, false);
    simulation.keep_completions();
    let (mut entries, mut all, mut taken) = (Vec::new(), Vec::new(), Vec::new());
    for part in requests.chunks(step) {
        entries.push(simulation.enter(&part[0]).expect("ran before"));
        let times = simulation.times();
        assert_eq!(
            (times.dies.len(), times.buses.len()),
            (simulation.stats().dies.len(), simulation.stats().buses.len())
        );
        simulation.serve(part).expect("ran before");
        simulation.take_completions(&mut taken);
        all.append(&mut taken);
    }
    simulation.finish().expect("ran before");
    simulation.take_completions(&mut taken);
    all.append(&mut taken);
    all.sort_by_key(|completion| completion.number);
    let mut stats = simulation.stats();
    let mut parts = flashweir_ssd::LatencyParts::default();
    for Completion { latency_ns, op, parts: own, .. } in &all {
        assert_eq!(own.total(), *latency_ns, "the parts of a latency are all of it");
        parts.add(*op, own);
    }
    assert_eq!(stats.parts, Some(parts));
    assert!(stats.latencies.streams().is_empty());
    for Completion { latency_ns, stream, op, .. } in &all {
        stats.latencies.add(*stream, *op, [(*latency_ns, 1)], (*latency_ns).into(), *latency_ns);
    }
    (digest(&stats), entries, all)
}

#[test]
fn a_run_that_is_looked_at_stays_the_same() {
    let (strategy, settings) = cases();
    let mut runner =
        proptest::test_runner::TestRunner::new(ProptestConfig { cases: settings.cases / 2, ..settings });
    let steps = 1..40usize;
    runner
        .run(&(strategy, steps), |((settings, requests), step)| {
            let Some(events) = config(&settings, "event") else { return Ok(()) };
            let plain =
                run(&events, &requests, false).map_err(|error| TestCaseError::fail(error.to_string()))?;
            let (seen, entries, completions) = watched(&events, &requests, step);
            prop_assert_eq!(&seen, &digest(&plain));
            let numbers: Vec<u64> = completions.iter().map(|completion| completion.number).collect();
            prop_assert_eq!(numbers, (0..requests.len() as u64).collect::<Vec<_>>());
            let bytes: u64 = completions.iter().map(Completion::bytes).sum();
            prop_assert_eq!(bytes, plain.counters.bytes.iter().sum::<u64>());
            prop_assert!(entries.is_sorted() && entries.iter().all(|entry| *entry <= plain.simulated_ns));
            if let Some(timeline) = config(&settings, "timeline") {
                prop_assert_eq!(watched(&timeline, &requests, step), (seen, entries, completions));
            }
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
}
