//! Arbitration: the tenant whose request enters the drive next, of those that have one waiting at the host.
//!
//! *Round robin* goes around, one request each, or `burst` of each (NVMe's arbitration burst). *Weighted* and *fair* keep a virtual time for each tenant: what it was
//! given, divided by its weight. The tenant that is furthest behind goes next; of several, the one whose turn comes
//! first going around. Service is counted in requests (weighted: a smooth weighted round robin, not the rounds of
//! credits of NVMe) or flash time as it is charged (fair). A tenant that comes back after it had no requests starts at
//! the virtual time of the one that went last, if it was behind that: nobody saves up for later. (Start-time fair
//! queueing, Goyal et al. 1996, with the cost of a request known when its commands are made.)
//!
//! A tenant of weight `urgent` goes before all that are not, as the urgent class of NVMe does; several urgent ones are fair among
//! themselves. Virtual times are compared within a class.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::weights::Weights;
use crate::stats::FlashTime;

/// Tenant that goes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arbitration {
    /// No arbitration: requests enter in the order of the workload, which is that of their times where it has any.
    #[default]
    Arrival,
    /// One request of each tenant in turn, or as many as `host.arbitration_burst`.
    RoundRobin,
    /// Requests in proportion to `host.weights`.
    Weighted,
    /// Flash time in proportion to `host.weights`.
    Fair,
}

/// Cost of one request with weighted arbitration: the start of a tenant that comes back is rounded to one part of this.
const REQUEST: u64 = 1 << 20;

/// A tenant as the arbiter knows it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Tenant {
    waits: bool,
    urgent: bool,
    weight: u64,
    /// Service that it was given, or is taken to have been given: its virtual time x its weight.
    given: u64,
    /// Its flash time when that was last added, ns.
    seen_ns: u64,
}

impl Tenant {
    /// True if it goes before another one.
    fn goes_before(&self, other: &Self) -> bool {
        if self.urgent == other.urgent { self.is_behind(other) } else { self.urgent }
    }

    /// True if its virtual time is earlier than that of another one. Exact: no division.
    fn is_behind(&self, other: &Self) -> bool {
        u128::from(self.given) * u128::from(other.weight) < u128::from(other.given) * u128::from(self.weight)
    }
}

/// Chooses among tenants that have a request waiting; knows nothing of the requests.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Arbiter {
    arbitration: Arbitration,
    weights: Weights,
    tenants: Vec<Tenant>,
    /// Whose turn comes first among those that are equally far.
    next: usize,
    /// Requests of one tenant that round robin takes before the next one's turn.
    burst: u32,
    /// Of these, those that tenant `next` has had in a row.
    taken: u32,
    /// The tenant that went last, as it was before: the virtual time of the drive. Those that are not urgent first.
    latest: [Option<Tenant>; 2],
}

impl Arbiter {
    /// `burst` acts with round robin alone.
    pub(crate) fn new(arbitration: Arbitration, weights: &Weights, burst: u32) -> Self {
        let burst = if arbitration == Arbitration::RoundRobin { burst } else { 1 };
        Self {
            arbitration,
            weights: weights.clone(),
            tenants: Vec::new(),
            next: 0,
            burst,
            taken: 0,
            latest: [None; 2],
        }
    }

    /// True if it depends on the drive's work for the requests before.
    pub(crate) fn heeds_flash_time(&self) -> bool {
        self.arbitration == Arbitration::Fair
    }

    /// Says whether a tenant has a request waiting.
    pub(crate) fn set_waiting(&mut self, number: usize, waits: bool, flash_time: &FlashTime) {
        while self.tenants.len() <= number {
            let number = self.tenants.len();
            let (weight, urgent) = (self.weights.of(number).into(), self.weights.is_urgent(number));
            self.tenants.push(Tenant { waits: false, urgent, weight, given: 0, seen_ns: 0 });
        }
        let came_back = waits && !self.tenants[number].waits;
        self.tenants[number].waits = waits;
        if !came_back {
            return;
        }
        self.count(number, flash_time);
        let tenant = &mut self.tenants[number];
        if let Some(latest) =
            self.latest[usize::from(tenant.urgent)].filter(|latest| tenant.is_behind(latest))
        {
            let start = u128::from(latest.given) * u128::from(tenant.weight);
            tenant.given = start.div_ceil(u128::from(latest.weight)) as u64;
        }
    }

    /// The tenant that goes next, if any has a request waiting.
    pub(crate) fn pick(&mut self, flash_time: &FlashTime) -> Option<usize> {
        let tenants = self.tenants.len();
        let first = self.next.min(tenants);
        let mut picked: Option<usize> = None;
        for number in (first..tenants).chain(0..first) {
            if !self.tenants[number].waits {
                continue;
            }
            self.count(number, flash_time);
            if picked.is_none_or(|picked| self.tenants[number].goes_before(&self.tenants[picked])) {
                picked = Some(number);
            }
        }
        let picked = picked?;
        self.latest[usize::from(self.tenants[picked].urgent)] = Some(self.tenants[picked]);
        self.take_turn(picked);
        if self.arbitration == Arbitration::Weighted {
            self.tenants[picked].given += REQUEST;
        }
        Some(picked)
    }

    /// A request of a tenant goes: the next turn is its own until its burst has gone.
    fn take_turn(&mut self, picked: usize) {
        self.taken = if self.taken > 0 && picked == self.next { self.taken + 1 } else { 1 };
        self.next = picked;
        if self.taken >= self.burst {
            self.taken = 0;
            self.next = picked + 1;
        }
    }

    /// Adds the flash time that a tenant was charged since this was done last. It is less than before where the time seen was that
    /// of a copy of the drive, which served a window that is held back under another allocation.
    fn count(&mut self, number: usize, flash_time: &FlashTime) {
        if self.arbitration == Arbitration::Fair {
            let tenant = &mut self.tenants[number];
            let now_ns = flash_time.of(number);
            let seen_ns = std::mem::replace(&mut tenant.seen_ns, now_ns);
            tenant.given = (tenant.given + now_ns).saturating_sub(seen_ns);
        }
    }
}
