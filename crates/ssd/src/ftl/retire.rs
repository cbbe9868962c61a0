//! Blocks that are retired because of their bit errors: a page map does without them.

use super::{Fate, Ftl};

impl Ftl {
    /// A block of a unit is to be retired.
    pub(crate) fn wear_out(&mut self, unit: u32, block: u32) -> Fate {
        match self {
            Ftl::Page(page) => page.wear_out(unit, block),
            Ftl::Dftl(dftl) => dftl.wear_out(unit, block),
            Ftl::Log(_) | Ftl::Zones(_) | Ftl::Direct => Fate::Needed,
        }
    }

    /// Units with their blocks that were retired since the last call.
    pub(crate) fn take_retired(&mut self) -> Vec<(u32, u32)> {
        match self {
            Ftl::Page(page) => page.take_retired(),
            Ftl::Dftl(dftl) => dftl.page.take_retired(),
            Ftl::Log(_) | Ftl::Zones(_) | Ftl::Direct => Vec::new(),
        }
    }

    /// Blocks that may still be retired, where there are fewest.
    pub(crate) fn fewest_spare(&self) -> Option<u32> {
        match self {
            Ftl::Page(page) => page.fewest_spare(),
            Ftl::Dftl(dftl) => dftl.page.fewest_spare(),
            Ftl::Log(_) | Ftl::Zones(_) | Ftl::Direct => None,
        }
    }
}
