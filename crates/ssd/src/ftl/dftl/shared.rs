//! One map for all units, where a page may be on any of them (dynamic allocation, channels of tenants).
//!
//! Translation pages lie in turn over the units, channels first, and stay there: as in DLOOP (Abdurrab et al. 2013), so that
//! look-ups and updates of neighbours go side by side. A collection moves pages within its unit and writes translation pages on
//! all others.
//!
//! Why there is always room for one. If a unit collected data to make it, that would write translation pages on other units, which
//! had to make room in turn, and so on. So it makes room out of translation pages alone, once it has used the erased block that
//! it holds back for them ([`Rules::held_back`](super::Rules)); its next page of the host gets that block back, by the policy.
//! Translation pages that fill `map_blocks` blocks or more have an invalid one; moving the valid ones off its block takes one erased
//! block at most. So besides what a victim of data takes, one stays erased all the time ([`Dftl::fits_shared`]). A victim of
//! translation pages in progress that has opened a block keeps as much room there as it has pages left: others come after it.

use super::{Dftl, Ops, RunError};
use crate::geometry::Geometry;

/// Units in the order in which translation pages lie on them.
pub(super) fn order(geometry: &Geometry) -> Box<[u32]> {
    let mut units: Vec<u32> = (0..geometry.units()).collect();
    units.sort_by_key(|unit| geometry.rank(*unit));
    units.into()
}

impl Dftl {
    /// True if all units share a map.
    #[inline]
    pub(super) fn is_shared(&self) -> bool {
        !self.order.is_empty()
    }

    /// The unit that a translation page lies on, of the map of a unit.
    #[inline]
    pub(super) fn unit_of(&self, page: u32, unit: u32) -> u32 {
        if self.is_shared() { self.order[page as usize % self.order.len()] } else { unit }
    }

    /// Erased blocks of a unit, but for those that translation pages lack of what they may always have.
    fn available(&self, unit: u32) -> u64 {
        let lacking = self.rules.map_blocks.saturating_sub(self.units[unit as usize].blocks);
        self.page.units[unit as usize].blocks.free().saturating_sub(lacking)
    }

    /// True if the erased blocks suffice to collect this block. A victim of data leaves one for translation pages.
    pub(super) fn fits_shared(&self, unit: u32, block: u32) -> bool {
        let valid = self.page.units[unit as usize].blocks.valid(block);
        let left = |next: u32| self.rules.pages_per_block - next;
        if self.holds_map(unit, block) {
            let opens = valid > left(self.units[unit as usize].frontier.next);
            return u64::from(opens) <= self.page.units[unit as usize].blocks.free();
        }
        let opens = valid > left(self.page.frontier_of_moves(unit).next);
        u64::from(opens) < self.available(unit)
    }

    /// True if a victim may be let go: another one fits in its place.
    pub(super) fn can_let_go(&self, unit: u32) -> bool {
        self.available(unit) >= 2
    }

    /// Makes sure that a translation page can be written to the unit. Moves no data.
    pub(super) fn make_shared_room(&mut self, unit: u32, ops: &mut Ops) -> Result<(), RunError> {
        loop {
            let left = self.rules.pages_per_block - self.units[unit as usize].frontier.next;
            let victim = self.map_victim(unit);
            let promised = victim.map_or(0, |block| self.page.units[unit as usize].blocks.valid(block));
            if left > promised {
                return Ok(());
            }
            if victim.is_some() {
                self.complete_map_victim(unit, ops)?;
            } else if !self.erase_map_block(unit, ops)? {
                let may_open = self.available(unit) >= self.rules.held_back;
                if may_open || self.units[unit as usize].blocks < self.rules.map_blocks {
                    return Ok(());
                }
                self.compact(unit, ops)?;
            }
        }
    }

    /// The victim of the unit's collection, if it holds translation pages.
    fn map_victim(&self, unit: u32) -> Option<u32> {
        self.page.units[unit as usize].steps.victim.filter(|block| self.holds_map(unit, *block))
    }

    /// Moves what is left in the victim, which holds translation pages, and erases it.
    fn complete_map_victim(&mut self, unit: u32, ops: &mut Ops) -> Result<(), RunError> {
        let mut moved = 0;
        while self.move_page(unit, false, ops) {
            moved += 1;
        }
        ops.copies(unit, moved);
        if self.erase_map_block(unit, ops)? { Ok(()) } else { Err(self.stuck(unit)) }
    }

    /// Collects the block of translation pages with the fewest valid ones. A victim of data has to wait meanwhile.
    fn compact(&mut self, unit: u32, ops: &mut Ops) -> Result<(), RunError> {
        let waiting = self.page.units[unit as usize].steps.victim.take();
        let block = self.emptiest_map_block(unit).ok_or_else(|| self.stuck(unit))?;
        self.claim(unit, block);
        self.complete_map_victim(unit, ops)?;
        self.page.units[unit as usize].steps.victim = waiting;
        Ok(())
    }

    /// Erases a block of translation pages that has nothing left, if there is one: it waits for no update.
    fn erase_map_block(&mut self, unit: u32, ops: &mut Ops) -> Result<bool, RunError> {
        let emptied = &self.page.units[unit as usize].steps.emptied;
        let Some(at) = emptied.iter().position(|block| self.holds_map(unit, *block)) else {
            return Ok(false);
        };
        let emptied = &mut self.page.units[unit as usize].steps.emptied;
        if let Some(block) = emptied.remove(at) {
            emptied.push_front(block);
        }
        self.units[unit as usize].blocks -= 1;
        self.hold_back(unit);
        self.page.erase_emptied(unit, ops)
    }
}
