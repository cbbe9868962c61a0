//! A sample of a drive for people who watch it: counts since it was opened, and its state at the present, as JSON.
//!
//! Counts only grow, so the difference of any two samples is what happened between them, and any of them may be left out. Sizes are
//! bounded: dies and blocks of a large drive are joined with their neighbours. `docs/reference/serve-control.md` lists the fields.

use flashweir_ssd::{BlockCell, BlockMap, Config, DieTime, DieWork, DieWorkTimes, Simulation, Stats};
use flashweir_trace::{Op, SECTOR_BYTES};
use serde_json::{Map, Value, json};

use crate::slc;

/// Cells of the map of blocks, at most.
const MAX_CELLS: u64 = 2048;
/// Rows of dies, at most.
pub(crate) const MAX_DIES: usize = 1024;
/// Buckets that each doubling of a latency is divided into: a quantile is at most 1/32 too large.
const BUCKETS: u32 = 32;

/// The sample of a drive with these tenants, at the end of the time that `stats` covers. `by_work`: the simulation adds up the time of
/// its dies by kind of work ([`flashweir_ssd::Options::die_use`]).
pub(crate) fn sample(
    simulation: &mut Simulation,
    config: &Config,
    (names, by_work): (&[String], bool),
    stats: &Stats,
    time_ns: u64,
) -> Value {
    let mut die_use = simulation.die_use();
    // Dies that have not worked yet are left out.
    die_use.resize(simulation.geometry().total_dies() as usize, DieWorkTimes::default());
    let die_use = if by_work { die_use } else { Vec::new() };
    let geometry = simulation.geometry();
    let counters = &stats.counters;
    let page_bytes = u64::from(geometry.page_sectors) * SECTOR_BYTES;
    let channels: Vec<u64> = (0..geometry.channels).map(|channel| simulation.free_blocks(channel)).collect();
    let mut found = json!({
        "time_s": time_ns as f64 / 1e9,
        "requests": by_op(&counters.requests),
        "bytes": by_op(&counters.bytes),
        "latency_ns": latencies(stats, None),
        "flash": {"host": counters.host, "gc": counters.gc, "mapping": counters.mapping},
        "written_bytes": counters.written_bytes(),
        "programmed_bytes": stats.programs() * geometry.program_bytes(),
        "collections": counters.collections,
        "buffer": (config.buffer.bytes.0 > 0).then(|| json!({
            "bytes": (simulation.buffered_pages() * page_bytes).min(config.buffer.bytes.0),
            "capacity_bytes": config.buffer.bytes.0,
        })),
        "dies": dies(geometry.channels, geometry.dies_per_channel(), &die_use, &stats.dies),
        "buses_ns": stats.buses.iter().map(DieTime::total).collect::<Vec<_>>(),
        "free_blocks": channels,
        "total_blocks": (0..geometry.units()).map(|unit| geometry.unit_blocks(unit)).sum::<u64>(),
        "blocks": blocks(&simulation.block_map(MAX_CELLS)),
        "tenants": tenants(stats, names),
    });
    slc::add(&mut found, simulation.slc(), &counters.slc);
    if let Some(placement) = simulation.placement() {
        found["groups"] = json!({"host": placement.host, "relocated": placement.moved});
    }
    found
}

/// Busy time of each die, or of neighbours together: by kind of work if that is known, else by purpose.
pub(crate) fn dies(channels: u32, per_channel: u32, by_work: &[DieWorkTimes], all: &[DieTime]) -> Value {
    let rows: Vec<Vec<u64>> = if by_work.is_empty() {
        all.iter().map(|die| vec![die.host, die.gc, die.mapping]).collect()
    } else {
        by_work.iter().map(|die| die.to_vec()).collect()
    };
    let joined = rows.len().div_ceil(MAX_DIES).max(1);
    let sum = |dies: &[Vec<u64>]| {
        let mut sum = dies[0].clone();
        for die in &dies[1..] {
            sum.iter_mut().zip(die).for_each(|(sum, one)| *sum += one);
        }
        sum
    };
    let work: Vec<&str> = if by_work.is_empty() {
        vec!["host", "collection", "mapping"]
    } else {
        DieWork::ALL.iter().map(|work| work.name()).collect()
    };
    json!({
        "channels": channels,
        "per_channel": per_channel,
        "dies_per_row": joined,
        "work": work,
        "busy_ns": rows.chunks(joined).map(sum).collect::<Vec<_>>(),
    })
}

/// The map of blocks: of each cell the share of pages that are valid in thousandths (-1: every block is erased), and the mean number of
/// erases; cells with a block that is being written, by row.
fn blocks(map: &BlockMap) -> Value {
    let cells = |of: fn(&BlockCell, u64) -> Value| -> Vec<Vec<Value>> {
        let row = |row: &Vec<BlockCell>| row.iter().map(|cell| of(cell, map.pages_per_block)).collect();
        map.rows.iter().map(row).collect()
    };
    let valid = |cell: &BlockCell, pages: u64| {
        let used = cell.blocks - cell.free;
        json!(if used == 0 {
            -1
        } else {
            (cell.valid * 1000 / (used * pages).max(1)).min(1000).cast_signed()
        })
    };
    let open = |row: &Vec<BlockCell>| {
        let at = row.iter().enumerate().filter(|(_, cell)| cell.open > 0).map(|(at, _)| at);
        at.collect::<Vec<_>>()
    };
    json!({
        "units_per_row": map.units_per_row,
        "blocks_per_cell": map.blocks_per_cell,
        "valid": map.counts_valid.then(|| cells(valid)),
        "free": map.rows.iter().map(|row| row.iter().map(|cell| cell.free).sum()).collect::<Vec<u64>>(),
        "used": (!map.counts_valid).then(|| cells(|cell, _| json!(cell.blocks - cell.free))),
        "open": map.rows.iter().map(open).collect::<Vec<_>>(),
        "erases": cells(|cell, _| json!((cell.erases as f64 / cell.blocks.max(1) as f64 * 10.0).round() / 10.0)),
        "full_by_valid": map.full_by_valid,
    })
}

fn tenants(stats: &Stats, names: &[String]) -> Value {
    let one = |(stream, name): (u16, &String)| {
        let own = stats.streams.of(stream);
        let described = json!({
            "requests": by_op(&own.requests),
            "bytes": by_op(&own.bytes),
            "latency_ns": latencies(stats, Some(stream)),
        });
        (name.clone(), described)
    };
    Value::Object((0..).zip(names).map(one).collect::<Map<_, _>>())
}

/// Requests by their latency, of each operation that occurred: pairs of upper edge, ns, and requests.
fn latencies(stats: &Stats, stream: Option<u16>) -> Value {
    let mut found = Map::new();
    for op in Op::ALL {
        let buckets = coarse(stats.latencies.buckets(stream, op));
        if !buckets.is_empty() {
            found.insert(op.name().into(), json!(buckets));
        }
    }
    found.into()
}

/// The same counts in fewer buckets.
pub(crate) fn coarse(fine: impl IntoIterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut found: Vec<(u64, u64)> = Vec::new();
    for (ns, count) in fine {
        let edge = upper_edge(ns);
        match found.last_mut() {
            Some(last) if last.0 == edge => last.1 += count,
            _ => found.push((edge, count)),
        }
    }
    found
}

/// The largest latency of the bucket that one lies in, ns.
pub(crate) fn upper_edge(ns: u64) -> u64 {
    let shift = (ns | 1).ilog2().saturating_sub(BUCKETS.ilog2());
    ns | ((1 << shift) - 1)
}

fn by_op(values: &[u64; Op::COUNT]) -> Value {
    Value::Object(Op::shown(*values).map(|op| (op.name().to_owned(), json!(values[op as usize]))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coarse_buckets_keep_all_requests_and_are_at_most_a_32nd_too_large() {
        let fine: Vec<(u64, u64)> = (0..200).map(|at| (at * at * 37, at + 1)).collect();
        let found = coarse(fine.clone());
        let all: u64 = fine.iter().map(|one| one.1).sum();
        assert_eq!(found.iter().map(|(_, count)| count).sum::<u64>(), all);
        for (ns, _) in fine {
            let edge = upper_edge(ns);
            assert!(edge >= ns && edge - ns <= ns / 32, "{ns}: {edge}");
            assert!(found.iter().any(|one| one.0 == edge));
        }
        assert!(found.is_sorted_by_key(|one| one.0));
    }

    #[test]
    fn rows_of_dies_are_bounded_and_lose_no_time() {
        let times = vec![[1, 2, 3, 4, 5, 6]; 5000];
        let found = dies(50, 100, &times, &[]);
        let rows = found["busy_ns"].as_array().expect("rows");
        assert!(rows.len() <= MAX_DIES);
        let total: u64 = rows.iter().map(|row| row[5].as_u64().expect("ns")).sum();
        assert_eq!(total, 5000 * 6);
    }
}
