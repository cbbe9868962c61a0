//! Latency targets: tenants that are not strict about latency get less depth while a stricter one misses its target.
//!
//! Time is divided into windows of `host.latency_window` from 0 on. A tenant *misses* its target in a window if at least a tenth of
//! its requests that end in it, and at least one, took longer from when they reached the host. Then each tenant with a longer target,
//! or none, may have half as many requests outstanding as it had at most in that window, and at least one. In a window in which nobody
//! misses, its depth grows by a sixteenth of what it had before the first cut, and is free again when it is back there. That is the
//! rule of Linux's controller of I/O latency (`block/blk-iolatency.c`; Bacik 2018), in which a queue of the device stands for what was
//! outstanding.

use serde::{Deserialize, Serialize};

use super::HostConfig;
use crate::stats::TargetUse;

/// A tenant misses its target if one of so many of its requests was late.
const LATE_PARTS: u64 = 10;
/// Parts of the depth before the first cut that come back in a window without a miss.
const GROWTH_PARTS: u32 = 16;

/// A limit of what a tenant has outstanding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Depth {
    limit: u32,
    /// Requests outstanding before the first cut.
    before: u32,
    since_ns: u64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Tenant {
    target_ns: Option<u64>,
    outstanding: u32,
    /// Most of them in this window.
    peak: u32,
    /// Requests that ended in this window, and those of them that took longer than the target.
    ended: u64,
    late: u64,
    depth: Option<Depth>,
}

impl Tenant {
    fn misses(&self) -> bool {
        self.late > 0 && self.late >= self.ended / LATE_PARTS
    }

    /// A stricter tenant missed its target.
    fn cut(&mut self, now_ns: u64) {
        let limit = (self.peak / 2).max(1);
        let depth = self.depth.get_or_insert(Depth { limit, before: self.peak.max(1), since_ns: now_ns });
        depth.limit = depth.limit.min(limit);
    }

    /// No tenant missed its target. Returns the time for which the depth was limited if it is free again, ns.
    fn grow(&mut self, now_ns: u64) -> Option<u64> {
        let depth = self.depth.as_mut()?;
        depth.limit = depth.limit.saturating_add((depth.before / GROWTH_PARTS).max(1));
        (depth.limit >= depth.before)
            .then(|| now_ns - self.depth.take().map_or(now_ns, |depth| depth.since_ns))
    }
}

/// The targets of all tenants.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Targets {
    window_ns: u64,
    /// End of this window, ns.
    end_ns: u64,
    tenants: Vec<Tenant>,
    usage: TargetUse,
}

impl Targets {
    /// The targets of a host, if it has any.
    pub(super) fn new(config: &HostConfig) -> Option<Self> {
        let targets = &config.latency_target;
        if targets.are_none() {
            return None;
        }
        let tenant = |number| Tenant { target_ns: targets.of(number), ..Tenant::default() };
        let window_ns = config.latency_window.0.max(1);
        Some(Self {
            window_ns,
            end_ns: window_ns,
            tenants: (0..targets.tenants()).map(tenant).collect(),
            usage: TargetUse::default(),
        })
    }

    fn tenant(&mut self, stream: u16) -> &mut Tenant {
        let at = usize::from(stream);
        if at >= self.tenants.len() {
            self.tenants.resize_with(at + 1, Tenant::default);
        }
        &mut self.tenants[at]
    }

    /// Totals so far; a depth that is still limited counts up to now.
    pub(super) fn usage(&self, now_ns: u64) -> TargetUse {
        let mut usage = self.usage.clone();
        for (stream, tenant) in self.tenants.iter().enumerate() {
            if let Some(depth) = tenant.depth {
                usage.limited(stream, now_ns.saturating_sub(depth.since_ns));
            }
        }
        usage
    }

    /// True if a request of a tenant may go to the drive.
    pub(super) fn may_pass(&self, stream: usize) -> bool {
        self.tenants
            .get(stream)
            .is_none_or(|tenant| tenant.depth.is_none_or(|depth| tenant.outstanding < depth.limit))
    }

    /// A request goes to the drive.
    pub(super) fn pass(&mut self, stream: u16) {
        let tenant = self.tenant(stream);
        tenant.outstanding += 1;
        tenant.peak = tenant.peak.max(tenant.outstanding);
    }

    /// A request ends after so long, ns.
    pub(super) fn end(&mut self, now_ns: u64, stream: u16, latency_ns: u64) {
        self.close_windows(now_ns);
        let tenant = self.tenant(stream);
        tenant.outstanding -= 1;
        if let Some(target_ns) = tenant.target_ns {
            let is_late = latency_ns > target_ns;
            tenant.ended += 1;
            tenant.late += u64::from(is_late);
            self.usage.end(stream, is_late);
        }
    }

    /// End of the window in which depths may change next, ns, if one is limited.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.tenants.iter().any(|tenant| tenant.depth.is_some()).then_some(self.end_ns)
    }

    /// Judges the windows that are over at that time; one that ends now is judged before all that happens now.
    pub(super) fn close_windows(&mut self, now_ns: u64) {
        while self.end_ns <= now_ns {
            self.judge(self.end_ns);
            self.end_ns = self.end_ns.saturating_add(self.window_ns);
            let is_idle = self.tenants.iter().all(|tenant| tenant.depth.is_none() && tenant.ended == 0);
            if is_idle && self.end_ns <= now_ns {
                // Nothing changes in the windows between.
                self.end_ns = (now_ns / self.window_ns + 1).saturating_mul(self.window_ns);
            }
        }
    }

    fn judge(&mut self, now_ns: u64) {
        let missed = self.tenants.iter().filter(|tenant| tenant.misses());
        let strictest_ns = missed.filter_map(|tenant| tenant.target_ns).min();
        for (stream, tenant) in self.tenants.iter_mut().enumerate() {
            match strictest_ns {
                Some(strictest_ns) if tenant.target_ns.is_none_or(|own_ns| own_ns > strictest_ns) => {
                    tenant.cut(now_ns);
                }
                Some(_) => {}
                None => {
                    if let Some(limited_ns) = tenant.grow(now_ns) {
                        self.usage.limited(stream, limited_ns);
                    }
                }
            }
            (tenant.ended, tenant.late, tenant.peak) = (0, 0, tenant.outstanding);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: u64 = 1000;

    fn targets(text: &str) -> Targets {
        let config = HostConfig {
            latency_target: serde_json::from_value(text.into()).expect("targets"),
            latency_window: crate::quantity::Nanos(WINDOW),
            ..HostConfig::default()
        };
        Targets::new(&config).expect("a tenant has a target")
    }

    /// Number of requests of a tenant that can go to the drive.
    fn room(targets: &mut Targets, stream: u16) -> u32 {
        let mut passed = 0;
        while passed < 100 && targets.may_pass(stream.into()) {
            targets.pass(stream);
            passed += 1;
        }
        for _ in 0..passed {
            targets.tenants[usize::from(stream)].outstanding -= 1;
        }
        passed
    }

    fn depth(targets: &mut Targets, stream: u16) -> Option<u32> {
        targets.tenant(stream).depth.map(|depth| depth.limit)
    }

    #[test]
    fn a_missed_target_halves_what_others_had_outstanding() {
        let mut targets = targets("200ns,none");
        (0..40).for_each(|_| targets.pass(1));
        targets.pass(0);
        targets.end(900, 0, 201);
        assert_eq!(depth(&mut targets, 1), None, "the window goes on");
        targets.close_windows(WINDOW);
        assert_eq!((depth(&mut targets, 0), depth(&mut targets, 1)), (None, Some(20)));
        assert!(!targets.may_pass(1), "40 are outstanding");
        // Without a miss it grows by 40 / 16, down, a window, and is free at 40.
        targets.close_windows(2 * WINDOW);
        assert_eq!(depth(&mut targets, 1), Some(22));
        targets.close_windows(10 * WINDOW);
        assert_eq!(depth(&mut targets, 1), Some(38));
        assert_eq!(targets.next_ns(), Some(11 * WINDOW));
        targets.close_windows(11 * WINDOW);
        assert_eq!((depth(&mut targets, 1), targets.next_ns()), (None, None));
        assert_eq!(targets.usage(12 * WINDOW).of(1).limited_ns, 10 * WINDOW);
    }

    #[test]
    fn a_tenth_of_the_requests_may_be_late() {
        for (late, ended, misses) in
            [(0, 5, false), (1, 5, true), (1, 10, true), (1, 19, true), (1, 20, false), (2, 20, true)]
        {
            let mut targets = targets("200ns");
            targets.pass(1);
            for number in 0..ended {
                targets.pass(0);
                targets.end(1, 0, 200 + u64::from(number < late));
            }
            targets.close_windows(WINDOW);
            assert_eq!(depth(&mut targets, 1).is_some(), misses, "{late} of {ended}");
        }
    }

    #[test]
    fn those_with_a_longer_target_give_way_to_the_strictest_that_misses() {
        let mut targets = targets("300ns,200ns,none,200ns");
        for stream in 0..4 {
            (0..8).for_each(|_| targets.pass(stream));
            targets.end(1, stream, 250);
        }
        targets.close_windows(WINDOW);
        let depths: Vec<_> = (0..4).map(|stream| depth(&mut targets, stream)).collect();
        assert_eq!(depths, [Some(4), None, Some(4), None]);
        // It is cut down to one, and one always passes.
        for window in 1..5 {
            targets.pass(1);
            targets.end(window * WINDOW + 1, 1, 250);
            targets.tenant(2).outstanding = 0;
            room(&mut targets, 2);
        }
        targets.close_windows(6 * WINDOW);
        assert_eq!(room(&mut targets, 2), 2, "one, and the growth of a window without a miss");
    }

    #[test]
    fn long_rests_take_no_time_to_work_out() {
        let mut targets = targets("200ns");
        targets.pass(0);
        targets.end(u64::MAX - 5 * WINDOW, 0, 1);
        assert!(targets.end_ns > u64::MAX - 5 * WINDOW);
    }
}
