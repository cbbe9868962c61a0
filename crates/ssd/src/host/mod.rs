//! The host's side: when requests reach the drive, and whose.
//!
//! Two modes. *Closed loop*: the next request enters as soon as fewer than `queue_depth` are under way; times of the
//! workload are ignored. *Open loop*: every request enters at its own time, however many are under way; or, with
//! `slots`, as soon as it has arrived and fewer than that are, and waits at the host until then.
//!
//! Where requests wait, an [`Arbiter`] says whose goes next. The contract: it is told which tenants have a request waiting
//! ([`Arbiter::set_waiting`]), and asked when a place in the drive is free and everything else of that instant has
//! happened, arrivals included ([`Arbiter::pick`]). Each tenant's own requests keep their order. Queues of an open loop are
//! [`Waiting`]; in a closed loop every tenant has a request waiting until its workload ends, so the caller asks whose is next
//! ([`crate::Simulation::next_stream`]) and fetches that. A tenant is a stream of the run.

mod arbiter;
pub(crate) mod closed;
pub(crate) mod open;
#[cfg(test)]
mod tests;
mod waiting;
mod weights;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use arbiter::Arbiter;
pub use arbiter::Arbitration;
pub(crate) use waiting::{Arrived, Entry, Waiting};
pub use weights::Weights;

/// When requests reach the drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "mode", rename_all = "kebab-case")]
pub enum HostMode {
    /// As soon as fewer than `queue_depth` requests are under way.
    Closed(closed::Config),
    /// At the times of the workload.
    Open(open::Config),
}

impl HostMode {
    /// Every request at its own time, however many are under way.
    pub fn unlimited() -> Self {
        Self::Open(open::Config::default())
    }
}

/// When requests reach the drive, and whose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostConfig {
    /// When.
    #[serde(flatten)]
    pub mode: HostMode,
    /// Which tenant goes next, where requests of several wait.
    pub arbitration: Arbitration,
    /// Weights of the tenants by the number of their stream, such as "4,2,1"; 1 for those not named. For `weighted` and `fair`.
    pub weights: Weights,
}

impl Default for HostConfig {
    fn default() -> Self {
        Self {
            mode: HostMode::Closed(closed::Config::default()),
            arbitration: Arbitration::default(),
            weights: Weights::default(),
        }
    }
}

impl HostConfig {
    /// Most requests under way in an open loop, if that is limited.
    pub fn slots(&self) -> Option<u32> {
        match &self.mode {
            HostMode::Closed(_) => None,
            HostMode::Open(open) => open.slots.0,
        }
    }

    /// Most requests under way; without a limit, more than there can be.
    pub(crate) fn most_under_way(&self) -> u32 {
        match &self.mode {
            HostMode::Closed(closed) => closed.queue_depth,
            HostMode::Open(open) => open.slots.0.unwrap_or(u32::MAX),
        }
    }

    /// Why it can't do with busy-until times, if it can't.
    pub(crate) fn needs_events(&self) -> Option<&'static str> {
        self.slots().map(|_| "a request that waits for a slot enters when another one ends")
    }

    /// The arbiter that the caller of a closed loop is to ask, if any.
    pub(crate) fn arbiter_of_closed_loop(&self) -> Option<Arbiter> {
        let is_asked = matches!(self.mode, HostMode::Closed(_)) && self.arbitration != Arbitration::Arrival;
        is_asked.then(|| Arbiter::new(self.arbitration, &self.weights))
    }
}
