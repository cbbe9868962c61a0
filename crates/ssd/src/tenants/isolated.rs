//! An even share of the channels to each tenant, for reads and writes alike.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Allocation;
use super::allocation::apportion;

/// No settings of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Config {}

/// There must be a channel for each tenant.
pub(super) fn allocate(tenants: usize, channels: u32) -> Allocation {
    let groups: Vec<u16> = (0..tenants).map(|tenant| tenant as u16).collect();
    Allocation::in_runs(&apportion(channels, &vec![1; tenants], 1), groups.clone(), groups)
}
