//! DFTL (Gupta et al. 2009): page mapping whose map lies on flash, in *translation pages* of 4 bytes an entry, and of which
//! only the entries used last are in RAM.
//!
//! A page whose entry is not cached is looked up in its translation page first (a *load*: one read). The entry used longest
//! ago makes room; if it has changed since, its translation page is read and written anew (a *write-back*), together with
//! all other cached changes of that page (*batch update*). The directory of translation pages is in RAM and not counted.
//! Translation pages have blocks of their own, which are collected like those of data, by the same policy (`collect.rs`).
//!
//! The map itself is that of [`PageFtl`]: the keys behind a unit's logical pages are its translation pages. It always says
//! where a page is; this module says what it costs to know it.
//!
//! Choices that the paper leaves open: one plain LRU list (the paper's is segmented); a load is made before the write-back
//! that makes room for it, and the page itself comes last; the map of pages that were never written is not on flash, so
//! looking there costs nothing; a load takes in one entry; a write loads its entry, too, because it must know which version
//! becomes invalid; so does TRIM.

mod cache;
mod collect;
mod lay;
mod victim;

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::blocks::Blocks;
use super::page::{Frontier, PageFtl};
use super::{MapWork, Ops, Upkeep, Wear, Written};
use crate::alloc::Home;
use crate::cow::CowVec;
use crate::divisor::Divisor;
use crate::error::RunError;
use crate::external::External;
use crate::geometry::Geometry;
use crate::op::Step;
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
    /// RAM for cached entries of 8 bytes, of the whole drive, in even shares for the units.
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
    /// Entries that each unit caches.
    pub(crate) fn unit_entries(&self, geometry: &Geometry) -> u64 {
        self.cache_bytes.0 / CACHED_ENTRY_BYTES / u64::from(geometry.units())
    }
}

/// The map's own state of a unit.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Unit {
    cache: Cache,
    /// Where the next translation page goes.
    frontier: Frontier,
    /// Blocks of translation pages, the frontier's included.
    blocks: u64,
    /// Translation pages that do not know yet where some of their pages were moved; each once.
    pending: VecDeque<u32>,
    /// Host pages written when a block of data was last taken for its wear, until the policy takes one with an invalid page.
    levelled_at: Option<u64>,
    /// True for each translation page that is in `pending` and was not written since.
    #[serde(with = "crate::raw")]
    is_pending: Vec<bool>,
}

/// The map on flash of all units.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Dftl {
    pub(super) page: PageFtl,
    units: Vec<Unit>,
    pub(super) rules: Rules,
}

/// Rules that are constant during a run.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Rules {
    /// Entries of a translation page.
    entries: Divisor,
    /// Logical pages of a unit: keys from here on are translation pages.
    logical: u32,
    translation_pages: u64,
    pages_per_block: u32,
    /// Erased blocks that a unit keeps to complete a collection: one for data, one for translation pages, at least.
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

    pub(super) fn new(upkeep: &Upkeep<'_>, own: &Config, geometry: &Geometry, seed: u64) -> Self {
        let pages = geometry.unit_translation_pages();
        let page = PageFtl::with_more_keys(upkeep, geometry, false, pages, seed);
        let entries = Divisor::new(geometry.entries_per_translation_page());
        let logical = geometry.unit_logical_pages;
        let units = (0..geometry.units())
            .map(|_| Unit {
                cache: Cache::new(logical, own.unit_entries(geometry), entries),
                frontier: Frontier { block: 0, next: geometry.pages_per_block },
                blocks: 0,
                pending: VecDeque::new(),
                levelled_at: None,
                is_pending: vec![false; pages as usize],
            })
            .collect();
        let rules = Rules {
            entries,
            logical: logical as u32,
            translation_pages: pages,
            pages_per_block: geometry.pages_per_block,
            held_back: u64::from(geometry.unit_reserved_blocks) + 1,
            map_blocks: geometry.unit_translation_blocks(),
            batch_update: own.batch_update,
            least_worn_first: upkeep.wear.dynamic,
        };
        Self { page, units, rules }
    }

    #[inline]
    pub(super) fn lookup(&self, home: Home) -> Option<u32> {
        self.page.lookup(home)
    }

    /// Reads what a look-up and a write of the page will read. Returns something that depends on it.
    #[inline]
    pub(super) fn peek(&self, home: Home) -> u64 {
        self.page.peek(home) ^ self.units[home.unit as usize].cache.peek(home.key)
    }

    /// Makes the entry of a page cached, so that it can be looked up. Returns the translation page that was read for it, if
    /// one was. A page that was never written may stay without an entry: the directory says that there is nothing.
    pub(super) fn translate(&mut self, home: Home, ops: &mut Ops) -> Result<Option<u32>, RunError> {
        let hit = self.units[home.unit as usize].cache.touch(home.key);
        ops.looked_up(hit);
        if hit {
            return Ok(None);
        }
        let Some(ppn) = self.translation_page(home.unit, self.page_of(home.key)) else { return Ok(None) };
        ops.read_map(home.unit, ppn, MapWork::Load);
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
        self.translate(home, ops)?;
        if !self.units[home.unit as usize].cache.has(home.key) {
            self.take_in(home, ops)?;
        }
        self.make_room(home.unit, ops)?;
        let written = self.page.write(home, before, 0, ops)?;
        self.units[home.unit as usize].cache.change(home.key);
        Ok(written)
    }

    pub(super) fn trim(&mut self, home: Home, ops: &mut Ops) -> Result<bool, RunError> {
        self.translate(home, ops)?;
        let was_mapped = self.page.trim(home);
        if was_mapped {
            self.units[home.unit as usize].cache.change(home.key);
        }
        Ok(was_mapped)
    }

    /// The number of the translation page that has a key's entry.
    fn page_of(&self, key: u32) -> u32 {
        self.rules.entries.split(key.into()).0 as u32
    }

    /// Where a translation page lies, if it was ever written.
    fn translation_page(&self, unit: u32, page: u32) -> Option<u32> {
        let ppn = self.page.maps[unit as usize].get(u64::from(self.rules.logical + page));
        (ppn != CowVec::EMPTY).then_some(ppn)
    }

    /// Caches an entry, writing back the one that makes room for it if that has changed.
    fn take_in(&mut self, home: Home, ops: &mut Ops) -> Result<(), RunError> {
        let unit = home.unit as usize;
        if let Some(oldest) = self.units[unit].cache.to_evict()
            && self.units[unit].cache.is_dirty(oldest)
        {
            self.write_back(home.unit, oldest, ops)?;
        }
        self.units[unit].cache.insert(home.key);
        Ok(())
    }

    /// Writes a changed entry to flash, as one event.
    fn write_back(&mut self, unit: u32, key: u32, ops: &mut Ops) -> Result<(), RunError> {
        // A collection that makes room may write it back, too.
        self.make_map_room(unit, ops)?;
        if self.units[unit as usize].cache.is_dirty(key) {
            self.write_page(unit, self.page_of(key), MapWork::WriteBack, ops)?;
            if !self.rules.batch_update {
                self.units[unit as usize].cache.clean(key);
            }
        }
        Ok(())
    }

    /// Writes one of the entries back that have to make room soon. `None`: they have not changed.
    pub(super) fn write_back_step(&mut self, unit: u32, ops: &mut Ops) -> Result<Option<Step>, RunError> {
        let Some(key) = self.units[unit as usize].cache.oldest_dirty(SOON) else { return Ok(None) };
        self.write_back(unit, key, ops)?;
        Ok(Some(Step::Copy))
    }

    /// The next page of the block that translation pages are written to, which is opened where needed.
    fn take_map_page(&mut self, unit: u32, ops: &mut Ops) -> Result<Frontier, RunError> {
        let rules = self.rules;
        if self.units[unit as usize].frontier.next == rules.pages_per_block {
            let free = self.page.units[unit as usize].blocks.take_free(rules.least_worn_first);
            let block = free.ok_or_else(|| self.stuck(unit))?;
            self.units[unit as usize].frontier = Frontier { block, next: 0 };
            self.units[unit as usize].blocks += 1;
            ops.opened();
        }
        let frontier = &mut self.units[unit as usize].frontier;
        let taken = *frontier;
        frontier.next += 1;
        Ok(taken)
    }

    /// Writes the next version of a translation page, for which there has to be room. It knows of all moves made so far and,
    /// with batch updates, of all changes.
    fn write_page(&mut self, unit: u32, page: u32, work: MapWork, ops: &mut Ops) -> Result<(), RunError> {
        let old = self.translation_page(unit, page);
        if let Some(ppn) = old {
            ops.read_map(unit, ppn, work);
        }
        let rules = self.rules;
        let Frontier { block, next } = self.take_map_page(unit, ops)?;
        let state = &mut self.units[unit as usize];
        state.is_pending[page as usize] = false;
        if rules.batch_update {
            state.cache.clean_page(page.into());
        }
        let (ppn, key) = (block * rules.pages_per_block + next, rules.logical + page);
        self.page.put(unit, block, next, key);
        if let Some(old) = old {
            self.page.invalidate(unit, old);
        }
        ops.program_map(unit, page, ppn, work);
        Ok(())
    }

    /// Erased blocks that the unit keeps now: those to complete a collection with, and those that translation pages may
    /// still need because they were never written. `collect.rs` says why this is enough.
    fn reserve(&self, unit: u32) -> u64 {
        self.rules.held_back + self.rules.map_blocks.saturating_sub(self.units[unit as usize].blocks)
    }

    pub(super) fn has_room(&self, unit: u32) -> bool {
        self.page.has_room(unit)
    }

    pub(super) fn free_blocks(&self, unit: u32) -> u64 {
        self.page.free_blocks(unit)
    }

    pub(super) fn erases(&self, unit: u32, block: u32) -> u32 {
        self.page.erases(unit, block)
    }

    pub(super) fn end_preconditioning(&mut self) {
        self.page.end_preconditioning();
    }

    /// The block tables of the units.
    pub(super) fn tables(&self) -> impl Iterator<Item = &Blocks> {
        self.page.tables()
    }

    pub(super) fn wear(&self) -> Wear {
        self.page.wear()
    }

    pub(super) fn stuck(&self, unit: u32) -> RunError {
        self.page.stuck(unit, self.reserve(unit))
    }

    pub(super) fn snapshot(&mut self) -> Self {
        let units = self.units.iter_mut().map(Unit::snapshot).collect();
        Self { page: self.page.snapshot(), units, rules: self.rules }
    }
}

impl Unit {
    fn snapshot(&mut self) -> Self {
        Self {
            cache: self.cache.snapshot(),
            pending: self.pending.clone(),
            is_pending: self.is_pending.clone(),
            ..*self
        }
    }
}

#[cfg(test)]
mod tests;
