//! Blocks that are retired because of their bit errors: a page map in RAM does without them.

use super::Ftl;

impl Ftl {
    /// A block of a unit is to be retired. Returns false if the unit can't do without it.
    pub(crate) fn wear_out(&mut self, unit: u32, block: u32) -> bool {
        if let Ftl::Page(page) = self { page.wear_out(unit, block) } else { true }
    }

    /// Units with their blocks that were retired since the last call.
    pub(crate) fn take_retired(&mut self) -> Vec<(u32, u32)> {
        if let Ftl::Page(page) = self { page.take_retired() } else { Vec::new() }
    }

    /// Blocks that the unit with the fewest of them may still lose.
    pub(crate) fn fewest_spare(&self) -> Option<u32> {
        if let Ftl::Page(page) = self { page.fewest_spare() } else { None }
    }
}
