//! Random: any full block, uniformly; write amplification is then 1 / spare factor.

use rand_xoshiro::Xoshiro256PlusPlus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::VictimView;
use crate::random::below;

/// No settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Config {}

pub(super) fn pick(view: &VictimView<'_>, rng: &mut Xoshiro256PlusPlus) -> Option<u32> {
    let full = view.unordered();
    (!full.is_empty()).then(|| full[below(rng, full.len() as u64) as usize])
}
