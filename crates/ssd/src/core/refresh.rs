//! Refresh and read reclaim: blocks whose data is due to be moved, as victims of the translation layer.
//!
//! The layer moves such a block as it moves any victim, so that power cuts, checks and schedulers see nothing new; a collection that
//! the unit must make meanwhile ends it first. A superblock is moved as a whole when one of its blocks is due.

use super::Core;
use crate::ageing::Reason;
use crate::content::Content;
use crate::op::{PageAt, Work};

impl<C: Content> Core<C> {
    /// The block of a unit of the translation layer whose data is moved next because of its bit errors, or is being moved; the reason,
    /// and when it is due, ns.
    fn next_due(&self, unit: u32) -> Option<(u32, Reason, u64)> {
        let ageing = self.ageing.as_ref().filter(|ageing| ageing.refreshes())?;
        let is_ready = |block| self.ftl.is_refreshable(unit, block);
        match &self.superblocks {
            None => ageing.due(unit, is_ready),
            Some(superblocks) => {
                let units = superblocks.units_of(unit).iter();
                units.filter_map(|unit| ageing.due(*unit, is_ready)).min_by_key(|(_, _, due_ns)| *due_ns)
            }
        }
    }

    /// When a block of a unit of the translation layer is due to be moved because of its bit errors, ns.
    pub(crate) fn refresh_ns(&self, unit: u32) -> Option<u64> {
        self.next_due(unit).map(|(_, _, due_ns)| due_ns)
    }

    /// Takes the next block that is due as the victim of a unit that has none, if the step to be made is one of this work.
    #[inline]
    pub(super) fn begin_refresh(&mut self, now_ns: u64, unit: u32, work: Work) {
        if work == Work::Refresh {
            self.take_due(now_ns, unit);
        }
    }

    #[cold]
    #[inline(never)]
    fn take_due(&mut self, now_ns: u64, unit: u32) {
        let Some((block, reason, _)) = self.next_due(unit).filter(|(_, _, due_ns)| *due_ns <= now_ns) else {
            return;
        };
        if !self.ftl.take_due(unit, block) {
            return;
        }
        let Some(ageing) = &mut self.ageing else { return };
        match &self.superblocks {
            None => ageing.begin_move((unit, block), reason),
            Some(superblocks) => {
                superblocks.units_of(unit).iter().for_each(|unit| ageing.begin_move((*unit, block), reason));
            }
        }
    }

    /// Mapping units leave a block, the first of them this one: counts them if that is because of its bit errors.
    pub(super) fn count_moved(&mut self, (unit, ppn): PageAt, units: usize) {
        let block = (unit, ppn / self.pages_per_block);
        if self.ageing.as_ref().is_some_and(|ageing| ageing.is_moving(block)) {
            self.counters.ageing.moved_units += units as u64;
        }
    }

    /// A block is erased whose data was moved for this reason.
    pub(super) fn count_refreshed(&mut self, reason: Option<Reason>) {
        let counts = &mut self.counters.ageing;
        match reason {
            None => {}
            Some(Reason::Age) => counts.refreshed_blocks += 1,
            Some(Reason::Reads) => counts.reclaimed_blocks += 1,
        }
    }
}
