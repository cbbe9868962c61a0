//! Requests of an open loop that wait at the host because the drive has as many as it takes.

use std::collections::VecDeque;

use flashweir_trace::Request;
use serde::{Deserialize, Serialize};

use super::{Arbiter, Arbitration, HostConfig};
use crate::stats::FlashTime;

/// A request that waits, or enters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Arrived {
    pub(crate) request: Request,
    pub(crate) number: u64,
    pub(crate) arrival_ns: u64,
}

/// How a request entered.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// How many entered before it.
    pub(crate) order: u64,
    /// How long it had waited, ns.
    pub(crate) waited_ns: u64,
}

/// A queue for each tenant, first in, first out; or one for all.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Waiting {
    /// `None`: all wait in one queue, in the order of arrival.
    arbiter: Option<Arbiter>,
    queues: Vec<VecDeque<Arrived>>,
    /// Requests entered so far.
    entered: u64,
    /// Those under way, by the tag that the drive gave them.
    entries: Vec<Entry>,
}

impl Waiting {
    /// The queues of a host that hands over a limited number of requests in an open loop.
    pub(crate) fn new(config: &HostConfig) -> Option<Self> {
        config.slots()?;
        let by_arrival = config.arbitration == Arbitration::Arrival;
        let arbiter = (!by_arrival).then(|| Arbiter::new(config.arbitration, &config.weights));
        Some(Self { arbiter, queues: vec![VecDeque::new()], entered: 0, entries: Vec::new() })
    }

    /// A request has arrived.
    pub(crate) fn push(&mut self, arrived: Arrived, flash_time: &FlashTime) {
        let tenant = if self.arbiter.is_some() { usize::from(arrived.request.stream) } else { 0 };
        if tenant >= self.queues.len() {
            self.queues.resize(tenant + 1, VecDeque::new());
        }
        self.queues[tenant].push_back(arrived);
        if let Some(arbiter) = &mut self.arbiter {
            arbiter.set_waiting(tenant, true, flash_time);
        }
    }

    /// True if no request waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.queues.iter().all(VecDeque::is_empty)
    }

    /// The request that enters next, if any waits.
    pub(crate) fn pop(&mut self, flash_time: &FlashTime) -> Option<Arrived> {
        let Some(arbiter) = &mut self.arbiter else { return self.queues[0].pop_front() };
        let tenant = arbiter.pick(flash_time)?;
        let arrived = self.queues[tenant].pop_front();
        if self.queues[tenant].is_empty() {
            arbiter.set_waiting(tenant, false, flash_time);
        }
        arrived
    }

    /// The drive has given a request that enters a tag.
    pub(crate) fn enter(&mut self, tag: u32, waited_ns: u64) {
        let tag = tag as usize;
        if tag >= self.entries.len() {
            self.entries.resize(tag + 1, Entry::default());
        }
        self.entries[tag] = Entry { order: self.entered, waited_ns };
        self.entered += 1;
    }

    /// How the request of a tag entered.
    pub(crate) fn entry(&self, tag: u32) -> Entry {
        self.entries[tag as usize]
    }
}
