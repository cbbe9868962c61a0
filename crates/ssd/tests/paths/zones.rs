//! Random drives as drives of zones: with a host's log in the place of their page map, and with a host that mostly keeps the rules.

use std::cell::Cell;

use flashweir_ssd::Config;
use flashweir_ssd::zones::{Action, ZoneState, Zones};
use flashweir_trace::{Op, Request};
use proptest::prelude::*;

use super::drives::{cases, config, digest, run, start};
use super::{normal, recorded};

type Settings = Vec<(&'static str, String)>;

/// A drive with a page map as one of zones; none of other drives.
fn of_zones(settings: &Settings, host: &str) -> Option<Settings> {
    if settings.iter().any(|(key, _)| *key == "ftl.kind") {
        return None;
    }
    let unit = settings.iter().find(|(key, _)| *key == "ftl.map_unit").filter(|_| host == "log");
    let unit = unit.map(|(_, value)| ("ftl.log_unit", value.clone()));
    let is_dynamic = host == "none" && settings.len().is_multiple_of(2);
    let map = if is_dynamic { "dynamic" } else { "static" };
    let own = [("ftl.kind", "zones"), ("ftl.host", host), ("ftl.separate", "none"), ("ftl.zone_map", map)];
    let own = own.map(|(key, value)| (key, value.to_owned()));
    let kept = settings.iter().filter(|(key, _)| !key.starts_with("ftl.")).cloned();
    let zones: Settings = kept.chain(own).chain(unit).collect();
    let wears = host == "none" && settings.len().is_multiple_of(3);
    Some(if wears { worn(zones, settings.len() / 3) } else { zones })
}

/// The drive with blocks that are retired: after a few erases, or reads, and some of them at once.
fn worn(settings: Settings, number: usize) -> Settings {
    let by_erases = [("ageing.alpha", "0.0004"), ("ageing.k", "1"), ("ageing.retire", "1")];
    let by_reads = [("ageing.gamma", "0.0004"), ("ageing.p", "0"), ("ageing.q", "1")];
    let law = if number.is_multiple_of(2) { by_erases } else { by_reads };
    let own = [("ageing.kind", "power-law"), ("ageing.reads_of", "block"), ("ageing.spread", "0.5")];
    let all = own.into_iter().chain(law).chain([("ageing.retire", "1")]);
    let is_other = |key: &str| !key.starts_with("ageing.") && !key.starts_with("background.refresh");
    let kept = settings.into_iter().filter(|(key, _)| is_other(key));
    kept.chain(all.map(|(key, value)| (key, value.to_owned()))).collect()
}

/// Requests to addresses as requests to their zones: writes and appends at the write pointer as long as there is room, then resets,
/// by command or by TRIM; some TRIMs finish their zone; one request in eight stays as it is.
fn to_zones(config: &Config, requests: &[Request]) -> Vec<Request> {
    let simulation = start(config, false);
    let page = u64::from(simulation.geometry().page_sectors);
    let mut zones: Zones = simulation.zones().expect("zones").clone();
    let (size, count) = (zones.layout().size, u64::from(zones.layout().zones));
    let mut all = requests.to_vec();
    for (number, request) in all.iter_mut().enumerate() {
        if number.is_multiple_of(8) || matches!(request.op, Op::Read | Op::Flush) {
            continue;
        }
        let zone = (request.lba / page / size).min(count - 1);
        let report = zones.report()[zone as usize];
        let written = if report.state == ZoneState::Full { size } else { report.written };
        let start = zones.start_of(zone as u32);
        if request.op == Op::Trim || written == size {
            let finishes = request.op == Op::Trim && !number.is_multiple_of(3);
            let action = if finishes { Action::Finish } else { Action::Reset };
            let _ = zones.manage(action, start, false);
            let reset = if number.is_multiple_of(2) { Op::Reset } else { Op::Trim };
            let op = if finishes { Op::Finish } else { reset };
            *request = Request { op, lba: start * page, sectors: (size * page) as u32, ..*request };
        } else if number.is_multiple_of(3) {
            let pages = u64::from(request.sectors).div_ceil(page).min(size - written);
            let _ = zones.append(start, pages);
            *request =
                Request { op: Op::Append, lba: start * page, sectors: (pages * page) as u32, ..*request };
        } else {
            let pages = u64::from(request.sectors).div_ceil(page).min(size - written);
            let _ = zones.write(start + written, pages);
            *request = Request { lba: (start + written) * page, sectors: (pages * page) as u32, ..*request };
        }
    }
    all
}

/// Both paths, where both apply, and a fork; counts blocks that zones lost. Returns whether both paths were compared.
fn check(settings: &Settings, requests: &[Request], lost: &Cell<u64>) -> Result<Option<bool>, TestCaseError> {
    let Some(events) = config(settings, "event") else { return Ok(None) };
    let failed = |error: flashweir_ssd::RunError| TestCaseError::fail(format!("{settings:?}: {error}"));
    let requests = if events.takes_zone_commands() { to_zones(&events, requests) } else { requests.to_vec() };
    let (by_events, records) = recorded(&events, &requests, 7).map_err(failed)?;
    lost.set(lost.get() + u64::from(events.takes_zone_commands()) * by_events.counters.ageing.retired_blocks);
    prop_assert_eq!(by_events.counters.requests.iter().sum::<u64>(), requests.len() as u64);
    let (first, second) = requests.split_at(requests.len() / 2);
    let mut simulation = start(&events, true);
    simulation.serve(first).map_err(failed)?;
    let mut fork = simulation.snapshot();
    for simulation in [&mut simulation, &mut fork] {
        simulation.serve(second).map_err(failed)?;
        simulation.finish().map_err(failed)?;
        prop_assert_eq!(digest(&simulation.stats()), digest(&by_events));
    }
    let Some(timeline) = config(settings, "busy-until") else { return Ok(Some(false)) };
    let (by_times, same_records) = recorded(&timeline, &requests, 13).map_err(failed)?;
    prop_assert_eq!(digest(&by_events), digest(&by_times));
    prop_assert_eq!(normal(&records), normal(&same_records));
    prop_assert_eq!(digest(&run(&timeline, &requests, false).map_err(failed)?), digest(&by_times));
    Ok(Some(true))
}

#[test]
fn random_drives_of_zones_do_the_same_on_both_paths_and_as_forks() {
    let (strategy, settings) = cases();
    let mut runner = proptest::test_runner::TestRunner::new(settings);
    let (ran, both, lost) = (Cell::new([0; 2]), Cell::new(0), Cell::new(0));
    let one = |(settings, requests): (Settings, Vec<Request>)| {
        for (at, host) in ["log", "none"].into_iter().enumerate() {
            let Some(settings) = of_zones(&settings, host) else { continue };
            if let Some(compared) = check(&settings, &requests, &lost)? {
                let mut counts = ran.get();
                counts[at] += 1;
                ran.set(counts);
                both.set(both.get() + u32::from(compared));
            }
        }
        Ok(())
    };
    runner.run(&strategy, one).unwrap_or_else(|error| panic!("{error}"));
    let (ran, both) = (ran.get(), both.get());
    assert!(lost.get() > 0, "no zone failed");
    assert!(ran.iter().all(|ran| *ran >= 10) && both >= 5, "{ran:?} drives, {both} of them on both paths");
}
