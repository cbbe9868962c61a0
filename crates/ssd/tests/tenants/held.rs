//! Windows that are held back: a caller may stop at any of their requests, and a host that asks the drive whose request comes
//! next gets the answer of a drive that holds nothing back.

use std::cell::Cell;
use std::collections::VecDeque;

use super::*;

/// A host of a closed loop that asks before each request.
fn asking() -> impl Strategy<Value = Settings> {
    let arbitration = ["fair", "round-robin", "weighted", "fair"];
    (prop::sample::select(arbitration.to_vec()), 1..9u32, 0..3u32).prop_map(|(arbitration, depth, limit)| {
        let mut settings = vec![
            ("host.mode", "closed".into()),
            ("host.queue_depth", depth.to_string()),
            ("host.arbitration", arbitration.into()),
        ];
        if arbitration == "weighted" {
            settings.push(("host.weights", "1,2,3".into()));
        }
        if limit > 0 || arbitration != "fair" {
            settings.push(("host.iops_limit", ["3000", "none,2000,8000", "900"][limit as usize].into()));
        }
        settings
    })
}

/// Held windows of a few requests.
fn held(channels: &'static str, window: u32) -> Settings {
    let mut settings =
        vec![("tenants.channels", channels.into()), ("tenants.window_requests", window.to_string())];
    if channels != "look-ahead" {
        settings.push(("tenants.applies", "same".into()));
    }
    settings
}

/// The requests of each tenant, which wait until the drive's host takes them.
#[derive(Clone)]
struct Queues([VecDeque<Request>; TENANTS as usize]);

impl Queues {
    fn of(requests: &[Request]) -> Self {
        let of = |stream: u16| requests.iter().filter(|request| request.stream == stream).copied().collect();
        Self([of(0), of(1), of(2)])
    }

    /// Serves so many requests, each of the tenant that the host names. Returns the order of tenants.
    fn serve(&mut self, simulation: &mut Simulation, most: usize) -> Result<Vec<u16>, RunError> {
        let mut order = Vec::new();
        while order.len() < most {
            let has_next = self.0.each_ref().map(|queue| !queue.is_empty());
            let Some(stream) = simulation.next_stream(&has_next)? else { break };
            let request = self.0[usize::from(stream)].pop_front().expect("it has one");
            simulation.serve(&[request])?;
            order.push(stream);
        }
        Ok(order)
    }
}

fn is_full(error: &RunError) -> bool {
    matches!(error, RunError::Stuck { .. } | RunError::NoRoom { .. })
}

#[test]
fn a_host_that_asks_fills_held_windows_as_it_would_have_filled_the_drive() {
    let ran = Cell::new(0);
    let strategy = (drive(), asking(), 1..60u32, requests());
    check(50, &strategy, |(drive, host, window, raw)| {
        let own = held("external", window);
        let (next, _) = own.split_at(2);
        let together = config(&[&drive, &host, &own]);
        let Some((together, plain)) = together.zip(config(&[&drive, &host, next])) else { return Ok(()) };
        let requests = on(&plain, &raw);
        // The allocation is always the same, so nothing but holding back tells the two apart.
        let mut expected = start(&plain, generous);
        let order = match Queues::of(&requests).serve(&mut expected, usize::MAX) {
            Err(error) if is_full(&error) => return Ok(()),
            order => order.map_err(failed)?,
        };
        expected.finish().map_err(failed)?;
        let mut simulation = start(&together, generous);
        prop_assert_eq!(Queues::of(&requests).serve(&mut simulation, usize::MAX).map_err(failed)?, order);
        simulation.finish().map_err(failed)?;
        prop_assert_eq!(digest_of(&simulation.stats()), digest_of(&expected.stats()));
        ran.set(ran.get() + 1);
        Ok(())
    });
    assert!(ran.get() > 10, "too few of the random drives can be simulated: {}", ran.get());
}

#[test]
fn allocations_that_change_leave_no_request_out_and_forks_ask_alike() {
    let ran = Cell::new(0);
    let kinds = prop::sample::select(vec!["external", "look-ahead", "ssdkeeper"]);
    let strategy = (drive(), asking(), kinds, 1..40u32, requests());
    check(30, &strategy, |(drive, host, kind, window, raw)| {
        let Some(config) = config(&[&drive, &host, &held(kind, window)]) else { return Ok(()) };
        let requests = on(&config, &raw);
        let (mut queues, mut simulation) = (Queues::of(&requests), start(&config, restless));
        let first = match queues.serve(&mut simulation, requests.len() / 2) {
            Err(error) if is_full(&error) => return Ok(()),
            first => first.map_err(failed)?,
        };
        let mut fork = simulation.snapshot();
        fork.set_allocator(restless());
        let mut of_fork = queues.clone();
        let run = |queues: &mut Queues, simulation: &mut Simulation| {
            let order = queues.serve(simulation, usize::MAX)?;
            simulation.finish().map(|()| order)
        };
        let rest = match run(&mut queues, &mut simulation) {
            Err(error) if is_full(&error) => return Ok(()),
            rest => rest.map_err(failed)?,
        };
        prop_assert_eq!(first.len() + rest.len(), requests.len());
        prop_assert_eq!(simulation.counters().requests.iter().sum::<u64>(), requests.len() as u64);
        prop_assert_eq!(run(&mut of_fork, &mut fork).map_err(failed)?, rest);
        prop_assert_eq!(digest(&fork), digest(&simulation));
        ran.set(ran.get() + 1);
        Ok(())
    });
    assert!(ran.get() > 10, "too few of the random drives can be simulated: {}", ran.get());
}

#[test]
fn a_caller_that_stops_at_requests_of_held_windows_changes_nothing() {
    let strategy = (drive(), allocator(), 1..40usize, requests());
    check(50, &strategy, |(drive, own, most, raw)| {
        let Some(config) = config(&[&drive, &own]).filter(|config| config.tenants.holds_back()) else {
            return Ok(());
        };
        let requests = on(&config, &raw);
        let whole = match finish(start(&config, restless), &requests, requests.len()) {
            Err(error) if is_full(&error) => return Ok(()),
            whole => whole.map_err(failed)?,
        };
        let mut simulation = start(&config, restless);
        let mut served = Vec::new();
        let mut serve = |simulation: &mut Simulation| -> Result<(), RunError> {
            while let Some(next) = simulation.next_held()? {
                simulation.enter(&next)?;
                let count = simulation.serve_held(most)?;
                assert!((1..=most).contains(&count));
                assert_eq!(next, requests[served.iter().sum::<usize>()]);
                served.push(count);
            }
            Ok(())
        };
        for slice in requests.chunks(most + 3) {
            simulation.hold(slice).map_err(failed)?;
            serve(&mut simulation).map_err(failed)?;
        }
        simulation.end_of_held();
        serve(&mut simulation).map_err(failed)?;
        simulation.finish().map_err(failed)?;
        prop_assert_eq!(served.iter().sum::<usize>(), requests.len());
        prop_assert_eq!(digest(&simulation), digest(&whole));
        Ok(())
    });
}
