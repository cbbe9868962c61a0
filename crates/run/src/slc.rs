//! The section of a result about the SLC cache.

use flashweir_ssd::{SlcCounts, SlcState};
use serde_json::{Value, json};

/// Adds the section, if there is a cache.
pub(crate) fn add(result: &mut Value, state: Option<SlcState>, counts: &SlcCounts) {
    if let Some(state) = state {
        result["slc"] = section(&state, counts);
    }
}

/// Pages into the cache, past it and out of it, what it holds at the end, and the wear of blocks kept in SLC mode.
fn section(state: &SlcState, counts: &SlcCounts) -> Value {
    json!({
        "written_pages": counts.written,
        "direct_pages": counts.direct,
        "folded_pages": counts.folded,
        "overwritten_pages": counts.overwritten,
        "trimmed_pages": counts.trimmed,
        "erases": counts.erases,
        "blocks": state.blocks,
        "valid_pages": state.valid,
        "room_pages": state.room,
        "static_blocks": {
            "blocks": state.kept_blocks,
            "erases": {
                "min": state.min_erases,
                "mean": (state.kept_blocks > 0).then(|| state.erases as f64 / state.kept_blocks as f64),
                "max": state.max_erases,
            },
        },
    })
}
