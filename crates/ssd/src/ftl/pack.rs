//! Open blocks and pages: groups of open blocks, mapping units that share a page of flash, and when such a page is closed.

use super::classifier::Classifier;
use super::{Ftl, FtlConfig, Placement};
use crate::alloc::Home;

impl FtlConfig {
    /// Size of the mapping unit, if it was set.
    pub(crate) fn map_unit(&self) -> Option<u64> {
        match self {
            FtlConfig::Page(own) => own.map_unit.0.map(|unit| unit.0),
            FtlConfig::Zones(own) if !self.is_zoned() => own.log_unit.0.map(|unit| unit.0),
            _ => None,
        }
    }

    /// Group of open blocks that a page goes to.
    pub(crate) fn classifier(&self) -> Classifier {
        match self {
            FtlConfig::Page(own) => own.classifier,
            FtlConfig::Zones(own) => own.classifier(),
            _ => Classifier::One,
        }
    }

    /// The file of a classifier outside the engine.
    pub(crate) fn classifier_file(&self) -> Option<&str> {
        match self {
            FtlConfig::Page(own) if own.classifier == Classifier::External => Some(&own.classifier_file),
            _ => None,
        }
    }

    /// The number of groups, if it was set.
    pub(crate) fn groups(&self) -> Option<u32> {
        match self {
            FtlConfig::Page(own) => own.groups.0,
            FtlConfig::Zones(own) if own.classifier().has_groups() => Some(own.handles),
            _ => None,
        }
    }

    /// True if handles stay apart when their pages are moved.
    pub(crate) fn is_isolated(&self) -> bool {
        matches!(self, FtlConfig::Page(own) if own.isolated)
    }

    /// Longest time that a block of a handle takes pages of the host, ns.
    pub(crate) fn open_time(&self) -> Option<u64> {
        match self {
            FtlConfig::Page(own) => own.open_time.0.map(|limit| limit.0),
            _ => None,
        }
    }

    /// Open blocks of a unit where there are one or two, `gc.frontiers` being `frontiers`.
    pub(crate) fn frontiers(&self, frontiers: u32) -> u32 {
        if self.classifier() == Classifier::One { frontiers } else { 2 }
    }
}

impl Ftl {
    /// Counters of groups of open blocks since preconditioning.
    pub(crate) fn placement(&self) -> Option<Placement> {
        if let Ftl::Page(page) = self { page.placement() } else { None }
    }

    /// Open blocks of the host that are overdue take no more pages, where `may_end` lets them ([`PageFtl::close_overdue`]).
    pub(crate) fn close_overdue(&mut self, now_ns: u64, may_end: impl Fn(u32, u32) -> bool) {
        if let Ftl::Page(page) = self {
            page.close_overdue(now_ns, may_end);
        }
    }

    /// Forgets what was counted.
    pub(crate) fn forget_counts(&mut self) {
        if let Ftl::Page(page) = self {
            page.forget_counts();
        }
    }

    /// The page of flash that the unit's last write is filling is programmed as it is: what is left of it is padding. Returns the
    /// mapping units that are padded.
    pub(crate) fn close_page(&mut self, unit: u32) -> u32 {
        if let Ftl::Page(page) = self { page.close_last_page(unit) } else { 0 }
    }

    /// The page that the next write of a page of the host takes, if no collection comes before it.
    pub(crate) fn next_page(&self, home: Home, handle: u8) -> Option<u32> {
        match self {
            Ftl::Page(page) => page.next_page(home, handle),
            Ftl::Zones(_) => Some(home.key),
            Ftl::Dftl(_) | Ftl::Log(_) | Ftl::Direct => None,
        }
    }

    /// As [`Ftl::next_page`], of a map on flash as well.
    pub(crate) fn frontier_page(&self, home: Home, handle: u8) -> Option<u32> {
        if let Ftl::Dftl(dftl) = self { dftl.next_page(home, handle) } else { self.next_page(home, handle) }
    }

    /// The page that a block begins with that the host opens next in a unit, if no collection comes before it. 0: the first one of
    /// any block.
    pub(crate) fn page_opened_next(&self, unit: u32) -> u32 {
        match self {
            Ftl::Page(page) => page.page_opened_next(unit, page.kept(unit)),
            Ftl::Dftl(dftl) => dftl.page_opened_next(unit),
            Ftl::Log(_) | Ftl::Zones(_) | Ftl::Direct => 0,
        }
    }

    /// True if the next step of a unit's collection moves a page, or updates the map for one that was moved.
    pub(crate) fn moves_next(&self, unit: u32) -> bool {
        match self {
            Ftl::Page(page) => page.moves_next(unit),
            Ftl::Dftl(dftl) => dftl.moves_next(unit),
            Ftl::Log(_) | Ftl::Zones(_) | Ftl::Direct => false,
        }
    }

    /// True if there are groups of open blocks.
    pub(crate) fn has_groups(&self) -> bool {
        matches!(self, Ftl::Page(page) if page.groups.is_some())
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
        if let Ftl::Page(page) = self { page.open_last_page(unit) } else { None }
    }
}
