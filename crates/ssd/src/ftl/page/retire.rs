//! Blocks that are retired because of their bit errors.
//!
//! A unit that is to lose a block keeps one more erased: it collects until it has that, as it does for `gc.free_blocks`. Then it
//! collects the worn block, whatever is valid there, and goes on without it. So no collection ever lacks a block, and the unit
//! does not lose more than it can spare: what it needs for its logical pages, its open blocks and those held back. Where units
//! divide their pages among them as these are written, they can spare a block if all of them together can, and if what is valid in
//! its unit fits in the others there.
//!
//! Why the block that it keeps can always be made up for. The valid pages of a unit fill fewer blocks than it has without those that
//! it keeps and its open ones (`Unit::room`, or its logical pages), so that a full block has an invalid page. That does not count the
//! open block of old data, and outside of the plain course of things the host has not taken that over: then it counts as full, and is
//! collected itself (`close_beside`). A block of the SLC cache that is being written does the same.

use serde::{Deserialize, Serialize};

use super::{Ops, PageFtl, RunError};
use crate::geometry::Geometry;
use crate::op::Work;

/// Fate of a block that is to be retired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It leaves.
    Leaves,
    /// It stays for now: its unit holds too much data, which only the host can put elsewhere.
    Stays,
    /// It stays for good: there is no block to spare.
    Needed,
}

/// Blocks that may still be retired.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::ftl) struct Spare {
    /// Of each unit, or of units that divide their pages among them: those beyond what pages and other uses need.
    shared: Vec<u32>,
    /// Units of each, if several may be.
    sharing: Option<u32>,
    /// Of each unit: what is left of `ageing.max_retired`.
    limits: Vec<u32>,
    /// Units with their blocks that were retired since this was last taken.
    retired: Vec<(u32, u32)>,
}

impl Spare {
    /// A unit needs the blocks of its share of logical pages, so many in a block, and the others that stand beside them. `sharing`:
    /// units that divide their pages among them.
    pub(in crate::ftl) fn new(
        geometry: &Geometry,
        (usable, beside): (u64, u64),
        sharing: Option<u32>,
        max_retired: Option<u32>,
    ) -> Self {
        let needed = (geometry.unit_logical_pages + 1).div_ceil(usable) + beside;
        let spare =
            |unit| u32::try_from(geometry.unit_blocks(unit).saturating_sub(needed)).unwrap_or(u32::MAX);
        let each: Vec<u32> = (0..geometry.units()).map(spare).collect();
        let units = sharing.unwrap_or(1) as usize;
        Self {
            shared: each.chunks(units).map(|units| units.iter().sum()).collect(),
            sharing,
            limits: vec![max_retired.unwrap_or(u32::MAX); each.len()],
            retired: Vec::new(),
        }
    }

    /// A block of a unit is to leave, in which all valid pages fit without it or not.
    pub(in crate::ftl) fn take(&mut self, unit: u32, fit_without: bool) -> Fate {
        let at = (unit / self.sharing.unwrap_or(1)) as usize;
        let (shared, limit) = (&mut self.shared[at], &mut self.limits[unit as usize]);
        if *shared == 0 || *limit == 0 {
            return Fate::Needed;
        }
        if self.sharing.is_some() && !fit_without {
            return Fate::Stays;
        }
        *shared -= 1;
        *limit -= 1;
        Fate::Leaves
    }

    /// A block was retired.
    pub(super) fn note(&mut self, unit: u32, block: u32) {
        self.retired.push((unit, block));
    }

    /// Blocks that the unit, or those that divide their pages among them, with the fewest may still lose.
    fn fewest(&self) -> Option<u32> {
        self.shared.iter().chain(&self.limits).copied().min()
    }
}

impl PageFtl {
    /// A block of a unit is to be retired.
    pub(in crate::ftl) fn wear_out(&mut self, unit: u32, block: u32) -> Fate {
        if self.wear_out_kept(unit, block) {
            return Fate::Leaves;
        }
        let (state, usable) = (&mut self.units[unit as usize], u64::from(self.rules.usable));
        let fate = self.spare.take(unit, state.valid_pages + usable < state.room);
        if fate == Fate::Leaves {
            state.room = state.room.saturating_sub(usable);
            state.blocks.wear_out(block);
        }
        fate
    }

    /// Units with their blocks that were retired since the last call.
    pub(in crate::ftl) fn take_retired(&mut self) -> Vec<(u32, u32)> {
        std::mem::take(&mut self.spare.retired)
    }

    /// Blocks that may still be retired, where there are fewest.
    pub(in crate::ftl) fn fewest_spare(&self) -> Option<u32> {
        self.spare.fewest()
    }

    /// Erased blocks that a unit keeps: those held back, and one for each that it is to lose.
    #[inline]
    pub(in crate::ftl) fn kept(&self, unit: u32) -> u64 {
        self.rules.held_back + self.units[unit as usize].blocks.worn()
    }

    /// Collects until a unit has the erased blocks that it keeps.
    #[cold]
    pub(super) fn make_up(&mut self, unit: u32, ops: &mut Ops) -> Result<(), RunError> {
        while self.units[unit as usize].blocks.free() < self.kept(unit) {
            if self.collect_step(unit, Work::Collect, ops)?.is_none() {
                return Err(self.stuck(unit, self.kept(unit)));
            }
        }
        Ok(())
    }

    /// The block that is collected because it is to be retired, where the unit has the erased blocks that it keeps.
    #[inline]
    pub(super) fn worn_victim(&self, unit: u32) -> Option<u32> {
        let blocks = &self.units[unit as usize].blocks;
        let kept = || self.kept(unit) + self.units[unit as usize].beside;
        if blocks.worn() == 0 || blocks.free() < kept() { None } else { blocks.worn_and_full() }
    }

    /// True if the unit has fewer erased blocks than it keeps because of those that it is to lose.
    pub(super) fn must_make_up(&self, unit: u32) -> bool {
        let blocks = &self.units[unit as usize].blocks;
        blocks.worn() > 0 && blocks.free() < self.kept(unit)
    }

    /// An open block that no collection takes counts as full from now on: that of the SLC cache, or that of old data. Returns whether
    /// there was one.
    #[cold]
    pub(in crate::ftl) fn close_beside(&mut self, unit: u32) -> bool {
        self.retire_slc(unit) || self.units[unit as usize].close_laid_as_full(&self.rules)
    }

    /// A block was erased: those that the unit can do without now are retired.
    #[inline]
    pub(super) fn retire(&mut self, unit: u32, ops: &mut Ops) {
        if self.slc.is_some() {
            self.retire_kept(unit, ops);
        }
        let state = &mut self.units[unit as usize];
        while let Some(block) = state.blocks.retire(self.rules.held_back + state.beside) {
            ops.opened(unit);
            self.spare.note(unit, block);
        }
    }
}
