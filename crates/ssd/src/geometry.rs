//! The drive's shape: channels, chips, dies, planes, blocks, pages, and the parallel units made of them.
//!
//! A *unit* is the smallest set of planes with its own FTL instance, write frontier and spare blocks: a plane, or the planes
//! of a die, or those of all channels, where the configuration binds them (`planes_bound`, `units`). Bound planes are one
//! plane and bound channels one channel here, with pages that many times as large; nothing else knows of them.
//!
//! A page is what is mapped: with `ftl.map_unit` a *mapping unit*, of which a page of flash holds several, side by side
//! (`units_per_page`), or that is several pages of flash, one after the other (`mapped_pages`). Numbers of pages count
//! mapping units then, logical ones as physical ones.
//! Units are numbered channel by channel, then chip, die, plane; dies and channels likewise.

use flashweir_trace::SECTOR_BYTES;
use serde::{Deserialize, Serialize};

/// The largest page: what a sector mask of the write buffer covers.
pub(crate) const MAX_PAGE_SECTORS: u32 = 512;
/// Counts that follow from a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Geometry {
    /// Channels of the drive; 1 if they are synchronized.
    pub channels: u32,
    /// Chips on a channel.
    pub chips: u32,
    /// Dies of a chip.
    pub dies: u32,
    /// Planes of a die; 1 if they are bound.
    pub planes: u32,
    /// Pages of flash in a page of a unit.
    pub bound_pages: u32,
    /// Mapping units in a page of a unit: 1, unless `ftl.map_unit` is smaller than the page.
    pub units_per_page: u32,
    /// Pages of a unit in a mapping unit: 1, unless `ftl.map_unit` is larger than the page.
    pub mapped_pages: u32,
    /// Sectors of a page of a unit; of a mapping unit, where that is another.
    pub page_sectors: u32,
    /// Pages of a block, as they are mapped.
    pub pages_per_block: u32,
    /// Pages of flash of a block that are side by side: 1, and of superblocks those of a row that hold data.
    pub row_pages: u32,
    /// Pages of flash of a block after which the next one lies on the same die again: 1, and of superblocks those of a row that hold
    /// data, times the rows in which parity is on different dies.
    pub turn_pages: u32,
    /// Logical pages of a unit: its share of the capacity, rounded up to whole pages, or blocks where data blocks are mapped.
    pub unit_logical_pages: u64,
    /// Good blocks of the drive, those held back included. Without bad ones units have the same number or one more
    /// (`unit_blocks`).
    pub blocks: u64,
    /// Blocks of each unit that were bad when the drive was made, and are never used; empty if there are none.
    pub bad_blocks: Box<[u32]>,
    /// True if blocks are mapped, with a log beside them.
    pub maps_blocks: bool,
    /// Blocks of each unit that count neither as data nor as spare: the one that is always erased, and a sequential log block.
    pub unit_uncounted_blocks: u64,
    /// Logical pages of the drive: share times units.
    pub logical_pages: u64,
    /// Data pages for each page of parity over dies; 0 without parity. Only `op_ratio` and the capacity know of it.
    pub parity: u32,
    /// Blocks that each unit keeps erased (`gc.free_blocks`); the first of them lies outside `op_ratio`.
    pub unit_reserved_blocks: u32,
}

/// Share of the pages that holds data, with so many data pages for each page of parity.
pub(crate) fn share_of_data(parity: u32) -> f64 {
    if parity == 0 { 1.0 } else { f64::from(parity) / (f64::from(parity) + 1.0) }
}

impl Geometry {
    /// Good blocks of a unit, those held back included. What does not divide evenly goes out one by one: to the first unit of
    /// each channel, then to that of the next chip, die and plane, so that channels differ by at most one block, too.
    pub fn unit_blocks(&self, unit: u32) -> u64 {
        let units = u64::from(self.units());
        let built = self.built_blocks();
        let bad = self.bad_blocks.get(unit as usize).copied().unwrap_or(0);
        built / units + u64::from(self.rank(unit) < built % units) - u64::from(bad)
    }

    /// Blocks of the drive, bad ones included.
    pub fn built_blocks(&self) -> u64 {
        self.blocks + self.bad_blocks.iter().map(|bad| u64::from(*bad)).sum::<u64>()
    }

    /// Place of a unit in the order in which spare blocks are given out: channels first, then chips, dies, planes.
    pub(crate) fn rank(&self, unit: u32) -> u64 {
        let (die, plane) = (unit / self.planes, unit % self.planes);
        let (chip, die) = (die / self.dies, die % self.dies);
        let (channel, chip) = (chip / self.chips, chip % self.chips);
        let within = (u64::from(plane) * u64::from(self.dies) + u64::from(die)) * u64::from(self.chips);
        (within + u64::from(chip)) * u64::from(self.channels) + u64::from(channel)
    }

    /// Blocks of the units that have the fewest.
    pub fn min_unit_blocks(&self) -> u64 {
        if self.bad_blocks.is_empty() {
            return self.blocks / u64::from(self.units());
        }
        (0..self.units()).map(|unit| self.unit_blocks(unit)).min().unwrap_or(0)
    }

    /// Blocks of the units that have the most.
    pub fn max_unit_blocks(&self) -> u64 {
        if self.bad_blocks.is_empty() {
            return self.blocks.div_ceil(u64::from(self.units()));
        }
        (0..self.units()).map(|unit| self.unit_blocks(unit)).max().unwrap_or(0)
    }

    /// Blocks of a unit's log, for random writes, where blocks are mapped.
    pub fn unit_log_blocks(&self, unit: u32) -> u64 {
        self.unit_blocks(unit) - self.unit_data_blocks() - self.unit_uncounted_blocks
    }

    /// Over-provisioning as built, a share of logical: blocks that are always erased and sequential log blocks do not count.
    pub fn op_ratio(&self) -> f64 {
        let uncounted = self.unit_uncounted_blocks * u64::from(self.units());
        let pages = (self.blocks - uncounted) * u64::from(self.pages_per_block);
        pages as f64 * share_of_data(self.parity) / self.logical_pages as f64 - 1.0
    }

    /// Over-provisioning as built, a share of raw: all blocks count.
    pub fn op_raw(&self) -> f64 {
        1.0 - self.logical_pages as f64 / self.physical_pages() as f64
    }

    /// Data blocks of a unit, where blocks are mapped.
    pub fn unit_data_blocks(&self) -> u64 {
        self.unit_logical_pages.div_ceil(u64::from(self.pages_per_block))
    }

    /// Entries of 4 bytes in a translation page, where the map lies on flash.
    pub fn entries_per_translation_page(&self) -> u64 {
        u64::from(self.page_sectors) * SECTOR_BYTES / 4
    }

    /// Translation pages of a unit, where the map lies on flash.
    pub fn unit_translation_pages(&self) -> u64 {
        self.unit_logical_pages.div_ceil(self.entries_per_translation_page())
    }

    /// Blocks that a unit's translation pages can always have: those that they fill, and one more.
    pub(crate) fn unit_translation_blocks(&self) -> u64 {
        self.unit_translation_pages().div_ceil(u64::from(self.pages_per_block)) + 1
    }

    /// Erased blocks that a unit holds back for its map on flash: one to collect translation pages with; where units share a map,
    /// one more for those that collections of other units write to it.
    pub(crate) fn blocks_held_back_for_map(&self, shared_map: bool) -> u64 {
        1 + u64::from(shared_map && self.units() > 1)
    }

    /// Parallel units.
    pub fn units(&self) -> u32 {
        self.total_dies() * self.planes
    }

    /// Dies of the drive.
    pub fn total_dies(&self) -> u32 {
        self.channels * self.chips * self.dies
    }

    /// Dies that share a channel.
    pub fn dies_per_channel(&self) -> u32 {
        self.chips * self.dies
    }

    /// The unit at these coordinates.
    pub fn unit_at(&self, channel: u32, chip: u32, die: u32, plane: u32) -> u32 {
        ((channel * self.chips + chip) * self.dies + die) * self.planes + plane
    }

    /// The channel of a unit.
    pub fn channel_of(&self, unit: u32) -> u32 {
        unit / (self.dies_per_channel() * self.planes)
    }

    /// Pages of the units that have the most: the distance of two units where physical pages are numbered through.
    pub fn max_unit_pages(&self) -> u64 {
        self.max_unit_blocks() * u64::from(self.pages_per_block)
    }

    /// Pages of the drive.
    pub fn physical_pages(&self) -> u64 {
        self.blocks * u64::from(self.pages_per_block)
    }

    /// Blocks of the drive that are kept erased.
    pub fn reserved_blocks(&self) -> u64 {
        u64::from(self.unit_reserved_blocks) * u64::from(self.units())
    }

    /// Pages of a block that may be valid in all blocks at once while a collection still gains a page of flash: a block with
    /// fewer invalid mapping units than a page holds may gain nothing.
    /// `groups`: those that moved mapping units are divided among.
    pub(crate) fn usable_pages_per_block(&self, groups: u32) -> u64 {
        u64::from(self.pages_per_block.saturating_sub(groups * (self.units_per_page - 1)))
    }

    /// Pages of a block in SLC mode, of cells of so many bits: whole pages of flash, and whole rows of them.
    pub(crate) fn slc_pages_per_block(&self, bits: u32) -> u32 {
        let rows = self.flash_pages_per_block() / self.row_pages / bits / self.mapped_pages;
        rows * self.row_pages * self.units_per_page
    }

    /// Logical pages of the drive, as pages of units.
    pub fn logical_flash_pages(&self) -> u64 {
        self.logical_pages * u64::from(self.mapped_pages) / u64::from(self.units_per_page)
    }

    /// Pages of units of the drive; mapping units are parts of them, or several.
    pub fn flash_pages(&self) -> u64 {
        self.physical_pages() * u64::from(self.mapped_pages) / u64::from(self.units_per_page)
    }

    /// Pages of flash in a block of a unit.
    pub fn flash_pages_per_block(&self) -> u32 {
        self.pages_per_block * self.mapped_pages / self.units_per_page
    }

    /// Sectors of a page of flash, or of a mapping unit where that is smaller.
    pub fn flash_page_sectors(&self) -> u32 {
        (self.page_sectors * self.units_per_page / (self.bound_pages * self.mapped_pages))
            .min(self.page_sectors)
    }

    /// Bytes that a program of a page of a unit writes, padding included.
    pub fn program_bytes(&self) -> u64 {
        u64::from(self.page_sectors * self.units_per_page / self.mapped_pages) * SECTOR_BYTES
    }

    /// Sectors that the host can address.
    pub fn capacity_sectors(&self) -> u64 {
        self.logical_pages * u64::from(self.page_sectors)
    }

    #[cfg(test)]
    pub(crate) fn for_test(channels: u32, chips: u32, dies: u32, planes: u32) -> Self {
        Self {
            channels,
            chips,
            dies,
            planes,
            bound_pages: 1,
            units_per_page: 1,
            mapped_pages: 1,
            page_sectors: 8,
            pages_per_block: 4,
            row_pages: 1,
            turn_pages: 1,
            unit_logical_pages: 64,
            blocks: 20 * u64::from(channels * chips * dies * planes),
            bad_blocks: Box::default(),
            maps_blocks: false,
            unit_uncounted_blocks: 1,
            logical_pages: 64 * u64::from(channels * chips * dies * planes),
            parity: 0,
            unit_reserved_blocks: 1,
        }
    }
}
