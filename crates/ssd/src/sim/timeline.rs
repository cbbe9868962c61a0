//! The run loop on busy-until times: one request after the other, each worked out to its end at once.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use flashweir_trace::{Op, Request};

use super::ledger::is_empty;
use super::{Drive, Ledger, State};
use crate::buffer::{Ack, Incoming, WriteBuffer};
use crate::config::Config;
use crate::content::{Content, Stage};
use crate::core::{AHEAD, Core, Part};
use crate::error::RunError;
use crate::host::HostMode;
use crate::host::closed::Window;
use crate::nand::probe::Recorded;
use crate::nand::timeline::Timeline;
use crate::nand::{FullRecord, IssueRecord, NOBODY, Probe};
use crate::stats::{Parts, Stats, Times};

/// A drive on busy-until times.
#[derive(Clone, Debug)]
pub(super) struct TimelineDrive<P, C> {
    core: Core<C>,
    line: Timeline<P>,
    ledger: Ledger,
    window: Window,
    buffer: Option<Buffered>,
    /// The latest end of a write so far, ns: what a flush waits for.
    written_ns: u64,
    /// When the last request entered, ns: no later one enters earlier. Kept for the probe.
    entered_ns: u64,
}

/// The write buffer with the ends of what is under way.
#[derive(Clone, Debug)]
struct Buffered {
    buffer: WriteBuffer,
    ack: Ack,
    under_way: BinaryHeap<Reverse<(u64, u32)>>,
}

impl<P: Probe, C: Content> TimelineDrive<P, C> {
    pub(super) fn new(config: &Config, core: Core<C>, probe: P) -> Self {
        let depth = match &config.host.mode {
            HostMode::Closed(closed) => closed.queue_depth,
            HostMode::Open(_) => 1,
        };
        let pages = config.buffer_pages();
        let buffer = (pages > 0).then(|| Buffered {
            buffer: WriteBuffer::new(&config.buffer, pages, core.page_shape(), core.geometry.units()),
            ack: config.buffer.ack,
            under_way: BinaryHeap::new(),
        });
        Self {
            line: Timeline::new(&core.geometry, config.timing.cache_program, probe),
            ledger: Ledger::new(config, core.geometry.capacity_sectors()),
            window: Window::new(depth),
            buffer,
            written_ns: 0,
            entered_ns: 0,
            core,
        }
    }

    #[inline]
    fn serve_one(&mut self, request: &Request) -> Result<(), RunError> {
        let number = self.ledger.take(request)?;
        let arrival = self.ledger.arrival_ns(request)?;
        let now = arrival.unwrap_or_else(|| self.window.enter());
        self.line.request = number;
        self.line.begin(now);
        if P::ON {
            self.entered_ns = now;
            self.line.probe.issue(IssueRecord { number, request: *request, issue_ns: now });
        }
        let completion = match request.op {
            Op::Flush => self.barrier(now)?,
            _ if is_empty(request) => {
                self.release(now);
                now
            }
            Op::Read => self.read(now, request)?,
            Op::Write => self.write(now, number, request)?,
            Op::Trim => self.trim(now, request)?,
        };
        if arrival.is_none() {
            self.window.leave(completion);
        }
        let from_flash = match request.op {
            Op::Read => true,
            Op::Write => self.buffer.as_ref().is_none_or(|buffered| buffered.ack == Ack::Flash),
            Op::Trim | Op::Flush => false,
        };
        let parts = if from_flash { self.line.latest_parts } else { Parts::default() };
        let (probe, counters) = (&mut self.line.probe, &mut self.core.counters);
        self.ledger.complete(probe, counters, number, request, now, completion, &parts);
        if C::ON {
            super::check_failure(&self.core, number + 1)?;
        }
        Ok(())
    }

    fn read(&mut self, now: u64, request: &Request) -> Result<u64, RunError> {
        self.release(now);
        for part in self.core.parts(request) {
            let entry = self.buffer.as_ref().and_then(|buffered| buffered.buffer.find(part.lpn));
            let staged = entry.map(|(slot, _)| Stage::Buffer(slot));
            if entry.is_some_and(|(_, entry)| entry.mask.covers(part.first, part.end)) {
                self.core.counters.buffer_hits += 1;
                self.core.content.read(part.lpn, part.first..part.end, None, staged);
            } else {
                self.core.read(now, NOBODY, part, staged, &mut self.line)?;
            }
        }
        self.core.flush(now, &mut self.line);
        Ok(self.line.latest_ns)
    }

    #[inline]
    fn write(&mut self, now: u64, number: u64, request: &Request) -> Result<u64, RunError> {
        if self.buffer.is_some() {
            return self.write_buffered(now, number, request);
        }
        let page_sectors = self.core.page_sectors.get() as u32;
        for part in self.core.parts(request) {
            self.core.counters.host_pages_written += self.core.flash_pages(part);
            let whole = part.end - part.first == page_sectors;
            self.core.write(now, NOBODY, part, whole, Stage::Direct, &mut self.line)?;
        }
        self.core.flush(now, &mut self.line);
        self.written_ns = self.written_ns.max(self.line.latest_ns);
        Ok(self.line.latest_ns)
    }

    fn write_buffered(&mut self, now: u64, number: u64, request: &Request) -> Result<u64, RunError> {
        let mut now = now;
        let mut full_since = None;
        for part in self.core.entries(request) {
            self.core.counters.host_pages_written += 1;
            let admitted = self.admit(now, number, part)?;
            if P::ON && admitted > now {
                full_since.get_or_insert(now);
            }
            now = admitted;
        }
        if let Some(start_ns) = full_since {
            self.line.probe.full(FullRecord { request: number, start_ns, end_ns: now });
        }
        if self.buffer.as_ref().is_some_and(|buffered| buffered.ack == Ack::Flash) {
            now = self.drain(now)?;
        }
        Ok(now)
    }

    /// Takes a page into the buffer at `now` or when there is room. Returns when, ns.
    fn admit(&mut self, now: u64, request: u64, part: Part) -> Result<u64, RunError> {
        let mut now = now;
        let incoming = Incoming::new(&part, self.core.queue_of(&part), request);
        loop {
            self.release(now);
            let Some(Buffered { buffer, .. }) = &mut self.buffer else { return Ok(now) };
            let joined = buffer.join(&incoming);
            if joined.is_some() {
                self.core.counters.coalesced += 1;
            }
            let entered = joined.map(|slot| (slot, None)).or_else(|| buffer.insert(&incoming));
            if let Some((slot, older)) = entered {
                if let Some(older) = older {
                    self.core.content.inherit(Stage::Buffer(older), Stage::Buffer(slot));
                }
                self.core.content.stage(Stage::Buffer(slot), request, part.lpn, part.first..part.end);
                if P::ON && joined.is_none() {
                    let entry = buffer.entry(slot);
                    entry.channel = self.core.alloc.fixed_channel(part.lpn, &self.core.geometry);
                    self.line.probe.dirty_pages(now, entry.channel, 1);
                }
                return Ok(now);
            }
            now = self.pump(now)?.unwrap_or(now);
        }
    }

    /// Frees the places of all pages on flash by `now`.
    fn release(&mut self, now: u64) {
        let Some(Buffered { buffer, under_way, .. }) = &mut self.buffer else { return };
        while let Some(Reverse((end, slot))) = under_way.peek().copied()
            && end <= now
        {
            under_way.pop();
            let entry = buffer.finish(slot);
            self.core.content.unstage(Stage::Buffer(slot));
            self.line.probe.dirty_pages(end, entry.channel, -1);
        }
    }

    /// Sends the next page of every unit that can take one. Returns when the next page leaves the buffer, ns.
    fn pump(&mut self, now: u64) -> Result<Option<u64>, RunError> {
        let Some(Buffered { buffer, under_way, .. }) = &mut self.buffer else { return Ok(None) };
        let page_sectors = self.core.page_sectors.get() as u32;
        let ready: Vec<_> = buffer.ready().collect();
        for (queue, slot) in ready {
            let entry = buffer.entry(slot);
            let whole = entry.mask.covers(0, page_sectors);
            let part = Part { lpn: entry.lpn, first: 0, end: page_sectors, stream: entry.stream };
            if P::ON {
                self.line.request = entry.request;
            }
            buffer.start(queue, true);
            self.core.write(now, slot, part, whole, Stage::Buffer(slot), &mut self.line)?;
        }
        self.core.flush(now, &mut self.line);
        let companions = self.core.take_companions();
        for (end, slot) in self.line.ended.drain(..) {
            under_way.push(Reverse((end, slot)));
            for (_, companion) in companions.iter().filter(|(tag, _)| *tag == slot) {
                under_way.push(Reverse((end, *companion)));
            }
        }
        Ok(under_way.peek().map(|Reverse((end, _))| *end))
    }

    /// Sends everything in the buffer to flash. Returns when it is there, ns.
    fn drain(&mut self, now: u64) -> Result<u64, RunError> {
        let mut now = now;
        loop {
            self.release(now);
            match self.pump(now)? {
                Some(end) => now = end,
                None => return Ok(now),
            }
        }
    }

    fn barrier(&mut self, now: u64) -> Result<u64, RunError> {
        self.set_barrier(u64::MAX);
        let now = self.drain(now)?;
        self.set_barrier(0);
        Ok(now.max(self.written_ns))
    }

    fn set_barrier(&mut self, sequence: u64) {
        if let Some(Buffered { buffer, .. }) = &mut self.buffer {
            buffer.set_barrier(sequence);
        }
    }

    fn trim(&mut self, now: u64, request: &Request) -> Result<u64, RunError> {
        self.release(now);
        if !self.core.ftl.forgets() {
            return Ok(now);
        }
        let page_sectors = self.core.page_sectors.get() as u32;
        for part in self.core.parts(request) {
            while part.end - part.first == page_sectors
                && let Some(Buffered { buffer, .. }) = &mut self.buffer
                && let Some((slot, entry)) = buffer.forget(part.lpn)
            {
                self.line.probe.dirty_pages(now, entry.channel, -1);
                self.core.content.unstage(Stage::Buffer(slot));
            }
            self.core.trim(now, part, &mut self.line)?;
        }
        Ok(now)
    }
}

impl<P: Probe + Clone + Send + 'static, C: Content + Send + 'static> Drive for TimelineDrive<P, C> {
    fn serve(&mut self, requests: &[Request]) -> Result<(), RunError> {
        for requests in requests.chunks(AHEAD) {
            self.core.look_ahead(requests);
            requests.iter().try_for_each(|request| self.serve_one(request))?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), RunError> {
        // What is under way ends; what waits in the buffer stays there.
        self.release(u64::MAX);
        Ok(())
    }

    fn enter(&mut self, request: &Request) -> Result<u64, RunError> {
        Ok(self.ledger.arrival_ns(request)?.unwrap_or_else(|| self.window.entry_ns()))
    }

    fn proceed(&mut self) -> Result<bool, RunError> {
        Ok(false)
    }

    fn proceed_by(&mut self, _: u64) -> Result<bool, RunError> {
        Ok(false)
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
            lock_step: None,
        }
    }

    fn state(&self) -> &dyn State {
        &self.core
    }

    fn state_mut(&mut self) -> &mut dyn State {
        &mut self.core
    }

    fn stats(&self) -> Stats {
        self.ledger.stats(&self.core, &self.line.usage, self.line.horizon_ns)
    }

    fn take_recorded(&mut self) -> Recorded {
        let mut recorded = self.line.probe.take();
        self.core.content.put_times(&mut recorded);
        // A page that leaves the buffer is told of when the next request enters.
        let settled_ns =
            if self.buffer.is_some() { self.entered_ns } else { self.line.settled_ns(self.entered_ns) };
        Recorded { settled_ns, queues_settled_ns: self.entered_ns, ..recorded }
    }

    fn snapshot(&mut self) -> Box<dyn Drive> {
        Box::new(Self {
            core: self.core.snapshot(),
            line: self.line.clone(),
            ledger: self.ledger.clone(),
            window: self.window.clone(),
            buffer: self.buffer.clone(),
            written_ns: self.written_ns,
            entered_ns: self.entered_ns,
        })
    }
}
