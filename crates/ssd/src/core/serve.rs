//! Pages of the host: what a read, a write and a TRIM of one do.

use std::ops::Range;

use super::Core;
use super::issue::{Made, Part};
use super::pending::Member;
use crate::alloc::{AllocView, Home};
use crate::content::Content;
use crate::error::RunError;
use crate::ftl::Ftl;
use crate::nand::Executor;
use crate::op::{Command, CommandKind, Crossing, Effect, FlashOp, PageAt, PageSlice, Purpose, Stage};
use crate::sched::Pages;

/// View of the drive for allocation.
pub(super) struct View<'a, X> {
    executor: &'a X,
    ftl: &'a Ftl,
    /// Unit of the version that the write replaces: it can always take the next one.
    before: Option<u32>,
    /// The cycle that the write is of, if it is.
    cycle: Option<&'a Cycle>,
    planes: u32,
    now_ns: u64,
}

/// A cycle of writes that is being made: at most one page of flash a unit.
#[derive(Clone, Debug)]
pub(crate) struct Cycle {
    /// Its dies. They count as idle, and no others.
    pub(crate) dies: Range<u32>,
    /// Units that have their page.
    pub(crate) taken: Vec<u32>,
}

impl<'a, X> View<'a, X> {
    pub(super) fn new(
        executor: &'a X,
        ftl: &'a Ftl,
        before: Option<u32>,
        (cycle, planes): (Option<&'a Cycle>, u32),
        now_ns: u64,
    ) -> Self {
        Self { executor, ftl, before, cycle, planes, now_ns }
    }
}

impl<X: Executor> AllocView for View<'_, X> {
    fn die_is_idle(&self, die: u32) -> bool {
        match self.cycle {
            Some(cycle) => cycle.dies.contains(&die),
            None => self.executor.die_is_idle(die, self.now_ns),
        }
    }
    fn admits(&self, unit: u32) -> bool {
        let is_of = |cycle: &Cycle| cycle.dies.contains(&(unit / self.planes));
        self.cycle.is_none_or(is_of) && !self.is_taken(unit)
    }
    fn is_taken(&self, unit: u32) -> bool {
        self.cycle.is_some_and(|cycle| cycle.taken.contains(&unit))
    }
    fn has_room(&self, unit: u32) -> bool {
        self.before == Some(unit) || self.ftl.has_room(unit)
    }
}

impl<C: Content> Core<C> {
    /// Looks a page up in a map on flash. Returns the translation page that had to be read, if one had.
    #[cold]
    #[inline(never)]
    fn translate(
        &mut self,
        now_ns: u64,
        tag: u32,
        home: Option<Home>,
        executor: &mut impl Executor,
    ) -> Result<Option<u32>, RunError> {
        let Some(home) = home else { return Ok(None) };
        let translation = self.ftl.translate(home, &mut self.ops)?;
        self.issue(now_ns, Made { reader: Some(tag), ..Made::default() }, executor);
        Ok(translation)
    }

    /// True if pages are looked up before they are read ([`Core::look_up`]): an entry may be on another die than its page.
    #[inline]
    pub(crate) fn looks_up_first(&self) -> bool {
        self.ftl.has_map_on_flash() && self.shares_map
    }

    /// Looks a page up in a map on flash that units share, before it is read or completed; with `keep` its next write does not do
    /// so again. `tag` waits for its translation page. Returns whether that is read.
    #[cold]
    #[inline(never)]
    pub(crate) fn look_up(
        &mut self,
        now_ns: u64,
        tag: u32,
        part: PageSlice,
        keep: bool,
        executor: &mut impl Executor,
    ) -> Result<bool, RunError> {
        self.pending.flash_time.serve(part.stream);
        let mut home = self.alloc.locate(part.lpn);
        if self.on_read && home.is_none_or(|home| self.ftl.lookup(home).is_none()) {
            home = self.lay(now_ns, part.lpn, home, executor)?;
        }
        let home = home.unwrap_or_else(|| Self::entry_of(part.lpn));
        if keep {
            self.ftl.keep_looked_up(home);
        }
        Ok(self.translate(now_ns, tag, Some(home), executor)?.is_some())
    }

    /// Where the entry is, in a map that units share, of a page that never had a unit.
    pub(super) fn entry_of(lpn: u64) -> Home {
        Home { unit: 0, key: lpn as u32 }
    }

    /// Reads a page from flash, if it is there. `staged` lies over it (for the checks). Returns whether flash is read.
    #[inline]
    pub(crate) fn read(
        &mut self,
        now_ns: u64,
        tag: u32,
        part: PageSlice,
        staged: Option<Stage>,
        executor: &mut impl Executor,
    ) -> Result<bool, RunError> {
        self.pending.flash_time.serve(part.stream);
        let mut home = self.alloc.locate(part.lpn);
        if self.on_read && home.is_none_or(|home| self.ftl.lookup(home).is_none()) {
            home = self.lay(now_ns, part.lpn, home, executor)?;
        }
        // Of a map that units share the entry was looked up before.
        let looks_up = self.ftl.has_map_on_flash() && !self.shares_map;
        let map = if looks_up { self.translate(now_ns, tag, home, executor)? } else { None };
        let home = home.filter(|_| !self.is_given_up(part.lpn));
        let place = home.and_then(|home| Some(self.at(home.unit, self.ftl.lookup(home)?)));
        self.content.read(part.lpn, part.first..part.end, place, staged);
        let Some((unit, ppn)) = place else {
            self.counters.unmapped_page_reads += 1;
            return Ok(false);
        };
        let opens = self.settle_page((unit, ppn));
        let crossing = self.codewords.holding(part.first, part.end);
        let effect = Effect::Read { ppn, map };
        let op = FlashOp { crossing, ..host_op(unit, CommandKind::Read, opens, effect) };
        let joined = self.issue_host(now_ns, tag, &op, executor);
        self.counters.host.reads += u64::from(!joined) * self.pages_read(crossing);
        Ok(true)
    }

    /// Writes a page: the sectors of `part` straight from the host, or all that waits in an entry of the buffer. `left` is
    /// the transfer of the rest of the page, none if there is no rest. Returns the unit that takes it; `None`, having done nothing, if
    /// every unit that it may go to is taken.
    #[inline]
    pub(crate) fn write(
        &mut self,
        now_ns: u64,
        tag: u32,
        part: PageSlice,
        left: Option<Crossing>,
        stage: Stage,
        executor: &mut impl Executor,
    ) -> Result<Option<u32>, RunError> {
        self.write_page(now_ns, tag, part, left, (stage, None), executor)
    }

    /// As [`Core::write`]; in a cycle, if one is given, whatever its dies do.
    #[inline(never)]
    pub(crate) fn write_on(
        &mut self,
        now_ns: u64,
        tag: u32,
        part: PageSlice,
        left: Option<Crossing>,
        to: (Stage, Option<&Cycle>),
        executor: &mut impl Executor,
    ) -> Result<Option<u32>, RunError> {
        self.write_page(now_ns, tag, part, left, to, executor)
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "of a write to any die little is left of this")]
    fn write_page(
        &mut self,
        now_ns: u64,
        tag: u32,
        part: PageSlice,
        left: Option<Crossing>,
        (stage, cycle): (Stage, Option<&Cycle>),
        executor: &mut impl Executor,
    ) -> Result<Option<u32>, RunError> {
        self.pending.flash_time.serve(part.stream);
        if self.backlog.is_some() {
            self.forget_before_write(now_ns, part.lpn, executor)?;
        }
        let (before, mapped) = self.located_before(part.lpn, left.is_some());
        self.begin_unit(executor);
        let filled = if self.packs_late() { self.fills(&part, left.is_some()) } else { None };
        let home = if let Some(unit) = filled {
            self.alloc.assign(part.lpn, unit)
        } else {
            let view =
                View::new(executor, &self.ftl, mapped.map(|home| home.unit), (cycle, self.planes), now_ns);
            let Some(home) = self.alloc.place(part.stream, part.lpn, &view) else { return Ok(None) };
            home
        };
        if stage == Stage::Direct {
            self.content.stage(stage, executor.serving(), part.lpn, part.first..part.end);
        }
        let chains = mapped.is_some_and(|before| self.is_apart(before, home));
        if self.geometry.units_per_page > 1 {
            self.filling = Some((part.stream, home.unit));
            if left.is_some() && chains {
                // The rest of its sectors is on another die, so nothing joins it.
                self.flush_pending(now_ns, None, executor);
            }
        }
        let has_begun = self.superblocks.is_some() && self.ftl.is_collecting(home.unit);
        let collected = if has_begun { Part::Rest } else { Part::Whole };
        let written = self.ftl.write(home, before, part.handle, &mut self.ops)?;
        let opens = self.ops.take_opened(home.unit);
        self.issue(now_ns, Made { page: true, part: collected, ..Made::default() }, executor);
        self.note_in_zone(home.unit, written.ppn)?;
        let (unit, ppn) = self.at(home.unit, written.ppn);
        let mut opens = if self.superblocks.is_some() { self.open(unit, ppn) } else { opens };
        self.count_program(unit, ppn);
        if let Some(copybacks) = &mut self.copybacks {
            copybacks.programmed(unit, ppn);
        }
        let slc =
            self.has_slc && executor.takes_time() && self.count_in_slc((home.unit, written.ppn), written.old);
        // Where a set of dies had the version before is of no use to a command that does not read it.
        let is_followed = C::ON || left.is_some() || self.superblocks.is_none();
        let replaced = written.old.filter(|_| is_followed).map(|(unit, ppn)| self.at(unit, ppn));
        let effect = Effect::Programmed { ppn, stale: replaced, stage };
        let (Some(old), Some(crossing)) = (replaced, left) else {
            opens += self.settle_page((unit, ppn));
            let program = FlashOp { slc, ..host_op(unit, CommandKind::Program, opens, effect) };
            self.issue_host(now_ns, tag, &program, executor);
            self.end_stripe(now_ns, home, written.ppn, executor);
            return Ok(Some(unit));
        };
        let reads = u64::from(!self.is_read_already(unit, ppn, old)) * self.pages_read(crossing);
        self.counters.host.reads += reads;
        self.counters.rewrite_reads += reads;
        let program = FlashOp { slc, ..host_op(unit, CommandKind::Program, opens, effect) };
        if self.rewrite(now_ns, tag, (old, crossing), program, executor) && self.geometry.units_per_page > 1 {
            self.counters.padded_units += u64::from(self.ftl.close_page(home.unit));
        }
        self.end_stripe(now_ns, home, written.ppn, executor);
        Ok(Some(unit))
    }

    /// Blocks that a command opens as the first one for a page there, which was there before the run.
    #[inline]
    pub(super) fn settle_page(&mut self, (unit, ppn): PageAt) -> u8 {
        self.erased.settle((unit, ppn / self.pages_per_block))
    }

    /// Reads what a page keeps of its old version, then programs it. Returns true if the two are on different dies.
    #[inline]
    fn rewrite(
        &mut self,
        now_ns: u64,
        tag: u32,
        (old, crossing): (PageAt, Crossing),
        mut program: FlashOp,
        executor: &mut impl Executor,
    ) -> bool {
        let opens = self.settle_page(old);
        if let Effect::Programmed { ppn, .. } = program.effect {
            program.opens += self.settle_page((program.unit, ppn));
        }
        if old.0 / self.planes == program.unit / self.planes {
            let opens = program.opens + opens;
            let op = FlashOp { crossing, kind: CommandKind::Rewrite, opens, ..program };
            self.issue_host(now_ns, tag, &op, executor);
            return false;
        }
        let effect = Effect::Read { ppn: old.1, map: None };
        let read = FlashOp { crossing, ..host_op(old.0, CommandKind::Read, opens, effect) };
        self.issue_chain(now_ns, tag, &read, &program, executor);
        true
    }

    /// Counts a page of the host that went to the SLC cache or past it, and the one that it replaces. Returns true if it went there.
    #[inline(never)]
    fn count_in_slc(&mut self, (unit, ppn): (u32, u32), old: Option<(u32, u32)>) -> bool {
        let counts = &mut self.counters.slc;
        let slc = self.ftl.is_slc(unit, ppn);
        counts.written += u64::from(slc);
        counts.direct += u64::from(!slc);
        counts.overwritten += u64::from(old.is_some_and(|(unit, ppn)| self.ftl.is_slc(unit, ppn)));
        slc
    }

    /// Counts a program of the host: the first mapping unit of a page of flash begins it.
    #[inline]
    fn count_program(&mut self, unit: u32, ppn: u32) {
        let per_page = self.geometry.units_per_page;
        let begins = per_page == 1 || ppn.is_multiple_of(per_page);
        self.counters.host.programs += u64::from(begins) * u64::from(self.geometry.mapped_pages);
        if let Some(written) = self.written.get_mut(unit as usize) {
            *written += u64::from(begins);
        }
    }

    /// Where the version of a page before a write belongs, if it need not be in the unit that the next one goes to; and the
    /// same if there is one.
    #[inline]
    fn located_before(&self, lpn: u64, in_part: bool) -> (Option<Home>, Option<Home>) {
        let elsewhere = self.shares_map || in_part && self.superblocks.is_some();
        if elsewhere { self.locate_mapped(lpn) } else { (None, None) }
    }

    #[inline(never)]
    fn locate_mapped(&self, lpn: u64) -> (Option<Home>, Option<Home>) {
        let before = self.alloc.locate(lpn);
        (before, before.filter(|home| self.ftl.lookup(*home).is_some()))
    }

    /// True if the version of a page before is on another die than the next one, as it nearly always is in a set of dies.
    fn is_apart(&self, before: Home, next: Home) -> bool {
        self.superblocks.is_some() || before.unit / self.planes != next.unit / self.planes
    }

    /// Pages of a unit that are read for a transfer.
    #[inline]
    pub(super) fn pages_read(&self, crossing: Crossing) -> u64 {
        if self.geometry.mapped_pages == 1 { 1 } else { crossing.pages.count_ones().into() }
    }

    /// Hands over the command of a page, or keeps it until others of its kind may have joined it. Returns true if it went with
    /// the command of the same page of flash.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "of an operation that is known little is left of this")]
    fn issue_host(&mut self, now_ns: u64, tag: u32, op: &FlashOp, executor: &mut impl Executor) -> bool {
        if self.geometry.units_per_page > 1 {
            return self.issue_unit(now_ns, tag, op, executor);
        }
        let mut command = Command { tag, awaited: true, ..self.command_of(op, &[], 1, None) };
        self.age(executor.takes_time().then_some(now_ns), op, (&[], 1), &mut command);
        let pages = if executor.wants_pages() { self.pages_of(op, &[]) } else { Pages::default() };
        let effect = self.content.apply(op, &[]);
        let plane = if self.planes == 1 { 0 } else { op.unit % self.planes };
        let member = Member { plane, pages, effect, block: self.guarded(op) };
        if self.pending.grouping() {
            self.pending.join(command, member, executor.serving());
        } else {
            self.submit(now_ns, command, member, executor);
        }
        self.rebuild_for_host(now_ns, op, tag, executor);
        false
    }

    /// Hands over a program that needs what a read on another die brings.
    #[cold]
    #[inline(never)]
    fn issue_chain(
        &mut self,
        now_ns: u64,
        tag: u32,
        read: &FlashOp,
        program: &FlashOp,
        executor: &mut impl Executor,
    ) {
        self.flush(now_ns, executor);
        let [first, second] = [read, program].map(|op| {
            let pages = if executor.wants_pages() { self.pages_of(op, &[]) } else { Pages::default() };
            let mut command = Command { tag, awaited: true, ..self.command_of(op, &[], 1, None) };
            self.age(executor.takes_time().then_some(now_ns), op, (&[], 1), &mut command);
            let effect = self.content.apply(op, &[]);
            let effect = self.content.handed(op.kind, &[effect]);
            self.pending.charge(&command, executor);
            (Command { effect, ..command }, pages)
        });
        executor.guard(self.guarded(program).as_slice());
        executor.submit_chain(now_ns, first, second);
        self.rebuild(now_ns, (tag, true), executor);
    }
}

/// An operation on a page of the host.
#[inline]
pub(super) fn host_op(unit: u32, kind: CommandKind, opens: u8, effect: Effect) -> FlashOp {
    let (pages, reads, purpose, crossing, slc) = (1, 0, Purpose::Host, Crossing::WHOLE, false);
    FlashOp { unit, pages, reads, kind, purpose, opens, crossing, slc, effect }
}
