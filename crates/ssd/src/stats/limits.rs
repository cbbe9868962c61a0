//! Waits for rate limits, by tenant.

use serde::{Deserialize, Serialize};

/// Requests of tenants with a limit that it held back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitUse {
    /// By stream: requests that waited for their tenant's limit, and for how long in all, ns.
    waits: Vec<(u64, u64)>,
}

impl LimitUse {
    /// One more request has passed after so long a wait, ns.
    pub(crate) fn add(&mut self, stream: u16, waited_ns: u64) {
        let at = usize::from(stream);
        if at >= self.waits.len() {
            self.waits.resize(at + 1, (0, 0));
        }
        let (requests, sum_ns) = &mut self.waits[at];
        *requests += u64::from(waited_ns > 0);
        *sum_ns += waited_ns;
    }

    /// Requests of a stream that waited, and for how long in all, ns.
    pub fn of(&self, stream: u16) -> (u64, u64) {
        self.waits.get(usize::from(stream)).copied().unwrap_or_default()
    }

    /// Difference from `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let waits = self.waits.iter().enumerate().map(|(stream, (requests, sum_ns))| {
            let (before, before_ns) = earlier.of(stream as u16);
            (requests - before, sum_ns - before_ns)
        });
        Self { waits: waits.collect() }
    }
}
