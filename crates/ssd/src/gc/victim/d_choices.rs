//! d-choices (Van Houdt 2013): of d full blocks picked uniformly with replacement, the one with the fewest valid pages.

use rand_xoshiro::Xoshiro256PlusPlus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::VictimView;
use crate::random::below;

/// Number of blocks compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// Blocks looked at for each collection (d); 1 is the random policy.
    #[schemars(range(min = 1, max = 1000))]
    pub choices: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { choices: 10 }
    }
}

pub(super) fn pick(view: &VictimView<'_>, choices: u32, rng: &mut Xoshiro256PlusPlus) -> Option<u32> {
    let full = view.unordered();
    if full.is_empty() {
        return None;
    }
    (0..choices)
        .map(|_| full[below(rng, full.len() as u64) as usize])
        .min_by_key(|block| view.blocks.valid(*block))
}
