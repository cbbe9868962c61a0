//! A victim policy outside the engine (`crate::external`). Among its blocks it sees what the other policies see.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::VictimView;
use crate::error::RunError;
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
    let closed = view.unordered();
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
    let is_shown = |block: u32| {
        let is_full = view.blocks.has(block) && view.blocks.is_full(block);
        is_full && view.among.is_none_or(|among| among.contains(&block))
    };
    let check = |_: &Victims, answer: &Option<u32>| match answer {
        Some(block) if !is_shown(*block) => {
            Err(format!("block {block} of unit {}: expected one of the view's blocks, or None", view.unit))
        }
        _ => Ok(()),
    };
    outside.ask(fill, check).unwrap_or(Some(any))
}

/// The fault of the last choice for a unit that can't go on: it freed nothing, and another block would have. `gains` is true for the
/// numbers of valid pages that make a block worth its collection.
pub(super) fn fault(
    outside: &Outside<Victims, Option<u32>>,
    unit: u32,
    gains: impl Fn(u32) -> bool,
) -> Option<RunError> {
    outside.fault(|view, answer| {
        if view.unit != unit {
            return None;
        }
        let blocks = || view.blocks.iter().zip(&view.valid);
        let (better, valid) = blocks().min_by_key(|(block, valid)| (**valid, **block))?;
        if !gains(*valid) {
            return None;
        }
        let pages = view.pages_per_block;
        let choice = match answer {
            None => format!("None, no block of unit {unit}"),
            Some(chosen) => {
                let (_, valid) = blocks().find(|(block, _)| *block == chosen)?;
                if gains(*valid) {
                    return None;
                }
                format!(
                    "block {chosen} of unit {unit}, with {valid} of {pages} pages valid, which frees nothing"
                )
            }
        };
        Some(format!(
            "{choice}: expected one with stale pages, such as block {better} ({valid} of {pages} valid)"
        ))
    })
}
