//! DFTL (Gupta et al. 2009): page mapping whose map lies on flash, in *translation pages* of 4 bytes an entry, and of which
//! only the entries used last are in RAM.
//!
//! A page whose entry is not cached is looked up in its translation page first (a *load*: one read). The entry used longest
//! ago makes room; if it has changed since, its translation page is read and written anew (a *write-back*), together with
//! all other cached changes of that page (*batch update*). The directory of translation pages is in RAM and not counted.
//! Translation pages have blocks of their own, which are collected like those of data, by the same policy (`collect.rs`).
//!
//! The map itself is that of [`PageFtl`]: the keys behind the logical pages are translation pages. It always says
//! where a page is; the cost of a lookup is determined here. Each unit has a map of its own, or all units share one whose
//! translation pages lie in turn over them (`shared.rs`).
//!
//! Choices that the paper leaves open: one plain LRU list (the paper's is segmented); a load is made before the write-back
//! that makes room for it, and the page itself comes last; the map of pages that were never written is not on flash, so
//! looking there costs nothing; a load takes in one entry; a write loads its entry, too, because it must know which version
//! becomes invalid; so does TRIM.

mod cache;
mod collect;
mod lay;
mod refresh;
mod retire;
mod shared;
mod slc;
mod tables;
mod victim;

use std::collections::{BTreeSet, VecDeque};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::page::{Frontier, PageFtl, Spare};
use super::{MapWork, Ops, Upkeep, Written};
use crate::alloc::Home;
use crate::cow::CowVec;
use crate::divisor::Divisor;
use crate::error::RunError;
use crate::external::External;
use crate::geometry::Geometry;
use crate::op::BlockAt;
use crate::quantity::Bytes;
use cache::Cache;

/// Bytes of a cached entry: a logical and a physical page number of 4 bytes each.
pub(crate) const CACHED_ENTRY_BYTES: u64 = 8;

/// Entries used longest ago that are written back ahead.
const SOON: usize = 16;

/// Cache of the map in RAM.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// RAM for cached entries of 8 bytes, of the whole drive: one cache where pages get their unit when they are written
    /// (`alloc.kind=dynamic`, `hybrid`), otherwise in even shares for the units.
    pub cache_bytes: Bytes,
    /// True: writing back a translation page writes all its cached changes. False: only the evicted entry.
    pub batch_update: bool,
}

impl Default for Config {
    fn default() -> Self {
        // As much as the map of a block-mapping FTL takes on the default drive: 16 GiB in blocks of 512 KiB.
        Self { cache_bytes: Bytes(256 << 10), batch_update: true }
    }
}

impl Config {
    /// Entries that a cache holds, of so many caches.
    pub(crate) fn entries(&self, caches: u32) -> u64 {
        self.cache_bytes.0 / CACHED_ENTRY_BYTES / u64::from(caches)
    }
}

/// A map: that of a unit, or of the drive.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Map {
    cache: Cache,
    /// By translation page: the unit that last listed it as pending, plus one; 0 if it knows where all of its pages are.
    #[serde(with = "crate::raw")]
    pending: Vec<u32>,
    /// Pages that wait to be written and were looked up already.
    looked_up: BTreeSet<u32>,
}

/// The map's state in a unit.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Unit {
    /// Where the next translation page goes.
    frontier: Frontier,
    /// Blocks of translation pages, the frontier's included.
    blocks: u64,
    /// Translation pages that lie here and were written once at least.
    translation_pages: u64,
    /// Translation pages that do not know yet where some of the unit's pages were moved.
    pending: VecDeque<u32>,
    /// Host pages written when a block of data was last taken for its wear, until the policy takes one with an invalid page.
    levelled_at: Option<u64>,
    /// Valid pages of data up to which it takes pages it did not have before, where units share a map.
    room: u64,
}

/// The map on flash of all units.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Dftl {
    pub(super) page: PageFtl,
    units: Vec<Unit>,
    maps: Vec<Map>,
    /// Units in the order in which translation pages of a shared map lie on them; empty if each unit has its own.
    order: Box<[u32]>,
    pub(super) rules: Rules,
}

/// Rules that are constant during a run.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Rules {
    /// Entries of a translation page.
    entries: Divisor,
    /// Logical pages of a map: keys from here on are translation pages.
    logical: u32,
    /// Translation pages of a unit, at most.
    translation_pages: u64,
    pages_per_block: u32,
    /// Erased blocks that a unit keeps to complete a collection: one for data, one for translation pages, at least. Where units
    /// share a map: one more for translation pages that others write.
    held_back: u64,
    /// Blocks that translation pages may always have.
    map_blocks: u64,
    batch_update: bool,
    pub(super) least_worn_first: bool,
}

impl Dftl {
    /// Gives policies outside the engine their functions.
    pub(super) fn attach(&mut self, external: &External) {
        self.page.attach(external);
    }

    pub(super) fn new(
        upkeep: &Upkeep<'_>,
        own: &Config,
        geometry: &Geometry,
        sharing: Option<u32>,
        seed: u64,
    ) -> Self {
        let shared_map = sharing.is_some();
        let entries = Divisor::new(geometry.entries_per_translation_page());
        let (logical, pages) = if shared_map {
            (geometry.logical_pages, geometry.logical_pages.div_ceil(entries.get()))
        } else {
            (geometry.unit_logical_pages, geometry.unit_translation_pages())
        };
        let mut page = PageFtl::with_more_keys(upkeep, geometry, sharing, pages, seed);
        let caches = if shared_map { 1 } else { geometry.units() };
        let map = || Map {
            cache: Cache::new(logical, own.entries(caches), entries),
            pending: vec![0; pages as usize],
            looked_up: BTreeSet::new(),
        };
        let rules = Rules {
            entries,
            logical: logical as u32,
            translation_pages: geometry.unit_translation_pages(),
            pages_per_block: geometry.pages_per_block,
            held_back: geometry.blocks_held_back_for_map(shared_map)
                + u64::from(geometry.unit_reserved_blocks),
            map_blocks: geometry.unit_translation_blocks(),
            batch_update: own.batch_update,
            least_worn_first: upkeep.wear.dynamic,
        };
        let beside =
            rules.held_back + rules.map_blocks + u64::from(upkeep.frontiers) - 1 + page.kept_in_slc();
        page.spare =
            Spare::new(geometry, (geometry.pages_per_block.into(), beside), sharing, upkeep.max_retired);
        let units = (0..geometry.units()).map(|unit| Unit {
            frontier: Frontier { block: 0, next: geometry.pages_per_block },
            blocks: 0,
            translation_pages: 0,
            pending: VecDeque::new(),
            levelled_at: None,
            // One page less than all that can be in use: then a collection always finds an invalid page.
            room: (geometry.unit_blocks(unit).saturating_sub(beside) * u64::from(geometry.pages_per_block))
                .saturating_sub(1),
        });
        let mut own = Self {
            units: units.collect(),
            maps: (0..caches).map(|_| map()).collect(),
            order: if shared_map { shared::order(geometry) } else { Box::default() },
            page,
            rules,
        };
        (0..geometry.units()).for_each(|unit| own.hold_back(unit));
        own
    }

    #[inline]
    pub(super) fn lookup(&self, home: Home) -> Option<u32> {
        self.page.lookup(home)
    }

    /// Reads what a look-up and a write of the page will read. Returns something that depends on it.
    #[inline]
    pub(super) fn peek(&self, home: Home) -> u64 {
        self.page.peek(home) ^ self.map(home.unit).cache.peek(home.key)
    }

    /// Makes the entry of a page cached, so that it can be looked up. Returns the translation page that was read for it, if
    /// one was. A page that was never written may stay without an entry: the directory says that there is nothing.
    pub(super) fn translate(&mut self, home: Home, ops: &mut Ops) -> Result<Option<u32>, RunError> {
        let hit = self.map_mut(home.unit).cache.touch(home.key);
        ops.looked_up(hit);
        if hit {
            return Ok(None);
        }
        let page = self.page_of(home.key);
        let Some(ppn) = self.translation_page(home.unit, page) else { return Ok(None) };
        ops.read_map(self.unit_of(page, home.unit), ppn, MapWork::Load);
        self.take_in(home, ops)?;
        Ok(Some(ppn))
    }

    // Not inlined, so that the writes of plain page mapping stay small.
    #[inline(never)]
    pub(super) fn write(
        &mut self,
        home: Home,
        before: Option<Home>,
        ops: &mut Ops,
    ) -> Result<Written, RunError> {
        if !self.map_mut(home.unit).looked_up.remove(&home.key) {
            self.translate(home, ops)?;
        }
        if !self.map(home.unit).cache.has(home.key) {
            self.take_in(home, ops)?;
        }
        self.make_place(home.unit, ops)?;
        let written = self.page.write(home, before, 0, ops)?;
        self.map_mut(home.unit).cache.change(home.key);
        Ok(written)
    }

    pub(super) fn trim(&mut self, home: Home, ops: &mut Ops) -> Result<bool, RunError> {
        self.map_mut(home.unit).looked_up.remove(&home.key);
        self.translate(home, ops)?;
        let was_mapped = self.page.trim(home);
        if was_mapped {
            self.map_mut(home.unit).cache.change(home.key);
        }
        Ok(was_mapped)
    }

    /// A page was looked up that will be written: its write does not do so again.
    pub(super) fn keep_looked_up(&mut self, home: Home) {
        self.map_mut(home.unit).looked_up.insert(home.key);
    }

    /// The map that has the entries of a unit's pages.
    fn map(&self, unit: u32) -> &Map {
        &self.maps[self.page.map_of(unit)]
    }

    fn map_mut(&mut self, unit: u32) -> &mut Map {
        let map = self.page.map_of(unit);
        &mut self.maps[map]
    }

    /// The number of the translation page that has a key's entry.
    fn page_of(&self, key: u32) -> u32 {
        self.rules.entries.split(key.into()).0 as u32
    }

    /// Where a translation page of a unit's map lies within its own unit, if it was ever written.
    fn translation_page(&self, unit: u32, page: u32) -> Option<u32> {
        let ppn = self.page.maps[self.page.map_of(unit)].get(u64::from(self.rules.logical + page));
        (ppn != CowVec::EMPTY).then_some(ppn)
    }

    /// Caches an entry, writing back the one that makes room for it if that has changed.
    fn take_in(&mut self, home: Home, ops: &mut Ops) -> Result<(), RunError> {
        let cache = &self.map(home.unit).cache;
        if let Some(oldest) = cache.to_evict()
            && cache.is_dirty(oldest)
        {
            self.write_back(home.unit, oldest, ops)?;
        }
        self.map_mut(home.unit).cache.insert(home.key);
        Ok(())
    }

    /// Writes a changed entry to flash, as one event.
    fn write_back(&mut self, unit: u32, key: u32, ops: &mut Ops) -> Result<(), RunError> {
        let page = self.page_of(key);
        let unit = self.unit_of(page, unit);
        // A collection that makes room may write it back, too.
        self.make_map_room(unit, ops)?;
        if self.map(unit).cache.is_dirty(key) {
            self.write_page(unit, page, (MapWork::WriteBack, None), ops)?;
            if !self.rules.batch_update {
                self.map_mut(unit).cache.clean(key);
            }
        }
        Ok(())
    }

    /// The next page of the block that translation pages are written to, which is opened where needed.
    fn take_map_page(&mut self, unit: u32, ops: &mut Ops) -> Result<Frontier, RunError> {
        let rules = self.rules;
        if self.units[unit as usize].frontier.next == rules.pages_per_block {
            let free = self.page.units[unit as usize].blocks.take_free(rules.least_worn_first);
            let block = free.ok_or_else(|| self.stuck(unit))?;
            self.units[unit as usize].frontier = Frontier { block, next: 0 };
            self.units[unit as usize].blocks += 1;
            self.hold_back(unit);
            ops.opened(unit);
        }
        let frontier = &mut self.units[unit as usize].frontier;
        let taken = *frontier;
        frontier.next += 1;
        Ok(taken)
    }

    /// Writes the next version of a translation page, for which there has to be room on its unit. It knows of all moves made so far
    /// and, with batch updates, of all changes. The victim that waits for it, if any, is on another unit.
    fn write_page(
        &mut self,
        unit: u32,
        page: u32,
        (work, clears): (MapWork, Option<BlockAt>),
        ops: &mut Ops,
    ) -> Result<(), RunError> {
        let old = self.translation_page(unit, page);
        if let Some(ppn) = old {
            ops.read_map(unit, ppn, work);
        }
        let rules = self.rules;
        let Frontier { block, next } = self.take_map_page(unit, ops)?;
        let map = self.map_mut(unit);
        map.pending[page as usize] = 0;
        if rules.batch_update {
            map.cache.clean_page(page.into());
        }
        self.units[unit as usize].translation_pages += u64::from(old.is_none());
        let (ppn, key) = (block * rules.pages_per_block + next, rules.logical + page);
        self.page.put(unit, block, next, key);
        if let Some(old) = old {
            self.page.invalidate(unit, old);
        }
        ops.program_map(unit, (page, ppn), work, clears);
        Ok(())
    }

    /// Erased blocks that the unit keeps now: those to complete a collection with, and those that translation pages may
    /// still need because they were never written; and one for each that is to be retired. `collect.rs` says why this is enough.
    fn reserve(&self, unit: u32) -> u64 {
        self.kept(unit) + self.page.units[unit as usize].blocks.worn()
    }

    /// As [`Dftl::reserve`], without those for blocks that are to be retired.
    fn kept(&self, unit: u32) -> u64 {
        self.rules.held_back + self.rules.map_blocks.saturating_sub(self.units[unit as usize].blocks)
    }

    /// Translation pages got a block, or lost one: what the page map of the unit holds back beside its own changes.
    fn hold_back(&mut self, unit: u32) {
        self.page.units[unit as usize].beside = self.kept(unit) - self.page.rules.held_back;
    }

    /// Erased blocks that any page may be written to.
    #[inline]
    fn free(&self, unit: u32) -> u64 {
        self.page.units[unit as usize].blocks.free()
    }

    pub(super) fn has_room(&self, unit: u32) -> bool {
        let state = &self.units[unit as usize];
        self.page.units[unit as usize].valid_pages - state.translation_pages < state.room
    }

    pub(super) fn stuck(&self, unit: u32) -> RunError {
        self.page.stuck(unit, self.reserve(unit))
    }

    pub(super) fn snapshot(&mut self) -> Self {
        let maps = self.maps.iter_mut().map(Map::snapshot).collect();
        let (units, order) = (self.units.clone(), self.order.clone());
        Self { page: self.page.snapshot(), units, maps, order, rules: self.rules }
    }
}

impl Map {
    fn snapshot(&mut self) -> Self {
        let (pending, looked_up) = (self.pending.clone(), self.looked_up.clone());
        Self { cache: self.cache.snapshot(), pending, looked_up }
    }
}

#[cfg(test)]
mod tests;
