//! The host interface in the way of requests: it says when the drive works at a command, and when a request is complete.

use flashweir_trace::{Op, Request};

use super::stations::INTERFACE_TAG;
use super::{Found, Intake, Slot};
use crate::content::Content;
use crate::error::RunError;
use crate::host::interface::{Act, Ready};
use crate::nand::{Probe, TimePath};
use crate::sim::ledger::is_empty;
use crate::stats::Parts;

impl<A: TimePath, C: Content> Intake<A, C> {
    /// Requests that the drive has taken and not completed.
    #[inline]
    pub(super) fn under_way(&self) -> u32 {
        self.interface.as_ref().map_or_else(|| self.slots.under_way(), |interface| interface.under_way())
    }

    /// True if the queue of a request has an entry for it.
    #[inline]
    pub(super) fn has_entry(&self, request: &Request) -> bool {
        self.interface.as_ref().is_none_or(|interface| interface.fits(request))
    }

    /// A request is submitted.
    #[cold]
    #[inline(never)]
    pub(super) fn submit(&mut self, request: &Request, number: u64, issue_ns: u64) -> Result<(), RunError> {
        let now = self.array.now_ns();
        if let Some(interface) = &mut self.interface {
            interface.submit(now, request, number, issue_ns);
        }
        self.act();
        if self.array.next_ns() == Some(now) {
            self.resume = true;
            return Ok(());
        }
        self.resume_interface()
    }

    /// A time that the interface asked for has come.
    pub(super) fn interface_due(&mut self, number: u32) {
        if let Some(interface) = &mut self.interface {
            interface.due(number);
        }
    }

    /// Everything of this instant has happened: cores take commands, and those that are ready reach the drive.
    pub(super) fn resume_interface(&mut self) -> Result<(), RunError> {
        let now = self.array.now_ns();
        loop {
            let Some(interface) = &mut self.interface else { return Ok(()) };
            interface.settle(now, self.core.flash_time());
            let ready = interface.next_ready(now);
            self.act();
            let Some(ready) = ready else { return Ok(()) };
            self.background.wake(now);
            self.work_at(&ready)?;
        }
    }

    /// The drive works at a command from now on.
    fn work_at(&mut self, ready: &Ready) -> Result<(), RunError> {
        let Ready { command, part, number } = *ready;
        let fails = !is_empty(&part) && self.core.reads_offline(&part);
        if part.op == Op::Read && !is_empty(&part) && !self.reads_as_one() && !fails {
            return self.read_by_page(ready);
        }
        let tag = self.open_part(command, &part, number);
        self.make_commands(tag, &part, number)?;
        self.settle(tag, 1);
        Ok(())
    }

    /// A slot for a part of a command.
    fn open_part(&mut self, command: u32, part: &Request, number: u64) -> u32 {
        let tag = self.slots.open(Slot::new(part, number, self.array.now_ns(), 0));
        let at = tag as usize;
        if at >= self.owners.len() {
            self.owners.resize(at + 1, 0);
        }
        self.owners[at] = command;
        tag
    }

    /// True if all pages of a read leave together: with a common clock they are read so, and where planes read pages
    /// together after their translation pages it is not known which command brings which.
    fn reads_as_one(&self) -> bool {
        self.stations.has_clock() || self.core.groups() && self.core.ftl.has_map_on_flash()
    }

    /// Reads pages that leave one by one.
    fn read_by_page(&mut self, ready: &Ready) -> Result<(), RunError> {
        let now = self.array.now_ns();
        let pages: Vec<_> = self.core.parts(&ready.part).collect();
        if let Some(interface) = &mut self.interface {
            interface.expect(ready.command, pages.len() as u32);
        }
        self.array.serve(ready.number);
        let page_sectors = self.core.page_sectors.get();
        let mut tags = Vec::with_capacity(pages.len());
        for page in pages {
            let lba = page.lpn * page_sectors + u64::from(page.first);
            let part = Request { lba, sectors: page.end - page.first, ..ready.part };
            let tag = self.open_part(ready.command, &part, ready.number);
            tags.push(tag);
            let Found::OnFlash(staged) = self.find(page) else { continue };
            self.array.begin();
            let reads_flash = self.read_page(tag, page, staged)?;
            // Laying a page may hand over commands of pages before it, which are not its own.
            let commands = if self.core.groups() { u32::from(reads_flash) } else { self.array.submitted() };
            self.slots.expect(tag, commands);
        }
        self.core.flush(now, &mut self.array);
        self.companions.extend(self.core.take_companions());
        for tag in tags {
            self.settle(tag, 1);
        }
        Ok(())
    }

    /// A command of flash is done: so are pages that went with it.
    pub(super) fn end_companions(&mut self, tag: u32, parts: Option<Parts>) {
        let now = self.array.now_ns();
        let own: Vec<_> = self.companions.extract_if(.., |(with, _)| *with == tag).collect();
        for (_, companion) in own {
            let mut parts = parts;
            if self.core.is_rebuilding(now, companion, &mut parts) {
                continue;
            }
            self.end_command(companion, parts);
        }
    }

    /// The drive is done with a part of a command.
    pub(super) fn leave_drive(&mut self, tag: u32, request: &Request, parts: &Parts) {
        if let Some(interface) = &mut self.interface {
            interface.leave(self.owners[tag as usize], request, parts);
        }
    }

    /// Does what the interface asks for.
    fn act(&mut self) {
        let Some(interface) = &mut self.interface else { return };
        let (links, runs) = interface.take_records();
        if A::Probe::ON {
            for record in links {
                self.array.probe().link(record);
            }
            for record in runs {
                self.array.probe().core(record);
            }
        }
        for act in interface.take_acts() {
            match act {
                Act::At { time_ns, number } => self.array.call_at(time_ns, INTERFACE_TAG + number),
                Act::Complete { number, request, issue_ns, parts } => {
                    let now = self.array.now_ns();
                    self.ledger.hear_of(&mut self.core.failing);
                    let (probe, counters) = (self.array.probe(), &mut self.core.counters);
                    self.ledger.complete(probe, counters, number, &request, issue_ns, now, &parts);
                    if self.limits.is_some() {
                        self.ends_for_limits(request.stream, issue_ns);
                    }
                }
            }
        }
    }
}
