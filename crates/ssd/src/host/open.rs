//! Open loop: requests enter at the times of the workload, stretched or squeezed by a factor.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Open loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// Factor on the times of the workload: 0.5 makes it arrive twice as fast.
    #[schemars(range(min = 0.0))]
    pub time_scale: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self { time_scale: 1.0 }
    }
}

/// A time of the workload as simulated time, ns. Exact for a factor of 1, else rounded to the nearest ns.
#[inline]
pub(crate) fn scale(time_ns: u64, factor: f64) -> u64 {
    if factor == 1.0 { time_ns } else { (time_ns as f64 * factor).round() as u64 }
}
