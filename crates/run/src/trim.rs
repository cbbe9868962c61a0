//! The section of a result about TRIMs with a granularity or a backlog.

use flashweir_ssd::TrimCounts;
use flashweir_trace::SECTOR_BYTES;
use serde_json::{Value, json};

/// Adds the section, if the drive has either. `backlog`: pages that wait at the end.
pub(crate) fn add(result: &mut Value, backlog: Option<u64>, counts: &TrimCounts) {
    let Some(backlog) = backlog else { return };
    result["trim"] = json!({
        "deferred_pages": counts.deferred,
        "idle_pages": counts.idle,
        "must_pages": counts.must,
        "rewritten_pages": counts.rewritten,
        "backlog_pages": backlog,
        "waited": counts.waited,
        "kept_bytes": counts.kept_sectors * SECTOR_BYTES,
    });
}
