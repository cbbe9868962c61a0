//! Mapping units that share pages of flash: which layers have them, and when a page is closed.

use super::{Ftl, FtlConfig};

impl FtlConfig {
    /// Size of the mapping unit, if it was set.
    pub(crate) fn map_unit(&self) -> Option<u64> {
        match self {
            FtlConfig::Page(own) => own.map_unit.0.map(|unit| unit.0),
            _ => None,
        }
    }
}

impl Ftl {
    /// The page of flash that the unit's writes are filling is programmed as it is: what is left of it is padding. Returns the
    /// mapping units that are padded.
    pub(crate) fn close_page(&mut self, unit: u32) -> u32 {
        if let Ftl::Page(page) = self { page.close_page(unit) } else { 0 }
    }

    /// Number of the page of flash that the unit's writes are filling, if it takes one more mapping unit.
    pub(crate) fn open_page_of(&self, unit: u32) -> Option<u32> {
        if let Ftl::Page(page) = self { page.open_page_of(unit) } else { None }
    }
}
