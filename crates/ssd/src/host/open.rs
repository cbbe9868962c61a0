//! Open loop: requests enter at the times of the workload, stretched or squeezed by a factor.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::{Limit, round_to_u64};

/// Open loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// Factor on the times of the workload: 0.5 makes it arrive twice as fast.
    #[schemars(range(max = 1e9), extend("exclusiveMinimum" = 0.0))]
    pub time_scale: f64,
    /// Most requests that the drive takes at once, or "none"; others wait at the host, in the queue of their tenant.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub slots: Limit,
}

impl Default for Config {
    fn default() -> Self {
        Self { time_scale: 1.0, slots: Limit(None) }
    }
}

/// A time of the workload as simulated time, ns. Exact for a factor of 1, else rounded to the nearest ns.
#[inline]
#[expect(clippy::float_cmp, reason = "only the factor that is exactly 1 leaves times as they are")]
pub(crate) fn scale(time_ns: u64, factor: f64) -> u64 {
    if factor == 1.0 { time_ns } else { round_to_u64(time_ns as f64 * factor) }
}
