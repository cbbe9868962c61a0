//! Cost-benefit (Kawaguchi et al. 1995, after LFS): the block with the largest age x (1 - u) / 2u, where u is its share
//! of valid pages and its age counts host page writes since it was filled. Looks at every full block.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::VictimView;

/// No settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Config {}

pub(super) fn pick(view: &VictimView<'_>) -> Option<u32> {
    let merit = |block: u32| {
        let valid = u128::from(view.blocks.valid(block));
        let age = u128::from(view.now - view.blocks.filled_at(block)) + 1;
        // benefit / cost as a fraction of integers: no rounding, the same choice on every machine.
        (age * (u128::from(view.pages_per_block) - valid), 2 * valid)
    };
    view.unordered().iter().copied().max_by(|left, right| {
        let ((benefit_l, cost_l), (benefit_r, cost_r)) = (merit(*left), merit(*right));
        match (cost_l, cost_r) {
            // An empty block costs nothing; of two, the older one.
            (0, 0) => benefit_l.cmp(&benefit_r),
            (0, _) => Ordering::Greater,
            (_, 0) => Ordering::Less,
            _ => (benefit_l * cost_r).cmp(&(benefit_r * cost_l)),
        }
    })
}
