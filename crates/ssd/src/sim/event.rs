//! The run loop on events: requests enter, their commands wait in queues, completions let the next ones in.
//!
//! Glossary. *Slot*: place of a request under way; its number is the tag of its commands. *Unbound*: a page that dynamic
//! allocation can't place yet. *Stalled*: a request that waits for room in the write buffer, or for its turn behind one
//! that does. *Barrier*: a flush that waits for what was written before it. *Waiting*: at the host, not under way. Everything that happens at one instant is
//! let happen before anything waiting is resumed, so that the order within an instant can't matter.

mod buffered;
mod host;
mod overtaken;
mod unbound;

use std::collections::VecDeque;

use flashweir_trace::{Op, Request};

use super::ledger::is_empty;
use super::{Drive, Ledger, State};
use crate::buffer::{Ack, WriteBuffer};
use crate::config::Config;
use crate::content::{Content, Stage};
use crate::core::{AHEAD, Core, Part};
use crate::error::RunError;
use crate::host::Waiting;
use crate::nand::event::Events;
use crate::nand::probe::Recorded;
use crate::nand::{IssueRecord, Probe};
use crate::sched::Scheduler;
use crate::stats::{Parts, Stats, Times};
use crate::tenants::Allocation;
use unbound::Unbound;

/// Tags from here on are entries of the write buffer.
const BUFFER_TAG: u32 = 1 << 31;

#[derive(Clone, Debug)]
struct Slot {
    request: Request,
    number: u64,
    issue_ns: u64,
    /// What it still waits for: commands, unbound pages, entries of the buffer, or a stall.
    outstanding: u32,
    /// Pages of it that are in the buffer already.
    admitted: u64,
    /// End of the last of its commands so far, ns, and where the time of that one went.
    last: (u64, Parts),
}

#[derive(Clone, Copy, Debug)]
struct Barrier {
    tag: u32,
    /// Requests that entered before, write and are not done (without a buffer).
    writes_left: u64,
    /// Entries of the buffer older than this must be on flash.
    sequence: u64,
}

/// A drive on events.
#[derive(Clone, Debug)]
pub(super) struct EventDrive<P, C> {
    core: Core<C>,
    events: Events<P>,
    ledger: Ledger,
    slots: Vec<Option<Slot>>,
    free: Vec<u32>,
    under_way: u32,
    writes_under_way: u64,
    queue_depth: u32,
    waiting: Option<Waiting>,
    unbound: Unbound,
    buffer: Option<WriteBuffer>,
    ack: Ack,
    stalled: VecDeque<u32>,
    /// Since when the first stalled request finds no room, ns; kept for the probe.
    full_since_ns: Option<u64>,
    barriers: Vec<Barrier>,
    resume: bool,
}

impl<P: Probe, C: Content> EventDrive<P, C> {
    pub(super) fn new(config: &Config, core: Core<C>, probe: P) -> Self {
        let geometry = &core.geometry;
        let queues = core.alloc.queues(geometry);
        let pages = config.buffer_pages();
        let scheduler = Scheduler::new(&config.sched);
        Self {
            events: Events::new(
                geometry,
                config.bus_is_free(),
                config.timing.cache_program,
                scheduler,
                probe,
            ),
            ledger: Ledger::new(config, geometry.capacity_sectors()),
            slots: Vec::new(),
            free: Vec::new(),
            under_way: 0,
            writes_under_way: 0,
            queue_depth: config.host.most_under_way(),
            waiting: Waiting::new(&config.host),
            unbound: Unbound::new(config.tenants.turns, config.tenants.most_slowed_ppm()),
            buffer: (pages > 0).then(|| WriteBuffer::new(&config.buffer, pages, core.page_shape(), queues)),
            ack: config.buffer.ack,
            stalled: VecDeque::new(),
            full_since_ns: None,
            barriers: Vec::new(),
            resume: false,
            core,
        }
    }

    fn serve_one(&mut self, request: &Request) -> Result<(), RunError> {
        let number = self.ledger.take(request)?;
        if self.waiting.is_some() {
            return self.arrive(request, number);
        }
        self.let_in(request)?;
        let issue_ns = self.events.now_ns;
        self.events.probe.issue(IssueRecord { number, request: *request, issue_ns });
        self.begin(request, number, issue_ns)
    }

    /// A request is under way from now on.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "part of the loop over requests; the other caller is seldom there"
    )]
    fn begin(&mut self, request: &Request, number: u64, issue_ns: u64) -> Result<(), RunError> {
        let slot = Slot {
            request: *request,
            number,
            issue_ns,
            outstanding: 1,
            admitted: 0,
            last: (0, Parts::default()),
        };
        let tag = self.open(slot);
        self.events.request = number;
        match request.op {
            Op::Flush => self.flush(tag)?,
            _ if is_empty(request) => {}
            Op::Read => self.read(tag, request)?,
            Op::Write => self.write(tag, request)?,
            Op::Trim => self.trim(request)?,
        }
        // Opened with one outstanding, so that nothing can end it while it is being handed over.
        self.settle(tag, 1);
        if C::ON {
            super::check_failure(&self.core, number + 1)?;
        }
        Ok(())
    }

    /// Lets everything happen that comes before the request enters; after that it is its time. Again, it does nothing.
    fn let_in(&mut self, request: &Request) -> Result<(), RunError> {
        if let Some(arrival) = self.ledger.arrival_ns(request)? {
            self.advance_to(arrival)?;
            self.events.now_ns = arrival;
        } else {
            while self.under_way >= self.queue_depth {
                if !self.advance()? {
                    return Err(self.no_room());
                }
            }
            self.advance_to(self.events.now_ns)?;
        }
        Ok(())
    }

    /// Lets everything happen that is due by `time`.
    fn advance_to(&mut self, time: u64) -> Result<(), RunError> {
        loop {
            if self.events.now_ns < time {
                self.events.dispatch();
            }
            if self.events.next_ns().is_none_or(|next| next > time) {
                return Ok(());
            }
            self.step()?;
        }
    }

    /// Lets commands start that can, and the next event happen. Returns false if there was nothing.
    fn advance(&mut self) -> Result<bool, RunError> {
        let started = self.events.dispatch();
        Ok(self.step()? || started)
    }

    /// Lets the next event happen. Returns false if there was none.
    fn step(&mut self) -> Result<bool, RunError> {
        if !self.events.step() {
            return Ok(false);
        }
        while let Some(tag) = self.events.completed.pop() {
            let parts = self.events.parts.pop();
            if tag < BUFFER_TAG {
                self.end_command(tag, parts);
            } else {
                self.leave_buffer(tag - BUFFER_TAG, parts);
            }
            self.resume = true;
        }
        if self.resume && self.events.next_ns() != Some(self.events.now_ns) {
            self.resume = false;
            self.resume_waiting()?;
        }
        Ok(true)
    }

    fn open(&mut self, slot: Slot) -> u32 {
        self.under_way += 1;
        if slot.request.op == Op::Write {
            self.writes_under_way += 1;
        }
        if let Some(tag) = self.free.pop() {
            self.slots[tag as usize] = Some(slot);
            tag
        } else {
            self.slots.push(Some(slot));
            self.slots.len() as u32 - 1
        }
    }

    /// A request waits for `count` things more.
    fn expect(&mut self, tag: u32, count: u32) {
        if let Some(slot) = &mut self.slots[tag as usize] {
            slot.outstanding += count;
        }
    }

    /// A command of a request is done.
    #[inline]
    fn end_command(&mut self, tag: u32, parts: Option<Parts>) {
        if let Some(parts) = parts
            && let Some(slot) = &mut self.slots[tag as usize]
        {
            slot.last = slot.last.max((self.events.now_ns, parts));
        }
        self.settle(tag, 1);
    }

    /// A request waits for `count` things less; at none it is done.
    fn settle(&mut self, tag: u32, count: u32) {
        let place = &mut self.slots[tag as usize];
        let Some(slot) = place else { return };
        slot.outstanding -= count;
        if slot.outstanding > 0 {
            return;
        }
        let Some(Slot { request, number, issue_ns, mut last, .. }) = place.take() else { return };
        let order = if self.waiting.is_some() { self.leave(tag, &mut last.1) } else { number };
        self.free.push(tag);
        self.under_way -= 1;
        let now = self.events.now_ns;
        self.ledger.complete(
            &mut self.events.probe,
            &mut self.core.counters,
            number,
            &request,
            issue_ns,
            now,
            &last.1,
        );
        if request.op == Op::Write {
            self.writes_under_way -= 1;
            if self.buffer.is_none() {
                self.settle_barriers(order);
            }
        }
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as `begin`")]
    fn read(&mut self, tag: u32, request: &Request) -> Result<(), RunError> {
        self.events.submitted = 0;
        let now = self.events.now_ns;
        for part in self.core.parts(request) {
            let entry = self.buffer.as_ref().and_then(|buffer| buffer.find(part.lpn));
            let staged = entry.map(|(slot, _)| Stage::Buffer(slot));
            if entry.is_some_and(|(_, entry)| entry.mask.covers(part.first, part.end)) {
                self.core.counters.buffer_hits += 1;
                self.core.content.read(part.lpn, part.first..part.end, None, staged);
            } else {
                self.core.read(now, tag, part, staged, &mut self.events)?;
            }
        }
        self.core.flush(now, &mut self.events);
        self.expect(tag, self.events.submitted);
        Ok(())
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as `begin`")]
    fn write(&mut self, tag: u32, request: &Request) -> Result<(), RunError> {
        if self.buffer.is_some() {
            self.expect(tag, 1);
            self.stalled.push_back(tag);
            return self.resume_buffer();
        }
        self.events.submitted = 0;
        for part in self.core.parts(request) {
            self.core.counters.host_pages_written += self.core.flash_pages(part);
            if !self.bind(tag, part)? {
                self.expect(tag, 1);
                let class = self.core.alloc.class_of(part.stream, part.lpn);
                self.unbound.push(class, tag, part);
            }
        }
        self.core.flush(self.events.now_ns, &mut self.events);
        self.expect(tag, self.events.submitted);
        Ok(())
    }

    /// Hands a page over to its unit, if there is one that takes it.
    fn bind(&mut self, tag: u32, part: Part) -> Result<bool, RunError> {
        let whole = u64::from(part.end - part.first) == self.core.page_sectors.get();
        let now = self.events.now_ns;
        let bound = self.core.write(now, tag, part, whole, Stage::Direct, &mut self.events)?;
        if self.core.alloc.shares_map() {
            // Whether the next page finds a die idle depends on this one being there.
            self.core.flush(now, &mut self.events);
        }
        Ok(bound)
    }

    fn trim(&mut self, request: &Request) -> Result<(), RunError> {
        if !self.core.ftl.forgets() {
            return Ok(());
        }
        let page_sectors = self.core.page_sectors.get() as u32;
        for part in self.core.parts(request) {
            while part.end - part.first == page_sectors
                && let Some(buffer) = &mut self.buffer
                && let Some((slot, entry)) = buffer.forget(part.lpn)
            {
                self.events.probe.dirty_pages(self.events.now_ns, entry.channel, -1);
                self.core.content.unstage(Stage::Buffer(slot));
                for tag in entry.waiters {
                    self.settle(tag, 1);
                }
            }
            self.core.trim(self.events.now_ns, part, &mut self.events)?;
        }
        Ok(())
    }

    fn flush(&mut self, tag: u32) -> Result<(), RunError> {
        if self.buffer.is_some() {
            self.expect(tag, 1);
            self.stalled.push_back(tag);
            return self.resume_buffer();
        }
        if self.writes_under_way > 0 {
            self.expect(tag, 1);
            self.barriers.push(Barrier { tag, writes_left: self.writes_under_way, sequence: 0 });
        }
        Ok(())
    }

    /// Something ended: whoever waits may go on.
    fn resume_waiting(&mut self) -> Result<(), RunError> {
        // A page that waits only goes to an idle die: without one none need be asked.
        if !self.unbound.is_empty() && self.events.has_idle_die() {
            self.place_waiting(Events::has_idle_die)?;
        }
        if self.buffer.is_some() { self.resume_buffer() } else { Ok(()) }
    }

    /// Asks the pages that wait, in turn, as long as it is worth it.
    fn place_waiting(&mut self, worth: impl Fn(&Events<P>) -> bool) -> Result<(), RunError> {
        let (mut from, mut on) = ((0, 0), true);
        while on && let Some((rank, tag, part)) = self.unbound.front(from) {
            if let Some(slot) = &self.slots[tag as usize] {
                self.events.request = slot.number;
            }
            self.events.submitted = 0;
            if self.bind(tag, part)? {
                from = self.unbound.pop(rank);
                self.expect(tag, self.events.submitted);
                self.settle(tag, 1);
                on = worth(&self.events);
            } else {
                // It keeps its turn; pages of other classes may still find a die of theirs idle.
                from = unbound::after(rank);
            }
        }
        Ok(())
    }

    fn no_room(&self) -> RunError {
        RunError::NoRoom { waiting: self.unbound.len() as u64 + self.stalled.len() as u64 }
    }
}

impl<P: Probe + Clone + Send + 'static, C: Content + Send + 'static> Drive for EventDrive<P, C> {
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
            return Err(self.no_room());
        }
        super::check_failure(&self.core, self.ledger.taken)
    }

    fn enter(&mut self, request: &Request) -> Result<u64, RunError> {
        if self.waiting.is_some() {
            return self.arrive_at(request);
        }
        self.let_in(request)?;
        Ok(self.events.now_ns)
    }

    fn allocate(&mut self, allocation: &Allocation) {
        self.core.alloc.allocate(allocation);
        let alloc = &self.core.alloc;
        self.unbound
            .sort_again(allocation.turns.unwrap_or_default(), |part| alloc.class_of(part.stream, part.lpn));
    }

    fn resume(&mut self) -> Result<(), RunError> {
        // Those that now go by their address need no idle die.
        self.place_waiting(|_| true)
    }

    fn proceed(&mut self) -> Result<bool, RunError> {
        self.advance()
    }

    fn proceed_by(&mut self, limit_ns: u64) -> Result<bool, RunError> {
        if self.events.now_ns < limit_ns {
            let kept = self.ledger.kept();
            self.let_waiting_in()?;
            if self.ledger.kept() > kept {
                return Ok(true);
            }
            self.events.dispatch();
        }
        if self.events.next_ns().is_none_or(|next| next > limit_ns) { Ok(false) } else { self.step() }
    }

    fn ledger_mut(&mut self) -> &mut Ledger {
        &mut self.ledger
    }

    fn keep_parts(&mut self) {
        self.events.follows = true;
    }

    fn times(&self) -> Times {
        Times { flash_ns: self.core.flash_time().all(), ..self.events.times() }
    }

    fn state(&self) -> &dyn State {
        &self.core
    }

    fn state_mut(&mut self) -> &mut dyn State {
        &mut self.core
    }

    fn stats(&self) -> Stats {
        let stats = self.ledger.stats(&self.core, &self.events.usage, self.events.now_ns);
        Stats { sched: self.events.sched_counts(), ..stats }
    }

    fn take_recorded(&mut self) -> Recorded {
        let mut recorded = self.events.probe.take();
        self.core.content.put_times(&mut recorded);
        let settled_ns = self.events.settled_ns().min(self.full_since_ns.unwrap_or(u64::MAX));
        Recorded { settled_ns, queues_settled_ns: self.events.now_ns, ..recorded }
    }

    fn snapshot(&mut self) -> Box<dyn Drive> {
        Box::new(Self {
            core: self.core.snapshot(),
            events: self.events.clone(),
            ledger: self.ledger.clone(),
            slots: self.slots.clone(),
            free: self.free.clone(),
            under_way: self.under_way,
            writes_under_way: self.writes_under_way,
            queue_depth: self.queue_depth,
            waiting: self.waiting.clone(),
            unbound: self.unbound.clone(),
            buffer: self.buffer.clone(),
            ack: self.ack,
            stalled: self.stalled.clone(),
            full_since_ns: self.full_since_ns,
            barriers: self.barriers.clone(),
            resume: self.resume,
        })
    }
}
