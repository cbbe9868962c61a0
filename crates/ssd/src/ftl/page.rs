//! Page mapping: a full map from logical to physical pages, out-of-place writes at a frontier, collection by a victim
//! policy. One instance a parallel unit.
//!
//! Glossary. *Frontier*: the block being written. *Held back*: erased blocks that a unit keeps (`gc.free_blocks`).
//! With one frontier the pages of a victim go into an erased block, which then goes on as the host's frontier, and the
//! victim, erased, takes its place; so all blocks but those held back are in use at all times. With two frontiers relocated
//! pages have a block of their own. Nothing here is timed, and no page ever changes its unit.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::blocks::Blocks;
use super::classifier::{Classifier, GroupCounts};
use super::{Ops, Step, Upkeep, Written};
use crate::alloc::Home;
use crate::cow::CowVec;
use crate::divisor::Divisor;
use crate::error::RunError;
use crate::external::External;
use crate::gc::victim::{Division, Victim, VictimView};
use crate::geometry::Geometry;
use crate::quantity::{Auto, Bound, Bytes};
use groups::Groups;
use laid::Laid;
pub(crate) use retire::Fate;
pub(super) use retire::Spare;
use slc::Slc;
use steps::Steps;

/// Size of what is mapped; over-provisioning is `op_ratio`, collection is `gc`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// Mapping unit: what one entry of the map stands for. Smaller than the page of a unit (4KiB in pages of 16KiB), it divides
    /// it: a page then holds several units, and one that is programmed before it is full is padded. Larger (64KiB), it is so many
    /// pages one after the other, and a write of less reads the others. `auto`: the page.
    pub map_unit: Auto<Bytes>,
    /// Group of open blocks that a page goes to.
    pub classifier: Classifier,
    /// Groups (1 to 128): handles (`stream`), times that a page is moved (`generations`), powers of two of writes (`frequency`) or of
    /// intervals (`interval`), of predicted intervals (`learned`), those that a function names (`external`). Or `auto`: 8, 2, and 4 for
    /// the others.
    #[schemars(range(min = 1, max = super::classifier::MAX_GROUPS))]
    pub groups: Auto<u32>,
    /// With `ftl.classifier=stream`: relocated pages stay apart by handle too. Otherwise they share a group.
    pub isolated: bool,
    /// With `ftl.classifier=stream`: longest time that a block of a handle takes pages of the host, from its first one on, as the
    /// time limit of reclaim units of Flexible Data Placement (TP4146): then it ends as it is, and its unwritten pages are lost
    /// until it is erased. Looked at when a request comes. `none`: until it is full.
    pub open_time: Bound,
    /// With `ftl.classifier=external`: the function, as `FILE.py:FUNCTION` (docs/guide/python-policies.md). Empty: given to
    /// `simulate`.
    pub classifier_file: String,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            map_unit: Auto(None),
            classifier: Classifier::default(),
            groups: Auto(None),
            isolated: false,
            open_time: Bound(None),
            classifier_file: String::new(),
        }
    }
}

/// A block being written, and its next page; full (or none yet) when `next` has reached the block's end.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Frontier {
    pub(super) block: u32,
    pub(super) next: u32,
}

/// Block of a frontier that has none.
const NO_BLOCK: u32 = u32::MAX;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Unit {
    pub(super) blocks: Blocks,
    /// Logical key of each physical page (stale where the page is not valid).
    pub(super) owner: CowVec,
    /// One bit a page, each block starting at a word of its own.
    #[serde(with = "crate::raw")]
    pub(super) valid_bits: Vec<u64>,
    pub(super) valid_pages: u64,
    /// Valid pages up to which it takes pages it did not have before.
    room: u64,
    pub(super) host: Frontier,
    /// Mapping units that the page at the host's frontier still takes, if it is being filled.
    open: u32,
    pub(super) collected: Frontier,
    /// Takes pages that were there before the run (`lay.rs`).
    pub(super) laid: Laid,
    /// Block at which the last stale page was found that such a page took.
    searched: u32,
    /// Erased blocks held back for a map on flash, beside those of pages.
    pub(super) beside: u64,
    /// Host pages written: the clock of ages.
    pub(super) writes: u64,
    /// No full block had fewer erases than this when it was last looked up.
    fewest_erases: u32,
    /// A collection made step by step.
    pub(super) steps: Steps,
}

/// The page-mapping FTL of all units.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PageFtl {
    pub(super) units: Vec<Unit>,
    /// A map a unit, or one for all of them.
    pub(super) maps: Vec<CowVec>,
    pub(super) rules: Rules,
    pub(super) rng: Xoshiro256PlusPlus,
    /// More than two groups of open blocks, where there are.
    pub(in crate::ftl) groups: Option<Box<Groups>>,
    /// Blocks in SLC mode, where there are.
    slc: Option<Box<Slc>>,
    pub(super) spare: Spare,
}

/// Rules that are constant during a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Rules {
    shared_map: bool,
    pub(super) pages_per_block: Divisor,
    /// Mapping units in a page of flash.
    pub(super) per_page: u32,
    /// Pages of flash after which the next one lies on the same die again.
    turn: u32,
    /// Valid mapping units of a block from which on moving them gains no page of flash.
    usable: u32,
    pub(super) words_per_block: usize,
    pub(super) victim: Victim,
    /// The division of spare space among groups, if these collect their own.
    pub(super) division: Option<Division>,
    pub(super) two_frontiers: bool,
    pub(super) held_back: u64,
    pub(super) least_worn_first: bool,
    pub(super) static_gap: u32,
}

impl PageFtl {
    /// Gives policies outside the engine their functions.
    pub(super) fn attach(&mut self, external: &External) {
        self.rules.victim.attach(&external.victim);
        if let Some(groups) = &mut self.groups {
            groups.classes.attach(&external.classifier);
        }
    }

    pub(super) fn new(upkeep: &Upkeep<'_>, geometry: &Geometry, sharing: Option<u32>, seed: u64) -> Self {
        Self::with_more_keys(upkeep, geometry, sharing, 0, seed)
    }

    /// One whose maps have `more` keys behind those of logical pages.
    pub(super) fn with_more_keys(
        upkeep: &Upkeep<'_>,
        geometry: &Geometry,
        sharing: Option<u32>,
        more: u64,
        seed: u64,
    ) -> Self {
        let victim = Victim::new(upkeep.victim);
        let pages_per_block = geometry.pages_per_block;
        let words_per_block = pages_per_block.div_ceil(64) as usize;
        let counts = upkeep.groups();
        let frontiers = counts.map_or(upkeep.frontiers, GroupCounts::open_blocks);
        let kept = counts.map_or(0, GroupCounts::kept_blocks);
        let held_back = u64::from(geometry.unit_reserved_blocks + kept);
        let frontiers = u64::from(frontiers);
        let kept_slc = upkeep.slc.map_or(0, |rules| rules.kept);
        let usable = geometry.usable_pages_per_block(counts.map_or(1, |counts| counts.moved));
        let beside = held_back + frontiers - 1 + u64::from(kept_slc);
        // `vec![0; n]` asks for zeroed memory, which costs nothing until it is touched.
        let units = (0..geometry.units())
            .map(|unit| geometry.unit_blocks(unit))
            .map(|blocks| Unit {
                blocks: Blocks::new(blocks as u32, pages_per_block, victim.index()).keeping(kept_slc),
                owner: CowVec::new(blocks * u64::from(pages_per_block)),
                valid_bits: vec![0; blocks as usize * words_per_block],
                // One page less than all that can be in use: then a collection always finds an invalid page.
                room: (blocks + 1).saturating_sub(held_back + frontiers + u64::from(kept_slc)) * usable - 1,
                valid_pages: 0,
                host: Frontier { block: 0, next: pages_per_block },
                open: 0,
                collected: Frontier { block: 0, next: pages_per_block },
                laid: Laid::new(pages_per_block),
                searched: 0,
                beside: 0,
                writes: 0,
                fewest_erases: 0,
                steps: Steps::default(),
            })
            .collect();
        let shared_map = sharing.is_some();
        let (maps, map_pages) = if shared_map {
            (1, geometry.logical_pages + more)
        } else {
            (geometry.units(), geometry.unit_logical_pages + more)
        };
        let groups = counts.map(|counts| Box::new(Groups::of(upkeep, counts, geometry, (maps, map_pages))));
        Self {
            units,
            slc: upkeep.slc.map(|rules| Box::new(Slc::new(rules, geometry, groups.is_some()))),
            groups,
            spare: Spare::new(geometry, (usable, beside), sharing, upkeep.max_retired),
            maps: (0..maps).map(|_| CowVec::new(map_pages)).collect(),
            rules: Rules {
                shared_map,
                pages_per_block: Divisor::new(pages_per_block.into()),
                per_page: geometry.units_per_page,
                turn: geometry.turn_pages.min(pages_per_block / geometry.units_per_page).max(1),
                usable: usable as u32,
                words_per_block,
                victim,
                division: upkeep.division.cloned(),
                two_frontiers: frontiers >= 2,
                held_back,
                least_worn_first: upkeep.wear.dynamic,
                static_gap: upkeep.wear.static_gap,
            },
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    #[inline]
    pub(super) fn map_of(&self, unit: u32) -> usize {
        if self.rules.shared_map { 0 } else { unit as usize }
    }

    #[inline]
    pub(super) fn lookup(&self, home: Home) -> Option<u32> {
        let ppn = self.maps[self.map_of(home.unit)].get(home.key.into());
        (ppn != CowVec::EMPTY).then_some(ppn)
    }

    /// Reads what a write of the page will change. Returns something that depends on it.
    #[inline]
    pub(super) fn peek(&self, home: Home) -> u64 {
        let Some(ppn) = self.lookup(home) else { return 0 };
        let (block, page) = self.rules.pages_per_block.split(ppn.into());
        self.units[home.unit as usize].valid_bits
            [block as usize * self.rules.words_per_block + (page >> 6) as usize]
    }

    #[inline]
    pub(super) fn write(
        &mut self,
        home: Home,
        before: Option<Home>,
        handle: u8,
        ops: &mut Ops,
    ) -> Result<Written, RunError> {
        let pages_per_block = self.rules.pages_per_block.get() as u32;
        let cached = if self.slc.is_some() { self.slc_page(home.unit, handle, ops)? } else { None };
        let Frontier { block, next } = match cached {
            Some(frontier) => frontier,
            None => self.host_page(home, handle, ops)?,
        };
        let map = self.map_of(home.unit);
        let unit = &mut self.units[home.unit as usize];
        let ppn = block * pages_per_block + next;
        unit.writes += 1;
        unit.owner.set(ppn.into(), home.key);
        unit.valid_bits[block as usize * self.rules.words_per_block + (next >> 6) as usize] |=
            1 << (next & 63);
        unit.blocks.add_valid(block, 1);
        unit.valid_pages += 1;
        if cached.is_some() {
            self.note_host(home.unit, home.key, handle);
            self.wrote_slc(home.unit, block);
        } else if next + 1 == pages_per_block {
            unit.blocks.fill(block, unit.writes);
        }
        let old = self.maps[map].replace(home.key.into(), ppn);
        let old = (old != CowVec::EMPTY).then(|| (before.map_or(home.unit, |before| before.unit), old));
        if let Some((unit, ppn)) = old {
            self.invalidate(unit, ppn);
            self.slc_page_is_stale(unit, ppn);
        }
        Ok(Written { ppn, old })
    }

    /// The next page of a main block for a page of the host.
    #[inline]
    fn host_page(&mut self, home: Home, handle: u8, ops: &mut Ops) -> Result<Frontier, RunError> {
        if self.groups.is_some() {
            self.place_host(home.unit, home.key, handle);
        }
        if self.rules.per_page > 1 {
            self.open_page(home.unit, ops)?;
        } else if u64::from(self.units[home.unit as usize].host.next) == self.rules.pages_per_block.get() {
            self.make_room(home.unit, ops)?;
        }
        let host = &mut self.units[home.unit as usize].host;
        host.next += 1;
        Ok(Frontier { next: host.next - 1, ..*host })
    }

    /// Programs page `next` of a block that is being written with a page that is not the host's.
    pub(super) fn put(&mut self, unit: u32, block: u32, next: u32, key: u32) {
        let pages_per_block = self.rules.pages_per_block.get() as u32;
        let map = self.map_of(unit);
        let unit = &mut self.units[unit as usize];
        let ppn = block * pages_per_block + next;
        unit.owner.set(ppn.into(), key);
        unit.valid_bits[block as usize * self.rules.words_per_block + (next >> 6) as usize] |=
            1 << (next & 63);
        unit.blocks.add_valid(block, 1);
        unit.valid_pages += 1;
        if next + 1 == pages_per_block {
            unit.blocks.fill(block, unit.writes);
        }
        self.maps[map].set(key.into(), ppn);
    }

    #[inline]
    pub(super) fn invalidate(&mut self, unit: u32, ppn: u32) {
        let (block, page) = self.rules.pages_per_block.split(ppn.into());
        let unit = &mut self.units[unit as usize];
        unit.valid_bits[block as usize * self.rules.words_per_block + (page >> 6) as usize] &=
            !(1 << (page & 63));
        unit.blocks.invalidate(block as u32);
        unit.valid_pages -= 1;
    }

    pub(super) fn trim(&mut self, home: Home) -> bool {
        let map = self.map_of(home.unit);
        let old = self.maps[map].get(home.key.into());
        if old == CowVec::EMPTY {
            return false;
        }
        self.maps[map].set(home.key.into(), CowVec::EMPTY);
        self.invalidate(home.unit, old);
        self.slc_page_is_stale(home.unit, old);
        true
    }

    pub(super) fn has_room(&self, unit: u32) -> bool {
        let state = &self.units[unit as usize];
        state.valid_pages < state.room
    }

    pub(super) fn snapshot(&mut self) -> Self {
        Self {
            units: self.units.iter_mut().map(Unit::snapshot).collect(),
            maps: self.maps.iter_mut().map(CowVec::snapshot).collect(),
            rules: self.rules.clone(),
            rng: self.rng.clone(),
            groups: self.groups.as_mut().map(|groups| Box::new(groups.snapshot())),
            slc: self.slc.as_mut().map(|slc| Box::new(slc.snapshot())),
            spare: self.spare.clone(),
        }
    }
}

impl Unit {
    fn snapshot(&mut self) -> Self {
        let owner = self.owner.snapshot();
        Self {
            owner,
            blocks: self.blocks.clone(),
            valid_bits: self.valid_bits.clone(),
            steps: self.steps.clone(),
            laid: self.laid.clone(),
            ..*self
        }
    }
}

mod apart;
mod chain;
mod collect;
pub(super) mod fold;
pub(in crate::ftl) mod groups;
mod laid;
mod lay;
mod overdue;
mod pack;
mod pools;
mod retire;
mod slc;
mod slc_retired;
pub(super) mod steps;
mod tables;
#[cfg(test)]
mod tests;
