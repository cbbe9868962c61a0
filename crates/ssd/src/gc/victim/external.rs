//! A victim policy outside the engine (`crate::external`). Among its blocks it sees what the other policies see.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::VictimView;
use crate::external::{Outside, Victims};

/// Where the policy is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// The function, as `FILE.py:FUNCTION` (docs/guide/python-policies.md). Empty: given to `simulate`.
    pub victim_file: String,
}

/// The block that the function says. After it has failed, any full block: the run is about to end.
pub(super) fn pick(view: &VictimView<'_>, outside: &Outside<Victims, Option<u32>>) -> Option<u32> {
    let closed = view.blocks.unordered();
    let any = *closed.first()?;
    let fill = |question: &mut Victims| {
        (question.unit, question.now, question.pages_per_block) = (view.unit, view.now, view.pages_per_block);
        question.blocks.clear();
        question.blocks.extend_from_slice(closed);
        question.valid.clear();
        question.valid.extend(closed.iter().map(|block| view.blocks.valid(*block)));
        question.filled_at.clear();
        question.filled_at.extend(closed.iter().map(|block| view.blocks.filled_at(*block)));
        question.erases.clear();
        question.erases.extend(closed.iter().map(|block| view.blocks.erases(*block)));
    };
    let check = |_: &Victims, answer: &Option<u32>| match answer {
        Some(block) if !view.blocks.has(*block) || !view.blocks.is_full(*block) => {
            Err(format!("block {block} of unit {}: expected one of the view's blocks, or None", view.unit))
        }
        _ => Ok(()),
    };
    outside.ask(fill, check).unwrap_or(Some(any))
}
