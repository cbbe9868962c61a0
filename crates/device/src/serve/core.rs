//! The drive while it is served, and those who wait for it: requests enter, complete, and are answered when they are due.

mod answer;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use flashweir_run::Drive;
use flashweir_trace::{Op, Request};

use super::clock::Clock;
use super::cuts::{Cuts, Report, Trigger};
use super::faults::Faults;
use super::lateness::Lateness;
use super::nbd::error;
use super::promise::Promise;
use super::record::Recording;
use super::reply::{Connection, Connections, Reply};
use super::state::State;
use super::tally::Tally;
use super::what_if::WhatIf;
use crate::Error;

/// Between two looks at a drive whose next event is not known.
const TICK: std::time::Duration = std::time::Duration::from_micros(20);

/// Change of the bytes that a request makes when it enters. `None`: the bytes are in the store already.
pub(super) type Change = Option<super::cuts::Bytes>;

/// A request of a client.
#[derive(Debug)]
pub(super) struct Arrival {
    pub(super) op: Op,
    pub(super) lba: u64,
    pub(super) sectors: u32,
    pub(super) stream: u16,
    /// Durable before it is answered.
    pub(super) fua: bool,
    pub(super) change: Change,
    pub(super) reply: Reply,
}

/// A request that the drive has.
#[derive(Debug)]
struct Pending {
    reply: Reply,
    /// A flush follows before it is answered.
    fua: Option<u16>,
    /// When it arrived, ns of simulated time.
    arrived_ns: u64,
    /// Its data can't be read.
    unreadable: bool,
    /// A client asked for this flush.
    is_flush: bool,
}

/// The drive, and who waits for it.
pub(super) struct Core {
    pub(super) drive: Drive,
    pub(super) clock: Clock,
    outstanding: HashMap<u64, Pending>,
    pub(super) lateness: Lateness,
    pub(super) promise: Promise,
    pub(super) faults: Faults,
    pub(super) tally: Tally,
    /// Bytes that a power cut would bring back, if power can be cut.
    pub(super) cuts: Option<Cuts>,
    pub(super) recording: Option<Recording>,
    /// The folder that it lives in.
    pub(super) state: Option<State>,
    pub(super) what_if: Option<WhatIf>,
    connections: Connections,
    /// Why the drive can't go on.
    pub(super) failed: Option<Error>,
    /// No request is taken any more.
    closed: bool,
    pub(super) batch: Vec<(u64, Arrival)>,
    /// Blocks that the plane with the fewest spare ones could lose when the drive was opened, if it retires blocks.
    spare: Option<u32>,
    /// Replies that are due, with the times of arrival and completion, ns.
    replies: Vec<(Reply, (u64, u64))>,
}

impl Core {
    pub(super) fn new(drive: Drive, clock: Clock, promise: Promise, connections: Connections) -> Self {
        let spare = drive.spare().map(|spare| spare.fewest);
        Self {
            drive,
            clock,
            outstanding: HashMap::new(),
            lateness: Lateness::default(),
            promise,
            faults: Faults::default(),
            tally: Tally::default(),
            cuts: None,
            recording: None,
            state: None,
            what_if: None,
            connections,
            failed: None,
            closed: false,
            batch: Vec::new(),
            replies: Vec::new(),
            spare,
        }
    }

    /// Percent of the spare that is left, since the drive is served; 100 of one that does not retire blocks. True if it takes no more
    /// writes.
    pub(super) fn spare_left(&self) -> (u64, bool) {
        let Some(spare) = self.drive.spare() else { return (100, false) };
        let first = u64::from(self.spare.unwrap_or(0)).max(1);
        ((100 * u64::from(spare.fewest) / first).min(100), spare.read_only.is_some())
    }

    /// Outstanding requests.
    pub(super) fn outstanding(&self) -> usize {
        self.outstanding.len()
    }

    /// True if requests get no answer but that.
    pub(super) fn is_over(&self) -> bool {
        self.failed.is_some() || self.closed
    }

    /// Brings the drive to the present, takes requests, and answers what is due.
    pub(super) fn step(&mut self, batch: &mut Vec<(u64, Arrival)>) -> Result<(), Error> {
        if self.is_over() {
            return Ok(());
        }
        for (time_ns, arrival) in batch.drain(..) {
            let time_ns = time_ns.max(self.drive.now_ns());
            if self.clock.is_paced() {
                self.advance_to(time_ns)?;
            }
            // Its connection was cut before it was taken.
            if arrival.reply.is_gone() {
                continue;
            }
            self.take(time_ns.max(self.drive.now_ns()), arrival)?;
        }
        if self.clock.is_paced() {
            let now_ns = self.clock.now_ns().max(self.drive.now_ns());
            self.advance_to(now_ns)?;
            return self.answer();
        }
        if self.clock.is_paused() {
            return self.answer();
        }
        // The earliest completions; whatever has come by then is taken before the next ones. Time passes for requests only.
        let cut_ns = self.cut_due_ns().filter(|_| !self.outstanding.is_empty());
        let limit_ns = cut_ns.unwrap_or(u64::MAX);
        self.drive.advance_to_completion(limit_ns.max(self.drive.now_ns()))?;
        self.answer()?;
        if self.drive.now_ns() >= limit_ns {
            self.cut_power()?;
        }
        Ok(())
    }

    /// Advances the drive, and cuts its power on the way if that is due.
    fn advance_to(&mut self, time_ns: u64) -> Result<(), Error> {
        if let Some(due_ns) = self.cut_due_ns().filter(|due_ns| *due_ns <= time_ns) {
            self.drive.advance_to(due_ns.max(self.drive.now_ns()))?;
            self.answer()?;
            self.cut_power()?;
        }
        let time_ns = time_ns.max(self.drive.now_ns());
        Ok(self.drive.advance_to(time_ns)?)
    }

    fn cut_due_ns(&self) -> Option<u64> {
        match self.cuts.as_ref()?.trigger? {
            Trigger::At(due_ns) => Some(due_ns),
            Trigger::AfterFlushes(_) => None,
        }
    }

    /// Takes a request that arrives at the present.
    fn take(&mut self, time_ns: u64, arrival: Arrival) -> Result<(), Error> {
        let Arrival { op, lba, sectors, stream, fua, change, reply } = arrival;
        if op == Op::Flush && matches!(self.promise, Promise::Protected | Promise::FlushIgnored) {
            self.tally.flushes += 1;
            self.flush_arrivals()?;
            if let Some(cuts) = self.cuts.as_mut().filter(|_| self.promise == Promise::FlushIgnored) {
                cuts.ignore_flush(|request| self.outstanding.contains_key(&request));
            }
            reply.send();
            return self.flushed();
        }
        let enter_ns = self.faults.enters_at(time_ns, sectors);
        let unreadable = op == Op::Read && self.faults.is_unreadable(lba, sectors);
        if let Some((change, cuts)) = change.zip(self.cuts.as_mut()) {
            cuts.submit(self.drive.submitted(), lba, sectors, change);
        }
        self.tally.enters(op, lba, sectors, self.outstanding.is_empty().then_some(time_ns));
        // A TRIM is durable when its journal is written, which a flush does on drives without a buffer, too.
        let is_volatile = match self.promise {
            Promise::Volatile => true,
            Promise::OnFlash => op == Op::Trim,
            Promise::Protected | Promise::FlushIgnored => false,
        };
        let fua = (fua && is_volatile).then_some(stream);
        let pending = Pending { reply, fua, arrived_ns: time_ns, unreadable, is_flush: op == Op::Flush };
        let request = Request { time_ns: enter_ns, lba, sectors, stream, op, handle: 0 };
        self.submit(request, enter_ns - time_ns, pending)?;
        self.note_changes();
        Ok(())
    }

    fn submit(&mut self, request: Request, waited_ns: u64, pending: Pending) -> Result<(), Error> {
        match self.drive.submit_after(&[request], waited_ns) {
            Ok(numbers) => {
                self.outstanding.insert(numbers.start, pending);
            }
            Err(error) => {
                pending.reply.fail(error::IO);
                return Err(error.into());
            }
        }
        self.keep(&request)?;
        if let Some(what_if) = &mut self.what_if {
            what_if.submit(&request, waited_ns);
        }
        Ok(())
    }

    /// Keeps an arrival where arrivals are kept.
    fn keep(&mut self, request: &Request) -> Result<(), Error> {
        if let Some(recording) = &mut self.recording {
            recording.push(request)?;
        }
        if let Some(state) = &mut self.state
            && state.push(request)?
        {
            state.save(&self.drive)?;
        }
        Ok(())
    }

    /// Saves the drive where it lives, after a change that is no arrival.
    pub(super) fn save_state(&mut self) -> Result<bool, Error> {
        let Some(state) = &mut self.state else { return Ok(false) };
        state.save(&self.drive).map(|()| true)
    }

    /// Arrivals so far outlive the process.
    fn flush_arrivals(&mut self) -> Result<(), Error> {
        self.recording.as_mut().map_or(Ok(()), Recording::flush)?;
        self.state.as_mut().map_or(Ok(()), State::flush)
    }

    /// Keeps what flash holds of the bytes, if power can be cut.
    fn note_changes(&mut self) {
        if let Some(cuts) = &mut self.cuts {
            cuts.note(&mut self.drive);
        }
    }

    /// Cuts the power now: connections drop, the bytes are those that flash holds, and the drive takes requests again when its map is
    /// rebuilt. Clients that connect meanwhile are let in after that: they would read bytes that the cut has yet to bring back. Returns
    /// `None` if what flash holds is not followed.
    pub(super) fn cut_power(&mut self) -> Result<Option<Report>, Error> {
        let Some(cuts) = &mut self.cuts else { return Ok(None) };
        let connections = Arc::clone(&self.connections);
        let open = connections.lock().unwrap_or_else(PoisonError::into_inner);
        open.iter().for_each(Connection::cut);
        self.what_if = None;
        let outstanding = self.outstanding.len() as u64;
        let report = cuts.cut(&mut self.drive, self.promise == Promise::Protected, outstanding)?;
        drop(open);
        if let Some(recording) = &mut self.recording {
            // The drive ended what it was at, and wrote its open pages anew.
            let time_ns = report.time_ns;
            recording.push(&Request { time_ns, lba: 0, sectors: 0, stream: 0, op: Op::Flush, handle: 0 })?;
        }
        self.save_state()?;
        self.outstanding.clear();
        self.faults.not_before(self.drive.now_ns().max(report.time_ns + report.rebuild_ns));
        self.tally.power_lost(report.time_ns);
        Ok(Some(report))
    }

    /// When to look again, at the latest. `None`: no request is outstanding.
    pub(super) fn next(&self) -> Option<Instant> {
        if self.clock.is_paused() {
            return None;
        }
        let cut = self.cut_due_ns().filter(|_| self.clock.is_paced());
        let cut = cut.map(|due_ns| self.clock.due(due_ns));
        if self.outstanding.is_empty() {
            return cut;
        }
        if !self.clock.is_paced() {
            return Some(Instant::now());
        }
        let known = self.drive.next_end_ns().map(|end_ns| self.clock.due(end_ns));
        let event = self.drive.next_event_ns().map(|event_ns| self.clock.due(event_ns));
        let tick = (event.is_none() && self.drive.awaits_events()).then(|| Instant::now() + TICK);
        [known, event, tick, cut].into_iter().flatten().min()
    }

    /// Everything outstanding completes, without waiting for wall time. The last arrival is a flush, during which nothing is begun in the
    /// background any more, as in a simulation of the arrivals: the drive is then to be finished.
    pub(super) fn drain(&mut self) -> Result<(), Error> {
        if self.failed.is_some() {
            return Ok(());
        }
        self.clock = self.clock.virtually();
        loop {
            self.answer()?;
            if self.outstanding.is_empty() {
                break;
            }
            self.drive.advance_to_completion(u64::MAX)?;
        }
        let flush =
            Request { time_ns: self.drive.now_ns(), lba: 0, sectors: 0, stream: 0, op: Op::Flush, handle: 0 };
        self.drive.submit(&[flush])?;
        self.keep(&flush)
    }

    /// Fails everything outstanding, and what has come.
    pub(super) fn refuse(&mut self, batch: &mut Vec<(u64, Arrival)>) {
        for (_, arrival) in batch.drain(..) {
            arrival.reply.fail(if self.failed.is_some() { error::IO } else { error::SHUT_DOWN });
        }
        for (_, pending) in self.outstanding.drain() {
            pending.reply.fail(error::IO);
        }
    }
}
