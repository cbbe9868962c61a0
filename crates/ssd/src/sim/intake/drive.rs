//! A drive as the simulation sees it, whatever its time path.

use flashweir_trace::Request;
use serde::Deserialize;

use std::ops::Range;

use super::Intake;
use crate::config::Config;
use crate::content::Content;
use crate::core::{AHEAD, Broken};
use crate::error::RunError;
use crate::external::External;
use crate::geometry::Geometry;
use crate::nand::DieWorkTimes;
use crate::nand::probe::Recorded;
use crate::nand::{Probe, TimePath};
use crate::op::PageSlice;
use crate::sim::ledger::BeforeDrain;
use crate::sim::state::{Owned, StateReader};
use crate::sim::{Drive, Ledger, State};
use crate::stats::{Stats, Times};
use crate::tenants::Allocation;

impl<A: TimePath + Owned, C: Content + Owned> Drive for Intake<A, C> {
    fn serve(&mut self, requests: &[Request]) -> Result<(), RunError> {
        for requests in requests.chunks(AHEAD) {
            self.core.look_ahead(requests);
            requests.iter().try_for_each(|request| self.serve_one(request))?;
        }
        Ok(())
    }

    fn attach(&mut self, external: &External) {
        self.core.ftl.attach(external);
        self.stations.attach(external);
        self.background.attach(external);
    }

    fn change(&mut self, config: &Config) {
        self.core.ftl.change(&config.upkeep());
        self.background.change(config, self.array.now_ns());
    }

    fn next_event_ns(&self) -> Option<u64> {
        self.array.next_ns().into_iter().chain(self.background.due_ns()).min()
    }

    fn complete(&mut self) -> Result<(), RunError> {
        self.background.end();
        self.let_held_go()?;
        if let Some(trims) = &mut self.trims {
            trims.end();
        }
        loop {
            self.let_waiting_in()?;
            if self.under_way() == 0 && !self.has_waiting() {
                break;
            }
            if !self.advance()? {
                return Err(self.no_room());
            }
        }
        self.check(self.ledger.taken)
    }

    fn finish(&mut self) -> Result<(), RunError> {
        self.complete()?;
        if self.ledger.drain.is_some() {
            return Ok(());
        }
        self.advance_to(self.array.now_ns())?;
        let from_ns = self.array.now_ns().max(self.ledger.end_ns);
        let (pages, flash) = (self.buffered_pages(), self.core.counters.flash());
        self.ledger.drain = Some(BeforeDrain { from_ns, pages, flash });
        let mut left = self.buffered_units();
        self.resume_buffer()?;
        loop {
            while self.advance()? {}
            let before = std::mem::replace(&mut left, self.buffered_units());
            if left == 0 {
                return self.check(self.ledger.taken);
            }
            if left == before {
                return Err(RunError::NoRoom { waiting: left });
            }
            self.resume_buffer()?;
        }
    }

    fn enter(&mut self, request: &Request) -> Result<u64, RunError> {
        if self.waiting.is_some() {
            return self.arrive_at(request);
        }
        if self.at_once() {
            return Ok(self.ledger.arrival_ns(request)?.unwrap_or_else(|| self.window.entry_ns()));
        }
        self.let_in(request)?;
        Ok(self.array.now_ns())
    }

    fn first_to_pass(&mut self, has_next: &[bool]) -> Result<Option<Vec<bool>>, RunError> {
        if self.limits.is_none() {
            return Ok(None);
        }
        self.find_place(None)?;
        let now = self.array.now_ns();
        Ok(self.limits.as_mut().map(|limits| {
            limits.turn(now);
            limits.first(now, has_next)
        }))
    }

    fn buffered_pages(&self) -> u64 {
        let Geometry { units_per_page, mapped_pages, .. } = self.core.geometry;
        self.buffered_units().div_ceil(u64::from(units_per_page)) * u64::from(mapped_pages)
    }

    fn protect_buffer(&mut self, is_on: bool) {
        self.protected = is_on;
    }

    fn protects_buffer(&self) -> bool {
        self.protected
    }

    fn allocate(&mut self, allocation: &Allocation) {
        self.core.alloc.allocate(allocation);
        let alloc = &self.core.alloc;
        self.unbound
            .sort_again(allocation.turns.unwrap_or_default(), |part| alloc.class_of(part.stream, part.lpn));
    }

    fn resume(&mut self) -> Result<(), RunError> {
        // Those that now go by their address need no idle die.
        self.place_completed()?;
        self.place_waiting(|_| true)?;
        if self.stations.are_managed() { self.decide() } else { Ok(()) }
    }

    fn proceed_by(&mut self, limit_ns: u64) -> Result<bool, RunError> {
        if self.array.now_ns() < limit_ns {
            let kept = self.ledger.kept();
            self.let_waiting_in()?;
            if self.ledger.kept() > kept {
                return Ok(true);
            }
            self.array.dispatch();
        }
        if self.is_due_by(limit_ns) { self.step(0) } else { Ok(false) }
    }

    fn ledger_mut(&mut self) -> &mut Ledger {
        &mut self.ledger
    }

    fn keep_parts(&mut self) {
        self.array.keep_parts();
    }

    fn times(&self) -> Times {
        let lock_step = self.stations.lock_step_times();
        let interface = self.interface.as_ref().map(|interface| interface.usage().clone());
        let limits = self.limits.as_ref().map(|limits| limits.usage(self.array.now_ns()));
        Times { flash_ns: self.core.flash_time().all(), lock_step, interface, limits, ..self.array.times() }
    }

    fn state(&self) -> &dyn State {
        &self.core
    }

    fn state_mut(&mut self) -> &mut dyn State {
        &mut self.core
    }

    fn stats(&self) -> Stats {
        let stats = self.ledger.stats(&self.core, self.array.usage(), self.array.horizon_ns());
        let interface = self.interface.as_ref().map(|interface| interface.usage().clone());
        let lock_step = self.stations.lock_step_times();
        let limits = self.limits.as_ref().map(|limits| limits.usage(self.array.now_ns()));
        Stats { sched: self.array.sched_counts(), lock_step, interface, limits, ..stats }
    }

    fn take_recorded(&mut self) -> Recorded {
        let mut recorded = self.array.probe().take();
        self.core.content.put_times(&mut recorded);
        let place_ns = self.limits.as_ref().and_then(|limits| limits.place_ns());
        let now_ns = place_ns.unwrap_or(u64::MAX).min(self.array.now_ns());
        // A page leaves the buffer when its program is done, and that is recorded then.
        let is_at_present = self.buffer.is_some() || self.interface.is_some() || place_ns.is_some();
        let of_buffer = if is_at_present { now_ns } else { u64::MAX };
        let settled_ns = self.array.settled_ns().min(of_buffer).min(self.full_since_ns.unwrap_or(u64::MAX));
        Recorded { settled_ns, queues_settled_ns: now_ns, ..recorded }
    }

    fn die_use(&mut self) -> Vec<DieWorkTimes> {
        self.array.probe().die_use()
    }

    fn break_blocks(&mut self, broken: &Broken) -> Vec<Range<u64>> {
        let sectors = self.core.page_sectors.get() as u32;
        let mut lost: Vec<Range<u64>> = Vec::new();
        for lpn in self.core.break_blocks(broken) {
            let on_flash = |first: &u32| {
                !self.is_buffered_whole(PageSlice {
                    lpn,
                    first: *first,
                    end: first + 1,
                    stream: 0,
                    handle: 0,
                })
            };
            for sector in (0..sectors).filter(on_flash) {
                let lba = lpn * u64::from(sectors) + u64::from(sector);
                match lost.last_mut() {
                    Some(range) if range.end == lba => range.end += 1,
                    _ => lost.push(lba..lba + 1),
                }
            }
        }
        self.core.wear_out(self.array.now_ns());
        lost
    }

    fn snapshot(&mut self) -> Box<dyn Drive> {
        let core = self.core.snapshot();
        Box::new(Self {
            core,
            array: self.array.clone(),
            ledger: self.ledger.clone(),
            slots: self.slots.clone(),
            window: self.window.clone(),
            waiting: self.waiting.clone(),
            limits: self.limits.clone(),
            interface: self.interface.clone(),
            owners: self.owners.clone(),
            companions: self.companions.clone(),
            unbound: self.unbound.clone(),
            completing: self.completing.clone(),
            look_ups: self.look_ups.clone(),
            buffer: self.buffer.clone(),
            stalled: self.stalled.clone(),
            backpressure: self.backpressure.clone(),
            barriers: self.barriers.clone(),
            stations: self.stations.clone(),
            background: self.background.clone(),
            trims: self.trims.clone(),
            zoned: self.zoned.clone(),
            programs: self.programs.clone(),
            ..*self
        })
    }

    fn open_arrivals(&mut self, config: &Config) {
        self.replace_host(config);
    }

    fn saved(&self) -> &dyn erased_serde::Serialize {
        self
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<(), postcard::Error> {
        *self = Self::deserialize(from)?;
        Ok(())
    }
}

impl<A: TimePath, C: Content> Intake<A, C> {
    /// Entries of the drive's buffer that wait.
    fn buffered_units(&self) -> u64 {
        if !self.is_buffered {
            return 0;
        }
        u64::from(self.waiting_in_buffer()) + self.completing.len() as u64
    }
}
