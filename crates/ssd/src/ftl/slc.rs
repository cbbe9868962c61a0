//! The SLC cache of a translation layer: only page mapping has one.

use super::Ftl;
use crate::slc::SlcState;

impl Ftl {
    /// True if a physical page of a unit is in a block in SLC mode.
    #[inline]
    pub(crate) fn is_slc(&self, unit: u32, ppn: u32) -> bool {
        if let Ftl::Page(page) = self { page.is_slc(unit, ppn) } else { false }
    }

    /// From now on writes go past the cache, or into it.
    pub(crate) fn bypass_slc(&mut self, bypassed: bool) {
        if let Ftl::Page(page) = self {
            page.bypass_slc(bypassed);
        }
    }

    /// Blocks of the cache of a unit that could be folded now.
    pub(crate) fn foldable(&self, unit: u32) -> u32 {
        if let Ftl::Page(page) = self { page.foldable(unit) } else { 0 }
    }

    /// Content of the cache, if there is one.
    pub(crate) fn slc_state(&self) -> Option<SlcState> {
        if let Ftl::Page(page) = self { page.slc_state() } else { None }
    }
}
