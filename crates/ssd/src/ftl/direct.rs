//! Direct translation: the logical page number is the physical one. Every page can be read, a write programs its page in
//! place, nothing is erased or forgotten (TRIM does nothing): for workloads of physical addresses, such as studies of scheduling below the FTL.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::alloc::Home;

/// No settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Config {}

/// The physical page of a logical one, within its unit.
pub(super) fn ppn(home: Home) -> u32 {
    home.key
}
