//! Blocks that are retired because of their bit errors.
//!
//! A unit that is to lose a block keeps one more erased: it collects until it has that, as it does for `gc.free_blocks`. Then it
//! collects the worn block, whatever is valid there, and goes on without it. So no collection ever lacks a block, and the unit
//! does not lose more than it can spare: what it needs for its logical pages, its open blocks and those held back. Where units
//! divide their pages among them as these are written, they can spare a block if all of them together can, and if what is valid in
//! its unit fits in the others there.

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
    /// Of each unit: whether it lost a block.
    has_lost: Vec<bool>,
    /// Of each unit: what is left of `ageing.max_retired`.
    limits: Vec<u32>,
    /// Units with their blocks that were retired since this was last taken.
    retired: Vec<(u32, u32)>,
}

impl Spare {
    /// A unit needs the blocks of its share of logical pages, so many in a block, and the others that stand beside them. `sharing`:
    /// units that divide their pages among them. One of those keeps a block more, for old data: it may hold more of that than its
    /// share, in a block that is not full.
    pub(in crate::ftl) fn new(
        geometry: &Geometry,
        (usable, beside): (u64, u64),
        sharing: Option<u32>,
        max_retired: Option<u32>,
    ) -> Self {
        let needed =
            (geometry.unit_logical_pages + 1).div_ceil(usable) + beside + u64::from(sharing.is_some());
        let spare =
            |unit| u32::try_from(geometry.unit_blocks(unit).saturating_sub(needed)).unwrap_or(u32::MAX);
        let each: Vec<u32> = (0..geometry.units()).map(spare).collect();
        let units = sharing.unwrap_or(1) as usize;
        Self {
            shared: each.chunks(units).map(|units| units.iter().sum()).collect(),
            sharing,
            has_lost: vec![false; each.len()],
            limits: vec![max_retired.unwrap_or(u32::MAX); each.len()],
            retired: Vec::new(),
        }
    }

    /// A block of a unit is to leave, in which all valid pages fit without so many blocks or not. Returns the blocks by which its room
    /// shrinks.
    ///
    /// # Errors
    ///
    /// It does not leave.
    pub(in crate::ftl) fn take(&mut self, unit: u32, fit_without: impl Fn(u64) -> bool) -> Result<u64, Fate> {
        let at = (unit / self.sharing.unwrap_or(1)) as usize;
        let (shared, limit) = (&mut self.shared[at], &mut self.limits[unit as usize]);
        let has_lost = &mut self.has_lost[unit as usize];
        let blocks = 1 + u64::from(self.sharing.is_some() && !*has_lost);
        if *shared == 0 || *limit == 0 {
            return Err(Fate::Needed);
        }
        if self.sharing.is_some() && !fit_without(blocks) {
            return Err(Fate::Stays);
        }
        *shared -= 1;
        *limit -= 1;
        *has_lost = true;
        Ok(blocks)
    }

    /// Blocks that the unit, or those that divide their pages among them, with the fewest may still lose.
    fn fewest(&self) -> Option<u32> {
        self.shared.iter().chain(&self.limits).copied().min()
    }
}

impl PageFtl {
    /// A block of a unit is to be retired.
    pub(in crate::ftl) fn wear_out(&mut self, unit: u32, block: u32) -> Fate {
        let (state, usable) = (&mut self.units[unit as usize], u64::from(self.rules.usable));
        match self.spare.take(unit, |blocks| state.valid_pages + blocks * usable < state.room) {
            Ok(blocks) => {
                state.room -= blocks * usable;
                state.blocks.wear_out(block);
                Fate::Leaves
            }
            Err(fate) => fate,
        }
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

    /// A block was erased: those that the unit can do without now are retired.
    #[inline]
    pub(super) fn retire(&mut self, unit: u32, ops: &mut Ops) {
        let state = &mut self.units[unit as usize];
        while let Some(block) = state.blocks.retire(self.rules.held_back + state.beside) {
            ops.opened(unit);
            self.spare.retired.push((unit, block));
        }
    }
}
