//! Properties of every allocator.

use flashweir_ssd::RunError;
use flashweir_trace::Request;
use proptest::prelude::*;

use super::{
    Settings, allocator, check, config, digest, digest_of, drive, failed, finish, generous, on, requests,
    restless, start, windows,
};

#[test]
fn all_channels_for_everybody_is_dynamic_allocation() {
    let strategy = (drive(), 1..60u32, any::<bool>(), requests());
    check(60, &strategy, |(drive, window, same, raw)| {
        let mut more: Settings =
            vec![("tenants.channels", "external".into()), ("tenants.window_requests", window.to_string())];
        if same {
            more.push(("tenants.applies", "same".into()));
        }
        let (Some(plain), Some(tenants)) = (config(&[&drive]), config(&[&drive, &more])) else {
            return Ok(());
        };
        let mut requests = on(&plain, &raw);
        if plain.buffer.bytes.0 > 0 {
            // Tenants have queues of their own in the buffer, so that one does not hold up another there.
            for request in &mut requests {
                request.stream = 0;
            }
        }
        let dynamic = finish(start(&plain, generous), &requests, 50).map_err(failed)?;
        let external = finish(start(&tenants, generous), &requests, 50).map_err(failed)?;
        prop_assert_eq!(digest_of(&dynamic.stats()), digest_of(&external.stats()));
        let allocations = external.allocations().expect("tenants.channels is set");
        prop_assert_eq!(allocations.changes, 0);
        prop_assert_eq!(allocations.windows, u64::from((requests.len() as u32).div_ceil(window)));
        prop_assert_eq!(external.spilled_pages(), 0);
        Ok(())
    });
}

#[test]
fn slices_and_forks_change_nothing_and_data_is_found() {
    let strategy = (drive(), allocator(), requests());
    let (mut ran, mut spilled) = (0, 0);
    let (ran, spilled) = (std::cell::Cell::from_mut(&mut ran), std::cell::Cell::from_mut(&mut spilled));
    check(40, &strategy, |(drive, own, raw)| {
        let Some(config) = config(&[&drive, &own]) else { return Ok(()) };
        let requests = on(&config, &raw);
        let whole = match finish(start(&config, restless), &requests, 4096) {
            // Blocks may be too few for units that get more than their share.
            Err(RunError::Stuck { .. } | RunError::NoRoom { .. }) => return Ok(()),
            other => other.map_err(failed)?,
        };
        ran.set(ran.get() + 1);
        spilled.set(spilled.get() + usize::from(whole.spilled_pages() > 0));
        let done: u64 = whole.counters().requests.iter().sum();
        prop_assert_eq!(done, requests.len() as u64);
        let of_windows: u64 = windows(&whole).iter().map(|window| window.features.requests).sum();
        prop_assert_eq!(of_windows, done);
        for slice in [1, 7] {
            let sliced = finish(start(&config, restless), &requests, slice).map_err(failed)?;
            prop_assert_eq!(digest(&sliced), digest(&whole));
        }
        for window in windows(&whole) {
            prop_assert_eq!(window.allocation.check(3, config.channels), Ok(()));
        }
        let (first, second) = requests.split_at(requests.len() / 2);
        let mut original = start(&config, restless);
        original.serve(first).map_err(failed)?;
        let mut fork = original.snapshot();
        if !config.tenants.holds_back() {
            // Windows that are counted half and allocations that are in force go along.
            prop_assert_eq!(digest(&fork), digest(&original));
        }
        fork.set_allocator(restless());
        let fork = finish(fork, second, 4096).map_err(failed)?;
        prop_assert_eq!(digest(&fork), digest(&whole));
        prop_assert_eq!(digest(&finish(original, second, 4096).map_err(failed)?), digest(&whole));
        Ok(())
    });
    assert!(ran.get() > 20, "too few of the random drives can be simulated: {}", ran.get());
    assert!(spilled.get() > 0, "no page was ever spilled");
}

#[test]
fn a_fork_without_the_allocator_keeps_the_last_allocation() {
    let strategy = (drive(), requests());
    check(20, &strategy, |(drive, raw)| {
        let own: Settings =
            vec![("tenants.channels", "external".into()), ("tenants.window_requests", "10".into())];
        let Some(config) = config(&[&drive, &own]) else { return Ok(()) };
        let requests = on(&config, &raw);
        let (first, second) = requests.split_at(requests.len() / 2);
        let mut original = start(&config, restless);
        let served = original.serve(first);
        if matches!(served, Err(RunError::Stuck { .. } | RunError::NoRoom { .. })) {
            return Ok(());
        }
        served.map_err(failed)?;
        let fork = original.snapshot();
        let changes = fork.allocations().map(|allocations| allocations.changes);
        match finish(fork, second, 100) {
            Err(RunError::Stuck { .. } | RunError::NoRoom { .. }) => {}
            Err(error) => return Err(failed(error)),
            Ok(fork) => prop_assert_eq!(fork.allocations().map(|allocations| allocations.changes), changes),
        }
        Ok(())
    });
}

#[test]
fn look_ahead_takes_none_that_costs_more_than_another() {
    let strategy = (drive(), 1..3u32, 10..40u32, requests(), any::<bool>());
    check(6, &strategy, |(drive, depth, window, raw, fair)| {
        let fair = fair && drive.iter().any(|(key, value)| *key == "tenants.turns" && value != "arrival");
        let own: Settings = vec![
            ("tenants.channels", "look-ahead".into()),
            ("tenants.turns", if fair { "shortest-fair" } else { "arrival" }.into()),
            ("tenants.depth", depth.to_string()),
            ("tenants.window_requests", (window * depth * depth).to_string()),
        ];
        let Some(config) = config(&[&drive, &own]) else { return Ok(()) };
        let requests = on(&config, &raw);
        let ahead = finish(start(&config, generous), &requests, 33).map_err(failed)?;
        for window in windows(&ahead) {
            let least = window.candidates.iter().map(|tried| tried.cost_ns).min().expect("candidates");
            let first = window.candidates.iter().find(|tried| tried.cost_ns == least).expect("there");
            prop_assert!(window.candidates[0].cost_ns >= first.cost_ns);
            let shortest = window.allocation.turns != Some(flashweir_ssd::tenants::Turns::Arrival);
            prop_assert_eq!(
                shortest,
                first.name.contains("shortest"),
                "the first of the best is taken: {}",
                first.name
            );
            let all = config.channels == window.allocation.write_channels();
            if first.name.starts_with("all") {
                prop_assert!(all);
            }
        }
        Ok(())
    });
}

#[test]
fn striped_over_all_channels_for_everybody_is_striped_allocation() {
    let ran = std::cell::Cell::new(0);
    let orders = prop::sample::select(vec!["CDPW", "CDWP", "CPDW", "CPWD", "CWDP", "WDPC"]);
    check(50, &(drive(), orders, 1..60u32, requests()), |(drive, order, window, raw)| {
        let striped =
            vec![("alloc.kind", "striped".into()), ("alloc.order", order.into()), ("engine", "event".into())];
        let own =
            vec![("tenants.channels", "external".into()), ("tenants.window_requests", window.to_string())];
        let Some((together, plain)) = config(&[&drive, &striped, &own]).zip(config(&[&drive, &striped]))
        else {
            return Ok(());
        };
        // A buffer has a queue for each tenant, not for each unit.
        if plain.buffer.bytes.0 > 0 {
            return Ok(());
        }
        // Whole pages: of a partial write the version before is read before the page gets its unit.
        let page = flashweir_ssd::Geometry::new(&plain).expect("checked").page_sectors;
        let whole = |request: Request| Request {
            lba: request.lba - request.lba % u64::from(page),
            sectors: if request.sectors > 0 { page } else { 0 },
            ..request
        };
        let requests: Vec<_> = on(&plain, &raw).into_iter().map(whole).collect();
        let simulation = match finish(start(&together, generous), &requests, 7) {
            Err(RunError::Stuck { .. } | RunError::NoRoom { .. }) => return Ok(()),
            simulation => simulation.map_err(failed)?,
        };
        if simulation.spilled_pages() > 0 {
            return Ok(());
        }
        let expected = finish(start(&plain, generous), &requests, 7).map_err(failed)?;
        prop_assert_eq!(digest_of(&simulation.stats()), digest_of(&expected.stats()));
        ran.set(ran.get() + 1);
        Ok(())
    });
    assert!(ran.get() > 10, "too few of the random drives can be simulated: {}", ran.get());
}
