//! Requests of an open loop that wait at the host for a place in the drive. Kept apart from the loop for all others, which
//! then costs what it did.

use flashweir_trace::Request;

use super::stations::LIMIT_TAG;
use super::{Background, Intake};
use crate::config::Config;
use crate::content::Content;
use crate::error::RunError;
use crate::host::closed::Window;
use crate::host::interface::Interface;
use crate::host::{Arrived, Limits, Waiting};
use crate::nand::{IssueRecord, Probe, TimePath};
use crate::sim::ledger::LAST_NS;

impl<A: TimePath, C: Content> Intake<A, C> {
    /// An idle drive gets another host.
    pub(super) fn replace_host(&mut self, config: &Config) {
        let geometry = &self.core.geometry;
        self.queue_depth = config.host.max_outstanding();
        self.window = Window::new(1);
        self.waiting = Waiting::new(&config.host);
        self.limits = Limits::new(&config.host);
        self.interface = Interface::new(&config.host, &config.firmware, geometry.page_sectors.into());
        self.background = Background::new(config, geometry.total_dies(), self.core.crews());
        self.ledger.open(self.array.now_ns().max(self.array.horizon_ns()));
    }

    /// A request arrives. Who enters is decided when all arrivals of that instant are known.
    #[cold]
    #[inline(never)]
    pub(super) fn arrive(&mut self, request: &Request, number: u64) -> Result<(), RunError> {
        let arrival_ns = self.arrive_at(request)?;
        self.array.probe().issue(IssueRecord { number, request: *request, issue_ns: arrival_ns });
        let arrived = Arrived { request: *request, number, arrival_ns };
        let passed = match &mut self.limits {
            Some(limits) => limits.hold(arrived),
            None => Some(arrived),
        };
        if let Some((waiting, arrived)) = self.waiting.as_mut().zip(passed) {
            waiting.push(arrived, self.core.flash_time());
        }
        Ok(())
    }

    /// Lets everything happen that comes before a request arrives; after that it is that time. Returns when, ns.
    /// Idempotent.
    #[cold]
    #[inline(never)]
    pub(super) fn arrive_at(&mut self, request: &Request) -> Result<u64, RunError> {
        let arrival_ns = self.ledger.arrival_ns(request)?.unwrap_or(self.array.now_ns());
        loop {
            if self.array.now_ns() < arrival_ns {
                self.let_waiting_in()?;
                self.array.dispatch();
            }
            if !self.is_due_by(arrival_ns) {
                break;
            }
            self.step(0)?;
        }
        self.array.set_now_ns(arrival_ns);
        Ok(arrival_ns)
    }

    /// Everything that arrives at this instant has: lets requests in as far as there are places and limits, once all else has
    /// happened. One that ends as it enters gives its place and depth to the next.
    #[inline(never)]
    pub(super) fn let_waiting_in(&mut self) -> Result<(), RunError> {
        while self.waiting.is_some() && !self.has_events_now() {
            if self.limits.is_some() {
                self.let_limits_pass()?;
            }
            if self.under_way() >= self.queue_depth {
                break;
            }
            let Some(next) = self.next_waiting() else { break };
            self.begin(&next.request, next.number, next.arrival_ns)?;
        }
        Ok(())
    }

    /// True if something else happens at this instant.
    fn has_events_now(&self) -> bool {
        self.array.next_ns() == Some(self.array.now_ns())
    }

    /// Open loop: requests whose tenants have kept their limits wait for places from now on.
    fn let_limits_pass(&mut self) -> Result<(), RunError> {
        let now = self.array.now_ns();
        let Some((limits, waiting)) = self.limits.as_mut().zip(self.waiting.as_mut()) else { return Ok(()) };
        for arrived in limits.release(now) {
            waiting.push(arrived, self.core.flash_time());
        }
        for ready_ns in limits.calls() {
            if ready_ns > LAST_NS {
                return Err(RunError::TooLong { number: self.ledger.taken });
            }
            self.array.call_at(ready_ns, LIMIT_TAG);
        }
        Ok(())
    }

    /// Closed loop: a request has a place, and waits for the limit of its tenant.
    #[cold]
    #[inline(never)]
    pub(super) fn wait_for_limit(&mut self, request: &Request) -> Result<(), RunError> {
        let now = self.array.now_ns();
        let Some(limits) = &mut self.limits else { return Ok(()) };
        limits.has_place(now);
        self.wait_for_depth(request.stream.into())?;
        let (now, Some(limits)) = (self.array.now_ns(), &self.limits) else { return Ok(()) };
        let ready_ns = limits.ready_ns(request.stream);
        if ready_ns > LAST_NS {
            return Err(RunError::TooLong { number: self.ledger.taken });
        }
        if ready_ns > now {
            self.advance_to(ready_ns)?;
            self.array.set_now_ns(ready_ns);
        }
        Ok(())
    }

    /// Closed loop: lets everything happen until a tenant has fewer requests outstanding than its latency target leaves it.
    fn wait_for_depth(&mut self, stream: usize) -> Result<(), RunError> {
        loop {
            let now = self.array.now_ns();
            let Some(limits) = &mut self.limits else { return Ok(()) };
            limits.turn(now);
            if limits.has_depth(stream) {
                return Ok(());
            }
            let due_ns = limits.depths_change_ns().filter(|due_ns| *due_ns <= LAST_NS);
            if let Some(due_ns) = due_ns
                && !self.is_due_by(due_ns - 1)
            {
                self.advance_to(due_ns)?;
                self.array.set_now_ns(due_ns);
            } else if !self.advance()? {
                return Err(self.no_room());
            }
        }
    }

    /// A request has ended.
    #[cold]
    #[inline(never)]
    pub(super) fn ends_for_limits(&mut self, stream: u16, issue_ns: u64) {
        let now = self.array.now_ns();
        if let Some(limits) = &mut self.limits {
            limits.end(now, stream, now - issue_ns);
        }
    }

    /// True if requests wait at the host.
    pub(super) fn has_waiting(&self) -> bool {
        self.waiting.as_ref().is_some_and(|waiting| !waiting.is_empty())
            || self.limits.as_ref().is_some_and(|limits| limits.hold_any())
    }

    /// The request that enters next, if any may.
    fn next_waiting(&mut self) -> Option<Arrived> {
        let flash_time = self.core.flash_time();
        let interface = self.interface.as_deref().filter(|interface| interface.has_entries());
        let fits = interface.map(|interface| |request: &Request| interface.fits(request));
        self.waiting.as_mut()?.pop(flash_time, fits)
    }
}
