//! Properties over random drives and workloads, everything under verification: the busy-until path and the event path
//! give the same results, every request completes, and a fork of a drive goes on as the drive does.

mod combinations;
mod dies;
mod drives;
mod interface;
mod managed;
mod pairwise;
mod rules;
mod zones;

use std::collections::BTreeMap;

use flashweir_ssd::{Completion, Config, Recorded, RunError, Stats};
use flashweir_trace::{Op, Request};
use proptest::prelude::*;

use drives::{cases, config, digest, run, start};

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
        let settled = all.settled_ns;
        assert!(recorded.links.iter().all(|link| link.start_ns >= settled), "slice {number}");
        assert!(recorded.cores.iter().all(|core| core.start_ns >= settled), "slice {number}");
        all.links.extend(recorded.links);
        all.cores.extend(recorded.cores);
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

/// 1 if a drive has an SLC cache with another setting, else 0.
fn is_cached(settings: &[(&str, String)], (key, value): (&str, &str)) -> usize {
    let has_it = settings.iter().any(|(name, own)| *name == key && own == value);
    usize::from(has_it && settings.iter().any(|(name, _)| *name == "slc.kind"))
}

#[test]
fn both_paths_agree_and_every_request_completes() {
    let (strategy, settings) = cases();
    let mut runner = proptest::test_runner::TestRunner::new(settings);
    let (mut compared, mut ran) = (0, 0);
    let full = std::cell::Cell::new(0);
    // Drives with superblocks in SLC mode, and with a cache beside a map on flash.
    let with_cache = std::cell::Cell::new([0; 2]);
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
            let cached =
                [("alloc.kind", "superblock"), ("ftl.kind", "dftl")].map(|with| is_cached(&settings, with));
            with_cache.set([with_cache.get()[0] + cached[0], with_cache.get()[1] + cached[1]]);
            if let Some(timeline) = config(&settings, "busy-until") {
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
    let share = with_cache.get().map(|drives| drives * 1000 / **ran.borrow());
    assert!(
        share.iter().all(|share| *share >= 10),
        "of 1000 random drives with superblocks, and a map on flash: {share:?}"
    );
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
            if let Some(timeline) = config(&settings, "busy-until") {
                prop_assert_eq!(watched(&timeline, &requests, step), (seen, entries, completions));
            }
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn the_first_read_of_a_block_of_older_data_comes_after_its_erase() {
    // Each page read takes a block, and most of them a collection that erases one: the reads pass copies, but no erase of
    // their own block.
    let drive = [
        ("channels", "1"),
        ("page", "512"),
        ("pages_per_block", "1"),
        ("capacity", "8192"),
        ("op_ratio", "0.31"),
        ("ftl.kind", "dftl"),
        ("ftl.cache_bytes", "72"),
        ("precondition", "on-read"),
        ("host.queue_depth", "1"),
    ];
    let one = |op, lba, sectors| Request { time_ns: 0, lba, sectors, stream: 0, op, handle: 0 };
    let writes = [3, 4, 4, 3].map(|sectors| one(Op::Write, 7, sectors));
    let requests: Vec<_> = writes.into_iter().chain([one(Op::Read, 0, 13)]).collect();
    for scheduler in [
        &[("sched.kind", "suspend")][..],
        &[("sched.kind", "read-first"), ("sched.preempt_gc", "true")],
        &[("sched.kind", "out-of-order")],
        &[("sched.kind", "flin")],
    ] {
        let settings: Vec<_> =
            drive.iter().chain(scheduler).map(|(key, value)| (*key, (*value).to_owned())).collect();
        let config = config(&settings, "event").expect("a legal drive");
        let (stats, _) = recorded(&config, &requests, 7).expect("a legal run");
        assert!(stats.counters.preexisting_pages > 5 && stats.counters.gc.erases > 5);
    }
}
