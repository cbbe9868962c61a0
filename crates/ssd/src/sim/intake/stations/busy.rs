//! Times of stations and of what waits for them, as data: for the account of where latencies go.

use serde::{Deserialize, Serialize};

use crate::stats::{Cause, Parts, Spent};

/// Present or last activity of a station, and all before it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Doing {
    pub(super) before: Spent,
    pub(super) cause: Cause,
    pub(super) from_ns: u64,
    pub(super) until_ns: u64,
}

impl Default for Doing {
    fn default() -> Self {
        Self { before: Spent::default(), cause: Cause::Write, from_ns: 0, until_ns: 0 }
    }
}

impl Doing {
    /// Activity of the station up to then, ns by cause.
    pub(super) fn spent(&self, time_ns: u64) -> Spent {
        let mut spent = self.before;
        spent.add(self.cause, time_ns.clamp(self.from_ns, self.until_ns) - self.from_ns);
        spent
    }

    pub(super) fn begin(&mut self, from_ns: u64, cause: Cause) {
        *self = Self { before: self.spent(self.until_ns), cause, from_ns, until_ns: u64::MAX };
    }
}

/// The wait of a group of commands for the common clock.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Waited {
    pub(super) since_ns: u64,
    pub(super) since: Spent,
    /// Known once the station does something else.
    pub(super) until: Option<Spent>,
    pub(super) parts: Parts,
}

impl Waited {
    /// A group that waits from now on.
    pub(super) fn new(doing: &Doing, now_ns: u64) -> Self {
        Self { since_ns: now_ns, since: doing.spent(now_ns), until: None, parts: Parts::default() }
    }

    /// The group starts.
    pub(super) fn end(&mut self, doing: &Doing, now_ns: u64) {
        let spent = self.until.unwrap_or_else(|| doing.spent(now_ns)).since(&self.since);
        // Whatever no station is busy with is reads.
        self.parts = Parts::waited(&spent, now_ns - self.since_ns);
    }
}

/// A write cycle of a station.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Cycle {
    pub(super) is_under_way: bool,
    pub(super) decided_ns: u64,
    pub(super) start_ns: u64,
    /// Activity of the station before it.
    pub(super) spent: Spent,
    /// End of the last of its pages so far, ns, and where the time of that one went.
    pub(super) latest: (u64, Parts),
}

impl Cycle {
    /// Its commands, or those of a collection, start.
    pub(super) fn start(&mut self, now_ns: u64) {
        self.start_ns = now_ns;
        self.latest = (now_ns, Parts::default());
    }
}

/// Accounts of the entries of the buffer, by slot; empty where nobody asks.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Waits {
    /// Activity of the entry's station when the last page came in.
    pub(super) entered: Vec<Spent>,
    /// Where the time went from then until it was on flash.
    pub(super) parts: Vec<Parts>,
}

impl Waits {
    /// Where the time of an entry went that is on flash.
    pub(super) fn of(&self, slot: u32) -> Parts {
        self.parts.get(slot as usize).copied().unwrap_or_default()
    }
}
