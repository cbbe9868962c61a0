//! Energy of a run, from counts of operations and times of dies and buses: the same on both time paths.

use flashweir_ssd::{Config, DieTime, FlashCounts, Geometry, Stats};
use flashweir_trace::Op;
use serde_json::{Value, json};

/// Energy by kind and by purpose, J; null if the drive has no `energy` settings.
pub(crate) fn energy(stats: &Stats, config: &Config, geometry: &Geometry) -> Value {
    let own = &config.energy;
    if [own.read_uj, own.program_uj, own.erase_uj, own.bus_mw, own.idle_mw].iter().all(|value| *value == 0.0)
    {
        return Value::Null;
    }
    let counters = &stats.counters;
    // Bound planes and channels do every operation of their unit together.
    let pages = f64::from(geometry.bound_pages) / 1e6;
    // Synchronized channels have the times of one.
    let alike = f64::from(config.channels) / stats.buses.len() as f64;
    let bus_j = |of: fn(&DieTime) -> u64| own.bus_mw * alike * nanoseconds(&stats.buses, of) / 1e12;
    let one = |counts: &FlashCounts, bus: fn(&DieTime) -> u64| {
        [
            own.read_uj * pages * counts.reads as f64,
            own.program_uj * pages * counts.programs as f64,
            own.erase_uj * pages * counts.erases as f64,
            bus_j(bus),
        ]
    };
    let all = one(&counters.flash(), DieTime::total);
    let dies = stats.dies.len() as f64;
    let idle_ns = (dies * stats.elapsed_ns() as f64 - nanoseconds(&stats.dies, DieTime::total)).max(0.0);
    let idle_j = own.idle_mw * alike * idle_ns / 1e12;
    let total_j = all.iter().sum::<f64>() + idle_j;
    let moved = counters.bytes[Op::Read as usize] + counters.written_bytes();
    let mut energy = by_kind(all);
    energy["idle_j"] = json!(idle_j);
    energy["total_j"] = json!(total_j);
    let per_gib = (moved > 0).then(|| total_j / (moved as f64 / f64::from(1 << 30)));
    energy["per_host_gib_j"] = json!(per_gib);
    energy["host"] = by_kind(one(&counters.host, |time| time.host));
    energy["gc"] = by_kind(one(&counters.gc, |time| time.gc));
    energy["mapping"] = by_kind(one(&counters.mapping, |time| time.mapping));
    energy
}

fn by_kind([read_j, program_j, erase_j, bus_j]: [f64; 4]) -> Value {
    json!({"read_j": read_j, "program_j": program_j, "erase_j": erase_j, "bus_j": bus_j})
}

/// Time of all dies or buses together, ns.
fn nanoseconds(times: &[DieTime], of: fn(&DieTime) -> u64) -> f64 {
    times.iter().map(|time| u128::from(of(time))).sum::<u128>() as f64
}
