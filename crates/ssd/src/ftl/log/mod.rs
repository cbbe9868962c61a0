//! Translation by blocks, with a log beside them (hybrid mapping). One instance a parallel unit.
//!
//! Glossary. A *data block* holds the pages of one logical block, each at its own offset, in a physical block that is found
//! through a map of blocks. Overwritten pages go to the *log*: a few physical blocks whose pages are mapped one by one. A
//! *merge* brings a data block up to date: a *full* one copies the newest versions of all its pages into an erased
//! block, in ascending order, and erases the old one; then the data block has no page in the log any more. A *collection*
//! empties the oldest block of the log, its victim, by merging the data block of each of its valid pages, and erases it.
//!
//! A page goes straight to its data block if that is empty or written up to just before it, so that a drive is filled
//! in place. A unit has a physical block for each logical one, those of the log, and one more that is always erased:
//! merges and relocated pages go into it, and the block erased last takes its place. Pages that were never written,
//! or trimmed, do not exist: they are not copied, and a data block that has none left is not there.
//!
//! The files: `slots.rs` are the blocks of the log, `unit.rs` knows where the pages are, `merge.rs` has merges and
//! collections, and one file each is a kind of log: `log_block.rs`, `fast.rs`, `bast.rs`, `kast.rs`.

pub(crate) mod bast;
pub(crate) mod fast;
pub(crate) mod kast;
pub(crate) mod log_block;
mod members;
mod merge;
mod own;
mod selective;
mod slots;
mod unit;

use serde::{Deserialize, Serialize};

use super::blocks::Blocks;
use super::{FtlConfig, Ops, Step, Upkeep, Wear, Written, wear};
use crate::alloc::Home;
use crate::cow::CowVec;
use crate::divisor::Divisor;
use crate::error::RunError;
use crate::geometry::Geometry;
use selective::Selection;
use unit::Unit;

/// Kind of log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Kind {
    LogBlock,
    Fast(fast::SwFull),
    Bast,
    Kast { associativity: u32 },
}

impl Kind {
    /// True if one log block takes sequential writes.
    fn has_sequential(self) -> bool {
        matches!(self, Kind::Fast(_) | Kind::Kast { .. })
    }

    /// True if data blocks have, or prefer, log blocks of their own.
    fn has_own_log_blocks(self) -> bool {
        matches!(self, Kind::Bast | Kind::Kast { .. })
    }
}

/// Rules that are constant during a run.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Rules {
    kind: Kind,
    pages_per_block: Divisor,
    /// Most merges of one collection; 0 is no limit.
    throttle: u32,
    /// Where only data blocks with many pages in the log are merged.
    selection: Option<Selection>,
}

/// The block-mapped FTLs of all units.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LogFtl {
    units: Vec<Unit>,
    rules: Rules,
}

impl LogFtl {
    pub(super) fn new(config: &FtlConfig, upkeep: &Upkeep<'_>, geometry: &Geometry) -> Self {
        let kind = match config {
            FtlConfig::Fast(fast) => Kind::Fast(fast.sw_full),
            FtlConfig::Bast(_) => Kind::Bast,
            FtlConfig::Kast(kast) => Kind::Kast { associativity: kast.associativity },
            _ => Kind::LogBlock,
        };
        let rules = Rules {
            kind,
            pages_per_block: Divisor::new(geometry.pages_per_block.into()),
            throttle: upkeep.throttle,
            selection: upkeep
                .selection
                .map(|(merged_from, most_moves)| Selection { merged_from, most_moves }),
        };
        Self { units: (0..geometry.units()).map(|unit| Unit::new(unit, geometry, &rules)).collect(), rules }
    }

    #[inline]
    pub(super) fn lookup(&self, home: Home) -> Option<u32> {
        self.units[home.unit as usize].lookup(self.rules.page(home.key))
    }

    /// Reads what a write of the page will change. Returns something that depends on it.
    #[inline]
    pub(super) fn peek(&self, home: Home) -> u64 {
        self.units[home.unit as usize].peek(self.rules.page(home.key))
    }

    #[inline]
    pub(super) fn write(&mut self, home: Home, ops: &mut Ops) -> Result<Written, RunError> {
        let page = self.rules.page(home.key);
        let (ppn, old) = self.units[home.unit as usize].write(&self.rules, page, ops)?;
        Ok(Written { ppn, old: old.map(|ppn| (home.unit, ppn)) })
    }

    /// A page that was there before the run lies in its data block.
    pub(super) fn lay(&mut self, home: Home, ops: &mut Ops) -> Result<(), RunError> {
        self.units[home.unit as usize].lay(self.rules.page(home.key), ops)
    }

    #[inline]
    pub(super) fn must_collect(&self, home: Home) -> bool {
        self.units[home.unit as usize].must_collect(&self.rules, self.rules.page(home.key))
    }

    pub(super) fn collect_step(&mut self, unit: u32, ops: &mut Ops) -> Result<Option<Step>, RunError> {
        self.units[unit as usize].collect_step(&self.rules, ops)
    }

    /// True if a step gains something though the unit need not collect: there is a log block that takes no more pages.
    pub(super) fn can_step_ahead(&self, unit: u32) -> bool {
        let unit = &self.units[unit as usize];
        if self.rules.kind == Kind::Bast {
            return unit.own.full().is_some() || unit.spare_blocks() == 0;
        }
        unit.log.oldest().is_some_and(|oldest| unit.log.is_closed(oldest))
    }

    /// True if a collection was begun and not ended.
    pub(super) fn is_collecting(&self, unit: u32) -> bool {
        self.units[unit as usize].merges > 0
    }

    /// Merges the data block of the oldest valid page in the log, or what selective merging would do next. Nothing of the log is
    /// erased.
    pub(super) fn follow_copy(&mut self, unit: u32, ops: &mut Ops) -> Result<bool, RunError> {
        let unit = &mut self.units[unit as usize];
        match self.rules.selection {
            Some(selection) => unit.follow_selectively(&self.rules, selection, false, ops),
            None => unit.merge_oldest(&self.rules, ops),
        }
    }

    /// Moves what selective merging leaves of the oldest block with valid pages, if it is to be moved next.
    pub(super) fn follow_move(&mut self, unit: u32, ops: &mut Ops) -> Result<bool, RunError> {
        let unit = &mut self.units[unit as usize];
        match self.rules.selection {
            Some(selection) => unit.follow_selectively(&self.rules, selection, true, ops),
            None => Ok(false),
        }
    }

    /// Erases the block of the log that is to be collected next, if it holds no valid page and is not written any more.
    pub(super) fn follow_erase(&mut self, unit: u32, ops: &mut Ops) -> bool {
        let open = self.rules.kind == Kind::Bast;
        self.units[unit as usize].erase_if_empty(open, ops)
    }

    pub(super) fn merge(&mut self, unit: u32, block: u32, ops: &mut Ops) -> Result<bool, RunError> {
        let unit = &mut self.units[unit as usize];
        if !unit.has_data_block(block) {
            return Ok(false);
        }
        unit.merge(&self.rules, block, ops)?;
        Ok(true)
    }

    /// Blocks that the log may still take.
    pub(super) fn spare_blocks(&self, unit: u32) -> u64 {
        self.units[unit as usize].spare_blocks().into()
    }

    pub(super) fn trim(&mut self, home: Home) -> bool {
        self.units[home.unit as usize].trim(self.rules.page(home.key))
    }

    pub(super) fn erases(&self, unit: u32, block: u32) -> u32 {
        self.units[unit as usize].blocks().erases(block)
    }

    pub(super) fn end_preconditioning(&mut self) {
        self.units.iter_mut().for_each(|unit| unit.blocks_mut().end_preconditioning());
    }

    /// The block tables of the units.
    pub(super) fn tables(&self) -> impl Iterator<Item = &Blocks> {
        self.units.iter().map(Unit::blocks)
    }

    pub(super) fn wear(&self) -> Wear {
        wear::wear(self.units.iter().map(Unit::blocks))
    }

    pub(super) fn free_blocks(&self, unit: u32) -> u64 {
        self.units[unit as usize].blocks().free()
    }

    pub(super) fn snapshot(&mut self) -> Self {
        Self { units: self.units.iter_mut().map(Unit::snapshot).collect(), rules: self.rules }
    }
}

/// A logical page.
#[derive(Clone, Copy, Debug)]
struct Page {
    key: u32,
    /// Its data block.
    block: u32,
    /// Its offset there.
    offset: u32,
}

impl Rules {
    #[inline]
    fn page(&self, key: u32) -> Page {
        let (block, offset) = self.pages_per_block.split(key.into());
        Page { key, block: block as u32, offset: offset as u32 }
    }

    /// Of how many data blocks a block of the log has pages at most; zero if that is not limited.
    fn associativity(&self) -> u32 {
        if let Kind::Kast { associativity } = self.kind { associativity } else { 0 }
    }

    /// True if a sequential log block that can't be switched in is completed with copies.
    fn completes_sequential(&self) -> bool {
        self.kind == Kind::Fast(fast::SwFull::PartialMerge)
    }
}

#[cfg(test)]
mod tests;
