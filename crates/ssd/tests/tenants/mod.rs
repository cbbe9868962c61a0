//! Properties of channel allocation over random drives, workloads and allocators, everything under verification: data is
//! found wherever earlier allocations put it, slices and forks change nothing, and all channels for everybody is dynamic
//! allocation.

mod answers;
mod behaviour;
mod held;
mod windows;

use flashweir_ssd::config::Precondition;
use flashweir_ssd::config::layers::{Layer, resolve};
use flashweir_ssd::tenants::{Allocation, Group, Placement, Turns};
use flashweir_ssd::{Allocator, Config, Options, RunError, Simulation, Stats, Window};
use flashweir_trace::{Op, Request};
use proptest::prelude::*;
use proptest::test_runner::{TestError, TestRunner};

/// Tenants of all runs here.
const TENANTS: u16 = 3;

/// Settings, as on the command line.
type Settings = Vec<(&'static str, String)>;

/// A small drive of several channels, without an allocator.
fn drive() -> impl Strategy<Value = Settings> {
    let shape = (2..6u32, 1..3u32, 1..3u32, 1..4u64, 2..12u32, 16..120u64, 30..120u32);
    let flash = (any::<bool>(), any::<bool>(), 1..3u32, any::<bool>());
    let host = (
        prop::sample::select(vec![0, 0, 1, 7]),
        prop::sample::select(vec![0, 0, 0, 2, 5]),
        0..6u32,
        prop::sample::select(vec!["empty", "full", "full", "on-read"]),
        prop::sample::select(vec!["arrival", "shortest", "shortest-fair"]),
    );
    (shape, flash, host).prop_map(|(shape, flash, host)| {
        let (channels, dies, planes, sectors, pages_per_block, pages, op_percent) = shape;
        let (free_bus, multi, frontiers, read_first) = flash;
        let (depth, buffer_pages, buffer, precondition, turns) = host;
        let page = sectors * 512;
        let units = u64::from(channels * dies * planes);
        let mut settings = vec![
            ("channels", channels.to_string()),
            ("dies", dies.to_string()),
            ("planes", planes.to_string()),
            ("page", page.to_string()),
            ("pages_per_block", pages_per_block.to_string()),
            ("capacity", (pages * units * page).to_string()),
            ("op_ratio", (f64::from(op_percent) / 100.0).to_string()),
            ("gc.frontiers", frontiers.to_string()),
            ("timing.multi_plane", (planes > 1 && multi).to_string()),
            ("timing.bus", if free_bus { "0" } else { "25" }.into()),
            ("timing.read", "20us".into()),
            ("timing.program", "200us".into()),
            ("alloc.kind", "dynamic".into()),
            ("buffer.bytes", (buffer_pages * page).to_string()),
            ("precondition", precondition.into()),
        ];
        if depth == 0 {
            settings.push(("host.mode", "open".into()));
        } else {
            settings.push(("host.queue_depth", depth.to_string()));
        }
        if buffer_pages > 0 {
            settings.push(("buffer.ack", if buffer % 2 == 0 { "buffer" } else { "flash" }.into()));
            settings.push(("buffer.coalesce", (buffer < 3).to_string()));
            if buffer == 5 {
                settings.push(("buffer.order", "in-order".into()));
            }
        } else {
            if read_first {
                settings.push(("sched.kind", "read-first".into()));
            }
            if depth != 1 {
                settings.push(("tenants.turns", turns.into()));
            }
        }
        settings
    })
}

/// Settings of an allocator.
fn allocator() -> impl Strategy<Value = Settings> {
    let kinds = ["shared", "partially-isolated", "isolated", "ssdkeeper", "look-ahead", "external"];
    let alloc = ["dynamic", "hybrid", "striped"];
    let alloc = prop::sample::select(alloc.to_vec());
    (prop::sample::select(kinds.to_vec()), alloc, any::<bool>(), 1..60u32).prop_map(
        |(kind, alloc, same, window)| {
            let mut settings = vec![
                ("tenants.channels", kind.into()),
                ("tenants.window_requests", window.to_string()),
                ("alloc.kind", alloc.into()),
            ];
            if same && kind != "look-ahead" {
                settings.push(("tenants.applies", "same".into()));
            }
            if kind == "ssdkeeper" {
                settings.push(("tenants.level_requests", "4".into()));
            }
            settings
        },
    )
}

fn config(settings: &[&[(&'static str, String)]]) -> Option<Config> {
    let layer = |settings: &&[(&'static str, String)]| {
        Layer::from_assignments("test", settings.iter().map(|(key, value)| (*key, value.as_str())))
    };
    let config = resolve(&settings.iter().map(layer).collect::<Vec<_>>()).ok()?;
    // Some allocators are refused for want of channels.
    let options = Options { tenants: TENANTS, ..Options::default() };
    Simulation::new(&config, options).is_ok().then_some(config)
}

/// Requests of three tenants over the same addresses, most of them small, close in time.
fn requests() -> impl Strategy<Value = Vec<(u32, u32, u32, u64, u16)>> {
    prop::collection::vec((any::<u32>(), 1..24u32, 0..100u32, 0..300_000u64, 0..TENANTS), 1..260)
}

fn on(config: &Config, raw: &[(u32, u32, u32, u64, u16)]) -> Vec<Request> {
    let sectors = flashweir_ssd::Geometry::new(config).expect("checked").capacity_sectors();
    let mut time_ns = 0;
    raw.iter()
        .map(|(lba, length, kind, gap, stream)| {
            time_ns += gap;
            let op = match kind {
                0..=34 => Op::Read,
                35..=93 => Op::Write,
                94..=97 => Op::Trim,
                _ => Op::Flush,
            };
            let lba = u64::from(*lba) % sectors;
            let length = (*length).min((sectors - lba) as u32);
            let (lba, sectors) = if op == Op::Flush { (0, 0) } else { (lba, length) };
            Request { time_ns, lba, sectors, stream: *stream, op, handle: 0 }
        })
        .collect()
}

/// Other channels, groups, placements and turns for every window.
fn restless() -> Allocator {
    Box::new(|features, channels| {
        let window = features.window as u32;
        let count = 1 + window % 4;
        let group = |number: u32| Group {
            channels: (0..=(window + number) % channels)
                .map(|at| (window * 3 + number + at) % channels)
                .collect(),
            placement: [None, Some(Placement::Dynamic), Some(Placement::Static)]
                [(window + number) as usize % 3],
        };
        let of =
            |step: u32| (0..TENANTS).map(move |tenant| ((u32::from(tenant) * step + window) % count) as u16);
        Ok(Allocation {
            groups: (0..count).map(group).collect(),
            reads: of(1).collect(),
            writes: of(2).collect(),
            turns: [None, Some(Turns::Arrival), Some(Turns::Shortest), Some(Turns::ShortestFair)]
                [window as usize % 4],
        })
    })
}

/// All channels for everybody.
fn generous() -> Allocator {
    Box::new(|features, channels| Ok(Allocation::everything(features.tenants.len(), channels)))
}

/// A preconditioned drive under verification.
fn start(config: &Config, allocator: fn() -> Allocator) -> Simulation {
    let options = Options {
        seed: 5,
        verify: true,
        latency_parts: true,
        tenants: TENANTS,
        windows: true,
        ..Options::default()
    };
    let mut simulation = Simulation::new(config, options).expect("a checked configuration");
    simulation.set_allocator(allocator());
    if config.precondition == Precondition::Full {
        let pages = simulation.geometry().logical_pages;
        simulation.fill(0..pages).expect("a new drive takes its capacity");
        simulation.end_of_preconditioning();
    }
    simulation
}

/// Everything that can be seen of a run.
fn digest(simulation: &Simulation) -> String {
    let allocations = simulation.allocations().map(|allocations| format!("{allocations:?}"));
    format!("{} {allocations:?} {}", digest_of(&simulation.stats()), simulation.spilled_pages())
}

fn digest_of(stats: &Stats) -> String {
    let summary = |stream: u16| Op::ALL.map(|op| stats.latencies.summary(Some(stream), op));
    let latencies: Vec<_> = (0..TENANTS).map(summary).collect();
    let Stats { counters, collections, dies, buses, simulated_ns, parts, streams, .. } = stats;
    format!(
        "{counters:?} {collections:?} {dies:?} {buses:?} {simulated_ns} {parts:?} {streams:?} {latencies:?}"
    )
}

fn finish(mut simulation: Simulation, requests: &[Request], slice: usize) -> Result<Simulation, RunError> {
    requests.chunks(slice).try_for_each(|slice| simulation.serve(slice))?;
    simulation.finish()?;
    Ok(simulation)
}

fn windows(simulation: &Simulation) -> &[Window] {
    &simulation.allocations().expect("tenants.channels is set").kept
}

/// Runs random cases, `share` of them in a hundred of the usual number.
fn check<S: Strategy>(share: u32, strategy: &S, test: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let cases = std::env::var("FLASHWEIR_FUZZ_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(400);
    let cases = (cases * share / 100).max(1);
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    match TestRunner::new(config).run(strategy, test) {
        Ok(()) => {}
        Err(TestError::Fail(why, case)) => panic!("{why}\n{case:?}"),
        Err(error) => panic!("{error}"),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "that is how errors come")]
fn failed(error: RunError) -> TestCaseError {
    TestCaseError::fail(error.to_string())
}
