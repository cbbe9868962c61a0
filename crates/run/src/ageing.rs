//! The part of a result about cells that age.

use flashweir_ssd::{Config, Simulation, Stats};
use serde_json::{Value, json};

/// Counts of reads, moves and retired blocks; and, where blocks are retired, what is left of the spare ones.
pub(crate) fn section(simulation: &Simulation, stats: &Stats, config: &Config) -> Value {
    let mut section = json!(stats.counters.ageing);
    let spare = simulation.spare().filter(|_| config.ageing.retire.0.is_some());
    if let Some(spare) = spare {
        section["spare_blocks"] = json!(spare.fewest);
        section["read_only"] = json!(spare.read_only.map(|end| json!({
            "at_s": end.at_ns as f64 / 1e9,
            "plane": end.unit,
        })));
    }
    section
}
