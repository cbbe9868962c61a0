//! The intake: how requests enter the drive, what they wait for, and when they are done. The same for both time paths.
//!
//! Glossary. *Slot*: place of an outstanding request; its number is the tag of its commands. *Unbound*: a page that dynamic
//! allocation can't place yet. *Stalled*: a request that waits for room in the write buffer, or for its turn behind one
//! that does. *Barrier*: a flush that waits for what was written before it. *Waiting*: at the host, not outstanding.
//!
//! Everything that happens at one instant is let happen before anything waiting is resumed, so that the order within an
//! instant can't matter. On busy-until times without a buffer the end of a request is known when its commands are made: it
//! then needs no slot ([`TimePath::AT_ONCE`]).

mod advance;
mod background;
mod buffered;
mod completing;
mod dataless;
mod drive;
mod host;
mod interface;
mod look_ups;
mod overtaken;
mod slots;
mod stations;
mod steps;
mod trims;
mod turns;
mod unbound;
mod zones;

use std::collections::VecDeque;

use flashweir_trace::{Op, Request};
use serde::{Deserialize, Serialize};

use super::Ledger;
use super::ledger::is_empty;
use crate::buffer::{Ack, Backpressure, WriteBuffer};
use crate::config::Config;
use crate::content::Content;
use crate::core::Core;
use crate::error::RunError;
use crate::host::interface::Interface;
use crate::host::{HostMode, Limits, Waiting, closed::Window};
use crate::nand::{IssueRecord, Probe, TimePath};
use crate::op::{NOBODY, Stage};
use background::Background;
use buffered::buffer_of;
use completing::{Completing, Turn};
use dataless::Barrier;
use look_ups::LookUps;
use slots::{Slot, Slots};
use stations::Stations;
use trims::Trims;
use unbound::Unbound;
use zones::Zoned;

/// Place of a page that is read.
pub(super) enum Found {
    /// All of it is in the buffer.
    InBuffer,
    /// On flash; what is staged lies over it.
    OnFlash(Option<Stage>),
}

/// A drive and its host on a time path.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Intake<A, C> {
    pub(super) core: Core<C>,
    pub(super) array: A,
    pub(super) ledger: Ledger,
    pub(super) slots: Slots,
    queue_depth: u32,
    /// Ends of the outstanding requests, where they are known at once.
    window: Window,
    /// Latest end of a write so far, ns; likewise.
    written_ns: u64,
    waiting: Option<Waiting>,
    limits: Option<Box<Limits>>,
    interface: Option<Box<Interface>>,
    /// Commands of the interface, by the tag of a part.
    owners: Vec<u32>,
    /// Pages of its reads that go with the command of another one: tags of that and of the page.
    companions: Vec<(u32, u32)>,
    unbound: Unbound,
    completing: Completing,
    look_ups: LookUps,
    pub(super) buffer: Option<WriteBuffer>,
    /// True if that is a buffer of the drive. If not, its entries only hold pages of requests that wait for flash.
    pub(super) is_buffered: bool,
    pub(super) ack: Ack,
    /// True if what is in the buffer outlives a loss of power.
    protected: bool,
    pub(super) stalled: VecDeque<u32>,
    /// With managed channels: the request that found no room in the buffer last, and the departures from it until then.
    refused: Option<(u32, u64)>,
    /// With superblocks: pages of the buffer that each die has to program.
    programs: Vec<u32>,
    backpressure: Option<Box<Backpressure>>,
    /// Since when the first stalled request finds no room, ns.
    pub(super) full_since_ns: Option<u64>,
    barriers: Vec<Barrier>,
    /// True if something ended at this instant, so that waiting requests may go on.
    resume: bool,
    stations: Stations,
    background: Background,
    trims: Option<Box<Trims>>,
    zoned: Zoned,
}

impl<A: TimePath, C: Content> Intake<A, C> {
    pub(super) fn new(config: &Config, core: Core<C>, array: A) -> Self {
        let geometry = &core.geometry;
        let stations = Stations::new(config, &core);
        let pages = config.buffer_pages();
        let is_buffered = pages > 0;
        let dies = if config.alloc.has_superblocks() { geometry.total_dies() } else { 0 };
        let buffer = (is_buffered || stations.are_managed()).then(|| buffer_of(config, &core, pages));
        let depth = match &config.host.mode {
            HostMode::Closed(closed) => closed.queue_depth,
            HostMode::Open(_) => 1,
        };
        Self {
            array,
            ledger: Ledger::new(config, geometry.capacity_sectors()),
            slots: Slots::default(),
            queue_depth: config.host.max_outstanding(),
            window: Window::new(depth),
            written_ns: 0,
            waiting: Waiting::new(&config.host),
            limits: Limits::new(&config.host),
            interface: Interface::new(&config.host, &config.firmware, geometry.page_sectors.into()),
            owners: Vec::new(),
            companions: Vec::new(),
            unbound: Unbound::new(config.tenants.turns, config.tenants.max_late_share_ppm()),
            completing: Completing::default(),
            look_ups: LookUps::default(),
            buffer,
            is_buffered,
            ack: if is_buffered { config.buffer.ack } else { Ack::Flash },
            protected: config.buffer.protected,
            stalled: VecDeque::new(),
            backpressure: Backpressure::new(&config.buffer.backpressure, geometry.unit_reserved_blocks),
            refused: None,
            programs: vec![0; dies as usize],
            full_since_ns: None,
            barriers: Vec::new(),
            resume: false,
            stations,
            background: Background::new(config, core.geometry.total_dies(), core.crews()),
            trims: Trims::new(&config.trim),
            zoned: Zoned::default(),
            core,
        }
    }

    /// True if requests are worked out to their end when they enter.
    #[inline]
    fn at_once(&self) -> bool {
        A::AT_ONCE && self.buffer.is_none() && self.interface.is_none()
    }

    fn serve_one(&mut self, request: &Request) -> Result<(), RunError> {
        let number = self.ledger.take(request)?;
        if self.waiting.is_some() {
            return self.arrive(request, number);
        }
        if self.at_once() {
            return self.work_out(request, number);
        }
        self.let_in(request)?;
        let now = self.array.now_ns();
        let issue_ns = self.limits.as_mut().map_or(now, |limits| limits.pass(now, request));
        self.array.probe().issue(IssueRecord { number, request: *request, issue_ns });
        self.begin(request, number, issue_ns)
    }

    /// A request enters, and is worked out to its end.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "part of the loop over requests")]
    fn work_out(&mut self, request: &Request, number: u64) -> Result<(), RunError> {
        let arrival = self.ledger.arrival_ns(request)?;
        let now = arrival.unwrap_or_else(|| self.window.enter());
        self.array.set_now_ns(now);
        self.array.probe().issue(IssueRecord { number, request: *request, issue_ns: now });
        self.make_commands(NOBODY, request, number)?;
        let (mut end_ns, parts) = self.array.latest();
        match request.op {
            Op::Write | Op::Append => self.written_ns = self.written_ns.max(end_ns),
            Op::Flush => end_ns = end_ns.max(self.written_ns),
            _ => {}
        }
        if arrival.is_none() {
            self.window.leave(end_ns);
        }
        self.ledger.hear_of(&mut self.core.failing);
        let (probe, counters) = (self.array.probe(), &mut self.core.counters);
        self.ledger.complete(probe, counters, number, request, now, end_ns, &parts);
        self.check(number + 1)
    }

    /// A request is outstanding from now on.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "part of the loop over requests; the other caller is seldom there"
    )]
    fn begin(&mut self, request: &Request, number: u64, issue_ns: u64) -> Result<(), RunError> {
        let now = self.array.now_ns();
        self.background.wake(now);
        if let Some(trims) = &mut self.trims {
            trims.stir();
        }
        if self.interface.is_some() {
            self.submit(request, number, issue_ns)?;
        } else {
            // Opened with one outstanding, so that nothing can end it while it is being handed over.
            let tag = self.slots.open(Slot::new(request, number, issue_ns, now - issue_ns));
            self.make_commands(tag, request, number)?;
            self.settle(tag, 1);
        }
        if self.trims.is_some() {
            self.tend_trims();
        }
        if A::AT_ONCE {
            // One request at a time: none enters before this one is done.
            while self.under_way() > 0 {
                if !self.advance()? {
                    return Err(self.no_room());
                }
            }
        }
        self.check(number + 1)
    }

    #[inline]
    fn check(&self, number: u64) -> Result<(), RunError> {
        match self.core.content.failure().filter(|_| C::ON) {
            Some(detail) => Err(RunError::Verify { number, detail: detail.into() }),
            None => Ok(()),
        }
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as `begin`")]
    fn make_commands(&mut self, tag: u32, request: &Request, number: u64) -> Result<(), RunError> {
        self.array.serve(number);
        self.array.begin();
        self.core.close_overdue(self.array.now_ns());
        self.core.wear_out(self.array.now_ns());
        if C::ON && request.op != Op::Read {
            self.core.content.enter(number);
        }
        match request.op {
            Op::Flush => self.flush(tag),
            _ if is_empty(request) || self.core.refuses(number, request) => Ok(()),
            Op::Read => self.read(tag, request),
            Op::Write if !self.core.takes_zone_commands() => self.write(tag, request),
            Op::Trim if !self.core.takes_zone_commands() => self.trim(tag, request),
            _ => self.command_zone(tag, request, number),
        }
    }

    /// Advances to the entry of a request, which is then the present. Idempotent.
    fn let_in(&mut self, request: &Request) -> Result<(), RunError> {
        if let Some(arrival) = self.ledger.arrival_ns(request)? {
            self.advance_to(arrival)?;
            self.array.set_now_ns(arrival);
            return Ok(());
        }
        self.find_place(Some(request))?;
        if self.limits.is_some() { self.wait_for_limit(request) } else { Ok(()) }
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as `begin`")]
    fn read(&mut self, tag: u32, request: &Request) -> Result<(), RunError> {
        if self.stations.has_clock() {
            return self.read_in_step(tag, request);
        }
        let now = self.array.now_ns();
        for part in self.core.parts(request) {
            let Found::OnFlash(staged) = self.find(part) else { continue };
            self.read_page(tag, part, staged)?;
        }
        self.core.flush(now, &mut self.array);
        self.slots.expect(tag, self.array.submitted());
        Ok(())
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as `begin`")]
    fn write(&mut self, tag: u32, request: &Request) -> Result<(), RunError> {
        if self.buffer.is_some() {
            return self.stall(tag);
        }
        for part in self.core.parts(request) {
            self.core.counters.host_pages_written += self.core.flash_pages(part);
            let turn = self.bind(tag, part)?;
            if turn == Turn::Waits {
                let class = self.core.alloc.class_of(part.stream, part.lpn);
                self.unbound.push(class, tag, part);
            }
            self.slots.expect(tag, u32::from(matches!(turn, Turn::Waits | Turn::Behind)));
        }
        self.core.flush(self.array.now_ns(), &mut self.array);
        self.slots.expect(tag, self.array.submitted());
        Ok(())
    }

    fn no_room(&self) -> RunError {
        let waiting = self.unbound.len() + self.stalled.len() + self.completing.len();
        RunError::NoRoom { waiting: waiting as u64 }
    }
}
