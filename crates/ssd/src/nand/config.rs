//! Keys of the flash besides its times: transfers, cells, and how one drive of a kind differs from the next.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cells::{Cell, PageOrder, Programs};
use super::transfer::Transfer;
use crate::quantity::Bytes;

/// Transfers, cells, and spread between blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NandConfig {
    /// Part of a page that a read of the host, or of a read-modify-write, brings over the bus.
    pub transfer: Transfer,
    /// Data of one codeword of the error-correcting code, which divides `page`. It is decoded, and
    /// so transferred, as a whole.
    #[schemars(range(min = 512), extend("multipleOf" = 512))]
    pub codeword: Bytes,
    /// Bits of a cell: the pages of a word line, and so the page types.
    pub cell: Cell,
    /// Order of the page types within a block.
    pub page_order: PageOrder,
    /// Pages that one program of the array takes, and its passes.
    pub programs: Programs,
    /// True: a die senses the next page of the host while the last one is on the bus.
    pub cache_read: bool,
    /// Relative standard deviation of the times of a block: one normal factor for its reads, programs and erases.
    #[schemars(range(min = 0.0, max = 0.3))]
    pub spread: f64,
    /// Relative standard deviation of the times of a die: one normal factor for all its blocks.
    #[schemars(range(min = 0.0, max = 0.3))]
    pub die_spread: f64,
    /// Growth of a block's erase time with 1,000 erases of it, as a share of `timing.erase`.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub erase_growth: f64,
    /// Share of the blocks that are bad when the drive is made, drawn for each by itself. They cost spare space.
    #[schemars(range(min = 0.0, max = 0.5))]
    pub bad_blocks: f64,
    /// Seed of what differs between two drives of one kind: each value is another drive.
    pub seed: u32,
}

impl Default for NandConfig {
    fn default() -> Self {
        Self {
            transfer: Transfer::default(),
            codeword: Bytes(1024),
            cell: Cell::default(),
            page_order: PageOrder::default(),
            programs: Programs::default(),
            cache_read: false,
            spread: 0.0,
            die_spread: 0.0,
            erase_growth: 0.0,
            bad_blocks: 0.0,
            seed: 1,
        }
    }
}

impl NandConfig {
    /// True if drives of one kind differ.
    pub(crate) fn draws(&self) -> bool {
        self.spreads() || self.bad_blocks > 0.0
    }

    /// True if blocks or dies differ in their times.
    pub(crate) fn spreads(&self) -> bool {
        self.spread > 0.0 || self.die_spread > 0.0
    }
}
