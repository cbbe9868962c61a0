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
}

/// A trim took effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrimEntry {
    /// When, ns: the request may be completed later.
    pub time_ns: u64,
    /// Its sequence among those of pages.
    pub sequence: u64,
}
