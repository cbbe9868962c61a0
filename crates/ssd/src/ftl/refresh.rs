//! Blocks that are moved because of their bit errors: victims that nobody chose by what moving them gains.

use super::Ftl;
use super::page::PageFtl;

impl Ftl {
    /// True if the data of a block can be moved by a collection of it, or is being moved because of its bit errors.
    pub(crate) fn is_refreshable(&self, unit: u32, block: u32) -> bool {
        match self {
            Ftl::Page(page) => page.is_refreshable(unit, block),
            Ftl::Dftl(dftl) => dftl.is_refreshable(unit, block),
            Ftl::Log(_) | Ftl::Zones(_) | Ftl::Direct => false,
        }
    }

    /// Begins a collection of a block because of its bit errors. Returns false if another one is in progress, or there is no room for it.
    pub(crate) fn take_due(&mut self, unit: u32, block: u32) -> bool {
        match self {
            Ftl::Page(page) => page.take_due(unit, block),
            Ftl::Dftl(dftl) => dftl.take_due(unit, block),
            Ftl::Log(_) | Ftl::Zones(_) | Ftl::Direct => false,
        }
    }
}

impl PageFtl {
    /// True if the data of a block can be moved by a collection of it, or is being moved because of its bit errors.
    pub(in crate::ftl) fn is_refreshable(&self, unit: u32, block: u32) -> bool {
        let state = &self.units[unit as usize];
        let blocks = &state.blocks;
        let has_data = blocks.has(block) && blocks.is_full(block) && blocks.valid(block) > 0;
        has_data && !self.is_slc_block(unit, block) || state.steps.refreshes(block)
    }

    /// Begins a collection of a block because of its bit errors. Returns false if another one is in progress.
    pub(in crate::ftl) fn take_due(&mut self, unit: u32, block: u32) -> bool {
        let is_free = !self.is_collecting(unit);
        if is_free {
            let state = &mut self.units[unit as usize];
            state.blocks.claim(block);
            state.steps.begin_refresh(block);
        }
        is_free
    }
}
