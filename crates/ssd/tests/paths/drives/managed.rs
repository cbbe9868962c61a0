//! Random drives whose channels are managed.

use proptest::prelude::*;

use super::cells::{AGEING, SLC, of_cells};
use super::{Case, OPEN, SCHEDULERS, Setting, cases, config, of_host, requests};

/// Planners, those with most of their own twice.
const PLANNERS: [&str; 8] = [
    "none",
    "super-data-block",
    "cycle-stealing",
    "cycle-stealing",
    "forwarding",
    "forwarding",
    "cycle-filling",
    "selective-filling",
];

/// True if a planner needs a common clock; `None` if it works with both.
fn has_clock(planner: &str) -> Option<bool> {
    (planner == "forwarding").then_some(false)
}

/// Settings of a planner, and of the collections of block maps.
fn of_gc(ftl: &str, planner: &str, spare_blocks: u32, throttle: u32) -> Vec<Setting> {
    let mut settings = Vec::new();
    if matches!(planner, "forwarding" | "cycle-filling" | "selective-filling") {
        settings.push(("gc.spare_blocks", spare_blocks.to_string()));
    }
    if matches!(ftl, "log-block" | "fast") {
        let throttle = if planner == "selective-filling" { 0 } else { throttle };
        settings.push(("gc.throttle", throttle.to_string()));
    }
    settings
}

/// Settings of the blocks of a page map, in RAM or on flash.
fn of_blocks(ftl: &str, victim: &str, free_blocks: u32, frontiers: u32, gap: u32) -> Vec<Setting> {
    let settings = vec![
        ("gc.victim", victim.into()),
        ("gc.free_blocks", free_blocks.to_string()),
        ("gc.frontiers", frontiers.to_string()),
        ("wear.static_gap", gap.to_string()),
    ];
    if matches!(ftl, "page" | "dftl") { settings } else { Vec::new() }
}

/// Chips of a channel and dies of a chip.
const DIES: [(u32, u32); 5] = [(1, 1), (1, 1), (2, 1), (1, 2), (2, 2)];

/// Superblocks over all dies, over those of as many as there are channels, or with parity.
const SUPERBLOCKS: [&str; 3] = ["superblock", "sets", "parity"];

/// Translation layers, that with most of its own twice.
const FTLS: [&str; 7] = ["page", "page", "log-block", "fast", "bast", "kast", "dftl"];

/// Ways to say which unit a page goes to; of those by windows of requests the channels change during the run.
const ALLOCATIONS: [&[(&str, &str)]; 12] = [
    &[],
    &[],
    &[("alloc.kind", "dynamic")],
    &[("alloc.kind", "dynamic"), ("alloc.mode", "1")],
    &[("alloc.kind", "dynamic"), ("tenants.channels", "ssdkeeper"), ("tenants.window_requests", "9")],
    &[("alloc.kind", "hybrid"), ("tenants.channels", "partially-isolated"), ("tenants.window_requests", "9")],
    &[
        ("alloc.kind", "dynamic"),
        ("alloc.mode", "1"),
        ("tenants.channels", "isolated"),
        ("tenants.window_requests", "9"),
    ],
    &[("tenants.channels", "ssdkeeper"), ("tenants.window_requests", "9")],
    &[
        ("alloc.order", "WDPC"),
        ("tenants.channels", "isolated"),
        ("tenants.applies", "same"),
        ("tenants.window_requests", "9"),
    ],
    &[("alloc.kind", "superblock")],
    &[("alloc.kind", "sets")],
    &[("alloc.kind", "parity")],
];

/// Settings of an allocation that goes with the translation layer, else of none.
fn of_alloc(alloc: &[(&'static str, &str)], ftl: &str, channels: u32, dies: u32) -> Vec<Setting> {
    let superblocks = alloc.iter().find(|(_, kind)| SUPERBLOCKS.contains(kind));
    match superblocks {
        Some((_, kind)) if channels * dies > 1 && matches!(ftl, "page" | "dftl") => {
            super::of_alloc(kind, channels, dies)
        }
        None if matches!(ftl, "page" | "dftl") => {
            alloc.iter().map(|(key, value)| (*key, (*value).to_owned())).collect()
        }
        _ => Vec::new(),
    }
}

/// Settings of channels, chips, dies and planes, and of their times.
fn of_dies(shape: (u32, u32, u32, u32), bus_is_free: bool, cache: bool, typed: bool) -> Vec<Setting> {
    let (channels, chips, dies, planes) = shape;
    vec![
        ("channels", channels.to_string()),
        ("chips", chips.to_string()),
        ("dies", dies.to_string()),
        ("planes", planes.to_string()),
        ("timing.bus", if bus_is_free { "0" } else { "25" }.into()),
        ("timing.cache_program", cache.to_string()),
        ("timing.read", if typed { "10us,13us,31us" } else { "20us" }.into()),
        ("timing.program", if typed { "100us,300us" } else { "200us" }.into()),
    ]
}

/// Settings of a write buffer that has pages.
fn of_buffer(ack: &str, in_order: bool, coalesce: bool, replacement: &str) -> Vec<Setting> {
    let mut settings = vec![("buffer.ack", ack.into())];
    if in_order {
        settings.push(("buffer.order", "in-order".into()));
    } else {
        settings.push(("buffer.coalesce", coalesce.to_string()));
        if ack == "buffer" {
            settings.push(("buffer.replacement", replacement.into()));
        }
    }
    settings
}

/// Settings of a small drive whose channels are managed; many of them are refused.
fn settings() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let shape = (1..5u32, 1..3u32, any::<bool>(), any::<bool>(), 1..4u64, 1..9u32, 16..120u64, 0..70u32);
    // Dies that share a bus, a bus without time, cache program; frontiers and gap of wear.
    let dies = (prop::sample::select(DIES.to_vec()), any::<bool>(), any::<bool>());
    let shape = (shape, dies, prop::sample::select(SCHEDULERS.to_vec()));
    let blocks = (1..3u32, prop::sample::select(vec![0, 0, 3]));
    let gc = (
        prop::sample::select(vec!["greedy", "fifo", "random", "d-choices", "cost-benefit"]),
        prop::sample::select(PLANNERS.to_vec()),
        0..4u32,
        prop::sample::select(vec![0, 0, 1, 2, 200]),
        1..3u32,
        blocks,
    );
    let host = (
        any::<bool>(),
        prop::sample::select(vec![1, 1, 2, 7]),
        0..6u64,
        prop::sample::select(vec!["buffer", "buffer", "flash"]),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        prop::sample::select(vec!["on-read", "full"]),
        prop::sample::select(OPEN.to_vec()),
    );
    let ftl = (prop::sample::select(FTLS.to_vec()), prop::sample::select(ALLOCATIONS.to_vec()));
    let replacement = prop::sample::select(super::REPLACEMENTS.to_vec());
    let cells = (prop::sample::select(SLC.to_vec()), prop::sample::select(AGEING.to_vec()));
    (shape, gc, host, ftl, any::<bool>(), (replacement, 0..3u64, 0..3u32, cells)).prop_map(
        |(shape, gc, host, ftl, lock_step, (replacement, codeword, copybacks, (slc, ageing)))| {
            let ((ftl, alloc), (shape, ((chips, dies), free_bus, cache), sched)) = (ftl, shape);
            let (channels, planes, bound, synchronized, sectors, pages_per_block, pages, op_percent) = shape;
            let (victim, planner, throttle, spare_blocks, free_blocks, (frontiers, gap)) = gc;
            let (open, depth, buffer_pages, ack, in_order, coalesce, typed, precondition, slots) = host;
            let page = sectors * 512;
            let units = u64::from(channels * chips * dies * planes);
            let lock_step = has_clock(planner).unwrap_or(lock_step);
            let synchronized = synchronized && planner == "none";
            let least = super::least_percent(ftl, pages, page, pages_per_block, free_blocks + frontiers);
            let mut settings = vec![
                ("planes_bound", (planes > 1 && bound).to_string()),
                ("units", if synchronized { "synchronized" } else { "independent" }.into()),
                ("page", page.to_string()),
                ("pages_per_block", pages_per_block.to_string()),
                ("capacity", (pages * units * page).to_string()),
                ("op_ratio", (f64::from(op_percent + least) / 100.0).to_string()),
                ("timing.multi_plane", (planes > 1 && !bound && typed).to_string()),
                ("ftl.kind", ftl.into()),
                ("clock", if lock_step { "lock-step" } else { "async" }.into()),
                ("gc.planner", planner.into()),
                ("buffer.bytes", (buffer_pages * page).to_string()),
                ("precondition", precondition.into()),
            ];
            let cache = cache && !free_bus && (buffer_pages == 0 || planes > 1);
            settings.extend(of_dies((channels, chips, dies, planes), free_bus, cache, typed));
            settings.extend(super::of_transfers(codeword, sectors, copybacks));
            settings.extend(of_gc(ftl, planner, spare_blocks, throttle));
            settings.extend(of_blocks(ftl, victim, free_blocks, frontiers, gap));
            settings.extend(of_alloc(alloc, ftl, channels, chips * dies));
            if buffer_pages > 0 {
                let in_order = lock_step && in_order && !typed && slc.is_empty() && (planes == 1 || bound);
                settings.extend(of_buffer(ack, in_order, coalesce, replacement));
            }
            settings.extend(sched.iter().chain(ageing).map(|(key, value)| (*key, (*value).to_owned())));
            settings.extend(of_host(open, slots, depth));
            of_cells(&mut settings, slc, (pages_per_block, 1), ftl);
            settings
        },
    )
}

pub(crate) fn managed_cases() -> (impl Strategy<Value = Case>, ProptestConfig) {
    let strategy = settings().prop_flat_map(|settings| {
        let sectors = config(&settings, "auto")
            .map_or(64, |config| flashweir_ssd::Geometry::new(&config).expect("checked").capacity_sectors());
        (Just(settings), requests(sectors))
    });
    (strategy, cases().1)
}
