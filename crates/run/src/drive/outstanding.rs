//! Requests that the simulation has, and those of them that it has worked out.

use std::cmp::Reverse;
use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::Completion;

/// A request that the simulation has.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Held {
    /// Its number in the order of submission.
    pub(super) number: u64,
    /// Its first sector.
    pub(super) lba: u64,
    /// Time for which it waited before the simulation had it, ns.
    pub(super) waited_ns: u64,
}

/// Requests that the simulation has not worked out, by the number that it gave them: their order of service.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Outstanding {
    /// The simulation's number of the first entry.
    first: u64,
    entries: VecDeque<Option<Held>>,
    count: usize,
}

impl Outstanding {
    /// None, of a simulation that has had `served` requests before.
    pub(super) fn after(served: u64) -> Self {
        Self { first: served, ..Self::default() }
    }

    /// Number of outstanding requests.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// The simulation is served the next request.
    pub(super) fn push(&mut self, held: Held) {
        self.entries.push_back(Some(held));
        self.count += 1;
    }

    /// The simulation has worked a request out.
    pub(super) fn take(&mut self, number: u64) -> Option<Held> {
        let at = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let held = self.entries.get_mut(at)?.take()?;
        self.count -= 1;
        while let Some(None) = self.entries.front() {
            self.entries.pop_front();
            self.first += 1;
        }
        Some(held)
    }
}

/// A completion in the order of its end, then of submission: the greatest is the first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ended(pub(super) Completion);

impl Ended {
    fn key(&self) -> Reverse<(u64, u64)> {
        Reverse((self.0.end_ns, self.0.number))
    }
}

impl Ord for Ended {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Ended {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
