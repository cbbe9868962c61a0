//! Random small drives and workloads, and plain runs of them. The tests of power cuts (`crates/run/tests/power`) take them
//! from here, too.

mod buffers;
mod cells;
pub(crate) mod managed;

use flashweir_ssd::config::Precondition;
use flashweir_ssd::config::layers::{Layer, resolve};
use flashweir_ssd::{Config, Options, RunError, Simulation, Stats};
use flashweir_trace::{Op, Request};
use proptest::prelude::*;

pub(crate) use buffers::REPLACEMENTS;
use buffers::{BUFFERS, of_buffer};
use cells::{AGEING, CELLS, of_ageing, of_cells};

/// Schedulers with settings of their own; half of them the one that does without events.
const SCHEDULERS: [&[(&str, &str)]; 28] = [
    &[],
    &[],
    &[],
    &[],
    &[],
    &[],
    &[],
    &[],
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
    &[("sched.kind", "read-first"), ("sched.dispatch", "immediate")],
    &[("sched.kind", "read-priority")],
    &[("sched.kind", "suspend"), ("sched.suspend_time", "7us"), ("sched.resume_time", "5us")],
    &[("sched.kind", "suspend"), ("sched.write_bound", "3ms"), ("sched.max_suspensions", "2")],
    &[("sched.kind", "suspend"), ("sched.suspend_time", "3us"), ("sched.dispatch", "immediate")],
    &[("sched.kind", "out-of-order"), ("sched.window", "3")],
    &[("sched.kind", "flin")],
    &[("sched.kind", "flin"), ("sched.priorities", "1,3"), ("sched.interval", "300us")],
    &[
        ("sched.kind", "suspend"),
        ("sched.write_weight", "0"),
        ("sched.min_run", "40us"),
        ("sched.protected_start", "0.2"),
        ("sched.protected_end", "0.1"),
        ("sched.erase_suspend_time", "30us"),
        ("sched.erase_resume_time", "20us"),
    ],
    &[("sched.kind", "suspend"), ("sched.suspends", "erase"), ("gc.batch", "2")],
];

/// Hosts of an open loop: half of them hand over every request as it arrives.
pub(crate) const OPEN: [&[(&str, &str)]; 8] = [
    &[],
    &[],
    &[],
    &[],
    &[("host.slots", "3")],
    &[("host.slots", "1"), ("host.arbitration", "round-robin")],
    &[("host.slots", "4"), ("host.arbitration", "weighted"), ("host.weights", "1,3")],
    &[("host.slots", "2"), ("host.arbitration", "fair")],
];

/// A setting, as on the command line.
type Setting = (&'static str, String);

/// Settings of a translation layer: others than `page` have no victims and no wear levelling.
fn of_ftl(settings: &mut Vec<Setting>, ftl: &str, cache_bytes: u64, batch: bool) {
    if ftl == "dftl" {
        settings.push(("ftl.kind", "dftl".into()));
        settings.push(("ftl.cache_bytes", cache_bytes.to_string()));
        settings.push(("ftl.batch_update", batch.to_string()));
    } else if ftl != "page" {
        let victims = ["gc.victim", "gc.frontiers", "gc.free_blocks"];
        settings.retain(|(key, _)| {
            !victims.contains(key) && !key.starts_with("wear.") && !key.starts_with("alloc.")
        });
        settings.push(("ftl.kind", ftl.into()));
    }
}

/// Settings of an allocation; superblocks over all dies, over those of as many as there are channels, or with parity.
fn of_alloc(alloc: &str, channels: u32, dies: u32) -> Vec<Setting> {
    let all = channels * dies;
    let kind = if matches!(alloc, "sets" | "parity") { "superblock" } else { alloc };
    let mut settings = vec![("alloc.kind", kind.to_owned())];
    settings.extend((alloc == "sets").then(|| ("alloc.superblock_dies", channels.to_string())));
    let stripe = if all.is_multiple_of(2) { 2 } else { all };
    settings.extend((alloc == "parity" && all > 1).then(|| ("alloc.parity", (stripe - 1).to_string())));
    settings
}

/// Settings of a host with open arrivals, or of a closed loop.
fn of_host(open: bool, slots: &[(&'static str, &str)], depth: u32) -> Vec<Setting> {
    if open {
        let slots = slots.iter().map(|(key, value)| (*key, (*value).to_owned()));
        [("host.mode", "open".to_owned())].into_iter().chain(slots).collect()
    } else {
        vec![("host.queue_depth", depth.to_string())]
    }
}

/// Settings of transfers: codewords of so many sectors (0: pages) where they divide the page, and copybacks in a row.
pub(super) fn of_transfers(codeword: u64, page_sectors: u64, copybacks: u32) -> Vec<Setting> {
    let mut settings = vec![("gc.copyback", copybacks.to_string())];
    if codeword > 0 && page_sectors.is_multiple_of(codeword) {
        settings.push(("nand.transfer", "codeword".to_owned()));
        settings.push(("nand.codeword", (codeword * 512).to_string()));
    }
    settings
}

const VICTIMS: [&str; 5] = ["greedy", "fifo", "random", "d-choices", "cost-benefit"];

/// Over-provisioning in percent with which a drive is legal: erased blocks and frontiers, translation pages, the log.
fn least_percent(ftl: &str, pages: u64, page: u64, pages_per_block: u32, held_back: u32) -> u32 {
    let per_block = u64::from(pages_per_block);
    let blocks = match ftl {
        // And a block for what other units write to a map that they share.
        "dftl" => (pages * 4).div_ceil(page).div_ceil(per_block) + 3 + u64::from(held_back) - 1,
        "page" => u64::from(held_back) - 1,
        // Whole data blocks are as many pages or more.
        _ => 3,
    };
    (blocks * per_block * 100 / pages + 1) as u32
}

/// Over-provisioning in percent that padding takes, where pages hold several mapping units: each block may have all but one of
/// a page's units empty in each group.
fn percent_of_padding(per_page: u64, groups: u32, pages: u64, pages_per_block: u32) -> u32 {
    if per_page == 1 {
        return 0;
    }
    let per_block = u64::from(pages_per_block) * per_page;
    let padded = u64::from(groups) * (per_page - 1);
    let padding = (100 * padded).div_ceil(per_block - padded);
    // And a block, because blocks are whole.
    (padding + u64::from(pages_per_block) * 100 / pages + 1) as u32
}

/// A classifier with few groups: its settings, the blocks of a unit that it keeps open or erased, and its groups of relocated pages.
type Groups = (&'static [(&'static str, &'static str)], u32, u32);

const CLASSIFIERS: [Groups; 11] = [
    (&[], 0, 1),
    (&[], 0, 1),
    (&[("ftl.classifier", "stream"), ("ftl.groups", "3")], 4, 1),
    (
        &[
            ("ftl.classifier", "stream"),
            ("ftl.groups", "2"),
            ("ftl.isolated", "true"),
            ("ftl.open_time", "20ms"),
        ],
        5,
        2,
    ),
    (&[("ftl.classifier", "generations")], 4, 2),
    (&[("ftl.classifier", "interval"), ("ftl.groups", "2")], 5, 2),
    (&[("ftl.classifier", "age-groups"), ("ftl.groups", "3")], 4, 2),
    (&[("ftl.classifier", "death-time")], 9, 4),
    (&[("ftl.classifier", "learned"), ("ftl.groups", "2")], 5, 2),
    (
        &[
            ("ftl.classifier", "stream"),
            ("ftl.groups", "2"),
            ("ftl.isolated", "true"),
            ("gc.victims_of", "group"),
            ("gc.shares", "3,1"),
        ],
        5,
        2,
    ),
    (&[("ftl.classifier", "generations"), ("gc.victims_of", "group"), ("gc.shares", "best")], 4, 2),
];
/// Pages of a block: one of whole word lines is drawn often enough.
fn block_pages() -> impl Strategy<Value = u32> {
    prop::sample::select(vec![1, 2, 3, 4, 5, 6, 6, 6, 8, 9, 10, 11])
}

/// Mapping units of a page, and pages of a mapping unit, as drawn where they fit.
fn units_of_pages(ftl: &str, sectors: u64, pages_per_block: u32, drawn: (u64, u64)) -> (u64, u64) {
    let (per_page, mapped) = drawn;
    let fits = sectors.is_multiple_of(per_page) && u64::from(pages_per_block).is_multiple_of(mapped);
    if ftl == "page" && fits { drawn } else { (1, 1) }
}

/// A classifier as drawn where it fits, else none with so many frontiers: each group of relocated pages may pad a page of a block.
fn of_groups(drawn: Groups, ftl: &str, units_per_block: u64, per_page: u64, frontiers: u32) -> Groups {
    let fits = per_page == 1 || units_per_block > 2 * u64::from(drawn.2) * (per_page - 1);
    if ftl == "page" && fits && !drawn.0.is_empty() { drawn } else { (&[], frontiers, 1) }
}

/// Times of the flash and the bus.
fn of_times(planes: bool, typed: bool, free_bus: bool, command: u32) -> [Setting; 5] {
    [
        ("timing.multi_plane", (planes && typed).to_string()),
        ("timing.bus", if free_bus { "0" } else { "25" }.into()),
        ("timing.command", if free_bus { 0 } else { command * 700 }.to_string()),
        ("timing.read", if typed { "10us,13us,31us" } else { "20us" }.into()),
        ("timing.program", if typed { "100us,300us" } else { "200us" }.into()),
    ]
}

/// Settings of a small drive, as on the command line.
fn settings() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let shape = (1..4u32, 1..3u32, 1..3u32, 1..3u32, 1..5u64, block_pages(), 16..200u64, 0..60u32);
    let gap = prop::sample::select(vec![0, 0, 3]);
    let gc = (prop::sample::select(VICTIMS.to_vec()), 1..3u32, 1..3u32, any::<bool>(), gap);
    let flash = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), 0..3u32);
    let host = (
        any::<bool>(),
        prop::sample::select(vec![1, 1, 1, 1, 2, 7]),
        prop::sample::select(vec![0u64, 1, 2, 3, 4, 9]),
        (any::<bool>(), prop::sample::select(REPLACEMENTS.to_vec()), prop::sample::select(BUFFERS.to_vec())),
        prop::sample::select(SCHEDULERS.to_vec()),
        prop::sample::select(vec!["striped", "striped", "dynamic", "superblock", "sets", "parity"]),
        prop::sample::select(vec!["on-read", "full", "on-read", "full", "empty"]),
        prop::sample::select(OPEN.to_vec()),
    );
    let ftl = prop::sample::select(vec!["page", "page", "log-block", "fast", "bast", "kast", "dftl", "dftl"]);
    // Cached entries of each map on flash, batch update; sectors of a codeword, copybacks in a row; mapping units; cells.
    let map_unit = prop::sample::select(vec![(1, 1), (1, 1), (2, 1), (3, 1), (4, 1), (1, 2), (1, 3)]);
    let cells = (prop::sample::select(CELLS.to_vec()), prop::sample::select(AGEING.to_vec()));
    let map = (prop::sample::select(vec![1, 9, 1000]), any::<bool>(), 0..3u64, 0..3u32, map_unit, cells);
    let parts = (shape, gc, flash, host, ftl, map, prop::sample::select(CLASSIFIERS.to_vec()));
    parts.prop_map(|(shape, gc, flash, host, ftl, map, placement)| {
        let (channels, chips, dies, planes, sectors, pages_per_block, pages, op_percent) = shape;
        let (victim, frontiers, free_blocks, dynamic, gap) = gc;
        let (solo, cache, typed, free_bus, command) = flash;
        let (open, depth, buffer_pages, buffer, sched, alloc, precondition, slots) = host;
        let (chips, dies) = if solo { (1, 1) } else { (chips, dies) };
        let superblocks = matches!(alloc, "superblock" | "sets" | "parity");
        let no_cache = free_bus || alloc == "dynamic" || buffer_pages > 0 && (planes == 1 || superblocks);
        let page = sectors * 512;
        let units = u64::from(channels * chips * dies * planes);
        let (per_page, mapped) = units_of_pages(ftl, sectors, pages_per_block, map.4);
        let (classifier, kept, groups) =
            of_groups(placement, ftl, u64::from(pages_per_block) * per_page, per_page, frontiers);
        let op_percent = op_percent
            + least_percent(ftl, pages, page, pages_per_block, free_blocks + kept)
            + percent_of_padding(per_page, groups, pages, pages_per_block);
        let mut settings = vec![
            ("channels", channels.to_string()),
            ("chips", chips.to_string()),
            ("dies", dies.to_string()),
            ("planes", planes.to_string()),
            ("page", page.to_string()),
            ("pages_per_block", pages_per_block.to_string()),
            ("capacity", (pages * units * page).to_string()),
            ("op_ratio", (f64::from(op_percent) / 100.0).to_string()),
            ("gc.victim", victim.into()),
            ("gc.frontiers", frontiers.to_string()),
            ("gc.free_blocks", free_blocks.to_string()),
            ("wear.dynamic", (dynamic && free_blocks + frontiers > 2).to_string()),
            ("wear.static_gap", gap.to_string()),
            ("timing.cache_program", (cache && !no_cache).to_string()),
            ("buffer.bytes", (buffer_pages * page).to_string()),
            ("precondition", precondition.into()),
        ];
        settings.extend(of_alloc(if units > 1 { alloc } else { "striped" }, channels, chips * dies));
        settings.extend(of_times(planes > 1, typed, free_bus, command));
        settings.extend(sched.iter().map(|(key, value)| (*key, (*value).to_owned())));
        settings.extend(of_transfers(map.2, sectors / per_page, if superblocks { 0 } else { map.3 }));
        of_ftl(&mut settings, ftl, 8 * units * map.0, map.1);
        settings.extend((ftl == "page").then(|| ("ftl.map_unit", (page * mapped / per_page).to_string())));
        settings.retain(|(key, _)| classifier.is_empty() || *key != "gc.frontiers");
        settings.extend(classifier.iter().map(|(key, value)| (*key, (*value).to_owned())));
        of_cells(&mut settings, map.5.0, (pages_per_block, mapped), ftl);
        of_ageing(&mut settings, map.5.1, pages_per_block);
        settings.extend(of_buffer(buffer_pages, buffer));
        settings.extend(of_host(open, slots, depth));
        settings
    })
}

/// Requests over a drive of `sectors`, most of them small, close in time.
pub(crate) fn requests(sectors: u64) -> impl Strategy<Value = Vec<Request>> {
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
                Request { time_ns, lba, sectors, stream, op, handle: (lba / 8 % 5) as u8 }
            })
            .collect()
    })
}

pub(crate) fn config(settings: &[(&'static str, String)], engine: &str) -> Option<Config> {
    let all = settings.iter().map(|(key, value)| (*key, value.as_str())).chain([("engine", engine)]);
    resolve(&[Layer::from_assignments("test", all)]).ok()
}

pub(crate) fn start(config: &Config, verify: bool) -> Simulation {
    let mut simulation = Simulation::new(
        config,
        Options { seed: 5, verify, record: verify, latency_parts: true, tenants: 2, ..Options::default() },
    )
    .expect("a checked configuration");
    if matches!(config.precondition, Precondition::Full | Precondition::Steady) {
        let pages = config.filled_pages(simulation.geometry().logical_pages);
        simulation.fill(0..pages).expect("a new drive takes its capacity");
        if config.precondition == Precondition::Steady {
            // Some pages twice, without the measure of how steady it is by then.
            let sectors = simulation.geometry().page_sectors;
            let one = |page| Request {
                time_ns: 0,
                lba: page * 7 % pages * u64::from(sectors),
                sectors,
                stream: 0,
                op: Op::Write,
                handle: 0,
            };
            let requests: Vec<_> = (0..2 * pages).map(one).collect();
            simulation.overwrite(&requests, false).expect("a new drive takes overwrites");
        }
        simulation.end_of_preconditioning();
    }
    simulation
}

pub(crate) fn run(config: &Config, requests: &[Request], verify: bool) -> Result<Stats, RunError> {
    let mut simulation = start(config, verify);
    simulation.serve(requests)?;
    simulation.finish()?;
    Ok(simulation.stats())
}

/// Everything of the statistics, as text.
pub(crate) fn digest(stats: &Stats) -> String {
    let latencies: Vec<_> = Op::ALL
        .into_iter()
        .map(|op| (stats.latencies.summary(Some(0), op), stats.latencies.summary(Some(1), op)))
        .collect();
    let Stats {
        counters,
        collections,
        lock_step,
        dies,
        buses,
        flash_ns,
        simulated_ns,
        parts,
        interface,
        limits,
        ..
    } = stats;
    format!(
        "{counters:?} {collections:?} {lock_step:?} {dies:?} {buses:?} {flash_ns:?} {simulated_ns:?} {latencies:?} {parts:?} {interface:?} {limits:?}"
    )
}

/// A drive's settings and the requests that it gets.
pub(crate) type Case = (Vec<(&'static str, String)>, Vec<Request>);

pub(crate) fn cases() -> (impl Strategy<Value = Case>, ProptestConfig) {
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
