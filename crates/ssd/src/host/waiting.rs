//! Requests of an open loop that wait at the host because the drive, or their queue, has as many as it takes, or their
//! tenant has a limit.

use flashweir_trace::Request;
use serde::{Deserialize, Serialize};

use super::queues::Queues;
use super::{HostConfig, HostMode};
use crate::stats::FlashTime;

/// A request that waits, or enters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Arrived {
    pub(crate) request: Request,
    pub(crate) number: u64,
    pub(crate) arrival_ns: u64,
}

/// A queue for each tenant, first in, first out; or one for all.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Waiting {
    queues: Queues<Arrived>,
}

impl Waiting {
    /// The queues of a host that hands over a limited number of requests in an open loop.
    pub(crate) fn new(config: &HostConfig) -> Option<Self> {
        let is_limited = config.slots().is_some() || config.queue_entries.0.is_some() || config.has_limits();
        let is_open = matches!(config.mode, HostMode::Open(_));
        (is_open && is_limited).then(|| Self { queues: Queues::new(config) })
    }

    /// A request has arrived.
    pub(crate) fn push(&mut self, arrived: Arrived, flash_time: &FlashTime) {
        self.queues.push(arrived.request.stream, arrived, flash_time);
    }

    /// True if no request waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    /// The request that enters next, if any may.
    pub(crate) fn pop(
        &mut self,
        flash_time: &FlashTime,
        fits: Option<impl Fn(&Request) -> bool>,
    ) -> Option<Arrived> {
        match fits {
            None => self.queues.pop(flash_time),
            Some(fits) => self.queues.pop_if(flash_time, |arrived| fits(&arrived.request)),
        }
    }
}
