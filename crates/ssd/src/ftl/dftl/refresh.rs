//! Blocks that are moved because of their bit errors, with a map on flash: data and translation pages alike.

use super::Dftl;

impl Dftl {
    /// True if the content of a block can be moved by a collection of it, or is being moved because of its bit errors.
    pub(in crate::ftl) fn is_refreshable(&self, unit: u32, block: u32) -> bool {
        self.page.is_refreshable(unit, block)
    }

    /// Begins a collection of a block because of its bit errors. Returns false if another one is in progress, or there is no room for it.
    pub(in crate::ftl) fn take_due(&mut self, unit: u32, block: u32) -> bool {
        let pending = self.pending(unit);
        self.fits(unit, block, pending) && self.page.take_due(unit, block)
    }
}
