//! Garbage-collection forwarding. A unit starts when the buffer is full, it has no dirty page there, another unit is in
//! mandatory collection, and it has few enough spare blocks; it goes on until, at a preemption point, a dirty page of its
//! own has arrived. A victim that is finished is followed by the next while the start conditions hold.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::task::View;

/// No settings of its own: the threshold is `gc.spare_blocks`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Config {}

pub(super) fn forward(view: &View, spare_blocks: u64) -> bool {
    if view.dirty_pages > 0 {
        return false;
    }
    view.under_way || (view.buffer_full && view.others_must && view.spare_blocks <= spare_blocks)
}

/// False if no unit begins: the conditions of [`forward`] that are the same for all.
pub(super) fn may_begin(buffer_full: bool, others_must: bool) -> bool {
    buffer_full && others_must
}
