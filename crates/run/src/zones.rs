//! The section of a result about zones.

use flashweir_ssd::zones::{Status, ZoneState, Zones};
use flashweir_ssd::{Config, Geometry, Simulation, Stats};
use flashweir_trace::SECTOR_BYTES;
use serde_json::{Value, json};

/// Failures that a result always counts; others only where there were any.
const FAILURES: [Status; 7] = [
    Status::InvalidField,
    Status::ZoneBoundary,
    Status::ZoneFull,
    Status::InvalidWrite,
    Status::TooManyActive,
    Status::TooManyOpen,
    Status::InvalidTransition,
];

/// States of failed zones, of which a result has those that there are.
const FAILED: [(ZoneState, &str); 2] = [(ZoneState::ReadOnly, "read_only"), (ZoneState::Offline, "offline")];

/// States of zones, with their names in a result.
const STATES: [(ZoneState, &str); 5] = [
    (ZoneState::Empty, "empty"),
    (ZoneState::ImplicitlyOpened, "implicitly_opened"),
    (ZoneState::ExplicitlyOpened, "explicitly_opened"),
    (ZoneState::Closed, "closed"),
    (ZoneState::Full, "full"),
];

/// Bytes that the host wrote: those of writes that failed are not among them.
pub(crate) fn written_bytes(stats: &Stats) -> u64 {
    stats.counters.written_bytes().saturating_sub(stats.counters.zones.refused_bytes)
}

/// Adds the section, if there are zones.
pub(crate) fn add(result: &mut Value, simulation: &Simulation, stats: &Stats, config: &Config) {
    if let Some(zones) = simulation.zones() {
        result["zones"] = section(zones, stats, simulation.geometry(), config);
    }
}

/// Zones at the end, commands to them, and amplification by host and drive: the product is `write_amplification`.
fn section(zones: &Zones, stats: &Stats, geometry: &Geometry, config: &Config) -> Value {
    let counts = &stats.counters.zones;
    let ratio = |of: u64, to: u64| (to > 0).then(|| of as f64 / to as f64);
    let page_bytes = geometry.program_bytes();
    let programmed = stats.programs() * page_bytes;
    let is_log = !config.takes_zone_commands();
    // Of what is programmed only parity is not the host's.
    let from_host = (stats.programs() - stats.counters.parity_programs.min(stats.programs())) * page_bytes;
    let host_writes = if is_log { from_host } else { written_bytes(stats) };
    let count = |state| zones.report().iter().filter(|zone| zone.state == state).count();
    let all_states = STATES.iter().chain(FAILED.iter().filter(|(state, _)| count(*state) > 0));
    let by_state: serde_json::Map<_, _> =
        all_states.map(|(state, name)| ((*name).to_owned(), json!(count(*state)))).collect();
    let errors: serde_json::Map<_, _> = counts
        .errors()
        .filter(|(status, count)| FAILURES.contains(status) || *count > 0)
        .map(|(status, count)| (status.name().to_owned(), json!(count)))
        .collect();
    let of_page = u64::from(geometry.page_sectors * geometry.units_per_page) * SECTOR_BYTES;
    let mut section = json!({
        "zones": zones.layout().zones,
        "zone_bytes": zones.layout().capacity * of_page,
        "host_amplification": ratio(host_writes, written_bytes(stats)),
        "device_amplification": ratio(programmed, host_writes),
        "copied_pages": if is_log { stats.counters.gc.programs } else { 0 },
        "resets": counts.resets,
        "finished": counts.finished,
        "padded_pages": counts.padded_pages,
        "closed": counts.closed,
        "refused_bytes": counts.refused_bytes,
        "errors": errors,
        "states": by_state,
    });
    if zones.layout().zrwa.is_some() {
        section["zrwa"] = json!({
            "commits": counts.commits,
            "implicit_commits": counts.implicit_commits,
            "committed_pages": counts.committed_pages,
            "rewritten_pages": counts.rewritten_pages,
        });
    }
    section
}
