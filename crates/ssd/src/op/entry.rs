//! Entries of the journal: pages as they are on flash, and changes of them (see `content/journal.rs`).

use std::ops::Range;
use std::sync::Arc;

/// A page as it is on flash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Spare area: the logical page.
    pub lpn: u64,
    /// Spare area: of two images of a logical page, the one with the higher number is newer.
    pub sequence: u64,
    /// Versions of the sectors; one for all of them if they are the same.
    versions: Box<[u64]>,
}

impl Image {
    /// Version of sectors that were never written.
    pub const NOTHING: u64 = 0;

    /// The page of these sectors.
    pub fn new(lpn: u64, sequence: u64, versions: &[u64]) -> Self {
        let is_uniform = versions.windows(2).all(|pair| pair[0] == pair[1]);
        let versions = if is_uniform { &versions[..1] } else { versions };
        Self { lpn, sequence, versions: versions.into() }
    }

    /// The version of a sector, [`Image::NOTHING`] if it was never written.
    pub fn version(&self, sector: usize) -> u64 {
        self.versions[sector.min(self.versions.len() - 1)]
    }
}

/// A change of the flash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A page can be read from now on. `None`: nothing of the host is in it.
    Programmed {
        /// The physical page, counted over all units.
        page: u64,
        /// The page of the host that is in it.
        image: Option<Arc<Image>>,
    },
    /// Pages can't be read any more.
    Erased(Range<u64>),
}

/// A change of the flash, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageEntry {
    /// When, ns.
    pub time_ns: u64,
    /// Its place in the journal, which is the order of those of a die.
    pub number: u64,
    /// The change.
    pub change: Change,
}

/// The host changed sectors of a logical page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostEntry {
    /// The number of the request.
    pub request: u64,
    /// The logical page.
    pub lpn: u64,
    /// The sectors, counted from the start of the page.
    pub sectors: Range<u32>,
    /// The version that they have from now on. Each entry has one of its own, one or two above that of the entry before.
    pub version: u64,
    /// They were trimmed.
    pub trim: Option<TrimEntry>,
    /// They went to a random write area.
    pub held: Option<HeldEntry>,
}

/// A page in a random write area.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldEntry {
    /// Since when, ns.
    pub time_ns: u64,
    /// The page.
    pub image: Arc<Image>,
}

/// A trim took effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrimEntry {
    /// When, ns: the request may be completed later.
    pub time_ns: u64,
    /// Its sequence among those of pages.
    pub sequence: u64,
}

/// A level that commands change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Blocks of a superblock that are not erased.
    Superblock {
        /// Its set of dies.
        set: u32,
        /// Its number in the set.
        block: u32,
    },
    /// Bytes of pages that the host wrote to blocks in SLC mode which are not erased yet, valid or not.
    SlcCache,
}

/// A change of a level. A block is not erased from the start of the first command that writes to it until its erase is done; a page
/// is in the cache when it has been programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelEntry {
    /// When, ns.
    pub time_ns: u64,
    /// The level.
    pub level: Level,
    /// So many more.
    pub change: i64,
}
