//! Ageing of what commands read and write: the retries of a read, and pages that can't be read, which are rebuilt of the others of
//! their stripe where there is parity.
//!
//! All that a page needs goes with the command that reads it: it holds its die, and its bus, that much longer. Transfers of retries
//! follow one another. Ages and reads count when a command is made.
//!
//! A page is rebuilt by commands of their own, on the dies of the other pages of its stripe. They have the tag of the command that
//! could not read it, but nobody expects that many: [`Rebuilds`] holds their ends back, so that a tag ends as often as without them,
//! and last of all commands. They are handed over with what waits to be grouped, so that no page of flash is closed by them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Core;
use super::pending::Member;
use super::serve::host_op;
use crate::ageing::{More, Steps};
use crate::alloc::Superblocks;
use crate::content::Content;
use crate::failure::Failure;
use crate::nand::Executor;
use crate::op::{BlockAt, Command, CommandKind, Effect, FlashOp, NOBODY, PageAt};
use crate::sched::Pages;
use crate::stats::Parts;

/// Pages that are rebuilt.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Rebuilds {
    /// Those whose stripes have not been read yet, with the tag that waits for them.
    waiting: Vec<Rebuild>,
    /// Commands by tag whose ends are still held back.
    commands: BTreeMap<u32, u32>,
    /// Tags of which ends were held back at this instant, and where the time of each went.
    held: (u64, Vec<(u32, Parts)>),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Rebuild {
    /// The request that it serves, and its tenant.
    request: u64,
    tenant: u16,
    tag: u32,
    awaited: bool,
    /// True if the request asks for the page itself.
    of_host: bool,
    /// The first mapping units of the pages of flash to be read.
    pages: Vec<PageAt>,
}

impl<C: Content> Core<C> {
    /// A command of a tag is done. True if others are not that read a stripe for it: the end of one of these is to come for this.
    /// Of ends of one instant `parts` becomes the largest, as of other commands of a request: their order does not count.
    #[inline]
    pub(crate) fn is_rebuilding(&mut self, now_ns: u64, tag: u32, parts: &mut Option<Parts>) -> bool {
        self.rebuilds.are_under_way() && self.rebuilds.hold_back(now_ns, tag, parts)
    }

    /// Notes what an operation reads, programs and erases, and makes its command as long as the age of the pages does. `crossing` as
    /// [`Core::command_of`] has it.
    #[inline]
    pub(super) fn age(
        &mut self,
        now_ns: Option<u64>,
        op: &FlashOp,
        (moves, crossing): (&[(u32, u32)], u64),
        command: &mut Command,
    ) {
        if self.ageing.is_none() {
            return;
        }
        match op.effect {
            Effect::Read { ppn, .. } => {
                let more = self.reading(now_ns, (op.unit, ppn), (command.read_ns, command.bus_ns));
                (command.read_ns, command.bus_ns) = more.on(command);
            }
            Effect::Programmed { ppn, .. } if op.kind != CommandKind::Rewrite => {
                command.program_ns = self.programming(now_ns, (op.unit, ppn), command.program_ns);
            }
            _ => self.age_pages(now_ns, op, (moves, crossing), command),
        }
    }

    #[inline(never)]
    fn age_pages(
        &mut self,
        now_ns: Option<u64>,
        op: &FlashOp,
        (moves, crossing): (&[(u32, u32)], u64),
        command: &mut Command,
    ) {
        let unit = op.unit;
        match &op.effect {
            Effect::Read { ppn, .. } | Effect::MapRead { ppn, .. } => {
                let more = self.reading(now_ns, (unit, *ppn), (command.read_ns, command.bus_ns));
                (command.read_ns, command.bus_ns) = more.on(command);
            }
            Effect::Programmed { ppn, stale, .. } => {
                if let Some(old) = stale.filter(|_| op.kind == CommandKind::Rewrite) {
                    let bus_ns = self.timing.crossing_ns(op.crossing);
                    let more = self.reading(now_ns, old, (command.read_ns, bus_ns));
                    (command.read_ns, command.bus_ns) = more.on(command);
                }
                command.program_ns = self.programming(now_ns, (unit, *ppn), command.program_ns);
            }
            Effect::MapProgrammed { ppn, .. } | Effect::Parity { ppn } => {
                command.program_ns = self.programming(now_ns, (unit, *ppn), command.program_ns);
            }
            Effect::Moved(_) => {
                if let Some((from, _)) = moves.first() {
                    self.count_moved((unit, *from), moves.len());
                }
                self.age_moved(now_ns, op, (moves, crossing), command);
            }
            Effect::Erased { block } => {
                command.program_ns = self.erasing(now_ns.is_some(), (unit, *block), command.program_ns);
            }
            Effect::Laid { .. } | Effect::Gathered(_) => {}
        }
    }

    /// A page is read in an array time and a transfer, ns; in no time before the run. Returns what its age adds.
    pub(super) fn reading(&mut self, now_ns: Option<u64>, at: PageAt, times_ns: (u64, u64)) -> More {
        let slc = self.has_slc && self.in_slc(at.0, at.1);
        self.reading_of(now_ns, at, slc, times_ns)
    }

    /// As [`Core::reading`], of a page in SLC mode or not.
    pub(super) fn reading_of(
        &mut self,
        now_ns: Option<u64>,
        at: PageAt,
        slc: bool,
        (array_ns, bus_ns): (u64, u64),
    ) -> More {
        let (Some(ageing), Some(now_ns)) = (&mut self.ageing, now_ns) else { return More::default() };
        let (_, steps) = ageing.read(ageing.block_of(at), now_ns, slc, 1);
        if steps == Steps::default() {
            More::default()
        } else {
            self.count_steps((at, 1), steps, (array_ns, bus_ns))
        }
    }

    /// Counts the steps of each of so many pages, of which this is the first; all are read in `array_ns`, and each crosses the bus in
    /// `bus_ns`. Returns what the steps add.
    pub(super) fn count_steps(
        &mut self,
        (first, count): (PageAt, u32),
        steps: Steps,
        (array_ns, bus_ns): (u64, u64),
    ) -> More {
        let Some(ageing) = &self.ageing else { return More::default() };
        let (counts, pages) = (&mut self.counters.ageing, u64::from(count));
        counts.retried_pages += if steps.retries > 0 { pages } else { 0 };
        counts.retries += u64::from(steps.retries) * pages;
        counts.soft_pages += if steps.soft { pages } else { 0 };
        // Such pages come alone.
        if steps.fails {
            counts.failed_pages += 1;
            self.unread.push(first);
        }
        let block = ageing.block_of(first);
        if ageing.wears_out(block) {
            self.worn.push(block);
        }
        ageing.more(steps, pages, array_ns, bus_ns)
    }

    /// A page is programmed in an array time, ns. Returns the time that its block takes.
    pub(super) fn programming(&mut self, now_ns: Option<u64>, at: PageAt, array_ns: u64) -> u64 {
        let Some(ageing) = &mut self.ageing else { return array_ns };
        let block = ageing.block_of(at);
        ageing.programmed(block, at.1, now_ns);
        if ageing.changes_programs() { ageing.program_ns(block, array_ns) } else { array_ns }
    }

    /// A page was there before the run.
    pub(super) fn laying(&mut self, at: PageAt) {
        self.programming(None, at, 0);
    }

    /// A block is erased in a time, ns, if it does not age. Returns the time that it takes.
    pub(super) fn erasing(&mut self, in_run: bool, at: BlockAt, erase_ns: u64) -> u64 {
        let Some(ageing) = &mut self.ageing else { return erase_ns };
        let erase_ns = self.timing.erase_ns(at.0, at.1, ageing.cycles(at));
        let reason = ageing.erased(at);
        if in_run && ageing.wears_out_erased(at, self.has_slc && self.ftl.keeps_in_slc(at.1)) {
            self.worn.push(at);
        }
        self.count_refreshed(reason);
        erase_ns
    }

    /// The pages that a command of `tag` could not read for the translation layer are to be rebuilt of the others of their stripes.
    /// Without parity they are lost.
    #[inline]
    pub(super) fn rebuild(&mut self, now_ns: u64, tag: (u32, bool), executor: &mut impl Executor) {
        self.rebuild_for(now_ns, tag, false, executor);
    }

    /// As [`Core::rebuild`], of a page that the host reads or writes: without parity a request that reads it fails. A write that keeps a
    /// rest of the page does not: where it waited in the buffer, its request has ended.
    #[inline]
    pub(super) fn rebuild_for_host(
        &mut self,
        now_ns: u64,
        op: &FlashOp,
        tag: u32,
        executor: &mut impl Executor,
    ) {
        self.rebuild_for(now_ns, (tag, true), op.kind == CommandKind::Read, executor);
    }

    #[inline]
    fn rebuild_for(&mut self, now_ns: u64, tag: (u32, bool), of_host: bool, executor: &mut impl Executor) {
        if !self.unread.is_empty() {
            self.note_rebuilds(tag, executor.serving(), of_host);
            if !self.pending.grouping() {
                self.read_stripes(now_ns, executor);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn note_rebuilds(&mut self, (tag, awaited): (u32, bool), request: u64, of_host: bool) {
        let tenant = self.pending.flash_time.tenant();
        for at in std::mem::take(&mut self.unread) {
            match self.stripe_of(at) {
                None => self.note_rebuilt(false, of_host.then_some(request)),
                Some(pages) => {
                    let rebuild = Rebuild { request, tenant, tag, awaited, of_host, pages };
                    self.rebuilds.waiting.push(rebuild);
                }
            }
        }
    }

    /// Hands over the reads of the stripes of pages that are to be rebuilt.
    #[inline]
    pub(super) fn read_stripes(&mut self, now_ns: u64, executor: &mut impl Executor) {
        if !self.rebuilds.waiting.is_empty() {
            self.read_all_stripes(now_ns, executor);
        }
    }

    #[cold]
    #[inline(never)]
    fn read_all_stripes(&mut self, now_ns: u64, executor: &mut impl Executor) {
        let (serving, served) = (executor.serving(), self.pending.flash_time.tenant());
        for Rebuild { request, tenant, tag, awaited, of_host, pages } in
            std::mem::take(&mut self.rebuilds.waiting)
        {
            executor.serve(request);
            self.pending.flash_time.serve(tenant);
            let mut is_whole = true;
            for (unit, ppn) in pages {
                let op = host_op(unit, CommandKind::Read, 0, Effect::Read { ppn, map: None });
                let mut command = Command { awaited, tag, ..self.command_of(&op, &[], 1, None) };
                self.age(Some(now_ns), &op, (&[], 1), &mut command);
                // Of a stripe with two such pages none can be rebuilt.
                is_whole &= std::mem::take(&mut self.unread).is_empty();
                self.counters.host.reads += u64::from(self.geometry.mapped_pages);
                let pages = if executor.wants_pages() { self.pages_of(&op, &[]) } else { Pages::default() };
                let effect = self.content.apply(&op, &[]);
                self.submit(now_ns, command, Member::of(unit, self.planes, pages, effect), executor);
                if tag != NOBODY {
                    executor.expects_no_end();
                    *self.rebuilds.commands.entry(tag).or_default() += 1;
                }
            }
            self.note_rebuilt(is_whole, of_host.then_some(request));
        }
        executor.serve(serving);
        self.pending.flash_time.serve(served);
    }

    /// A page that could not be read was rebuilt, or not: a request that asks for it fails.
    fn note_rebuilt(&mut self, is_whole: bool, request: Option<u64>) {
        self.count_rebuilt(is_whole);
        let failing = request.filter(|_| !is_whole);
        self.failing.extend(failing.map(|number| (number, Failure::Unreadable)));
    }

    /// A page that could not be read was rebuilt, or not.
    pub(super) fn count_rebuilt(&mut self, is_whole: bool) {
        self.counters.ageing.rebuilt_pages += u64::from(is_whole);
        self.counters.ageing.uncorrectable_pages += u64::from(!is_whole);
    }

    /// The first mapping units of the other pages of a page's stripe, as far as they are programmed: as long as a stripe is not
    /// complete, the drive has its parity in RAM. `None` if there is no parity.
    fn stripe_of(&self, (unit, ppn): PageAt) -> Option<Vec<PageAt>> {
        self.superblocks.as_ref().and_then(|own| self.stripe_in(own, (unit, ppn)))
    }

    /// As [`Core::stripe_of`], of a page of these superblocks.
    pub(super) fn stripe_in(&self, superblocks: &Superblocks, (unit, ppn): PageAt) -> Option<Vec<PageAt>> {
        if self.geometry.parity == 0 {
            return None;
        }
        let per_page = self.geometry.units_per_page;
        let pages = superblocks.stripe_of((unit, ppn / per_page)).into_iter();
        let pages = pages.map(|(unit, page)| (unit, page * per_page));
        let is_programmed = |at: &PageAt| {
            self.ageing.as_ref().is_some_and(|ageing| ageing.is_programmed(ageing.block_of(*at), at.1))
        };
        Some(pages.filter(is_programmed).collect())
    }
}

impl Rebuilds {
    #[inline]
    fn are_under_way(&self) -> bool {
        !self.commands.is_empty() || !self.held.1.is_empty()
    }

    #[cold]
    #[inline(never)]
    fn hold_back(&mut self, now_ns: u64, tag: u32, parts: &mut Option<Parts>) -> bool {
        let (at_ns, held) = &mut self.held;
        if *at_ns < now_ns {
            *at_ns = now_ns;
            held.clear();
        }
        if let Some(left) = self.commands.get_mut(&tag) {
            held.extend(parts.map(|own| (tag, own)));
            *left -= 1;
            if *left == 0 {
                self.commands.remove(&tag);
            }
            return true;
        }
        let others = held.iter().filter(|(other, _)| *other == tag).map(|(_, parts)| *parts);
        *parts = others.chain(*parts).max();
        false
    }
}

impl More {
    /// Reading and bus time of a command with this.
    pub(super) fn on(self, command: &Command) -> (u64, u64) {
        (command.read_ns + self.array_ns, command.bus_ns + self.bus_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::{Parts, Rebuilds};

    #[test]
    fn of_ends_of_one_instant_the_order_does_not_count() {
        let [short, long] = [1, 2].map(|mapping| Some(Parts { mapping, ..Parts::default() }));
        let last = |ends: [(u64, Option<Parts>); 2]| {
            let mut rebuilds = Rebuilds { commands: [(7, 1)].into(), ..Rebuilds::default() };
            let [first, mut second] = ends;
            assert!(rebuilds.hold_back(first.0, 7, &mut first.1.clone()), "another one is to come");
            assert!(!rebuilds.hold_back(second.0, 7, &mut second.1));
            second.1
        };
        assert_eq!(last([(5, long), (5, short)]), long);
        assert_eq!(last([(5, short), (5, long)]), long);
        assert_eq!(last([(4, long), (5, short)]), short, "the last one decides");
    }
}
