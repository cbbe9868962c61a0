//! Random drives behind random host interfaces: verified, in slices, forked, and on both time paths where requests come one by one.

use std::collections::BTreeMap;

use flashweir_ssd::{Config, LatencyParts, Recorded, Stats};
use flashweir_trace::{Op, Request};
use proptest::prelude::*;

use super::drives::managed::managed_cases;
use super::drives::{cases, config, digest, run, start};
use super::{recorded, watched};

/// Settings of an interface.
fn settings() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let pick = |values: &'static [&'static str]| prop::sample::select(values.to_vec());
    let link = (
        pick(&["none", "1GB/s", "20MB/s", "pcie3x4", "sata3"]),
        pick(&["0", "0", "512", "3KiB"]),
        pick(&["0", "0", "3us"]),
        pick(&["0", "0", "2us"]),
    );
    let queues = (
        pick(&["none", "none", "1", "2"]),
        pick(&["none", "none", "1", "3"]),
        pick(&["1", "1", "2", "5"]),
        pick(&["10us", "1us", "0"]),
        pick(&["arrival", "arrival", "round-robin", "weighted", "fair"]),
        pick(&["1", "1,3", "urgent,1"]),
    );
    let firmware = (
        pick(&["1", "1", "2", "3"]),
        pick(&["0", "5us", "40us"]),
        pick(&["0", "7us"]),
        pick(&["0", "3us"]),
        pick(&["0", "11us"]),
        pick(&["0", "0", "2us"]),
        pick(&["0", "150ns"]),
        pick(&["0", "0", "4KiB", "8KiB"]),
        (pick(&["0", "1500ns"]), pick(&["0", "0", "90ns"]), pick(&["0", "0", "300MB"])),
    );
    let limits = (
        pick(&["none", "none", "2000", "none,9000", "20000,700"]),
        pick(&["none", "3", "1,8"]),
        pick(&["none", "none", "8MiB", "90MiB,3MiB"]),
        pick(&["none", "1KiB,none", "64KiB,9KiB"]),
    );
    (link, queues, firmware, limits).prop_map(|(link, queues, firmware, limits)| {
        let (rate, cut, submit, complete) = link;
        let (count, entries, doorbell, wait, arbitration, weights) = queues;
        let (iops, requests, bytes_s, bytes) = limits;
        let (cores, read, write, trim, flush, end, lookup, hmb, (miss, access, stored)) = firmware;
        let all = [
            ("host.link", rate),
            ("host.max_transfer", cut),
            ("host.submit_time", submit),
            ("host.complete_time", complete),
            ("host.queues", count),
            ("host.queue_entries", entries),
            ("host.doorbell", doorbell),
            ("host.doorbell_wait", wait),
            ("host.arbitration", arbitration),
            ("host.weights", weights),
            ("host.iops_limit", iops),
            ("host.iops_burst", requests),
            ("host.bytes_limit", bytes_s),
            ("host.bytes_burst", bytes),
            ("firmware.cores", cores),
            ("firmware.read_time", read),
            ("firmware.write_time", write),
            ("firmware.trim_time", trim),
            ("firmware.flush_time", flush),
            ("firmware.complete_time", end),
            ("firmware.lookup_time", lookup),
            ("firmware.hmb_bytes", hmb),
            ("firmware.hmb_miss_time", miss),
            ("firmware.memory_time", access),
            ("firmware.memory_rate", stored),
        ];
        all.map(|(key, value)| (key, value.to_owned())).to_vec()
    })
}

/// Invariants of link and cores: one thing at a time, never more than the rate, and all of it booked.
fn check(config: &Config, stats: &Stats, recorded: &Recorded, requests: &[Request]) {
    let Some(own) = &stats.interface else { return };
    let mut pipes: [u64; 2] = [0; 2];
    let mut bytes = [0; 2];
    for link in &recorded.links {
        let half_duplex = config.host.link == flashweir_ssd::Link::Sata3;
        let pipe = if half_duplex { 0 } else { usize::from(link.to_host) };
        assert!(link.start_ns >= pipes[pipe], "one transfer at a time");
        pipes[pipe] = link.end_ns;
        let rate = u128::from(config.host.link.bytes_per_second().expect("a link"));
        let span = u128::from(link.end_ns - link.start_ns);
        assert!(u128::from(link.bytes) * 1_000_000_000 <= span * rate, "never above the rate");
        bytes[usize::from(link.to_host)] += link.bytes;
    }
    if config.host.link.bytes_per_second().is_some() {
        let moved = |op| requests.iter().filter(|request| request.op == op).map(Request::bytes).sum::<u64>();
        assert_eq!(bytes, [moved(Op::Write) + 4096 * own.map_misses, moved(Op::Read)]);
    }
    assert_eq!(bytes, own.link_bytes);
    let mut cores = BTreeMap::<u32, (u64, u64)>::new();
    for run in &recorded.cores {
        let core = cores.entry(run.core).or_default();
        assert!(run.start_ns >= core.0, "one command at a time");
        *core = (run.end_ns, core.1 + run.end_ns - run.start_ns);
    }
    for (core, (_, busy_ns)) in cores {
        assert_eq!(own.core_ns[core as usize], busy_ns);
    }
    let ended = recorded
        .requests
        .iter()
        .map(|request| (request.parts.total(), request.completion_ns - request.issue_ns));
    ended.for_each(|(parts, latency)| assert_eq!(parts, latency, "the parts of a latency are all of it"));
}

/// Runs a drive every way there is. Returns whether both time paths could.
fn compare(
    drive: &[(&'static str, String)],
    interface: &[(&'static str, String)],
    requests: &[Request],
) -> Option<bool> {
    let settings: Vec<_> = drive.iter().chain(interface).cloned().collect();
    let events = config(&settings, "event")?;
    let (stats, records) =
        recorded(&events, requests, 7).unwrap_or_else(|error| panic!("{settings:?}: {error}"));
    assert_eq!(stats.counters.requests.iter().sum::<u64>(), requests.len() as u64, "{settings:?}");
    check(&events, &stats, &records, requests);
    assert_eq!(digest(&stats), digest(&run(&events, requests, false).expect("ran before")), "{settings:?}");
    let (seen, entries, completions) = watched(&events, requests, 5);
    assert_eq!(seen, digest(&stats), "{settings:?}");
    let (first, second) = requests.split_at(requests.len() / 2);
    let mut drive = start(&events, true);
    drive.serve(first).expect("ran before");
    let mut fork = drive.snapshot();
    for simulation in [&mut fork, &mut drive] {
        simulation.serve(second).expect("ran before");
        simulation.finish().expect("ran before");
        assert_eq!(digest(&simulation.stats()), digest(&stats), "a fork: {settings:?}");
    }
    let parts: &Option<LatencyParts> = &stats.parts;
    assert!(parts.is_some());
    let Some(timeline) = config(&settings, "busy-until") else { return Some(false) };
    let (by_times, _) = recorded(&timeline, requests, 13).expect("ran by events");
    assert_eq!(digest(&by_times), digest(&stats), "{settings:?}");
    assert_eq!(watched(&timeline, requests, 5), (seen, entries, completions), "{settings:?}");
    Some(true)
}

#[test]
fn drives_behind_any_interface_do_what_they_should() {
    let (strategy, all) = cases();
    let (managed, _) = managed_cases();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig { cases: all.cases, ..all });
    let (ran, both) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    runner
        .run(&(prop_oneof![4 => strategy, 1 => managed], settings(), any::<bool>()), |case| {
            let ((mut drive, requests), mut interface, one_by_one) = case;
            if one_by_one {
                // A closed loop of depth 1 and nothing in the background, where both paths apply.
                drive.retain(|(key, _)| !key.starts_with("host.") && !key.starts_with("background."));
                interface.retain(|(key, _)| !key.ends_with("_limit"));
            }
            if let Some(compared) = compare(&drive, &interface, &requests) {
                ran.set(ran.get() + 1);
                both.set(both.get() + u32::from(compared));
            }
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(both.get() * 20 > ran.get() && ran.get() > 0, "{} of {} on both paths", both.get(), ran.get());
}
