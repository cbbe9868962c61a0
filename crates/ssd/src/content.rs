//! The checking mode: a version for every logical sector, carried through buffer and flash, so that every read can be
//! held against the last write. It also checks the rules of the array: pages of a block are programmed once, in order,
//! after an erase, and nothing reads an erased page. Where blocks are mapped, pages that do not exist are left out of
//! that order.
//!
//! A write takes effect when its page enters the buffer or, without one, when its program is made. Off, it costs nothing.

mod journal;
mod levels;
mod observers;

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::cow::CowVec;
use crate::geometry::Geometry;
use crate::nand::probe::Recorded;
use crate::op::{CommandKind, Effect, FlashOp, LevelEntry, NO_EFFECT, PageAt, Stage};

pub use journal::{Baseline, Trim};
pub(crate) use levels::Levels;
pub(crate) use observers::Observers;

/// Follows every sector: checks, and the journal of power cuts.
pub(crate) trait Content: Clone {
    /// True if the content is followed.
    const ON: bool;
    /// The drive begins to work at a request, or at a part of one, that changes or flushes data.
    fn enter(&mut self, _request: u64) {}
    /// The host writes sectors of a page in request `request`: a new version, staged.
    fn stage(&mut self, stage: Stage, request: u64, lpn: u64, sectors: Range<u32>);
    /// The host writes sectors of a page into the random write area of a zone, where it has this number.
    fn hold(&mut self, _now_ns: u64, number: u32, request: u64, lpn: u64, sectors: Range<u32>) {
        self.stage(Stage::Held(number), request, lpn, sectors);
    }
    /// Copies the data staged at `from` to `to`, beneath data that is staged there later.
    fn inherit(&mut self, from: Stage, to: Stage);
    /// An operation is made; `moves` are the pages that it moves, from and to. Returns the number under which its effect is
    /// kept until [`Content::handed`], or [`NO_EFFECT`].
    fn apply(&mut self, op: &FlashOp, moves: &[(u32, u32)]) -> u32;
    /// Operations with these effects, in the order of their planes, go to their die as one command. Returns the number under
    /// which all of them are kept, or [`NO_EFFECT`].
    fn handed(&mut self, _kind: CommandKind, _effects: &[u32]) -> u32 {
        NO_EFFECT
    }
    /// Staged data is no longer there: its page has left the buffer, or was trimmed.
    fn unstage(&mut self, stage: Stage);
    /// A whole page is trimmed by request `request`.
    fn trim(&mut self, now_ns: u64, request: u64, lpn: u64);
    /// The host reads sectors of a page, from flash (if it is mapped) under what is staged (if anything is).
    fn read(&mut self, lpn: u64, sectors: Range<u32>, flash: Option<(u32, u32)>, staged: Option<Stage>);
    /// First error, if there was one.
    fn failure(&self) -> Option<&str>;
    /// Starts time: later calls happen in the run. Returns the content at this point, for power cuts.
    fn begin(&mut self, _geometry: &Geometry) -> Option<Baseline> {
        None
    }
    /// Starts time for levels of the flash. Returns those of superblocks at this point.
    fn begin_levels(&mut self) -> Vec<LevelEntry> {
        Vec::new()
    }
    /// Adds what the commands recorded did to the flash, and when.
    fn put_times(&mut self, _recorded: &mut Recorded) {}
}

/// No checks. A drive is saved as one of [`Observers`] without checks, so that either goes on as the other.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "Option<()>", into = "Option<()>")]
pub(crate) struct Unchecked;

impl From<Option<()>> for Unchecked {
    fn from(_: Option<()>) -> Self {
        Self
    }
}

impl From<Unchecked> for Option<()> {
    fn from(_: Unchecked) -> Self {
        None
    }
}

impl Content for Unchecked {
    const ON: bool = false;
    #[inline]
    fn stage(&mut self, _: Stage, _: u64, _: u64, _: Range<u32>) {}
    #[inline]
    fn inherit(&mut self, _: Stage, _: Stage) {}
    #[inline]
    fn apply(&mut self, _: &FlashOp, _: &[(u32, u32)]) -> u32 {
        NO_EFFECT
    }
    #[inline]
    fn unstage(&mut self, _: Stage) {}
    #[inline]
    fn trim(&mut self, _: u64, _: u64, _: u64) {}
    #[inline]
    fn read(&mut self, _: u64, _: Range<u32>, _: Option<(u32, u32)>, _: Option<Stage>) {}
    #[inline]
    fn failure(&self) -> Option<&str> {
        None
    }
}

/// Version of sectors that were never written, or trimmed.
const NOTHING: u32 = 0;
/// Version of sectors of an erased page: reading it is an error.
const ERASED: u32 = u32::MAX - 1;
/// Version of sectors of a page of translation or parity, which no read of the host may find.
const MAP: u32 = u32::MAX - 2;

/// Versions of all sectors.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Versions {
    sectors: u64,
    unit_pages: u64,
    pages_per_block: u32,
    in_order: bool,
    /// Mapping units in a page of flash: the last ones of a page may be padding.
    per_page: u32,
    /// Pages of a block may be left out: blocks are mapped, and a page keeps its offset.
    skips: bool,
    last: u32,
    /// By logical sector: what a read must return.
    expected: CowVec,
    /// By physical sector: what the flash holds.
    stored: CowVec,
    /// Pages programmed of each block, by unit.
    programmed: CowVec,
    /// Staged versions: that of the direct page first, then by entry of the buffer and number in random write areas, in turn.
    staged: Vec<Vec<u32>>,
    failure: Option<String>,
}

impl Versions {
    /// `in_order`: the translation layer programs the pages of a block in order (direct translation does not).
    pub(crate) fn new(geometry: &Geometry, in_order: bool) -> Self {
        let (sectors, units) = (u64::from(geometry.page_sectors), u64::from(geometry.units()));
        Self {
            sectors,
            unit_pages: geometry.max_unit_pages(),
            pages_per_block: geometry.pages_per_block,
            in_order,
            per_page: geometry.units_per_page,
            skips: geometry.maps_blocks,
            last: NOTHING,
            expected: CowVec::new(geometry.capacity_sectors()),
            stored: CowVec::new(geometry.max_unit_pages() * units * sectors),
            programmed: CowVec::new(geometry.max_unit_blocks() * units),
            staged: Vec::new(),
            failure: None,
        }
    }

    fn fail(&mut self, detail: impl FnOnce() -> String) {
        if self.failure.is_none() {
            self.failure = Some(detail());
        }
    }

    fn staged(&mut self, stage: Stage) -> &mut Vec<u32> {
        let at = match stage {
            Stage::Direct | Stage::Padding => 0,
            Stage::Buffer(slot) => 2 * slot as usize + 1,
            Stage::Held(number) => 2 * number as usize + 2,
        };
        if at >= self.staged.len() {
            self.staged.resize(at + 1, Vec::new());
        }
        let versions = &mut self.staged[at];
        versions.resize(self.sectors as usize, NOTHING);
        versions
    }

    fn physical(&self, unit: u32, ppn: u32) -> u64 {
        (u64::from(unit) * self.unit_pages + u64::from(ppn)) * self.sectors
    }

    fn on_flash(&self, unit: u32, ppn: u32, sector: u64) -> u32 {
        value_or_nothing(self.stored.get(self.physical(unit, ppn) + sector))
    }

    /// The array's rules for a program.
    fn check_order(&mut self, unit: u32, ppn: u32) {
        if !self.in_order {
            return;
        }
        let (block, page) = (ppn / self.pages_per_block, ppn % self.pages_per_block);
        let at = u64::from(unit) * (self.unit_pages / u64::from(self.pages_per_block)) + u64::from(block);
        let programmed = value_or_nothing(self.programmed.get(at));
        let next_page = programmed.next_multiple_of(self.per_page);
        let is_next = programmed == page || next_page == page || (self.skips && programmed < page);
        if !is_next {
            self.fail(|| {
                format!("unit {unit}, block {block}: page {page} programmed when page {programmed} was next")
            });
        }
        self.programmed.set(at, page + 1);
    }

    /// A staged page is programmed.
    fn program(&mut self, stage: Stage, unit: u32, ppn: u32, old: Option<PageAt>) {
        self.check_order(unit, ppn);
        // A page of the buffer can be read from it until it has left it.
        let staged = match stage {
            Stage::Direct | Stage::Padding | Stage::Held(_) => std::mem::take(self.staged(stage)),
            Stage::Buffer(_) => self.staged(stage).clone(),
        };
        for (sector, version) in (0..).zip(&staged) {
            let version = match (*version, old) {
                (NOTHING, Some((old_unit, old))) => self.on_flash(old_unit, old, sector),
                (version, _) => version,
            };
            if version == ERASED {
                self.fail(|| {
                    format!("unit {unit}: a partial write took its other sectors from an erased page")
                });
            }
            let at = self.physical(unit, ppn) + sector;
            self.stored.set(at, version);
        }
    }

    fn copy(&mut self, (source, from): PageAt, unit: u32, to: u32) {
        self.check_order(unit, to);
        for sector in 0..self.sectors {
            let version = self.on_flash(source, from, sector);
            if version == ERASED {
                self.fail(|| format!("unit {source}: page {from} was moved after its block was erased"));
            }
            let at = self.physical(unit, to) + sector;
            self.stored.set(at, version);
        }
    }

    fn read_map(&mut self, unit: u32, ppn: u32) {
        if self.on_flash(unit, ppn, 0) != MAP {
            self.fail(|| format!("unit {unit}: page {ppn} was read as a translation page, which it is not"));
        }
    }

    fn program_map(&mut self, unit: u32, ppn: u32) {
        self.check_order(unit, ppn);
        for sector in 0..self.sectors {
            let at = self.physical(unit, ppn) + sector;
            self.stored.set(at, MAP);
        }
    }

    /// A page that was there before the run, behind those that are there or in place of a stale page. What is passed over was
    /// there as well.
    fn lay(&mut self, unit: u32, ppn: u32, version: u32) {
        let (block, page) = (ppn / self.pages_per_block, ppn % self.pages_per_block);
        let at = u64::from(unit) * (self.unit_pages / u64::from(self.pages_per_block)) + u64::from(block);
        if page >= value_or_nothing(self.programmed.get(at)) {
            self.programmed.set(at, page + 1);
        }
        for sector in 0..self.sectors {
            let at = self.physical(unit, ppn) + sector;
            self.stored.set(at, version);
        }
    }

    fn erase(&mut self, unit: u32, block: u32) {
        let first = block * self.pages_per_block;
        for sector in self.physical(unit, first)..self.physical(unit, first + self.pages_per_block) {
            self.stored.set(sector, ERASED);
        }
        let at = u64::from(unit) * (self.unit_pages / u64::from(self.pages_per_block)) + u64::from(block);
        self.programmed.set(at, 0);
    }
}

fn value_or_nothing(value: u32) -> u32 {
    if value == CowVec::EMPTY { NOTHING } else { value }
}

impl Content for Versions {
    const ON: bool = true;

    fn stage(&mut self, stage: Stage, _: u64, lpn: u64, sectors: Range<u32>) {
        self.last = if self.last >= MAP - 1 { 1 } else { self.last + 1 };
        let version = self.last;
        for sector in sectors {
            self.expected.set(lpn * self.sectors + u64::from(sector), version);
            self.staged(stage)[sector as usize] = version;
        }
    }

    fn inherit(&mut self, from: Stage, to: Stage) {
        *self.staged(to) = self.staged(from).clone();
    }

    fn apply(&mut self, op: &FlashOp, moves: &[(u32, u32)]) -> u32 {
        let unit = op.unit;
        match op.effect {
            Effect::Read { .. } => {}
            Effect::MapRead { ppn, .. } => self.read_map(unit, ppn),
            Effect::Programmed { ppn, stale: old, stage } => self.program(stage, unit, ppn, old),
            Effect::MapProgrammed { ppn, .. } | Effect::Parity { ppn } => self.program_map(unit, ppn),
            Effect::Moved(_) => moves.iter().for_each(|(from, to)| self.copy((unit, *from), unit, *to)),
            Effect::Gathered(ref gathered) => gathered.iter().for_each(|(from, to)| match from {
                Some(from) => self.copy(*from, unit, *to),
                None => self.program_map(unit, *to),
            }),
            Effect::Laid { ppn, map } => self.lay(unit, ppn, if map { MAP } else { NOTHING }),
            Effect::Erased { block } => self.erase(unit, block),
        }
        NO_EFFECT
    }

    fn unstage(&mut self, stage: Stage) {
        self.staged(stage).clear();
    }

    fn trim(&mut self, _: u64, _: u64, lpn: u64) {
        for sector in lpn * self.sectors..(lpn + 1) * self.sectors {
            self.expected.set(sector, NOTHING);
        }
    }

    fn read(&mut self, lpn: u64, sectors: Range<u32>, flash: Option<(u32, u32)>, staged: Option<Stage>) {
        for sector in sectors {
            let over = staged.map_or(NOTHING, |stage| self.staged(stage)[sector as usize]);
            let under = flash.map_or(NOTHING, |(unit, ppn)| self.on_flash(unit, ppn, sector.into()));
            let found = if over == NOTHING { under } else { over };
            let expected = value_or_nothing(self.expected.get(lpn * self.sectors + u64::from(sector)));
            if found != expected {
                let found = match found {
                    ERASED => "an erased page".into(),
                    MAP => "a translation page".into(),
                    found => format!("version {found}"),
                };
                self.fail(|| {
                    format!(
                        "sector {sector} of page {lpn} read {found}, the last write was version {expected}"
                    )
                });
            }
        }
    }

    fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }
}

#[cfg(test)]
mod tests;
