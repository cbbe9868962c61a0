//! Mapping units that share pages of flash: which layers have them, and when a page is closed.

use super::classifier::Classifier;
use super::{Ftl, FtlConfig};

impl FtlConfig {
    /// Size of the mapping unit, if it was set.
    pub(crate) fn map_unit(&self) -> Option<u64> {
        match self {
            FtlConfig::Page(own) => own.map_unit.0.map(|unit| unit.0),
            _ => None,
        }
    }

    /// Group of open blocks that a page goes to.
    pub(crate) fn classifier(&self) -> Classifier {
        if let FtlConfig::Page(own) = self { own.classifier } else { Classifier::One }
    }

    /// The number of groups, if it was set.
    pub(crate) fn groups(&self) -> Option<u32> {
        if let FtlConfig::Page(own) = self { own.groups.0 } else { None }
    }

    /// True if handles stay apart when their pages are moved.
    pub(crate) fn is_isolated(&self) -> bool {
        matches!(self, FtlConfig::Page(own) if own.isolated)
    }

    /// Open blocks of a unit where there are one or two, `gc.frontiers` being `frontiers`.
    pub(crate) fn frontiers(&self, frontiers: u32) -> u32 {
        if self.classifier() == Classifier::One { frontiers } else { 2 }
    }
}

impl Ftl {
    /// The page of flash that the unit's last write is filling is programmed as it is: what is left of it is padding. Returns the
    /// mapping units that are padded.
    pub(crate) fn close_page(&mut self, unit: u32) -> u32 {
        if let Ftl::Page(page) = self { page.close_page(unit) } else { 0 }
    }

    /// As [`Ftl::close_page`], of the page of flash with this number, if writes are filling it.
    pub(crate) fn close_page_at(&mut self, unit: u32, page: u32) -> u32 {
        if let Ftl::Page(own) = self { own.close_page_at(unit, page) } else { 0 }
    }

    /// As [`Ftl::close_page`], of all pages of flash that writes are filling.
    pub(crate) fn close_pages(&mut self, unit: u32) {
        if let Ftl::Page(page) = self {
            page.close_pages(unit);
        }
    }

    /// Number of the page of flash that the unit's last write is filling, if it takes one more mapping unit.
    pub(crate) fn open_page_of(&self, unit: u32) -> Option<u32> {
        if let Ftl::Page(page) = self { page.open_page_of(unit) } else { None }
    }
}
