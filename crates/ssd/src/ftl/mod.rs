//! Flash translation layers: which physical page holds a logical page, and when pages move.
//!
//! The contract of a layer, once for each parallel unit: [`Ftl::lookup`] says where a page is, [`Ftl::write`] gives the
//! next version a physical page (collecting garbage first where it must), [`Ftl::trim`] forgets a page. Mappings change
//! when a command is made, not when it is done; commands of a die are made in the order in which they may run. What a
//! layer does to the array it appends to [`Ops`]; it knows nothing of time.
//!
//! Where others may get in between, a collection is made step by step from outside: [`Ftl::must_collect`] says that a page
//! can't be written before one, [`Ftl::step`] makes the next step of the unit's own collection, and
//! [`Ftl::follow_copy`] and [`Ftl::follow_erase`] are what a unit does while another one copies or erases.
//!
//! A layer whose map is not all in RAM is asked for a page by [`Ftl::translate`] first.

mod block_map;
pub(crate) mod blocks;
mod change;
pub(crate) mod classifier;
mod config;
pub(crate) mod dftl;
mod direct;
mod log;
mod pack;
mod page;
mod refresh;
mod retire;
mod slc;
mod upkeep;
mod wear;
pub(crate) mod zones;

use serde::{Deserialize, Serialize};

pub use block_map::{BlockCell, BlockMap};
pub use classifier::Predictions;
pub use config::FtlConfig;
pub(crate) use dftl::Dftl;
pub(crate) use log::LogFtl;
pub(crate) use page::Fate;
pub(crate) use page::PageFtl;
pub use page::groups::{GroupCounters, Placement, PlacementEvents};
pub(crate) use upkeep::Upkeep;
pub use wear::Wear;
use zones::ZoneFtl;

use crate::alloc::Home;
use crate::error::RunError;
use crate::geometry::Geometry;
use crate::op::{MapWork, MergeKind, Ops, Step, Work, Written};

/// The translation layers: a closed enum, because it is asked for every page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Ftl {
    /// See [`PageFtl`].
    Page(Box<PageFtl>),
    /// See [`Dftl`].
    Dftl(Box<Dftl>),
    /// See [`LogFtl`].
    Log(Box<LogFtl>),
    /// See [`ZoneFtl`].
    Zones(Box<ZoneFtl>),
    /// See the module `direct`.
    Direct,
}

impl Ftl {
    /// `sharing`: units that divide their pages among them, as [`Alloc::units_sharing`](crate::alloc::Alloc::units_sharing) says.
    pub(crate) fn new(
        config: &FtlConfig,
        upkeep: &Upkeep<'_>,
        geometry: &Geometry,
        sharing: Option<u32>,
        seed: u64,
    ) -> Self {
        match config {
            FtlConfig::Zones(own) if own.host == zones::Host::None => {
                Ftl::Zones(Box::new(ZoneFtl::new(geometry)))
            }
            FtlConfig::Page(_) | FtlConfig::Zones(_) => {
                Ftl::Page(Box::new(PageFtl::new(upkeep, geometry, sharing, seed)))
            }
            FtlConfig::Direct(_) => Ftl::Direct,
            FtlConfig::LogBlock(_) | FtlConfig::Fast(_) | FtlConfig::Bast(_) | FtlConfig::Kast(_) => {
                Ftl::Log(Box::new(LogFtl::new(config, upkeep, geometry)))
            }
            FtlConfig::Dftl(own) => Ftl::Dftl(Box::new(Dftl::new(upkeep, own, geometry, sharing, seed))),
        }
    }

    /// The physical page, within `home.unit`, that holds the page.
    #[inline]
    pub(crate) fn lookup(&self, home: Home) -> Option<u32> {
        // A page map is looked up in a few instructions; what others do must not keep them from being inlined.
        if let Ftl::Page(page) = self { page.lookup(home) } else { self.lookup_elsewhere(home) }
    }

    #[inline(never)]
    fn lookup_elsewhere(&self, home: Home) -> Option<u32> {
        match self {
            Ftl::Page(page) => page.lookup(home),
            Ftl::Dftl(dftl) => dftl.lookup(home),
            Ftl::Log(log) => log.lookup(home),
            Ftl::Zones(zones) => zones.lookup(home),
            Ftl::Direct => Some(direct::ppn(home)),
        }
    }

    /// True if a page can only be looked up after [`Ftl::translate`].
    #[inline]
    pub(crate) fn has_map_on_flash(&self) -> bool {
        matches!(self, Ftl::Dftl(_))
    }

    /// Gets the page's entry from flash, if its map lies there and the entry is not in RAM. Returns the translation page
    /// that was read for it. To be called before a page of the host is read; a write and a TRIM do so themselves.
    pub(crate) fn translate(&mut self, home: Home, ops: &mut Ops) -> Result<Option<u32>, RunError> {
        match self {
            Ftl::Dftl(dftl) => dftl.translate(home, ops),
            Ftl::Page(_) | Ftl::Log(_) | Ftl::Zones(_) | Ftl::Direct => Ok(None),
        }
    }

    /// A page that [`Ftl::translate`] has looked up will be written: its write does not do so again.
    pub(crate) fn keep_looked_up(&mut self, home: Home) {
        if let Ftl::Dftl(dftl) = self {
            dftl.keep_looked_up(home);
        }
    }

    /// Reads what a write of the page will change, so that it is at hand then. Returns something that depends on it.
    #[inline]
    pub(crate) fn peek(&self, home: Home) -> u64 {
        if let Ftl::Page(page) = self { page.peek(home) } else { self.peek_elsewhere(home) }
    }

    #[inline(never)]
    fn peek_elsewhere(&self, home: Home) -> u64 {
        match self {
            Ftl::Page(page) => page.peek(home),
            Ftl::Dftl(dftl) => dftl.peek(home),
            Ftl::Log(log) => log.peek(home),
            Ftl::Zones(_) | Ftl::Direct => 0,
        }
    }

    /// Gives the next version of the page a physical page in `home.unit`; `before` is where [`crate::alloc::Alloc`]
    /// located it until now, `handle` the placement handle of the request.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "part of the write of a page, once for each kind of drive")]
    pub(crate) fn write(
        &mut self,
        home: Home,
        before: Option<Home>,
        handle: u8,
        ops: &mut Ops,
    ) -> Result<Written, RunError> {
        match self {
            Ftl::Page(page) => page.write(home, before, handle, ops),
            Ftl::Dftl(dftl) => dftl.write(home, before, ops),
            Ftl::Log(log) => log.write(home, ops),
            Ftl::Zones(zones) => zones.write(home, ops),
            Ftl::Direct => Ok(Written { ppn: direct::ppn(home), old: Some((home.unit, direct::ppn(home))) }),
        }
    }

    /// Gives a page of which there is no version, and which was there before the run, a physical page in `home.unit`.
    pub(crate) fn lay(&mut self, home: Home, ops: &mut Ops) -> Result<(), RunError> {
        match self {
            Ftl::Page(page) => {
                if page.lay(home, ops) {
                    Ok(())
                } else {
                    Err(page.stuck_now(home.unit))
                }
            }
            Ftl::Dftl(dftl) => dftl.lay(home, ops),
            Ftl::Log(log) => log.lay(home, ops),
            Ftl::Zones(_) | Ftl::Direct => Ok(()),
        }
    }

    /// True if the unit has to collect before it can take the next version of the page.
    #[inline]
    pub(crate) fn must_collect(&self, home: Home) -> bool {
        match self {
            Ftl::Page(page) => page.must_collect(home.unit),
            Ftl::Dftl(dftl) => dftl.must_collect(home.unit),
            Ftl::Log(log) => log.must_collect(home),
            Ftl::Zones(_) | Ftl::Direct => false,
        }
    }

    /// True if units have steps of such work, though perhaps none now.
    pub(crate) fn makes(&self, work: Work) -> bool {
        match self {
            Ftl::Page(page) => work == Work::Collect || work == Work::Level && page.levels_wear(),
            Ftl::Dftl(dftl) => work != Work::Level || dftl.page.levels_wear(),
            Ftl::Log(_) => work == Work::Collect,
            Ftl::Zones(_) | Ftl::Direct => false,
        }
    }

    /// Makes the next step of some work of the unit, choosing a victim if it has none. `None`: there is nothing to do.
    pub(crate) fn step(&mut self, unit: u32, work: Work, ops: &mut Ops) -> Result<Option<Step>, RunError> {
        match (self, work) {
            (Ftl::Page(page), Work::Collect | Work::Level | Work::Refresh) => {
                page.collect_step(unit, work, ops)
            }
            (Ftl::Dftl(dftl), Work::Collect | Work::Level | Work::Refresh) => {
                dftl.collect_step(unit, work, ops)
            }
            (Ftl::Page(page), Work::Fold) => page.fold_step(unit, ops),
            (Ftl::Dftl(dftl), Work::Fold) => dftl.fold_step(unit, ops),
            (Ftl::Dftl(dftl), Work::WriteBack) => dftl.write_back_step(unit, ops),
            (Ftl::Log(log), Work::Collect) => log.collect_step(unit, ops),
            _ => Ok(None),
        }
    }

    /// True if a step can be made though the unit need not collect: without the blocks that a collection keeps for
    /// itself.
    pub(crate) fn can_step_ahead(&self, unit: u32) -> bool {
        match self {
            Ftl::Page(page) => page.can_step_ahead(unit),
            Ftl::Dftl(dftl) => dftl.can_step_ahead(unit),
            Ftl::Log(log) => log.can_step_ahead(unit),
            Ftl::Zones(_) | Ftl::Direct => false,
        }
    }

    /// True if a collection of the unit was begun and not ended.
    pub(crate) fn is_collecting(&self, unit: u32) -> bool {
        match self {
            Ftl::Page(page) => page.is_collecting(unit),
            Ftl::Dftl(dftl) => dftl.is_collecting(unit),
            Ftl::Log(log) => log.is_collecting(unit),
            Ftl::Zones(_) | Ftl::Direct => false,
        }
    }

    /// Follows another unit that merges a data block or copies a page: the unit does the same with its own next victim.
    /// When a victim has nothing left, it goes on to the next one. Returns true if there was anything to do.
    pub(crate) fn follow_copy(&mut self, unit: u32, ops: &mut Ops) -> Result<bool, RunError> {
        match self {
            Ftl::Page(page) => Ok(page.follow_copy(unit, ops)),
            Ftl::Dftl(dftl) => dftl.follow_copy(unit, ops),
            Ftl::Log(log) => log.follow_copy(unit, ops),
            Ftl::Zones(_) | Ftl::Direct => Ok(false),
        }
    }

    /// Follows another unit that moves the rest of its victim: the unit does the same, if that is its own next step.
    pub(crate) fn follow_move(&mut self, unit: u32, ops: &mut Ops) -> Result<bool, RunError> {
        match self {
            Ftl::Log(log) => log.follow_move(unit, ops),
            Ftl::Page(_) | Ftl::Dftl(_) | Ftl::Zones(_) | Ftl::Direct => Ok(false),
        }
    }

    /// Follows another unit that erases its victim: the unit erases one of its own that has nothing left. Returns true
    /// if there was one.
    pub(crate) fn follow_erase(&mut self, unit: u32, ops: &mut Ops) -> Result<bool, RunError> {
        match self {
            Ftl::Page(page) => page.follow_erase(unit, ops),
            Ftl::Dftl(dftl) => dftl.follow_erase(unit, ops),
            Ftl::Log(log) => Ok(log.follow_erase(unit, ops)),
            Ftl::Zones(_) | Ftl::Direct => Ok(false),
        }
    }

    /// Merges data block `block` of the unit in full, whether or not it has pages in the log. Returns whether there is such a block.
    pub(crate) fn merge(&mut self, unit: u32, block: u32, ops: &mut Ops) -> Result<bool, RunError> {
        match self {
            Ftl::Log(log) => log.merge(unit, block, ops),
            Ftl::Page(_) | Ftl::Dftl(_) | Ftl::Zones(_) | Ftl::Direct => Ok(false),
        }
    }

    /// The error of a unit that must collect and can't.
    pub(crate) fn stuck(&self, unit: u32) -> RunError {
        match self {
            Ftl::Page(page) => page.stuck_now(unit),
            Ftl::Dftl(dftl) => dftl.stuck(unit),
            Ftl::Log(_) | Ftl::Zones(_) | Ftl::Direct => RunError::NoRoom { waiting: 1 },
        }
    }

    /// A collection that is in progress is left for now: page mapping lets its victim go.
    pub(crate) fn suspend(&mut self, unit: u32) {
        match self {
            Ftl::Page(page) => page.suspend(unit),
            Ftl::Dftl(dftl) => dftl.suspend(unit),
            Ftl::Log(_) | Ftl::Zones(_) | Ftl::Direct => {}
        }
    }

    /// Erased blocks that the unit may fill with pages of the host before it must collect.
    pub(crate) fn spare_blocks(&self, unit: u32) -> u64 {
        match self {
            Ftl::Page(page) => page.spare_blocks(unit),
            Ftl::Dftl(dftl) => dftl.spare_blocks(unit),
            Ftl::Log(log) => log.spare_blocks(unit),
            Ftl::Zones(_) | Ftl::Direct => 0,
        }
    }

    /// True if TRIM has an effect: with direct translation every page keeps its data.
    pub(crate) fn forgets(&self) -> bool {
        !matches!(self, Ftl::Direct)
    }

    /// Forgets the page. Returns whether it was mapped.
    pub(crate) fn trim(&mut self, home: Home, ops: &mut Ops) -> Result<bool, RunError> {
        match self {
            Ftl::Page(page) => Ok(page.trim(home)),
            Ftl::Dftl(dftl) => dftl.trim(home, ops),
            Ftl::Log(log) => Ok(log.trim(home)),
            Ftl::Zones(zones) => Ok(zones.trim(home, ops)),
            Ftl::Direct => Ok(false),
        }
    }

    /// The zone of a page is finished when it has so many pages of data.
    pub(crate) fn end_zone(&mut self, home: Home, pages: u32) {
        if let Ftl::Zones(zones) = self {
            zones.end(home, pages);
        }
    }

    /// True if the unit can take one more page for good.
    pub(crate) fn has_room(&self, unit: u32) -> bool {
        match self {
            Ftl::Page(page) => page.has_room(unit),
            Ftl::Dftl(dftl) => dftl.has_room(unit),
            Ftl::Log(_) | Ftl::Zones(_) | Ftl::Direct => true,
        }
    }

    /// Erased blocks of a unit.
    pub(crate) fn free_blocks(&self, unit: u32) -> u64 {
        match self {
            Ftl::Page(page) => page.free_blocks(unit),
            Ftl::Dftl(dftl) => dftl.free_blocks(unit),
            Ftl::Log(log) => log.free_blocks(unit),
            Ftl::Zones(zones) => zones.free_blocks(unit),
            Ftl::Direct => 0,
        }
    }

    /// A copy that shares its maps until one side writes them.
    pub(crate) fn snapshot(&mut self) -> Self {
        match self {
            Ftl::Page(page) => Ftl::Page(Box::new(page.snapshot())),
            Ftl::Dftl(dftl) => Ftl::Dftl(Box::new(dftl.snapshot())),
            Ftl::Log(log) => Ftl::Log(Box::new(log.snapshot())),
            Ftl::Zones(zones) => Ftl::Zones(zones.clone()),
            Ftl::Direct => Ftl::Direct,
        }
    }
}

#[cfg(test)]
mod lay_tests;
#[cfg(test)]
mod retire_tests;
#[cfg(test)]
mod tests;
