//! Limits that hold requests of tenants back at the host: rates, here, and depths by [latency targets](super::targets).
//!
//! A rate is of requests or bytes a second, with bursts. A tenant has a debt: each request adds its cost (1, or the bytes that it reads or writes), and the debt falls by the limit each
//! second, down to nothing. A request passes as soon as the debt is at most the burst. So requests of cost c at a limit r pass
//! c / r apart, after a burst of so much at once. This is the leaky bucket as a meter (ITU-T I.371, the generic cell rate algorithm);
//! the size of a request does not matter for when it passes, but for when the one after it does. Debts are kept in billionths, so
//! times are exact, rounded up to a nanosecond.
//!
//! Requests of a tenant keep their order. Those of one tenant never wait for the limit of another one in an open loop; in a closed
//! loop without arbitration all requests keep the order of the workload.

use std::collections::VecDeque;

use flashweir_trace::Request;
use serde::{Deserialize, Serialize};

use super::HostConfig;
use super::targets::Targets;
use super::waiting::Arrived;
use crate::stats::LimitUse;

/// Parts of a request or a byte in which debts are counted: a limit of 1 a second pays one each ns.
const PARTS: i128 = 1_000_000_000;

/// Debt of a tenant against one limit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Meter {
    /// Paid back each ns, and each second in whole units.
    rate: u64,
    burst: i128,
    /// Below 0 by less than a ns pays if the last request passed at a time that was rounded up: so roundings do not add up.
    debt: i128,
    /// When that was the debt, ns.
    at_ns: u64,
}

impl Meter {
    /// Lets `rate` units pass a second, after `burst` at once.
    pub(crate) fn new(rate: u64, burst: u64) -> Self {
        Self { rate, burst: i128::from(burst) * PARTS, debt: 0, at_ns: 0 }
    }

    /// From when on a request passes, ns; `u64::MAX` if that is later than any time.
    pub(crate) fn ready_ns(&self) -> u64 {
        let excess = u128::try_from(self.debt - self.burst).unwrap_or(0);
        let wait_ns = excess.div_ceil(u128::from(self.rate));
        u64::try_from(wait_ns).unwrap_or(u64::MAX).saturating_add(self.at_ns)
    }

    /// A request of so many units passes.
    pub(crate) fn charge(&mut self, now_ns: u64, units: u64) {
        let paid = i128::from(now_ns - self.at_ns) * i128::from(self.rate);
        let least = if now_ns == self.ready_ns() { i128::MIN } else { 0 };
        self.debt = (self.debt - paid).max(least) + i128::from(units) * PARTS;
        self.at_ns = now_ns;
    }
}

/// A tenant.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Tenant {
    requests: Option<Meter>,
    bytes: Option<Meter>,
    /// Its requests that have arrived and not passed, in an open loop.
    line: VecDeque<Arrived>,
    /// Time at which the first of them is to be looked at again, ns.
    call_ns: Option<u64>,
}

impl Tenant {
    fn is_limited(&self) -> bool {
        self.requests.is_some() || self.bytes.is_some()
    }

    fn ready_ns(&self) -> u64 {
        self.requests.iter().chain(&self.bytes).map(Meter::ready_ns).max().unwrap_or(0)
    }

    fn charge(&mut self, now_ns: u64, request: &Request) {
        if let Some(meter) = &mut self.requests {
            meter.charge(now_ns, 1);
        }
        if let Some(meter) = &mut self.bytes {
            meter.charge(now_ns, if request.op.moves_data() { request.bytes() } else { 0 });
        }
    }
}

/// The limits of all tenants, with the requests that they hold back.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Limits {
    tenants: Vec<Tenant>,
    /// Of latency.
    targets: Option<Targets>,
    /// In a closed loop: since when there is a place for the next request, ns.
    place_ns: Option<u64>,
    usage: LimitUse,
}

impl Limits {
    /// The limits of a host, if it has any.
    pub(crate) fn new(config: &HostConfig) -> Option<Box<Self>> {
        if !config.has_limits() {
            return None;
        }
        let tenant = |number: usize| {
            let meter = |rate: Option<u64>, burst: Option<u64>| Some(Meter::new(rate?, burst.unwrap_or(0)));
            Tenant {
                requests: meter(config.iops_limit.of(number), config.iops_burst.of(number)),
                bytes: meter(config.bytes_limit.of(number), config.bytes_burst.of(number)),
                line: VecDeque::new(),
                call_ns: None,
            }
        };
        let count = config.iops_limit.tenants().max(config.bytes_limit.tenants());
        Some(Box::new(Self {
            tenants: (0..count).map(tenant).collect(),
            targets: Targets::new(config),
            place_ns: None,
            usage: LimitUse::default(),
        }))
    }

    /// Times that requests have waited for limits so far.
    pub(crate) fn usage(&self, now_ns: u64) -> LimitUse {
        let mut usage = self.usage.clone();
        usage.targets = self.targets.as_ref().map(|targets| targets.usage(now_ns));
        usage
    }

    /// True if requests wait for a limit, of those that have arrived.
    pub(crate) fn hold_any(&self) -> bool {
        self.tenants.iter().any(|tenant| !tenant.line.is_empty())
    }

    /// From when on the next request of a tenant keeps the limits of its rates, ns.
    pub(crate) fn ready_ns(&self, stream: u16) -> u64 {
        self.tenants.get(usize::from(stream)).map_or(0, Tenant::ready_ns)
    }

    /// It is that time.
    pub(crate) fn turn(&mut self, now_ns: u64) {
        if let Some(targets) = &mut self.targets {
            targets.close_windows(now_ns);
        }
    }

    /// True if a tenant has fewer requests outstanding than it may have.
    pub(crate) fn has_depth(&self, stream: usize) -> bool {
        self.targets.as_ref().is_none_or(|targets| targets.may_pass(stream))
    }

    /// Time at which depths may change, if any is limited, ns.
    pub(crate) fn depths_change_ns(&self) -> Option<u64> {
        self.targets.as_ref().and_then(Targets::next_ns)
    }

    /// A request has ended, so long after it reached the host, ns.
    pub(crate) fn end(&mut self, now_ns: u64, stream: u16, latency_ns: u64) {
        if let Some(targets) = &mut self.targets {
            targets.end(now_ns, stream, latency_ns);
        }
    }

    /// A request has arrived. Returned if its tenant has no limit.
    pub(crate) fn hold(&mut self, arrived: Arrived) -> Option<Arrived> {
        let at = usize::from(arrived.request.stream);
        if self.targets.is_some() && at >= self.tenants.len() {
            self.tenants.resize_with(at + 1, Tenant::default);
        }
        let any = self.targets.is_some();
        let tenant = self.tenants.get_mut(at).filter(|tenant| any || tenant.is_limited());
        let Some(tenant) = tenant else { return Some(arrived) };
        tenant.line.push_back(arrived);
        None
    }

    /// Requests that pass now, in the order of their arrival.
    pub(crate) fn release(&mut self, now_ns: u64) -> Vec<Arrived> {
        self.turn(now_ns);
        let mut released = Vec::new();
        for (stream, tenant) in self.tenants.iter_mut().enumerate() {
            while tenant.ready_ns() <= now_ns
                && self.targets.as_ref().is_none_or(|targets| targets.may_pass(stream))
                && let Some(arrived) = tenant.line.pop_front()
            {
                tenant.charge(now_ns, &arrived.request);
                if let Some(targets) = &mut self.targets {
                    targets.pass(arrived.request.stream);
                }
                self.usage.add(arrived.request.stream, now_ns - arrived.arrival_ns);
                released.push(arrived);
            }
        }
        released.sort_unstable_by_key(|arrived| arrived.number);
        released
    }

    /// Times at which requests pass that wait, as far as that is news, ns.
    pub(crate) fn calls(&mut self) -> impl Iterator<Item = u64> {
        let Self { tenants, targets, .. } = self;
        tenants.iter_mut().enumerate().filter(|(_, tenant)| !tenant.line.is_empty()).filter_map(
            |(stream, tenant)| {
                let targets = targets.as_ref().filter(|targets| !targets.may_pass(stream));
                let ready_ns = targets.and_then(Targets::next_ns).unwrap_or_else(|| tenant.ready_ns());
                (tenant.call_ns.replace(ready_ns) != Some(ready_ns)).then_some(ready_ns)
            },
        )
    }

    /// In a closed loop: there is a place for a request since now, or since earlier. Returns since when, ns.
    pub(crate) fn has_place(&mut self, now_ns: u64) -> u64 {
        *self.place_ns.get_or_insert(now_ns)
    }

    /// Since when there is a place for a request that has not passed, in a closed loop, ns.
    pub(crate) fn place_ns(&self) -> Option<u64> {
        self.place_ns
    }

    /// In a closed loop: a request passes. Returns when it was issued, ns.
    pub(crate) fn pass(&mut self, now_ns: u64, request: &Request) -> u64 {
        let issue_ns = self.place_ns.take().unwrap_or(now_ns);
        if let Some(targets) = &mut self.targets {
            targets.pass(request.stream);
        }
        let holds_all = self.targets.is_some();
        if holds_all && usize::from(request.stream) >= self.tenants.len() {
            self.tenants.resize_with(usize::from(request.stream) + 1, Tenant::default);
        }
        if let Some(tenant) = self.tenants.get_mut(usize::from(request.stream)) {
            tenant.charge(now_ns, request);
            if holds_all || tenant.is_limited() {
                self.usage.add(request.stream, now_ns - issue_ns);
            }
        }
        issue_ns
    }

    /// Of tenants with a request, those whose request passes first: now, or at the same time later. When one passes that has no depth
    /// left is not known, so it comes after all others.
    pub(crate) fn first(&self, now_ns: u64, has_next: &[bool]) -> Vec<bool> {
        let ready_ns = |stream: usize| {
            if !self.has_depth(stream) {
                return u64::MAX;
            }
            self.tenants.get(stream).map_or(0, Tenant::ready_ns).max(now_ns)
        };
        let waiting = (0..has_next.len()).filter(|stream| has_next[*stream]);
        let first_ns = waiting.map(ready_ns).min();
        (0..has_next.len()).map(|stream| has_next[stream] && Some(ready_ns(stream)) == first_ns).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meter_lets_a_burst_pass_and_then_its_rate() {
        // 3 a second: a third of a second each, rounded up, without an error that adds up.
        let mut meter = Meter::new(3, 2);
        let mut passed = Vec::new();
        for _ in 0..9 {
            let now_ns = meter.ready_ns().max(*passed.last().unwrap_or(&0));
            meter.charge(now_ns, 1);
            passed.push(now_ns);
        }
        let third = |parts: u64| (parts * 1_000_000_000).div_ceil(3);
        assert_eq!(passed, [0, 0, 0, third(1), third(2), third(3), third(4), third(5), third(6)]);
        // The same without a burst.
        let mut meter = Meter::new(3, 0);
        for count in 0..9 {
            let now_ns = meter.ready_ns();
            assert_eq!(now_ns, third(count));
            meter.charge(now_ns, 1);
        }
    }

    #[test]
    fn nobody_saves_up_more_than_the_burst() {
        let mut meter = Meter::new(1_000_000, 0);
        meter.charge(5, 1);
        assert_eq!(meter.ready_ns(), 1_005);
        meter.charge(90_000, 4);
        assert_eq!(meter.ready_ns(), 94_000);
    }

    #[test]
    fn a_debt_that_is_never_paid_back_has_a_time_beyond_all() {
        let mut meter = Meter::new(1, 0);
        meter.charge(7, u64::MAX);
        assert_eq!(meter.ready_ns(), u64::MAX);
    }
}
