//! The run loop of managed channels: a planner says who collects when, and a clock says who goes on together.
//!
//! Glossary. *Station*: the units that start and end together: with a common clock all of them, otherwise those of one
//! die. *Cycle*: one flush of the buffer to a station, at most a page a unit. *Mandatory* collection: a page can't be
//! written before it. *Initiator*: the unit whose mandatory collection others take part in, one at a time. *Forward*
//! collection: one that nobody has to make yet. *Stalled*, *barrier*: as in the module `event`.
//!
//! A station that is not busy is idle, and decided about as soon as anything changes. Times of commands are busy-until
//! times: every command starts when its die is free, so a read gets in between two steps of a collection.
//! Everything that happens at one instant is let happen before anything is decided, so that the order can't matter.

mod collect;
mod cycle;
mod host;
mod waits;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

use flashweir_trace::{Op, Request};

use super::ledger::is_empty;
use super::{Drive, Ledger, State};
use crate::buffer::{Ack, WriteBuffer};
use crate::config::{Clock, Config};
use crate::content::{Content, Stage};
use crate::core::{AHEAD, Core, Part};
use crate::error::RunError;
use crate::ftl::Step;
use crate::gc::planner::{Action, Planner};
use crate::host::{Arrived, Waiting};
use crate::nand::probe::Recorded;
use crate::nand::timeline::Timeline;
use crate::nand::{Executor, IssueRecord, NOBODY, Probe};
use crate::stats::{Cause, LockStepTimes, Parts, Stats, Times};
use cycle::Cycle;
use host::{Barrier, Slot};
use waits::{Doing, Waits};

/// Events from here on are the ends of requests; below, stations.
const REQUEST_EVENT: u32 = 1 << 31;

/// What a station does.
#[derive(Clone, Debug, Default)]
struct Station {
    busy: bool,
    /// Entries of the buffer being written.
    serving: Vec<u32>,
    /// Its own collection, if it makes one: mandatory or forward.
    own: Option<Own>,
    doing: Doing,
}

/// A collection that a station makes on its own.
#[derive(Clone, Copy, Debug)]
struct Own {
    unit: u32,
    mandatory: bool,
    last: Step,
    merged: u64,
}

/// A mandatory collection that others take part in.
#[derive(Clone, Debug)]
struct Together {
    initiator: u32,
    /// Whether a unit takes part.
    joined: Vec<bool>,
    /// The step under way, or the last one, with what followers do in it.
    last: Option<(Step, Action)>,
    /// Whether a station has begun the step.
    begun: Vec<bool>,
    merged: u64,
}

/// A drive whose channels are managed.
#[derive(Clone, Debug)]
pub(super) struct ManagedDrive<P, C> {
    core: Core<C>,
    line: Timeline<P>,
    ledger: Ledger,
    now_ns: u64,
    planner: Planner,
    lock_step: Option<LockStepTimes>,
    stations: Vec<Station>,
    units_per_station: u32,
    /// Whether all collections are made with an initiator.
    aligned: bool,
    together: Option<Together>,
    /// Stations in mandatory collection on their own.
    mandatory: u32,
    events: BinaryHeap<Reverse<(u64, u32)>>,
    slots: Vec<Option<Slot>>,
    free: Vec<u32>,
    under_way: u32,
    queue_depth: u32,
    waiting: Option<Waiting>,
    buffer: WriteBuffer,
    /// Whether there is a buffer; without one, entries only hold the pages of requests that wait for flash.
    buffered: bool,
    ack: Ack,
    stalled: VecDeque<u32>,
    /// Since when the first stalled request finds no room, ns.
    full_since_ns: Option<u64>,
    barriers: Vec<Barrier>,
    waits: Waits,
    /// The tenant that the last step of a collection was charged to.
    collects_for: u16,
    /// Used while a flush is put together.
    set: Vec<(u32, u32)>,
}

impl<P: Probe, C: Content> ManagedDrive<P, C> {
    pub(super) fn new(config: &Config, core: Core<C>, probe: P) -> Self {
        let lock_step = config.clock == Clock::LockStep;
        let units = core.geometry.units();
        let units_per_station = if lock_step { units } else { core.geometry.planes };
        let pages = config.buffer_pages();
        let buffered = pages > 0;
        let capacity = if buffered { pages } else { u64::MAX };
        let planner = Planner::new(&config.gc);
        Self {
            line: Timeline::new(&core.geometry, false, probe),
            ledger: Ledger::new(config, core.geometry.capacity_sectors()),
            now_ns: 0,
            aligned: lock_step || planner.is_aligned(),
            planner,
            lock_step: lock_step.then(LockStepTimes::default),
            stations: vec![Station::default(); (units / units_per_station) as usize],
            units_per_station,
            together: None,
            mandatory: 0,
            events: BinaryHeap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            under_way: 0,
            queue_depth: config.host.most_under_way(),
            waiting: Waiting::new(&config.host),
            buffer: WriteBuffer::new(&config.buffer, capacity, core.page_shape(), units),
            buffered,
            ack: if buffered { config.buffer.ack } else { Ack::Flash },
            stalled: VecDeque::new(),
            full_since_ns: None,
            barriers: Vec::new(),
            waits: Waits::default(),
            collects_for: 0,
            set: Vec::new(),
            core,
        }
    }

    fn serve_one(&mut self, request: &Request) -> Result<(), RunError> {
        let number = self.ledger.take(request)?;
        self.let_in(request)?;
        let issue_ns = self.now_ns;
        self.line.probe.issue(IssueRecord { number, request: *request, issue_ns });
        if let Some(waiting) = &mut self.waiting {
            waiting.push(Arrived { request: *request, number, arrival_ns: issue_ns }, self.core.flash_time());
            return Ok(());
        }
        self.start(request, number, issue_ns)
    }

    /// A request is under way from now on.
    fn start(&mut self, request: &Request, number: u64, issue_ns: u64) -> Result<(), RunError> {
        // Opened with one outstanding, so that nothing can end it while it is being handed over.
        let parts = Parts::default();
        let slot = Slot { request: *request, number, issue_ns, outstanding: 1, admitted: 0, parts };
        let tag = self.open(slot);
        if let Some(waiting) = &mut self.waiting {
            waiting.enter(tag, self.now_ns - issue_ns);
        }
        self.line.request = number;
        match request.op {
            Op::Read if !is_empty(request) => self.read(tag, request)?,
            Op::Write | Op::Flush if request.op == Op::Flush || !is_empty(request) => {
                self.expect(tag, 1);
                self.stalled.push_back(tag);
                self.decide()?;
            }
            Op::Trim if !is_empty(request) => self.trim(request)?,
            _ => {}
        }
        self.settle(tag, 1);
        if C::ON {
            super::check_failure(&self.core, number + 1)?;
        }
        Ok(())
    }

    /// Lets everything happen that comes before the request enters; after that it is its time. Again, it does nothing.
    fn let_in(&mut self, request: &Request) -> Result<(), RunError> {
        if let Some(arrival) = self.ledger.arrival_ns(request)? {
            loop {
                if self.now_ns < arrival {
                    self.let_waiting_in()?;
                }
                if self.next_ns().is_none_or(|next| next > arrival) {
                    break;
                }
                self.advance()?;
            }
            self.now_ns = self.now_ns.max(arrival);
        } else {
            while self.under_way >= self.queue_depth {
                if !self.advance()? {
                    return Err(RunError::NoRoom { waiting: self.stalled.len() as u64 });
                }
            }
        }
        Ok(())
    }

    /// When the next event happens, ns.
    fn next_ns(&self) -> Option<u64> {
        self.events.peek().map(|Reverse((time, _))| *time)
    }

    /// Lets everything of the next instant happen. Returns false if there was nothing.
    fn advance(&mut self) -> Result<bool, RunError> {
        let Some(Reverse((now, _))) = self.events.peek().copied() else { return Ok(false) };
        self.now_ns = now;
        while let Some(Reverse((time, who))) = self.events.peek().copied()
            && time == now
        {
            self.events.pop();
            if who >= REQUEST_EVENT {
                self.settle(who - REQUEST_EVENT, 1);
            } else {
                self.stations[who as usize].busy = false;
                let mut serving = std::mem::take(&mut self.stations[who as usize].serving);
                for slot in serving.drain(..) {
                    self.leave_buffer(slot);
                }
                self.stations[who as usize].serving = serving;
            }
        }
        self.decide()?;
        Ok(true)
    }

    /// Something changed: lets stalled requests in, and sets idle stations to work.
    fn decide(&mut self) -> Result<(), RunError> {
        self.resume_stalled();
        if self.aligned {
            self.collect_together()?;
        }
        for station in 0..self.stations.len() as u32 {
            if !self.stations[station as usize].busy {
                self.work(station)?;
            }
        }
        if self.planner.collects_ahead() {
            // Who has nothing to write is asked when all mandatory collections of this instant have begun.
            for station in 0..self.stations.len() as u32 {
                if !self.stations[station as usize].busy {
                    self.forward(station)?;
                }
            }
        }
        Ok(())
    }

    /// Goes on with a station's own collection, or writes pages of the buffer if any have to leave it.
    fn work(&mut self, station: u32) -> Result<(), RunError> {
        if self.stations[station as usize].own.is_some() && self.go_on(station)? {
            return Ok(());
        }
        if !self.is_flushing() || self.takes_part(station) {
            return Ok(());
        }
        let mut set = std::mem::take(&mut self.set);
        self.buffer.flush_set(self.units_of(station), &mut set);
        let mut must = None;
        for (unit, slot) in &set {
            if must.is_none() && self.must_collect(*slot) {
                must = Some(*unit);
            }
        }
        if let Some(unit) = must {
            // With an initiator elsewhere, this unit waits for its turn.
            if !self.aligned {
                self.begin(station, unit)?;
            }
        } else if !set.is_empty() {
            self.stop_forward(station);
            self.write_cycle(station, &set)?;
        }
        self.set = set;
        Ok(())
    }

    /// Whether pages have to leave the buffer.
    fn is_flushing(&self) -> bool {
        self.full_since_ns.is_some() || self.ack == Ack::Flash || !self.barriers.is_empty()
    }

    fn must_collect(&mut self, slot: u32) -> bool {
        let lpn = self.buffer.entry(slot).lpn;
        self.core.alloc.locate(lpn).is_some_and(|home| self.core.ftl.must_collect(home))
    }

    /// Writes one page a unit.
    fn write_cycle(&mut self, station: u32, set: &[(u32, u32)]) -> Result<(), RunError> {
        let page_sectors = self.core.page_sectors.get() as u32;
        let start = self.start_ns();
        self.line.begin(start);
        let mut cycle = Cycle::new(&mut self.line, self.lock_step.is_some());
        for (queue, slot) in set {
            let entry = self.buffer.entry(*slot);
            let (lpn, whole) = (entry.lpn, entry.mask.covers(0, page_sectors));
            let part = Part { lpn, first: 0, end: page_sectors, stream: entry.stream };
            cycle.serve(entry.request);
            self.buffer.start(*queue, true);
            self.core.write(start, NOBODY, part, whole, Stage::Buffer(*slot), &mut cycle)?;
            self.stations[station as usize].serving.push(*slot);
        }
        self.core.flush(start, &mut cycle);
        cycle.release(start);
        self.core.take_companions();
        let end = self.occupy(station, Cause::Write);
        self.written(station, start, end);
        if let Some(times) = &mut self.lock_step {
            times.write_cycles += 1;
            times.serving_ns += end - start;
        }
        Ok(())
    }

    /// When commands made now start: with a common clock, when all that is under way has ended.
    fn start_ns(&self) -> u64 {
        if self.lock_step.is_some() { self.now_ns.max(self.line.horizon_ns) } else { self.now_ns }
    }

    /// When the dies of a station are free, ns; not before now.
    fn free_ns(&self, station: u32) -> u64 {
        if self.lock_step.is_some() {
            return self.now_ns.max(self.line.horizon_ns);
        }
        self.line.free_ns(station).max(self.now_ns)
    }

    fn units_of(&self, station: u32) -> Range<u32> {
        station * self.units_per_station..(station + 1) * self.units_per_station
    }

    fn station_of(&self, unit: u32) -> u32 {
        unit / self.units_per_station
    }
}

impl<P: Probe + Clone + Send + 'static, C: Content + Send + 'static> Drive for ManagedDrive<P, C> {
    fn serve(&mut self, requests: &[Request]) -> Result<(), RunError> {
        for requests in requests.chunks(AHEAD) {
            self.core.look_ahead(requests);
            requests.iter().try_for_each(|request| self.serve_one(request))?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), RunError> {
        self.let_waiting_in()?;
        while self.advance()? {
            self.let_waiting_in()?;
        }
        if self.under_way > 0 {
            return Err(RunError::NoRoom { waiting: self.stalled.len() as u64 });
        }
        super::check_failure(&self.core, self.ledger.taken)
    }

    fn enter(&mut self, request: &Request) -> Result<u64, RunError> {
        self.let_in(request)?;
        Ok(self.now_ns)
    }

    fn proceed(&mut self) -> Result<bool, RunError> {
        self.advance()
    }

    fn proceed_by(&mut self, limit_ns: u64) -> Result<bool, RunError> {
        if self.now_ns < limit_ns {
            let kept = self.ledger.kept();
            self.let_waiting_in()?;
            if self.ledger.kept() > kept {
                return Ok(true);
            }
        }
        if self.next_ns().is_none_or(|next| next > limit_ns) { Ok(false) } else { self.advance() }
    }

    fn ledger_mut(&mut self) -> &mut Ledger {
        &mut self.ledger
    }

    fn keep_parts(&mut self) {
        self.line.keep_parts();
    }

    fn times(&self) -> Times {
        Times {
            dies: self.line.usage.dies.clone(),
            buses: self.line.usage.buses.clone(),
            flash_ns: self.core.flash_time().all(),
            lock_step: self.lock_step,
        }
    }

    fn state(&self) -> &dyn State {
        &self.core
    }

    fn state_mut(&mut self) -> &mut dyn State {
        &mut self.core
    }

    fn stats(&self) -> Stats {
        let stats = self.ledger.stats(&self.core, &self.line.usage, self.line.horizon_ns);
        Stats { lock_step: self.lock_step, ..stats }
    }

    fn take_recorded(&mut self) -> Recorded {
        let mut recorded = self.line.probe.take();
        self.core.content.put_times(&mut recorded);
        let settled_ns = self.line.settled_ns(self.now_ns).min(self.now_ns);
        Recorded {
            settled_ns: settled_ns.min(self.full_since_ns.unwrap_or(u64::MAX)),
            queues_settled_ns: self.now_ns,
            ..recorded
        }
    }

    fn snapshot(&mut self) -> Box<dyn Drive> {
        let core = self.core.snapshot();
        Box::new(Self {
            core,
            line: self.line.clone(),
            ledger: self.ledger.clone(),
            planner: self.planner.clone(),
            stations: self.stations.clone(),
            together: self.together.clone(),
            events: self.events.clone(),
            slots: self.slots.clone(),
            waiting: self.waiting.clone(),
            free: self.free.clone(),
            buffer: self.buffer.clone(),
            stalled: self.stalled.clone(),
            barriers: self.barriers.clone(),
            waits: self.waits.clone(),
            set: Vec::new(),
            ..*self
        })
    }
}
