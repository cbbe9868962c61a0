//! Pages that are put on flash in no time: in preconditioning, and when something is read that was there before the run.

use flashweir_trace::{Op, Request};

use super::Core;
use super::issue::Made;
use super::zone_commands::{ZoneStep, ZoneWork};
use crate::alloc::Home;
use crate::content::Content;
use crate::cow::CowVec;
use crate::error::RunError;
use crate::nand::{Executor, Untimed};
use crate::op::{NOBODY, PageSlice, Stage};

/// Logical pages that an entry of [`Trimmed`] tells of.
const PAGES: u64 = 16;

/// Logical pages that were trimmed, a bit each. Takes no memory before the first one is.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Trimmed(CowVec);

impl Trimmed {
    pub(super) fn new(logical_pages: u64) -> Self {
        Self(CowVec::new(logical_pages.div_ceil(PAGES)))
    }

    fn bits(&self, lpn: u64) -> u32 {
        let bits = self.0.get(lpn / PAGES);
        if bits == CowVec::EMPTY { 0 } else { bits }
    }

    fn has(&self, lpn: u64) -> bool {
        self.bits(lpn) >> (lpn % PAGES) & 1 == 1
    }

    fn add(&mut self, lpn: u64) {
        let bits = self.bits(lpn) | 1 << (lpn % PAGES);
        self.0.set(lpn / PAGES, bits);
    }

    pub(super) fn snapshot(&mut self) -> Self {
        Self(self.0.snapshot())
    }
}

impl<C: Content> Core<C> {
    /// A page that a tenant writes in preconditioning: no time, no counts but the translation layer's own.
    #[inline]
    pub(crate) fn place_untimed(&mut self, lpn: u64, stream: u16) -> Result<(), RunError> {
        let page_sectors = self.page_sectors.get();
        if self.takes_zone_commands() {
            let (lba, sectors) = (lpn * page_sectors, page_sectors as u32);
            let request = Request { time_ns: 0, lba, sectors, stream, op: Op::Write, handle: 0 };
            return self.manage_untimed(&request);
        }
        self.put_untimed(lpn, stream)
    }

    /// As [`Core::place_untimed`], of a page that the zones have taken.
    #[inline]
    fn put_untimed(&mut self, lpn: u64, stream: u16) -> Result<(), RunError> {
        self.counters.host_pages_written += 1;
        let part = PageSlice { lpn, first: 0, end: self.page_sectors.get() as u32, stream, handle: 0 };
        // Data of preconditioning has been folded when the run starts.
        self.ftl.bypass_slc(true);
        let written = self.write(0, NOBODY, part, None, Stage::Direct, &mut Untimed);
        self.ftl.bypass_slc(false);
        let written = written?;
        self.flush(0, &mut Untimed);
        if written.is_some() { Ok(()) } else { Err(RunError::NoRoom { waiting: 1 }) }
    }

    /// A TRIM, or a command to a zone, in preconditioning.
    pub(crate) fn manage_untimed(&mut self, request: &Request) -> Result<(), RunError> {
        if !self.takes_zone_commands() {
            return self.trim_untimed(request);
        }
        let ZoneWork { write, steps } = self.admit(None, request);
        if let Some(own) = write {
            self.parts(&own).try_for_each(|part| self.put_untimed(part.lpn, part.stream))?;
        }
        steps.iter().try_for_each(|step| match step {
            ZoneStep::Hold(own) => {
                self.hold(0, Untimed.serving(), own);
                Ok(())
            }
            ZoneStep::Commit(own) => self.commit(0, NOBODY, own, &mut Untimed),
            ZoneStep::Finish(own) => {
                let rest = self.end_zone(own);
                rest.map_or(Ok(()), |rest| self.commit(0, NOBODY, &rest, &mut Untimed))
            }
            ZoneStep::Reset(own) => self.trim_untimed(own),
        })
    }

    fn trim_untimed(&mut self, request: &Request) -> Result<(), RunError> {
        self.parts(request).try_for_each(|part| {
            self.let_go(part.lpn);
            self.trim(0, None, part, &mut Untimed).map(drop)
        })
    }

    /// A page that is read and of which there is no version was there before the run, unless it was trimmed: it takes its room
    /// now, and no time. Returns where it is, if anywhere.
    #[cold]
    #[inline(never)]
    pub(super) fn lay(
        &mut self,
        now_ns: u64,
        lpn: u64,
        before: Option<Home>,
        executor: &mut impl Executor,
    ) -> Result<Option<Home>, RunError> {
        if self.trimmed.has(lpn) {
            return Ok(before);
        }
        let ftl = &self.ftl;
        let home = self.alloc.lay(lpn, |unit| ftl.has_room(unit));
        let home = home.ok_or(RunError::NoRoom { waiting: 1 })?;
        self.ftl.lay(home, &mut self.ops)?;
        self.issue(now_ns, Made::default(), executor);
        self.counters.preexisting_pages += 1;
        Ok(Some(home))
    }

    /// A whole page is trimmed: what was there before the run is not there any more.
    #[cold]
    #[inline(never)]
    pub(super) fn forget_old(&mut self, lpn: u64) {
        self.trimmed.add(lpn);
    }
}
