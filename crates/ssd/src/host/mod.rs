//! The host's side: when requests reach the drive.
//!
//! Two modes. *Closed loop*: the next request enters as soon as fewer than `queue_depth` are under way; times of the
//! workload are ignored. *Open loop*: every request enters at its own time, however many are under way.

pub(crate) mod closed;
pub(crate) mod open;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When requests reach the drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "mode", rename_all = "kebab-case")]
pub enum HostConfig {
    /// As soon as fewer than `queue_depth` requests are under way.
    Closed(closed::Config),
    /// At the times of the workload.
    Open(open::Config),
}

impl Default for HostConfig {
    fn default() -> Self {
        HostConfig::Closed(closed::Config::default())
    }
}
