//! The result of a run as JSON: the contract with everyone who reads it (docs/reference/result.md).

use std::time::Duration;

use flashweir_ssd::config::Share;
use flashweir_ssd::config::layers::{Ineffective, to_value};
use flashweir_ssd::{
    Collections, Config, Counters, DieTime, Geometry, LatencySummary, MapCounts, Parts, Simulation, Stats,
};
use flashweir_trace::{Op, SECTOR_BYTES};
use serde_json::{Map, Value, json};

use crate::VERSION;
use crate::alone::{self, Alone};
use crate::energy::energy;
use crate::quotient::ratio;
use crate::spec::RunSpec;
use crate::warmup::Outcome;
use crate::workload::Description;

/// Everything that a result says.
pub(crate) struct Measured<'a> {
    pub(crate) run: &'a RunSpec,
    pub(crate) config: &'a Config,
    pub(crate) seed: u64,
    pub(crate) workloads: Vec<Description>,
    pub(crate) simulation: &'a Simulation,
    /// Statistics without the warm-up.
    pub(crate) stats: Stats,
    /// Statistics of the tenants' runs alone, if there were any.
    pub(crate) alone: Option<Alone>,
    /// The run without its warm-up.
    pub(crate) warmup: Option<Outcome>,
    pub(crate) capacities: u64,
    /// Settings that have no effect.
    pub(crate) ineffective: Vec<Ineffective>,
    pub(crate) setup_wall: Duration,
    pub(crate) precondition_wall: Duration,
    pub(crate) wall: Duration,
}

/// The JSON object.
pub(crate) fn build(measured: &Measured<'_>) -> Value {
    let stats = &measured.stats;
    let geometry = measured.simulation.geometry();
    let (counters, flash) = (&stats.counters, stats.counters.flash());
    let seconds = stats.simulated_ns as f64 / 1e9;
    let requests: u64 = counters.requests.iter().sum();
    let moved = counters.bytes[Op::Read as usize] + counters.written_bytes();
    let written = crate::zones::written_bytes(stats);
    let programmed = stats.programs() * geometry.program_bytes();
    // Dies and buses are busy until the buffer is drained.
    let elapsed = stats.elapsed_ns();
    let mut result = json!({
        "version": VERSION,
        "requests": requests,
        "simulated_s": seconds,
        "wall_s": measured.wall.as_secs_f64(),
        "setup_wall_s": measured.setup_wall.as_secs_f64(),
        "precondition_wall_s": measured.precondition_wall.as_secs_f64(),
        "iops": ratio(requests as f64, seconds),
        "bandwidth_mib_s": ratio(moved as f64 / (1 << 20) as f64, seconds),
        "latency_us": latencies(stats, None),
        "latency_histogram_ns": histograms(stats, None),
        "latency_parts_us": parts(stats),
        "sched": sched(stats),
        "streams": streams(stats, &measured.workloads, measured.alone.as_ref()),
        "fairness": alone::fairness(stats, measured.alone.as_ref()),
        "write_amplification": ratio(programmed as f64, written as f64),
        "flash": {
            "reads": flash.reads, "programs": flash.programs, "erases": flash.erases,
            "host": counters.host, "gc": counters.gc, "mapping": counters.mapping,
        },
        "drain": drain(stats),
        "mapping": mapping(&counters.map),
        "time_share": shares(&stats.dies, elapsed),
        "bus_share": total_share(&stats.buses, elapsed),
        "bus_time_share": shares(&stats.buses, elapsed),
        "channels": channels(stats, geometry),
        "host": host(stats),
        "energy": energy(stats, measured.config, geometry),
        "counters": counts(counters, measured.config, geometry.units_per_page),
        "unmapped_reads": unmapped(counters),
        "preexisting_pages": counters.preexisting_pages,
        "merges": counters.merges,
        "collections": collections(stats, geometry),
        "wear": measured.simulation.wear(),
        "geometry": shape(geometry, measured.config),
        "preconditioning_capacities": measured.capacities,
        "engine": measured.config.engine_name(),
        "verified": measured.run.verify,
        "seed": measured.seed,
        "workloads": measured.workloads,
        "config": to_value(measured.config),
        "no_effect": measured.ineffective,
    });
    add_parts(&mut result, measured);
    result
}

/// Adds the parts of a result that only some drives and runs have.
fn add_parts(result: &mut Value, measured: &Measured<'_>) {
    let stats = &measured.stats;
    crate::placement::add(result, measured.simulation, stats);
    if measured.config.ageing.is_on() {
        result["ageing"] = crate::ageing::section(measured.simulation, stats, measured.config);
    }
    crate::slc::add(result, measured.simulation.slc(), &stats.counters.slc);
    crate::trim::add(result, measured.simulation.trim_backlog(), &stats.counters.trim);
    crate::zones::add(result, measured.simulation, stats, measured.config);
    crate::limits::add(result, stats);
    if let Some(times) = stats.lock_step {
        result["clock"] = json!({
            "write_cycles": times.write_cycles,
            "serving_s": times.serving_ns as f64 / 1e9,
            "collecting_s": times.collecting_ns as f64 / 1e9,
        });
    }
    if let Some(warmup) = &measured.warmup {
        result["warmup"] = json!(warmup.removed);
        result["series"] = warmup.series.clone();
    }
}

fn counts(counters: &Counters, config: &Config, units_per_page: u32) -> Value {
    let mut counts = json!({
        "requests": by_op(&counters.requests),
        "bytes": by_op(&counters.bytes),
        "host_pages_written": counters.host_pages_written,
        "collections": counters.collections,
        "rewrite_reads": counters.rewrite_reads,
        "unmapped_page_reads": counters.unmapped_page_reads,
        "buffer_hits": counters.buffer_hits,
        "coalesced_pages": counters.coalesced,
        "trimmed_pages": counters.trimmed_pages,
    });
    let more = [
        (config.gc.copyback > 0, "copybacks", counters.copybacks),
        (config.alloc.has_superblocks(), "parity_programs", counters.parity_programs),
        (units_per_page > 1, "padded_units", counters.padded_units),
        (units_per_page > 1, "moved_units", counters.moved_units),
    ];
    more.into_iter().filter(|more| more.0).for_each(|(_, name, count)| counts[name] = json!(count));
    counts
}

/// Work that the write buffer left behind at the end of the run.
fn drain(stats: &Stats) -> Value {
    let drain = stats.drain.unwrap_or_default();
    json!({
        "pages": drain.pages,
        "carried_pages": stats.carried_pages,
        "time_s": drain.time_ns as f64 / 1e9,
        "flash": drain.flash,
    })
}

/// Pages that were read though nothing is there, and their share of all page reads.
fn unmapped(counters: &Counters) -> Value {
    let pages = counters.unmapped_page_reads;
    let from_flash = counters.host.reads - counters.rewrite_reads;
    json!({"pages": pages, "share": ratio(pages as f64, (pages + from_flash + counters.buffer_hits) as f64)})
}

fn shape(geometry: &Geometry, config: &Config) -> Value {
    let share = config.share();
    let built = match share {
        Share::OfLogical(_) => geometry.op_ratio(),
        Share::OfRaw(_) => geometry.op_raw(),
    };
    let mut counts = json!({
        "units": geometry.units(),
        "logical_pages": geometry.logical_flash_pages(),
        "physical_pages": geometry.flash_pages(),
        "reserved_blocks": geometry.reserved_blocks(),
        "pages_per_block": geometry.flash_pages_per_block(),
        "blocks": geometry.blocks,
        "blocks_per_unit": {"min": geometry.min_unit_blocks(), "max": geometry.max_unit_blocks()},
        "op_ratio": geometry.op_ratio(),
        "op_raw": geometry.op_raw(),
        "spare": {"key": share.key(), "asked": share.value(), "got": built},
        "logical_pages_per_unit": geometry.logical_flash_pages() / u64::from(geometry.units()),
        "capacity_bytes": geometry.capacity_sectors() * SECTOR_BYTES,
    });
    if config.nand.bad_blocks > 0.0 {
        counts["bad_blocks"] = json!(geometry.bad_blocks.iter().sum::<u32>());
    }
    counts
}

/// Counts and hit ratio of the map cache where the map lies on flash; zeros elsewhere.
fn mapping(counts: &MapCounts) -> Value {
    let mut mapping = json!(counts);
    mapping["hit_ratio"] = ratio(counts.hits as f64, counts.lookups as f64);
    mapping
}

/// The course of collections, where they merge data blocks.
fn collections(stats: &Stats, geometry: &Geometry) -> Value {
    if !geometry.maps_blocks {
        return Value::Null;
    }
    let Collections { count, merged, max_merged, per_bin, max, .. } = &stats.collections;
    json!({"count": count, "merged": merged, "max_merged": max_merged, "per_bin": per_bin, "max": max,
        "mean": stats.collections.means()})
}

fn latencies(stats: &Stats, stream: Option<u16>) -> Value {
    let one = |op: Op| {
        let found = stats.latencies.summary(stream, op);
        (found.is_some() || !op.is_zoned()).then(|| (op.name().to_owned(), summary(found)))
    };
    Value::Object(Op::ALL.into_iter().filter_map(one).collect())
}

/// Means of the parts of the latencies of each operation that occurred, us; null if no account was kept.
fn parts(stats: &Stats) -> Value {
    let Some(parts) = &stats.parts else { return Value::Null };
    let mut means = Map::new();
    for op in Op::ALL {
        let count = stats.counters.requests[op as usize];
        if count > 0 {
            let mean = |ns: u64| ns as f64 / count as f64 / 1e3;
            let Parts {
                host_queue,
                link,
                firmware,
                buffer,
                mapping,
                wait_read,
                wait_write,
                wait_erase,
                wait_gc,
                wait_bus,
                bus,
                flash,
            } = *parts.of(op);
            means.insert(
                op.name().into(),
                json!({
                    "host_queue": mean(host_queue), "link": mean(link), "firmware": mean(firmware),
                    "buffer": mean(buffer), "mapping": mean(mapping),
                    "wait_read": mean(wait_read), "wait_write": mean(wait_write),
                    "wait_erase": mean(wait_erase), "wait_gc": mean(wait_gc), "wait_bus": mean(wait_bus),
                    "bus": mean(bus), "flash": mean(flash),
                }),
            );
        }
    }
    Value::Object(means)
}

/// Link and firmware as shares of time; null where nothing lies between the host and the drive.
fn host(stats: &Stats) -> Value {
    let Some(own) = &stats.interface else { return Value::Null };
    let elapsed = stats.elapsed_ns() as f64;
    let share = |ns: u64, of: usize| ratio(ns as f64, elapsed * of as f64);
    let [to_drive, to_host] = own.link_ns;
    json!({
        "commands": own.commands,
        "doorbells": own.doorbells,
        "link": {
            "write_bytes": own.link_bytes[0], "read_bytes": own.link_bytes[1],
            "write_share": share(to_drive, 1), "read_share": share(to_host, 1),
        },
        "firmware": {
            "cores": own.core_ns.len(),
            "share": share(own.core_ns.iter().sum(), own.core_ns.len()),
            "core_shares": own.core_ns.iter().map(|ns| share(*ns, 1)).collect::<Vec<_>>(),
        },
        "hmb": {"lookups": own.map_lookups, "misses": own.map_misses,
            "hit_ratio": ratio((own.map_lookups - own.map_misses) as f64, own.map_lookups as f64)},
    })
}

/// Counts of the scheduler; null if it keeps the order.
fn sched(stats: &Stats) -> Value {
    let Some(counts) = &stats.sched else { return Value::Null };
    json!({
        "moved": counts.moved,
        "passed": counts.passed,
        "suspensions": counts.suspensions,
        "preemptions": counts.preemptions,
        "recalls": counts.recalls,
        "longest_read_wait_us": counts.longest_read_wait_ns as f64 / 1e3,
        "longest_write_wait_us": counts.longest_write_wait_ns as f64 / 1e3,
    })
}

/// A summary; without requests, a count of 0 and nulls.
fn summary(summary: Option<LatencySummary>) -> Value {
    match summary {
        Some(summary) => json!(summary),
        None => json!({"count": 0, "mean": null, "p50": null, "p95": null, "p99": null, "p999": null,
            "p9999": null, "max": null}),
    }
}

/// Pairs of upper edge (ns) and requests, for every operation that occurred.
fn histograms(stats: &Stats, stream: Option<u16>) -> Value {
    let mut histograms = Map::new();
    for op in Op::ALL {
        let buckets = stats.latencies.buckets(stream, op);
        if !buckets.is_empty() {
            histograms.insert(op.name().into(), json!(buckets));
        }
    }
    Value::Object(histograms)
}

/// Requests of each stream, their latencies, and their latencies alone.
fn streams(stats: &Stats, workloads: &[Description], alone: Option<&Alone>) -> Value {
    let one = |stream: u16| {
        let at = usize::from(stream);
        let name = workloads.get(at).map_or_else(|| stream.to_string(), |w| w.name.clone());
        let own = stats.streams.of(stream);
        let active_s = own.active_ns() as f64 / 1e9;
        let written = own.bytes[Op::Write as usize] + own.bytes[Op::Append as usize];
        let moved = own.bytes[Op::Read as usize] + written;
        let alone = alone.and_then(|alone| alone.get(at)?.as_ref());
        let slowdown = |ops: &[Op]| alone.and_then(|alone| alone::slowdown(stats, alone, stream, ops));
        let described = json!({
            "stream": stream,
            "requests": own.count(),
            "bytes": {"read": own.bytes[Op::Read as usize], "write": written},
            "active_s": active_s,
            "iops": ratio(own.count() as f64, active_s),
            "bandwidth_mib_s": ratio(moved as f64 / (1 << 20) as f64, active_s),
            "flash_time_s": stats.flash_ns.get(at).copied().unwrap_or(0) as f64 / 1e9,
            "latency_us": latencies(stats, Some(stream)),
            "latency_histogram_ns": histograms(stats, Some(stream)),
            "alone_latency_us": alone.map(|alone| latencies(alone, Some(stream))),
            "slowdown": alone.map(|_| json!({
                "all": slowdown(&Op::ALL), "read": slowdown(&[Op::Read]), "write": slowdown(&[Op::Write, Op::Append]),
            })),
        });
        (name, described)
    };
    Value::Object(stats.latencies.streams().into_iter().map(one).collect())
}

fn by_op(values: &[u64; Op::COUNT]) -> Value {
    let one = |op: Op| (op.name().to_owned(), json!(values[op as usize]));
    Value::Object(Op::shown(*values).map(one).collect())
}

/// Shares of the time of all dies (or buses) by purpose; idle is the rest.
fn shares(times: &[DieTime], elapsed_ns: u64) -> Value {
    let all = elapsed_ns as f64 * times.len() as f64;
    let share =
        |of: fn(&DieTime) -> u64| times.iter().map(|time| u128::from(of(time))).sum::<u128>() as f64 / all;
    if all == 0.0 {
        return json!({"host": 0.0, "gc": 0.0, "mapping": 0.0, "idle": 1.0});
    }
    let (host, gc, mapping) = (share(|time| time.host), share(|time| time.gc), share(|time| time.mapping));
    json!({"host": host, "gc": gc, "mapping": mapping, "idle": (1.0 - host - gc - mapping).max(0.0)})
}

fn total_share(times: &[DieTime], elapsed_ns: u64) -> f64 {
    let busy: u128 = times.iter().map(|time| u128::from(time.total())).sum();
    let all = elapsed_ns as f64 * times.len() as f64;
    if all == 0.0 { 0.0 } else { busy as f64 / all }
}

/// Each channel's share of die time by purpose, and of its bus.
fn channels(stats: &Stats, geometry: &Geometry) -> Value {
    let dies = geometry.dies_per_channel() as usize;
    let elapsed = stats.elapsed_ns();
    let one = |(dies, bus): (&[DieTime], &DieTime)| {
        let mut shares = shares(dies, elapsed);
        shares["bus"] = json!(total_share(std::slice::from_ref(bus), elapsed));
        shares
    };
    stats.dies.chunks(dies).zip(&stats.buses).map(one).collect()
}
