//! Power cuts over random drives and workloads: a flush keeps its promise, what is acknowledged from flash is there, in
//! order a prefix survives, and nothing of it changes the run.

use flashweir_run::{Cuts, Outcome, PowerCuts};
use flashweir_ssd::config::layers::to_value;
use flashweir_ssd::{Config, Options, RunError, Simulation, Stats};
use flashweir_trace::Request;
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};

use super::drives::{Case, cases, config, digest, managed, run};
use super::model::Model;

/// A run in slices with power cuts at these times, each of them checked by a rebuild from all spare areas.
fn cut(
    config: &Config,
    requests: &[Request],
    cuts: &[u64],
    slice: usize,
) -> Result<(Stats, Vec<Outcome>), RunError> {
    let options = Options {
        seed: 5,
        verify: true,
        journal: true,
        latency_parts: true,
        tenants: 2,
        ..Options::default()
    };
    let mut simulation = Simulation::new(config, options).expect("a checked configuration");
    PowerCuts::check(config, simulation.geometry()).expect("power can be cut");
    if config.precondition == flashweir_ssd::config::Precondition::Full {
        let pages = simulation.geometry().logical_pages;
        simulation.fill(0..pages)?;
        simulation.end_of_preconditioning();
    }
    let mut model = Model::new(simulation.snapshot().begin_journal());
    let mut power = PowerCuts::begin(&mut simulation, Cuts::At(cuts.to_vec()), 3, true);
    for slice in requests.chunks(slice) {
        simulation.serve(slice)?;
        let recorded = simulation.take_recorded();
        model.take(&recorded);
        power.take(&recorded);
    }
    simulation.finish()?;
    let recorded = simulation.take_recorded();
    model.take(&recorded);
    power.take(&recorded);
    if !simulation.protects_buffer() {
        let in_flash = config.buffer.bytes.0 == 0 || to_value(config)["buffer"]["ack"] == "flash";
        let broken = cuts.iter().find_map(|time_ns| Some((*time_ns, model.broken(*time_ns, in_flash)?)));
        assert_eq!(broken, None, "time of the cut, page and sector");
    }
    let stats = simulation.stats();
    let outcomes = power.finish(stats.simulated_ns).expect("all cuts lie within the run");
    Ok((stats, outcomes))
}

/// True if a setting has this value.
fn has(settings: &[(&'static str, String)], key: &str, value: &str) -> bool {
    settings.iter().any(|(of_setting, of_value)| *of_setting == key && of_value == value)
}

/// Interfaces; the last four let requests pass each other.
const INTERFACES: [&[(&str, &str)]; 9] = [
    &[],
    &[],
    &[("host.iops_limit", "3000"), ("host.iops_burst", "4")],
    &[("host.link", "20MB/s"), ("host.max_transfer", "1KiB"), ("host.complete_time", "9us")],
    &[("firmware.write_time", "30us"), ("firmware.complete_time", "5us"), ("host.queue_entries", "3")],
    &[
        ("firmware.cores", "2"),
        ("host.link", "50MB/s"),
        ("firmware.write_time", "30us"),
        ("firmware.trim_time", "2us"),
    ],
    &[
        ("host.link", "50MB/s"),
        ("host.doorbell", "3"),
        ("host.max_transfer", "1KiB"),
        ("firmware.cores", "3"),
        ("firmware.write_time", "20us"),
        ("firmware.lookup_time", "5us"),
    ],
    &[("host.link", "50MB/s"), ("firmware.read_time", "9us"), ("firmware.hmb_bytes", "4KiB")],
    &[
        ("host.link", "50MB/s"),
        ("firmware.write_time", "9us"),
        ("host.arbitration", "weighted"),
        ("host.weights", "1,3"),
    ],
];

fn check(strategy: impl Strategy<Value = Case>, settings: &ProptestConfig) {
    let (ran, overtaken) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    let places = prop::collection::vec(0..=1_000_000u64, 30);
    let all = (strategy, places, prop::sample::select(INTERFACES.to_vec()));
    TestRunner::new(settings.clone())
        .run(&all, |((settings, requests), places, interface)| {
            let of_interface = interface.iter().map(|(key, value)| (*key, (*value).to_owned()));
            let settings: Vec<_> = settings.into_iter().chain(of_interface).collect();
            let Some(config) = config(&settings, "auto") else { return Ok(()) };
            ran.set(ran.get() + 1);
            let failed = |error: RunError| TestCaseError::fail(error.to_string());
            let plain = run(&config, &requests, false).map_err(failed)?;
            let cuts: Vec<_> = places.iter().map(|place| place * plain.simulated_ns / 1_000_000).collect();
            let (stats, outcomes) = cut(&config, &requests, &cuts, 7).map_err(failed)?;
            prop_assert_eq!(outcomes.len(), cuts.len());
            prop_assert_eq!(digest(&stats), digest(&plain));
            prop_assert_eq!(&outcomes, &cut(&config, &requests, &cuts, 13).map_err(failed)?.1);
            let in_flash = has(&settings, "buffer.bytes", "0") || has(&settings, "buffer.ack", "flash");
            // Parts of several requests may enter by turns: neither is older.
            let by_turns =
                has(&settings, "host.max_transfer", "1KiB") && has(&settings, "firmware.cores", "3");
            let in_order = has(&settings, "buffer.order", "in-order") && !by_turns;
            let is_protected = !in_flash && has(&settings, "buffer.protected", "true");
            for outcome in &outcomes {
                prop_assert_eq!(outcome.flushed_sectors_lost, 0, "{:?}", outcome);
                if is_protected {
                    // Completions of several cores pass each other.
                    let completes = interface.iter().any(|(key, _)| *key == "firmware.cores");
                    prop_assert!(
                        completes || outcome.is_prefix && outcome.torn_requests <= 1,
                        "{:?}",
                        outcome
                    );
                }
                if in_flash || is_protected {
                    prop_assert_eq!(outcome.acknowledged_sectors_lost, 0, "{:?}", outcome);
                    prop_assert_eq!(outcome.violations, 0, "{:?}", outcome);
                }
                if in_order {
                    prop_assert!(outcome.is_prefix && outcome.torn_requests <= 1, "{:?}", outcome);
                    prop_assert_eq!(outcome.violations, 0, "{:?}", outcome);
                }
            }
            let any = outcomes.iter().any(|outcome| outcome.violations > 0);
            overtaken.set(overtaken.get() + i32::from(any));
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(ran.get() * 3 > settings.cases, "too many of the random drives are refused");
    assert!(overtaken.get() > 0, "in any order, some write overtakes another");
}

#[test]
fn a_flush_is_a_promise() {
    let (strategy, settings) = cases();
    check(strategy, &settings);
}

#[test]
fn a_flush_is_a_promise_where_channels_are_managed() {
    let (strategy, settings) = managed::managed_cases();
    check(strategy, &settings);
}
