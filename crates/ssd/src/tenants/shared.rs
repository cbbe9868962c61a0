//! Half of the channels to reads, half to writes (the paper's "shared").

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Allocation;

/// No settings of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Config {}

/// Of an odd number writes get one more; a single channel serves both.
pub(super) fn allocate(tenants: usize, channels: u32) -> Allocation {
    if channels == 1 {
        return Allocation::everything(tenants, channels);
    }
    let reads = channels / 2;
    Allocation::in_runs(&[reads, channels - reads], vec![0; tenants], vec![1; tenants])
}
