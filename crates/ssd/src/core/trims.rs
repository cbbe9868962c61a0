//! TRIM of a page: forgotten at once, or left for later.

use super::Core;
use super::issue::Made;
use crate::content::Content;
use crate::error::RunError;
use crate::nand::Executor;
use crate::op::PageSlice;

impl<C: Content> Core<C> {
    /// Forgets whole pages of `part`; a page covered in part keeps its data. `reset`: the tag that waits for the
    /// erases of a zone that is reset, if anything does. Returns whether the page had data on flash.
    pub(crate) fn trim(
        &mut self,
        now_ns: u64,
        reset: Option<u32>,
        part: PageSlice,
        executor: &mut impl Executor,
    ) -> Result<bool, RunError> {
        if !self.note_trim(now_ns, &part, executor) {
            return Ok(false);
        }
        self.forget(now_ns, part.lpn, reset, executor)
    }

    /// As [`Core::trim`], but the map forgets the page later.
    pub(crate) fn defer_trim(&mut self, now_ns: u64, part: PageSlice, executor: &impl Executor) -> bool {
        if !self.note_trim(now_ns, &part, executor) {
            return false;
        }
        let home = self.alloc.locate(part.lpn);
        let is_mapped = home.is_some_and(|home| self.ftl.lookup(home).is_some());
        let Some(backlog) = self.backlog.as_mut().filter(|backlog| is_mapped && !backlog.has(part.lpn))
        else {
            return false;
        };
        backlog.add(part.lpn);
        self.counters.trim.deferred += 1;
        true
    }

    /// The host gives up a page. Returns false if that is not all of it: it keeps its data then.
    fn note_trim(&mut self, now_ns: u64, part: &PageSlice, executor: &impl Executor) -> bool {
        if u64::from(part.end - part.first) < self.page_sectors.get() {
            return false;
        }
        self.pending.flash_time.serve(part.stream);
        self.content.trim(now_ns, executor.serving(), part.lpn);
        if self.on_read {
            self.forget_old(part.lpn);
        }
        true
    }

    /// The map forgets a page. Returns whether it had data on flash.
    fn forget(
        &mut self,
        now_ns: u64,
        lpn: u64,
        reset: Option<u32>,
        executor: &mut impl Executor,
    ) -> Result<bool, RunError> {
        let home = self.alloc.locate(lpn);
        let home = home.or_else(|| self.looks_up_first().then(|| Self::entry_of(lpn)));
        let Some(home) = home else { return Ok(false) };
        let in_slc = self.has_slc && self.ftl.lookup(home).is_some_and(|ppn| self.ftl.is_slc(home.unit, ppn));
        self.counters.slc.trimmed += u64::from(in_slc);
        let was_mapped = self.ftl.trim(home, &mut self.ops)?;
        self.free_zone(lpn);
        let reset = reset.filter(|_| self.takes_zone_commands());
        self.issue(now_ns, Made { reset, ..Made::default() }, executor);
        self.read_stripes(now_ns, executor);
        Ok(was_mapped)
    }

    /// Pages that wait to be forgotten.
    pub(crate) fn trim_backlog(&self) -> u64 {
        self.backlog.as_ref().map_or(0, |backlog| backlog.len())
    }

    /// True if TRIM has a granularity or a backlog.
    pub(crate) fn defers_trims(&self) -> bool {
        self.backlog.is_some()
    }

    /// True if the host gave a page up that the map has still to forget.
    #[inline]
    pub(super) fn is_given_up(&self, lpn: u64) -> bool {
        self.backlog.as_ref().is_some_and(|backlog| backlog.has(lpn))
    }

    /// Forgets the page that waits and has the lowest address. Returns false if none waits.
    pub(crate) fn forget_first(
        &mut self,
        now_ns: u64,
        executor: &mut impl Executor,
    ) -> Result<bool, RunError> {
        let Some(backlog) = &mut self.backlog else { return Ok(false) };
        let Some(lpn) = backlog.first() else { return Ok(false) };
        backlog.take(lpn);
        self.forget(now_ns, lpn, None, executor).map(|_| true)
    }

    /// A page is about to be written: if it waits to be forgotten, that is done before.
    #[cold]
    #[inline(never)]
    pub(super) fn forget_before_write(
        &mut self,
        now_ns: u64,
        lpn: u64,
        executor: &mut impl Executor,
    ) -> Result<(), RunError> {
        let waited = self.backlog.as_mut().is_some_and(|backlog| backlog.take(lpn));
        if waited {
            self.counters.trim.rewritten += 1;
            self.forget(now_ns, lpn, None, executor)?;
        }
        Ok(())
    }
}
