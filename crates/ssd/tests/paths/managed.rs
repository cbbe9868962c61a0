//! Managed channels over random drives and workloads, everything under verification.

use flashweir_trace::{Op, Request};
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};

use super::drives::managed::managed_cases;
use super::drives::{config, digest, run, start};
use super::{normal, recorded, watched};

#[test]
fn every_request_completes_and_every_block_is_accounted_for() {
    let (strategy, settings) = managed_cases();
    let ran = std::cell::Cell::new(0);
    let cases = settings.cases;
    TestRunner::new(settings)
        .run(&strategy, |(settings, requests)| {
            let Some(config) = config(&settings, "auto") else { return Ok(()) };
            ran.set(ran.get() + 1);
            let (stats, records) =
                recorded(&config, &requests, 7).map_err(|error| TestCaseError::fail(error.to_string()))?;
            prop_assert_eq!(stats.counters.requests.iter().sum::<u64>(), requests.len() as u64);
            let (again, same_records) = recorded(&config, &requests, 13).expect("ran before");
            prop_assert_eq!(digest(&stats), digest(&again));
            prop_assert_eq!(normal(&records), normal(&same_records));
            let plain = run(&config, &requests, false).expect("ran before");
            prop_assert_eq!(digest(&stats), digest(&plain));
            prop_assert!(
                stats.elapsed_ns() >= stats.dies.iter().map(flashweir_ssd::DieTime::total).max().unwrap_or(0)
            );
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(ran.get() * 2 > cases, "too many of the random drives are refused: {} of {cases} ran", ran.get());
}

#[test]
fn a_fork_goes_on_and_a_look_changes_nothing() {
    let (strategy, settings) = managed_cases();
    TestRunner::new(ProptestConfig { cases: settings.cases / 4, ..settings })
        .run(&(strategy, 1..40usize), |((settings, requests), step)| {
            let Some(config) = config(&settings, "auto") else { return Ok(()) };
            let plain =
                run(&config, &requests, false).map_err(|error| TestCaseError::fail(error.to_string()))?;
            prop_assert_eq!(&watched(&config, &requests, step).0, &digest(&plain));
            let (first, second) = requests.split_at(requests.len() / 2);
            let mut drive = start(&config, true);
            drive.serve(first).expect("ran before");
            let mut fork = drive.snapshot();
            for simulation in [&mut drive, &mut fork] {
                simulation.serve(second).expect("ran before");
                simulation.finish().expect("ran before");
                prop_assert_eq!(digest(&simulation.stats()), digest(&plain));
            }
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn filling_is_stealing_by_units_below_the_threshold() {
    let base = [
        ("channels", "4"),
        ("page", "1KiB"),
        ("pages_per_block", "4"),
        ("capacity", "128KiB"),
        ("op_ratio", "0.8"),
        ("precondition", "full"),
        ("buffer.bytes", "4KiB"),
        ("host.queue_depth", "4"),
    ];
    let mut random = 3_u64;
    let requests: Vec<Request> = (0..900)
        .map(|number: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let op = if number.is_multiple_of(5) { Op::Read } else { Op::Write };
            let lba = (random >> 33) % 128 * 2;
            Request { time_ns: 0, lba, sectors: 2, stream: 0, op, handle: 0 }
        })
        .collect();
    let ftls = ["page", "log-block", "fast", "bast", "kast"];
    for (ftl, clock) in ftls.into_iter().flat_map(|ftl| [(ftl, "lock-step"), (ftl, "async")]) {
        let of = |planner: &str, spare: Option<&str>| {
            let more = [("ftl.kind", ftl), ("gc.planner", planner), ("clock", clock)];
            let spare = spare.map(|blocks| ("gc.spare_blocks", blocks));
            let settings = base.iter().chain(&more).copied().chain(spare);
            let settings: Vec<_> = settings.map(|(key, value)| (key, value.to_owned())).collect();
            let config = config(&settings, "auto").unwrap_or_else(|| panic!("refused: {settings:?}"));
            let stats = run(&config, &requests, true).expect("a legal run");
            (digest(&stats), stats.counters.gc.programs)
        };
        let stealing = of("cycle-stealing", None);
        assert!(stealing.1 > 0);
        assert_eq!(of("cycle-filling", Some("1000")), stealing, "{ftl} {clock}");
        assert_ne!(of("cycle-filling", Some("0")), stealing, "{ftl} {clock}: no unit has none to spare");
        let selective = of("selective-filling", Some("1000"));
        // Only there are data blocks to choose among.
        assert!(matches!(ftl, "log-block" | "fast") || selective == stealing, "{ftl} {clock}");
    }
}
