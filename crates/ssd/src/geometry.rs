//! The drive's shape: channels, chips, dies, planes, blocks, pages, and the parallel units made of them.
//!
//! A *unit* is the smallest set of planes with its own FTL instance, write frontier and spare blocks: a plane, or the planes
//! of a die, or those of all channels, where the configuration binds them (`planes_bound`, `units`). Bound planes are one
//! plane and bound channels one channel here, with pages that many times as large; nothing else knows of them.
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
    /// Sectors of a page of a unit.
    pub page_sectors: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Logical pages of a unit: its share of the capacity, rounded up to whole pages, or blocks where data blocks are mapped.
    pub unit_logical_pages: u64,
    /// Blocks of a unit, those held back included.
    pub unit_blocks: u64,
    /// Blocks of a unit's log, for random writes; 0 for page mapping.
    pub unit_log_blocks: u64,
    /// Logical pages of the drive: share times units.
    pub logical_pages: u64,
    /// Blocks that each unit keeps erased (`gc.free_blocks`); the first of them lies outside `op_ratio`.
    pub unit_reserved_blocks: u32,
}

impl Geometry {
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

    /// Pages of a unit, those of blocks held back included.
    pub fn unit_pages(&self) -> u64 {
        self.unit_blocks * u64::from(self.pages_per_block)
    }

    /// Pages of the drive.
    pub fn physical_pages(&self) -> u64 {
        self.unit_pages() * u64::from(self.units())
    }

    /// Blocks of the drive that are kept erased.
    pub fn reserved_blocks(&self) -> u64 {
        u64::from(self.unit_reserved_blocks) * u64::from(self.units())
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
            page_sectors: 8,
            pages_per_block: 4,
            unit_logical_pages: 64,
            unit_blocks: 20,
            unit_log_blocks: 0,
            logical_pages: 64 * u64::from(channels * chips * dies * planes),
            unit_reserved_blocks: 1,
        }
    }
}
