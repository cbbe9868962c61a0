//! The simulator against the model of channels for tenants: over random streams every request is done at the same
//! nanosecond, and every window has the same channels.

use flashweir_ssd::config::layers::{Layer, resolve};
use flashweir_ssd::tenants::Placement;
use flashweir_ssd::{Options, Simulation};
use flashweir_trace::{Op, Request};
use proptest::prelude::*;

use crate::models::allocation::{self, Access, Given, Setup, Strategy as Channels};
use crate::models::simulator::full;

const PAGE: u64 = 8;
const PAGES: u64 = 512;

fn simulated(setup: &Setup, accesses: &[Access]) -> (Vec<u64>, Vec<Given>) {
    let settings = [
        ("channels", setup.channels.to_string()),
        ("page", "4KiB".into()),
        ("pages_per_block", "64".into()),
        ("capacity", (PAGES * 4096).to_string()),
        // Room for all of every page's versions on any one channel.
        ("op_ratio", "90".into()),
        ("host.mode", "open".into()),
        ("precondition", "on-read".into()),
        ("timing.bus", "0".into()),
        ("timing.command", "0".into()),
        ("timing.read", setup.read.to_string()),
        ("timing.program", setup.program.to_string()),
        ("alloc.kind", if setup.hybrid { "hybrid" } else { "dynamic" }.into()),
        (
            "tenants.channels",
            match setup.strategy {
                Channels::Shared => "shared",
                Channels::PartiallyIsolated => "partially-isolated",
                Channels::Isolated => "isolated",
                Channels::Keeper => "ssdkeeper",
            }
            .into(),
        ),
        ("tenants.applies", if setup.same { "same" } else { "next" }.into()),
        ("tenants.turns", if setup.shortest { "shortest" } else { "arrival" }.into()),
        ("tenants.window_requests", setup.window_requests.to_string()),
        ("tenants.window_time", setup.window_time.to_string()),
        ("tenants.level_requests", setup.level_requests.to_string()),
    ];
    let layer = Layer::from_assignments("test", settings.iter().map(|(key, value)| (*key, value.as_str())));
    let config = resolve(&[layer]).unwrap_or_else(|error| panic!("{error}"));
    let options =
        Options { verify: true, tenants: setup.tenants as u16, windows: true, ..Options::default() };
    let mut simulation = Simulation::new(&config, options).expect("a legal drive");
    simulation.keep_completions();
    let request = |access: &Access| Request {
        time_ns: access.time,
        lba: access.page * PAGE,
        sectors: (access.pages * PAGE) as u32,
        stream: access.tenant as u16,
        op: if access.reads { Op::Read } else { Op::Write },
        handle: 0,
    };
    let requests: Vec<_> = accesses.iter().map(request).collect();
    simulation.serve(&requests).expect("served");
    simulation.finish().expect("finished");
    assert_eq!(
        (simulation.counters().collections, simulation.spilled_pages()),
        (0, 0),
        "the model has neither"
    );
    let mut completions = Vec::new();
    simulation.take_completions(&mut completions);
    completions.sort_by_key(|completion| completion.number);
    let ends =
        accesses.iter().zip(&completions).map(|(access, completion)| access.time + completion.latency_ns);
    let kept = &simulation.allocations().expect("tenants.channels is set").kept;
    let given = kept.iter().map(|window| {
        let one = |group: u16| {
            let group = &window.allocation.groups[usize::from(group)];
            let channels = group.channels.iter().map(|channel| *channel as usize).collect();
            (channels, group.placement == Some(Placement::Static))
        };
        let pairs = window.allocation.reads.iter().zip(&window.allocation.writes);
        pairs.map(|(reads, writes)| [one(*reads), one(*writes)]).collect()
    });
    (ends.collect(), given.collect())
}

fn cases() -> impl Strategy<Value = (Setup, Vec<Access>)> {
    let strategy = prop::sample::select(vec![
        Channels::Keeper,
        Channels::Keeper,
        Channels::Shared,
        Channels::PartiallyIsolated,
        Channels::Isolated,
    ]);
    let shape = (2..9usize, 1..4usize, any::<bool>(), any::<bool>(), any::<bool>());
    let window = (4..60usize, prop::sample::select(vec![300_000u64, 2_000_000, 1 << 50]), 1..7usize);
    // Times with a common measure, so that things end as others come, or without.
    let times = prop::sample::select(vec![(10_000, 100_000, 10_000u64), (10_007, 100_003, 1)]);
    let requests = (
        prop::collection::vec((0..100u32, 0..PAGES - 8, 1..9u64, 0..60_000u64, 0..100u32), 1..250),
        10..95u32,
        0..3u32,
    );
    (strategy, shape, window, times, requests).prop_map(
        |(strategy, shape, (window_requests, window_time, level_requests), times, (raw, reads, skew))| {
            let (channels, tenants, hybrid, same, shortest) = shape;
            let (read, program, step) = times;
            let tenants = if strategy == Channels::Isolated { tenants.min(channels) } else { tenants };
            let fixed = matches!(strategy, Channels::Shared | Channels::Isolated) && !hybrid;
            let setup = Setup {
                channels,
                tenants,
                pages: PAGES,
                read,
                program,
                strategy,
                hybrid,
                same: same && !fixed,
                shortest,
                window_requests,
                window_time,
                level_requests,
            };
            let mut time = 0;
            let access = |(kind, page, pages, gap, who): (u32, u64, u64, u64, u32)| {
                time += gap / step * step;
                let tenant = if who < 30 * skew { 0 } else { who as usize % tenants };
                Access {
                    time,
                    reads: kind < reads,
                    page,
                    pages: if kind % 3 == 0 { pages } else { 1 },
                    tenant,
                }
            };
            (setup, raw.into_iter().map(access).collect())
        },
    )
}

#[test]
fn every_request_is_done_and_every_window_has_the_channels_that_the_model_says() {
    let cases_to_run = if full() { 5000 } else { 500 };
    let config =
        ProptestConfig { cases: cases_to_run, failure_persistence: None, ..ProptestConfig::default() };
    let (mut static_windows, mut many) = (0, 0);
    let counts = std::cell::RefCell::new((&mut static_windows, &mut many));
    proptest::test_runner::TestRunner::new(config)
        .run(&cases(), |(setup, accesses)| {
            let (ends, given) = allocation::run(setup, &accesses);
            let (simulated_ends, simulated_given) = simulated(&setup, &accesses);
            prop_assert_eq!(&given, &simulated_given, "channels of windows");
            let differs = ends.iter().zip(&simulated_ends).position(|(model, simulated)| model != simulated);
            prop_assert_eq!(differs, None, "ends of requests {:?} {:?}", ends, simulated_ends);
            let mut counts = counts.borrow_mut();
            *counts.0 += usize::from(given.iter().flatten().flatten().any(|(_, fixed)| *fixed));
            *counts.1 += usize::from(given.len() > 5);
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(static_windows > 20 && many > 20, "too few of the cases are interesting");
}
