//! The channels given wholly to one type of request, reads or writes: to whichever the window had more of. The other
//! keeps the fewest that a group may have.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Allocation, Features};

/// No settings of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Config {}

/// With fewer than two groups' worth of channels everybody has all of them.
pub(super) fn allocate(features: &Features, channels: u32, least: u32) -> Allocation {
    let tenants = features.tenants.len();
    if channels < 2 * least {
        return Allocation::everything(tenants, channels);
    }
    let reads = if features.reads > features.writes { channels - least } else { least };
    Allocation::in_runs(&[reads, channels - reads], vec![0; tenants], vec![1; tenants])
}
