//! The SLC cache of a translation layer: that of a page map, in RAM or on flash.

use super::{Ftl, PageFtl};
use crate::error::RunError;
use crate::op::Ops;
use crate::slc::SlcState;

impl Ftl {
    /// The page map, where there is one.
    #[inline]
    fn page_map(&self) -> Option<&PageFtl> {
        match self {
            Ftl::Page(page) => Some(page),
            Ftl::Dftl(dftl) => Some(&dftl.page),
            Ftl::Log(_) | Ftl::Zones(_) | Ftl::Direct => None,
        }
    }

    /// True if a physical page of a unit is in a block in SLC mode.
    #[inline]
    pub(crate) fn is_slc(&self, unit: u32, ppn: u32) -> bool {
        self.page_map().is_some_and(|page| page.is_slc(unit, ppn))
    }

    /// True if a block of a unit is in SLC mode.
    #[inline]
    pub(crate) fn is_slc_block(&self, unit: u32, block: u32) -> bool {
        self.page_map().is_some_and(|page| page.is_slc_block(unit, block))
    }

    /// True if blocks with this number are always in SLC mode.
    pub(crate) fn keeps_in_slc(&self, block: u32) -> bool {
        self.page_map().is_some_and(|page| page.keeps_in_slc(block))
    }

    /// From now on writes go past the cache, or into it.
    pub(crate) fn bypass_slc(&mut self, bypassed: bool) {
        match self {
            Ftl::Page(page) => page.bypass_slc(bypassed),
            Ftl::Dftl(dftl) => dftl.page.bypass_slc(bypassed),
            Ftl::Log(_) | Ftl::Zones(_) | Ftl::Direct => {}
        }
    }

    /// Blocks of the cache of a unit that could be folded now.
    pub(crate) fn foldable(&self, unit: u32) -> u32 {
        self.page_map().map_or(0, |page| page.foldable(unit))
    }

    /// Moves one more page of the cache in a step of folding that has moved one. Returns whether there was one, and a place for it
    /// without a collection.
    pub(crate) fn fold_more(&mut self, unit: u32, ops: &mut Ops) -> Result<bool, RunError> {
        match self {
            Ftl::Page(page) => page.fold_more(unit, ops),
            Ftl::Dftl(dftl) => dftl.fold_more(unit, ops),
            Ftl::Log(_) | Ftl::Zones(_) | Ftl::Direct => Ok(false),
        }
    }

    /// Content of the cache, if there is one.
    pub(crate) fn slc_state(&self) -> Option<SlcState> {
        self.page_map().and_then(PageFtl::slc_state)
    }
}
