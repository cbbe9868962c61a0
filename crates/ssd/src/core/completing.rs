//! Pages written in part that may go to several dies: the version that they complete is read before they get a unit.

use super::Core;
use super::pending::Member;
use super::serve::{View, host_op};
use crate::content::Content;
use crate::nand::Executor;
use crate::op::{Command, CommandKind, Crossing, Effect, FlashOp, PageAt, PageSlice};
use crate::sched::Pages;

impl<C: Content> Core<C> {
    /// The version of a page that is to be read before the page gets a unit. `None` if there is none, or if the page can only go
    /// to the die of that version: there both are one command, unless the version has to be looked up first.
    pub(crate) fn reads_first(&self, part: &PageSlice) -> Option<PageAt> {
        if !self.shares_map || self.is_given_up(part.lpn) {
            return None;
        }
        let home = self.alloc.locate(part.lpn)?;
        let ppn = self.ftl.lookup(home)?;
        let has_room = |unit: u32| unit == home.unit || self.ftl.has_room(unit);
        let only = self.alloc.only_die(part.stream, part.lpn, &self.geometry, has_room);
        let apart = self.looks_up_first() || only != Some(home.unit / self.planes);
        apart.then_some((home.unit, ppn))
    }

    /// True if a unit can take a page now that has a version at `old`.
    pub(crate) fn finds_unit(
        &self,
        now_ns: u64,
        part: &PageSlice,
        old: PageAt,
        executor: &impl Executor,
    ) -> bool {
        let view = View::new(executor, &self.ftl, Some(old.0), (None, self.planes), now_ns);
        self.alloc.finds(part.stream, part.lpn, &view)
    }

    /// Reads the version at `old` of a page, as much of it as `crossing` says.
    pub(crate) fn read_old(
        &mut self,
        now_ns: u64,
        tag: u32,
        part: &PageSlice,
        (old, crossing): (PageAt, Crossing),
        executor: &mut impl Executor,
    ) {
        self.pending.flash_time.serve(part.stream);
        // It may be on its way to flash.
        self.flush(now_ns, executor);
        let effect = Effect::Read { ppn: old.1, map: None };
        let op = FlashOp { crossing, ..host_op(old.0, CommandKind::Read, self.settle_page(old), effect) };
        let mut command = Command { tag, awaited: true, ..self.command_of(&op, &[], 1, None) };
        self.age(executor.takes_time().then_some(now_ns), &op, (&[], 1), &mut command);
        let pages = if executor.wants_pages() { self.pages_of(&op, &[]) } else { Pages::default() };
        let effect = self.content.apply(&op, &[]);
        let reads = self.pages_read(crossing);
        self.counters.host.reads += reads;
        self.counters.rewrite_reads += reads;
        let member = Member::of(op.unit, self.planes, pages, effect);
        self.submit(now_ns, command, member, executor);
        self.rebuild(now_ns, (tag, true), executor);
    }
}
