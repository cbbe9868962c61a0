//! The host's side: when requests reach the drive, and whose.
//!
//! Two modes. *Closed loop*: the next request enters as soon as fewer than `queue_depth` are outstanding; times of the
//! workload are ignored. *Open loop*: every request enters at its own time, however many are outstanding; or, with
//! `slots`, as soon as it has arrived and fewer than that are, and waits at the host until then.
//!
//! Where requests wait, an [`Arbiter`] chooses the next. The contract: the host marks the tenants that have a request waiting
//! ([`Arbiter::set_waiting`]), and asked when a place in the drive is free and everything else of that instant has
//! happened, arrivals included ([`Arbiter::pick`]). Each tenant's own requests keep their order. Queues of an open loop are
//! [`Waiting`]; in a closed loop every tenant has a request waiting until its workload ends, so the caller asks whose is next
//! ([`crate::Simulation::next_stream`]) and fetches that. A tenant is a stream of the run.
//!
//! Between the host and the drive lies the [`interface`]: commands, submission queues, firmware and the link. By default it takes no
//! time, and is not there.

mod arbiter;
pub(crate) mod closed;
mod doorbell;
mod firmware;
mod hmb;
pub(crate) mod interface;
mod limits;
mod link;
mod memory;
pub(crate) mod open;

mod queues;
mod targets;
#[cfg(test)]
mod tests;
mod waiting;
mod weights;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::per_tenant::{Count, PerTenant, Size, Time};
use crate::quantity::{Bytes, LONGEST_NS, Limit, Nanos};

pub(crate) use arbiter::Arbiter;
pub use arbiter::Arbitration;
pub use firmware::FirmwareConfig;
pub(crate) use limits::{Limits, Meter};
pub use link::Link;

pub(crate) use waiting::{Arrived, Waiting};
pub use weights::Weights;

/// When requests reach the drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "mode", rename_all = "kebab-case")]
pub enum HostMode {
    /// As soon as fewer than `queue_depth` requests are outstanding.
    Closed(closed::Config),
    /// At the times of the workload.
    Open(open::Config),
}

impl HostMode {
    /// Every request at its own time, however many are outstanding.
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
    /// Tenant that goes next, where requests of several wait.
    pub arbitration: Arbitration,
    /// Requests of a tenant (with `host.queues`: of a queue) that round robin takes in a row before the next one's turn, as far as
    /// they wait: the arbitration burst of NVMe.
    #[schemars(range(min = 1, max = 65_536))]
    pub arbitration_burst: u32,
    /// Weights of the tenants (with `host.queues`: of the queues) by number, such as "4,2,1" or "urgent,2,1"; 1 for those not named.
    /// Urgent queues go before all others. For `weighted` and `fair`.
    pub weights: Weights,
    /// Most requests a second of each tenant by number, such as "1000,none"; none for those not named. Others wait at the host.
    pub iops_limit: PerTenant<Count>,
    /// Requests of each tenant by number that pass `host.iops_limit` at once, beyond the first, after as long without any.
    pub iops_burst: PerTenant<Count>,
    /// Most bytes a second that each tenant by number reads and writes, such as "100MiB,none"; none for those not named.
    pub bytes_limit: PerTenant<Size>,
    /// Bytes of each tenant by number that pass `host.bytes_limit` at once, before the last request.
    pub bytes_burst: PerTenant<Size>,
    /// Latency that nine of ten requests of each tenant by number shall keep, such as "200us,none"; none for those not named. While
    /// one misses it, tenants with a longer one, or none, may have fewer requests outstanding.
    pub latency_target: PerTenant<Time>,
    /// Time after which `host.latency_target` is compared with what tenants had.
    #[schemars(range(min = 1, max = LONGEST_NS))]
    pub latency_window: Nanos,
    /// The link that data cross: none, pcie3x4 and the like, sata3, or bytes a second each way.
    pub link: Link,
    /// Most data of a command; longer reads and writes are several commands. 0: no limit.
    #[schemars(extend("multipleOf" = 512))]
    pub max_transfer: Bytes,
    /// Time from the host's doorbell until the drive has the command.
    #[schemars(range(max = LONGEST_NS))]
    pub submit_time: Nanos,
    /// Time from the end of a command until the host knows of it.
    #[schemars(range(max = LONGEST_NS))]
    pub complete_time: Nanos,
    /// Submission queues: a tenant uses the one of its number modulo this. "none": each tenant has its own.
    #[schemars(range(min = 1, max = 65_535))]
    pub queues: Limit,
    /// Entries of a submission queue: most commands of it that are not complete; others wait at the host. Or "none".
    #[schemars(range(min = 1, max = 65_536))]
    pub queue_entries: Limit,
    /// Commands of a queue that the host tells the drive of together.
    #[schemars(range(min = 1, max = 65_536))]
    pub doorbell: u32,
    /// Longest time that a command waits for others to share its doorbell.
    #[schemars(range(max = LONGEST_NS))]
    pub doorbell_wait: Nanos,
}

impl Default for HostConfig {
    fn default() -> Self {
        Self {
            mode: HostMode::Closed(closed::Config::default()),
            arbitration: Arbitration::default(),
            arbitration_burst: 1,
            weights: Weights::default(),
            iops_limit: PerTenant::default(),
            iops_burst: PerTenant::default(),
            bytes_limit: PerTenant::default(),
            bytes_burst: PerTenant::default(),
            latency_target: PerTenant::default(),
            latency_window: Nanos(100_000_000),
            link: Link::None,
            max_transfer: Bytes(0),
            submit_time: Nanos(0),
            complete_time: Nanos(0),
            queues: Limit(None),
            queue_entries: Limit(None),
            doorbell: 1,
            doorbell_wait: Nanos(10_000),
        }
    }
}

impl HostConfig {
    /// Most outstanding requests in an open loop, if that is limited.
    pub fn slots(&self) -> Option<u32> {
        match &self.mode {
            HostMode::Closed(_) => None,
            HostMode::Open(open) => open.slots.0,
        }
    }

    /// Most outstanding requests; without a limit, more than there can be.
    pub(crate) fn max_outstanding(&self) -> u32 {
        match &self.mode {
            HostMode::Closed(closed) => closed.queue_depth,
            HostMode::Open(open) => open.slots.0.unwrap_or(u32::MAX),
        }
    }

    /// Why it can't do with busy-until times, if it can't.
    pub(crate) fn needs_events(&self) -> Option<&'static str> {
        if self.has_limits() {
            return Some(
                "a request that waits for the limit, or the target, of a tenant is passed by those of others",
            );
        }
        let waits = self.slots().map(|_| "a request that waits for a slot enters when another one ends");
        waits.or_else(|| {
            self.queue_entries
                .0
                .map(|_| "a request that waits for an entry of its queue enters when another one ends")
        })
    }

    /// True if requests take time, or wait, between the host and what the drive does for them.
    pub(crate) fn has_interface(&self, firmware: &FirmwareConfig) -> bool {
        self.link != Link::None
            || self.max_transfer.0 > 0
            || self.submit_time.max(self.complete_time).0 > 0
            || self.queue_entries.0.is_some()
            || self.doorbell > 1
            || firmware.takes_time()
            || firmware.has_hmb()
            || firmware.has_memory()
    }

    /// True if tenants have rate limits, or latency targets.
    pub(crate) fn has_limits(&self) -> bool {
        !self.iops_limit.are_none() || !self.bytes_limit.are_none() || !self.latency_target.are_none()
    }

    /// Submission queues; without a limit, more than there are tenants.
    pub(crate) fn queue_count(&self) -> usize {
        self.queues.0.map_or(usize::from(u16::MAX) + 1, |queues| queues.max(1) as usize)
    }

    /// True if the host of a closed loop decides whose request comes next by what the drive did so far.
    pub(crate) fn arbitrates_late(&self) -> bool {
        let arbiter = self.arbiter_of_closed_loop();
        arbiter.is_some_and(|arbiter| arbiter.heeds_flash_time() || self.has_limits())
    }

    /// Arbiter of the queues, if there is one.
    pub(crate) fn arbiter(&self) -> Option<Arbiter> {
        (self.arbitration != Arbitration::Arrival)
            .then(|| Arbiter::new(self.arbitration, &self.weights, self.arbitration_burst))
    }

    /// The arbiter that the caller of a closed loop is to ask, if any.
    pub(crate) fn arbiter_of_closed_loop(&self) -> Option<Arbiter> {
        self.arbiter().filter(|_| matches!(self.mode, HostMode::Closed(_)))
    }
}
