//! The SLC cache: blocks of multi-bit flash that are written with one bit a cell, so that a burst of writes is fast. Its data
//! moves on to the other blocks (is *folded*) when the drive is idle, or when a write needs its place.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::{Bound, LONGEST_NS, Nanos};

/// Blocks that are written in SLC mode, and when they are emptied. Off by default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SlcConfig {
    /// Blocks that the cache has.
    pub kind: SlcKind,
    /// Blocks of each unit that are always in SLC mode. They count neither as data nor as spare, so `op_ratio` is that of the
    /// others.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub static_blocks: u32,
    /// Largest share in SLC mode of the blocks that hold no data of the others: a full drive has a small cache.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub dynamic_share: f64,
    /// Array time of a page read in SLC mode.
    #[schemars(range(max = LONGEST_NS))]
    pub read_time: Nanos,
    /// Array time of a page program in SLC mode.
    #[schemars(range(max = LONGEST_NS))]
    pub program_time: Nanos,
    /// Place of a write when the cache is full.
    pub when_full: WhenFull,
    /// Time for which a unit's die is idle before it folds; none: never.
    #[schemars(range(max = LONGEST_NS))]
    pub fold_after: Bound,
}

impl Default for SlcConfig {
    fn default() -> Self {
        Self {
            kind: SlcKind::None,
            static_blocks: 4,
            dynamic_share: 1.0,
            read_time: Nanos(25_000),
            program_time: Nanos(200_000),
            when_full: WhenFull::Fold,
            fold_after: Bound(None),
        }
    }
}

/// Blocks of an SLC cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SlcKind {
    /// There is no cache.
    #[default]
    None,
    /// Blocks of its own.
    Static,
    /// Blocks that hold no data otherwise. When they are folded and erased they are blocks like all others again.
    Dynamic,
    /// Blocks of its own first, then such that hold no data otherwise.
    Both,
}

/// Place of a write when the cache is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhenFull {
    /// The other blocks, at their speed.
    Direct,
    /// The cache: the write waits until its oldest block is folded. Where that gains no place, the other blocks.
    #[default]
    Fold,
}

impl SlcConfig {
    /// True if there is a cache.
    pub fn is_on(&self) -> bool {
        self.kind != SlcKind::None
    }

    /// True if some of its blocks are always in SLC mode.
    pub(crate) fn has_static(&self) -> bool {
        matches!(self.kind, SlcKind::Static | SlcKind::Both)
    }

    /// True if it takes blocks that hold no data.
    pub(crate) fn has_dynamic(&self) -> bool {
        matches!(self.kind, SlcKind::Dynamic | SlcKind::Both)
    }

    /// Blocks of each unit that are always in SLC mode.
    pub(crate) fn kept_blocks(&self) -> u32 {
        if self.has_static() { self.static_blocks } else { 0 }
    }

    /// The rules of the translation layer, for cells of so many bits.
    pub(crate) fn rules(&self, bits: u32) -> Option<SlcRules> {
        self.is_on().then(|| SlcRules {
            kept: self.kept_blocks(),
            share: if self.has_dynamic() { self.dynamic_share } else { 0.0 },
            folds: self.when_full == WhenFull::Fold,
            bits,
        })
    }
}

/// The rules of a cache, as the translation layer takes them.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct SlcRules {
    /// Blocks of a unit that are always in SLC mode.
    pub(crate) kept: u32,
    /// Largest share in SLC mode of the blocks without data of the others.
    pub(crate) share: f64,
    /// True if a write to a full cache waits until its oldest block is folded.
    pub(crate) folds: bool,
    /// Bits of a cell of the other blocks.
    pub(crate) bits: u32,
}

/// Content of the cache of a drive. Blocks are those of units: of a superblock all are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlcState {
    /// Blocks in SLC mode, those always in it included.
    pub blocks: u64,
    /// Valid pages in it (mapping units, where pages hold several).
    pub valid: u64,
    /// Pages that it takes before it is full, as things are.
    pub room: u64,
    /// Blocks that are always in SLC mode.
    pub kept_blocks: u64,
    /// Fewest erases of a block that is always in SLC mode.
    pub min_erases: u32,
    /// Most erases of such a block.
    pub max_erases: u32,
    /// Erases of all of these.
    pub erases: u64,
}

impl SlcState {
    /// As these, where each block stands for so many.
    pub(crate) fn of_each(self, blocks: u64) -> Self {
        Self {
            blocks: self.blocks * blocks,
            kept_blocks: self.kept_blocks * blocks,
            erases: self.erases * blocks,
            ..self
        }
    }
}
