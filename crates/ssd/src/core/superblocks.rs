//! From operations on superblocks to those on the units of their dies.
//!
//! The translation layer has a set of dies as one unit. Pages of the host get their places here ([`Core::at`]); what a collection
//! moves is read on the dies where it lies and programmed on the dies that are next: a command a unit for each, and an erase.
//! Programs of relocated pages wait for all reads of their operation, erases for all that was programmed before ([`Role`]).

use std::ops::Range;

use super::Core;
use super::gather::{command_of, moved_at_once, moved_together, op_of};
use super::issue::{Made, Part};
use super::pending::Member;
use crate::alloc::{Home, Superblocks};
use crate::content::Content;
use crate::nand::Executor;
use crate::op::{Command, CommandKind, Effect, FlashOp, Link, NOBODY, PageAt, PageSlice, Purpose, Role};
use crate::sched::Pages;

/// Dies that make a step of the background together, and the units of the translation layer that they make it for: a die with its
/// planes, or the dies of a superblock.
pub(crate) type Crew = (Vec<u32>, Range<u32>);

/// Pages of flash that one cycle programs on sets of dies: at most one a unit, parity included.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// Set and page of the set, of those with data.
    pages: Vec<(u32, u32)>,
    units: Vec<u32>,
}

impl<C: Content> Core<C> {
    /// Unit and physical page of a page of the translation layer.
    #[inline]
    pub(crate) fn at(&self, unit: u32, ppn: u32) -> PageAt {
        match &self.superblocks {
            None => (unit, ppn),
            Some(superblocks) => superblocks.at(unit, ppn),
        }
    }

    /// The unit that holds a page of the host, or that it goes to if that is known before it is written.
    pub(crate) fn unit_of(&self, lpn: u64) -> Option<u32> {
        let home = self.alloc.locate(lpn)?;
        if self.superblocks.is_none() {
            return Some(home.unit);
        }
        Some(self.at(home.unit, self.ftl.lookup(home)?).0)
    }

    /// True if a page of the host that was written is in the map: of zones those behind their data are not.
    #[inline]
    pub(crate) fn is_mapped(&self, lpn: u64) -> bool {
        !self.alloc.is_zoned() || self.unit_of(lpn).is_some()
    }

    /// Units as the translation layer has them.
    pub(crate) fn mapped_units(&self) -> u32 {
        self.superblocks.as_ref().map_or(self.geometry.units(), |superblocks| superblocks.sets())
    }

    /// The crews of the drive.
    pub(crate) fn crews(&self) -> impl Iterator<Item = Crew> {
        let planes = self.planes;
        let of_set = move |superblocks: &Superblocks, set: u32| {
            let mut dies: Vec<u32> = superblocks.units_of(set).iter().map(|unit| unit / planes).collect();
            dies.sort_unstable();
            dies.dedup();
            (dies, set..set + 1)
        };
        let count = if self.superblocks.is_some() { self.mapped_units() } else { self.geometry.total_dies() };
        (0..count).map(move |number| match &self.superblocks {
            Some(superblocks) => of_set(superblocks, number),
            None => (vec![number], number * planes..(number + 1) * planes),
        })
    }

    /// The unit of the translation layer that a unit belongs to.
    pub(crate) fn mapped_unit(&self, unit: u32) -> u32 {
        self.superblocks.as_ref().map_or(unit, |superblocks| superblocks.set_of(unit))
    }

    /// With superblocks: the die that the next write of a page goes to, if no collection comes before it.
    pub(crate) fn next_die(&self, part: &PageSlice) -> Option<u32> {
        let superblocks = self.superblocks.as_ref()?;
        let home = self.alloc.locate(part.lpn)?;
        let ppn = self.ftl.next_page(home, part.handle)?;
        Some(superblocks.at(home.unit, ppn).0 / self.planes)
    }

    /// True if a physical page of a unit is in a block in SLC mode.
    #[inline]
    pub(super) fn in_slc(&self, unit: u32, ppn: u32) -> bool {
        match &self.superblocks {
            None => self.ftl.is_slc(unit, ppn),
            Some(superblocks) => self.ftl.is_slc_block(superblocks.set_of(unit), ppn / self.pages_per_block),
        }
    }

    /// Pages that one step of a collection moves at most: one a unit of a set of dies.
    pub(crate) fn pages_of_step(&self) -> u32 {
        self.superblocks.as_ref().map_or(1, |superblocks| superblocks.members())
    }

    /// True if the next write of a page may go with those of a cycle: into a page of flash that the cycle has begun, or into one of
    /// a unit that has none in it yet, without a collection before it.
    pub(crate) fn goes_with(&self, taken: &Taken, lpn: u64, handle: u8) -> bool {
        let Some(home) = self.alloc.locate(lpn) else { return false };
        let page = self.ftl.frontier_page(home, handle).map(|ppn| ppn / self.geometry.units_per_page);
        if page.is_some_and(|page| taken.pages.contains(&(home.unit, page))) {
            return true;
        }
        let opened = || self.ftl.page_opened_next(home.unit) / self.geometry.units_per_page;
        let free = |unit: &u32| !taken.units.contains(unit);
        !self.ftl.must_collect(home)
            && self.programmed_with(home.unit, page.unwrap_or_else(opened)).iter().all(free)
    }

    /// A page was written in a cycle.
    pub(crate) fn note_taken(&self, taken: &mut Taken, lpn: u64) {
        let home = self.alloc.locate(lpn);
        let Some((home, ppn)) = home.and_then(|home| Some((home, self.ftl.lookup(home)?))) else { return };
        let page = (home.unit, ppn / self.geometry.units_per_page);
        if !taken.pages.contains(&page) {
            taken.pages.push(page);
            taken.units.extend(self.programmed_with(page.0, page.1));
        }
    }

    /// Units that are programmed with a page of flash of a set: its own, and that of the parity that it completes.
    fn programmed_with(&self, set: u32, page: u32) -> Vec<u32> {
        let Some(superblocks) = &self.superblocks else { return Vec::new() };
        let (own, parity) =
            (superblocks.flash_page(set, page.into()), superblocks.parity_after(set, page.into()));
        [Some(own), parity].into_iter().flatten().map(|(unit, _)| unit).collect()
    }

    /// Open blocks of the host that have taken pages for too long take no more (`ftl.open_time`): superblocks with parity from the
    /// end of a stripe on.
    #[inline]
    pub(crate) fn close_overdue(&mut self, now_ns: u64) {
        let superblocks = self.superblocks.as_deref();
        let may_end = |_, page: u32| superblocks.is_none_or(|own| own.begins_stripe(page.into()));
        self.ftl.close_overdue(now_ns, may_end);
    }

    /// The page of flash with this number is programmed as it is. Returns the mapping units that are padded.
    pub(super) fn close_flash_page(&mut self, (unit, page): PageAt) -> u32 {
        let (unit, page) = match &self.superblocks {
            None => (unit, page),
            Some(superblocks) => superblocks.page_of_set((unit, page)),
        };
        self.ftl.close_page_at(unit, page)
    }

    /// A page of the host has got this place in its set: programs the parity of its stripe if it is the last one of it.
    #[inline]
    pub(super) fn end_stripe(&mut self, now_ns: u64, home: Home, ppn: u32, executor: &mut impl Executor) {
        if self.geometry.parity > 0 && ppn.is_multiple_of(self.geometry.units_per_page) {
            self.program_parity(now_ns, home.unit, ppn / self.geometry.units_per_page, executor);
        }
    }

    #[cold]
    #[inline(never)]
    fn program_parity(&mut self, now_ns: u64, set: u32, page: u32, executor: &mut impl Executor) {
        let parity = self.superblocks.as_ref().and_then(|own| own.parity_after(set, page.into()));
        let Some((unit, page)) = parity else { return };
        self.counters.parity_programs += u64::from(self.geometry.mapped_pages);
        let ppn = page * self.geometry.units_per_page;
        let effect = Effect::Parity { ppn };
        let op = op_of(unit, 1, CommandKind::Program, Purpose::Host, effect);
        let opens = self.open(unit, ppn);
        let mut command = Command { opens, ..self.command_of(&op, &[], 1, None) };
        self.age(executor.takes_time().then_some(now_ns), &op, (&[], 1), &mut command);
        let pages = if executor.wants_pages() { self.pages_of(&op, &[]) } else { Pages::default() };
        let effect = self.content.apply(&op, &[]);
        if executor.takes_time() {
            // Commands made for its die before stay before it.
            self.flush_pending(now_ns, Some(command.die), executor);
        }
        self.submit(now_ns, command, Member::of(unit, self.planes, pages, effect), executor);
    }

    /// Part of an operation of the host in the work on its superblock.
    #[inline]
    pub(super) fn link_of(&self, op: &FlashOp) -> Link {
        match &self.superblocks {
            Some(superblocks) if op.kind != CommandKind::Read => {
                Link::new(superblocks.set_of(op.unit), Role::Write)
            }
            _ => Link::NONE,
        }
    }

    /// Blocks that the program of a page opens, with superblocks: its own, if that was erased.
    #[inline]
    pub(super) fn open(&mut self, unit: u32, ppn: u32) -> u8 {
        self.erased.open((unit, ppn / self.pages_per_block))
    }

    /// Erased blocks of a unit.
    pub(crate) fn free_blocks(&self, unit: u32) -> u64 {
        if self.superblocks.is_some() { self.erased.of(unit) } else { self.ftl.free_blocks(unit) }
    }

    /// Erased blocks of a unit, as the commands that were made count them.
    pub(crate) fn unopened_blocks(&self, unit: u32) -> u64 {
        let owed = if self.superblocks.is_some() { 0 } else { self.erased.owed(unit) };
        self.free_blocks(unit) + owed
    }

    /// Makes commands of what the translation layer has listed of sets of dies, and counts it.
    #[cold]
    #[inline(never)]
    pub(super) fn issue_sets(&mut self, now_ns: u64, made: Made, executor: &mut impl Executor) {
        let Some(mut superblocks) = self.superblocks.take() else { return };
        let mut ops = std::mem::take(&mut self.ops);
        let mut left = ops.list();
        while let Some(op) = left.first() {
            let together = match made.part {
                Part::Step => moved_together(left, &ops),
                Part::Rest => moved_at_once(left),
                Part::Whole => 1,
            };
            match &op.effect {
                Effect::Laid { ppn, map } => self.lay_in_set(&superblocks, op.unit, *ppn, *map),
                Effect::Moved(_) => {
                    self.flush_set(now_ns, &superblocks, op.unit, executor);
                    self.gather(now_ns, &superblocks, (&left[..together], &ops), executor);
                }
                Effect::Erased { block } => {
                    self.flush_set(now_ns, &superblocks, op.unit, executor);
                    self.erase_set(now_ns, made, &superblocks, (op, *block), executor);
                }
                _ => {
                    self.superblocks = Some(superblocks);
                    self.issue_map(now_ns, made, op, executor);
                    let Some(again) = self.superblocks.take() else { return };
                    superblocks = again;
                }
            }
            left = &left[together..];
        }
        Self::count_tally(&mut self.counters, &mut self.collections, &ops.tally, made.part == Part::Step);
        ops.clear();
        (self.ops, self.superblocks) = (ops, Some(superblocks));
    }

    /// An operation on a translation page of a set.
    fn issue_map(&mut self, now_ns: u64, made: Made, op: &FlashOp, executor: &mut impl Executor) {
        let (unit, effect, set_ppn) = match op.effect {
            Effect::MapRead { ppn, work } => {
                let (unit, ppn) = self.at(op.unit, ppn);
                (unit, Effect::MapRead { ppn, work }, None)
            }
            Effect::MapProgrammed { page, ppn, work, clears } => {
                let (unit, at) = self.at(op.unit, ppn);
                (unit, Effect::MapProgrammed { page, ppn: at, work, clears }, Some(ppn))
            }
            _ => return,
        };
        let opens = match effect {
            Effect::MapProgrammed { ppn, .. } => self.open(unit, ppn),
            _ => 0,
        };
        self.issue_one(now_ns, made, &FlashOp { unit, opens, effect, ..op.clone() }, &[], executor);
        if let Some(ppn) = set_ppn {
            self.end_stripe(now_ns, Home { unit: op.unit, key: 0 }, ppn, executor);
        }
    }

    /// Pages of the host that wait for the dies of a set were placed before a collection and stay before it.
    fn flush_set(&mut self, now_ns: u64, superblocks: &Superblocks, set: u32, executor: &mut impl Executor) {
        if self.pending.is_empty() {
            return;
        }
        let mut dies: Vec<u32> = superblocks.units_of(set).iter().map(|unit| unit / self.planes).collect();
        dies.sort_unstable();
        dies.dedup();
        for die in dies {
            let commands = self.pending.take(Some(die));
            for at in commands.iter().flat_map(super::pending::Grouped::programs) {
                let (unit, page) = superblocks.page_of_set(*at);
                self.counters.padded_units += u64::from(self.ftl.close_page_at(unit, page));
            }
            self.pending.hand_over(commands, now_ns, executor, &mut self.content);
        }
    }

    fn lay_in_set(&mut self, superblocks: &Superblocks, set: u32, ppn: u32, map: bool) {
        let (unit, at) = superblocks.at(set, ppn);
        let laid =
            |unit, ppn, map| op_of(unit, 1, CommandKind::Program, Purpose::Host, Effect::Laid { ppn, map });
        self.content.apply(&laid(unit, at, map), &[]);
        let per_page = self.geometry.units_per_page;
        self.erased.lay((unit, at / self.pages_per_block));
        self.laying((unit, at));
        if ppn.is_multiple_of(per_page)
            && let Some((unit, page)) = superblocks.parity_after(set, u64::from(ppn / per_page))
        {
            self.content.apply(&laid(unit, page * per_page, true), &[]);
            self.erased.lay((unit, page * per_page / self.pages_per_block));
            self.laying((unit, page * per_page));
        }
    }

    /// Erases all blocks of a superblock; those of the planes of a die at once, where planes go together.
    fn erase_set(
        &mut self,
        now_ns: u64,
        made: Made,
        superblocks: &Superblocks,
        (of_set, block): (&FlashOp, u32),
        executor: &mut impl Executor,
    ) {
        let set = of_set.unit;
        let erases = self.ftl.erases(set, block).saturating_sub(1);
        for unit in superblocks.units_of(set) {
            // A zone that is reset, and a superblock that the SLC cache gave up before it was full, may have blocks that nothing
            // was written to.
            if !self.erased.is_open(*unit, block) {
                continue;
            }
            let op = op_of(*unit, 1, CommandKind::Erase, of_set.purpose, Effect::Erased { block });
            let op = FlashOp { opens: self.erased.settle((*unit, block)), ..op };
            let of_host = of_set.purpose == Purpose::Host;
            self.counters.host.erases += u64::from(of_host);
            self.counters.gc.erases += u64::from(!of_host);
            self.counters.slc.erases += u64::from(of_set.slc);
            self.erased.erase(*unit, block);
            let pages = if executor.wants_pages() { self.pages_of(&op, &[]) } else { Pages::default() };
            let effect = self.content.apply(&op, &[]);
            let command = Command {
                tag: made.reset.unwrap_or(NOBODY),
                awaited: made.reset.is_some(),
                read_ns: 0,
                bus_ns: 0,
                program_ns: self.erasing(
                    executor.takes_time(),
                    (*unit, block),
                    self.timing.erase_ns(*unit, block, erases),
                ),
                ..command_of(&op, Link::new(set, Role::Erase), self.planes)
            };
            if self.pending.multi_plane() && executor.takes_time() {
                self.pending.join_step(
                    command,
                    Member::of(*unit, self.planes, pages, effect),
                    executor.serving(),
                );
            } else {
                self.submit(now_ns, command, Member::of(*unit, self.planes, pages, effect), executor);
            }
        }
        self.flush_set(now_ns, superblocks, set, executor);
    }
}
