//! Pages that are put on flash in no time: in preconditioning, and when something is read that must have been there.

use flashweir_trace::Op;

use super::Core;
use crate::content::Content;
use crate::error::RunError;
use crate::nand::Untimed;
use crate::op::{NOBODY, PageSlice, Stage};

impl<C: Content> Core<C> {
    /// A page that a tenant writes in preconditioning: no time, no counts but the translation layer's own.
    #[inline]
    pub(crate) fn place_untimed(&mut self, lpn: u64, stream: u16) -> Result<(), RunError> {
        self.place_for(lpn, stream, Op::Write)
    }

    fn place_for(&mut self, lpn: u64, stream: u16, op: Op) -> Result<(), RunError> {
        self.counters.host_pages_written += 1;
        let part = PageSlice { lpn, first: 0, end: self.page_sectors.get() as u32, stream };
        let written = self.write_for(0, NOBODY, part, (op, true), (Stage::Direct, None), &mut Untimed)?;
        self.flush(0, &mut Untimed);
        if written { Ok(()) } else { Err(RunError::NoRoom { waiting: 1 }) }
    }

    /// A page that is read and lies nowhere is taken to have been written before the run: it is put where its tenant's
    /// reads say, in no time, and nothing of that is counted. (What of it waits in the buffer came later.)
    #[cold]
    #[inline(never)]
    pub(super) fn put_unless_there(
        &mut self,
        part: PageSlice,
        staged: Option<Stage>,
    ) -> Result<(), RunError> {
        let home = self.alloc.locate(part.lpn);
        if staged.is_some() || home.is_some_and(|home| self.ftl.lookup(home).is_some()) {
            return Ok(());
        }
        let (counters, collections) = (self.counters.clone(), self.collections.clone());
        // What the request has asked for so far is grouped with what it asks for after this.
        let others = self.pending.set_aside();
        self.place_for(part.lpn, part.stream, Op::Read)?;
        self.pending = others;
        (self.counters, self.collections) = (counters, collections);
        Ok(())
    }
}
