//! The section of a result about groups of open blocks, and the bytes that NVMe's log of placement counts.

use flashweir_ssd::{GroupCounters, Placement, Simulation, Stats};
use serde_json::{Value, json};

use crate::quotient::ratio;

/// Adds the section, if the drive has groups.
pub(crate) fn add(result: &mut Value, simulation: &Simulation, stats: &Stats) {
    let Some(placement) = simulation.placement() else { return };
    let geometry = simulation.geometry();
    let block_bytes = u64::from(geometry.flash_pages_per_block()) * geometry.program_bytes();
    let bytes = [
        stats.counters.written_bytes(),
        stats.programs() * geometry.program_bytes(),
        stats.counters.flash().erases * block_bytes,
    ];
    result["placement"] = groups(&placement, &bytes);
}

/// Counters of the groups of a classifier, and the bytes that NVMe's log of placement counts: of the host, to flash, erased.
fn groups(placement: &Placement, [host_bytes, media_bytes, erased_bytes]: &[u64; 3]) -> Value {
    let group = |counters: &GroupCounters| {
        json!({
            "written_pages": counters.written,
            "relocated_pages": counters.moved_out,
            "erased_blocks": counters.erased,
            "mean_life_pages": ratio(counters.life as f64, counters.erased as f64),
        })
    };
    let all = |groups: &[GroupCounters]| groups.iter().map(group).collect::<Vec<_>>();
    let mut section = json!({
        "host_groups": all(&placement.host),
        "relocated_groups": all(&placement.moved),
        "host_bytes": host_bytes,
        "media_bytes": media_bytes,
        "media_bytes_erased": erased_bytes,
        "events": placement.events,
    });
    if let Some(predictions) = &placement.predictions {
        let known = predictions.known as f64;
        section["predictions"] = json!({
            "known_pages": predictions.known,
            "right_share": ratio(predictions.right as f64, known),
            "mean_error_octaves": ratio(predictions.error as f64 / 1000.0, known),
            "outlived_pages": predictions.outlived,
        });
    }
    section
}
