//! Waits for rate limits and latency targets, by tenant.

use serde::{Deserialize, Serialize};

/// Requests of tenants that a limit or a target held back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitUse {
    /// By stream: requests that waited for their tenant's limit, and for how long in all, ns.
    waits: Vec<(u64, u64)>,
    /// Of latency targets, if there are any.
    pub targets: Option<TargetUse>,
}

/// A tenant and latency targets: its own and those of others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TenantTarget {
    /// Requests that ended, if it has a target.
    pub ended: u64,
    /// Those of them that took longer than the target.
    pub late: u64,
    /// Time for which its depth was limited, ns.
    pub limited_ns: u64,
}

/// Effects of latency targets, by stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetUse(Vec<TenantTarget>);

impl TargetUse {
    fn tenant(&mut self, stream: usize) -> &mut TenantTarget {
        if stream >= self.0.len() {
            self.0.resize(stream + 1, TenantTarget::default());
        }
        &mut self.0[stream]
    }

    /// A request of a tenant with a target has ended.
    pub(crate) fn end(&mut self, stream: u16, is_late: bool) {
        let tenant = self.tenant(stream.into());
        tenant.ended += 1;
        tenant.late += u64::from(is_late);
    }

    /// A tenant's depth was limited for so long, ns.
    pub(crate) fn limited(&mut self, stream: usize, time_ns: u64) {
        self.tenant(stream).limited_ns += time_ns;
    }

    /// Of a stream.
    pub fn of(&self, stream: u16) -> TenantTarget {
        self.0.get(usize::from(stream)).copied().unwrap_or_default()
    }

    fn since(&self, earlier: &Self) -> Self {
        let tenants = self.0.iter().enumerate().map(|(stream, now)| {
            let before = earlier.of(stream as u16);
            TenantTarget {
                ended: now.ended - before.ended,
                late: now.late - before.late,
                limited_ns: now.limited_ns - before.limited_ns,
            }
        });
        Self(tenants.collect())
    }
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
        let targets = self
            .targets
            .as_ref()
            .map(|now| earlier.targets.as_ref().map_or_else(|| now.clone(), |earlier| now.since(earlier)));
        Self { waits: waits.collect(), targets }
    }
}
