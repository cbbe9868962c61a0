//! Flash translation layers: which physical page holds a logical page, and when pages move.
//!
//! The contract of a layer, once for each parallel unit: [`Ftl::lookup`] says where a page is, [`Ftl::write`] gives the
//! next version a physical page (collecting garbage first where it must), [`Ftl::trim`] forgets a page. Mappings change
//! when a command is made, not when it is done; commands of a die are made in the order in which they may run. What a
//! layer does to the array it reports to [`Flash`]; it knows nothing of time.

pub(crate) mod blocks;
mod direct;
mod page;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use page::PageFtl;

use crate::alloc::Home;
use crate::config::Config;
use crate::error::RunError;
use crate::geometry::Geometry;

/// How logical pages are translated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FtlConfig {
    /// A full page map, collected by `gc.victim`.
    Page(page::Config),
    /// The logical page number is the physical one: no map, no collection. For workloads of physical addresses.
    Direct(direct::Config),
}

impl Default for FtlConfig {
    fn default() -> Self {
        FtlConfig::Page(page::Config {})
    }
}

/// What a translation layer does to the flash of a unit.
pub(crate) trait Flash {
    /// A valid page was moved within `unit`, from physical page `from` to `to`.
    fn moved(&mut self, unit: u32, from: u32, to: u32);
    /// An erased block was taken: the pages moved next, or else the page written, are the first in it.
    fn opened(&mut self) {}
    /// A collection in `unit` is over: `pages` pages were moved, then `victim` was erased.
    fn collected(&mut self, unit: u32, victim: u32, pages: u32);
}

/// Where a write went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    /// The physical page that takes the new version.
    pub(crate) ppn: u32,
    /// Unit and physical page of the version before it (now invalid, still readable until its block is erased).
    pub(crate) old: Option<(u32, u32)>,
}

/// Erase counts over all blocks of the drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Wear {
    /// Fewest erases of a block.
    pub min: u32,
    /// Mean over all blocks.
    pub mean: f64,
    /// Most erases of a block.
    pub max: u32,
    /// Standard deviation over all blocks.
    pub stddev: f64,
}

/// The translation layers: a closed enum, because it is asked for every page.
#[derive(Clone, Debug)]
pub(crate) enum Ftl {
    /// See [`PageFtl`].
    Page(Box<PageFtl>),
    /// See the module `direct`.
    Direct,
}

impl Ftl {
    pub(crate) fn new(config: &Config, geometry: &Geometry, shared_map: bool, seed: u64) -> Self {
        match config.ftl {
            FtlConfig::Page(_) => Ftl::Page(Box::new(PageFtl::new(config, geometry, shared_map, seed))),
            FtlConfig::Direct(_) => Ftl::Direct,
        }
    }

    /// The physical page, within `home.unit`, that holds the page.
    #[inline]
    pub(crate) fn lookup(&self, home: Home) -> Option<u32> {
        match self {
            Ftl::Page(page) => page.lookup(home),
            Ftl::Direct => Some(direct::ppn(home)),
        }
    }

    /// Reads what a write of the page will change, so that it is at hand then. Returns something that depends on it.
    #[inline]
    pub(crate) fn peek(&self, home: Home) -> u64 {
        match self {
            Ftl::Page(page) => page.peek(home),
            Ftl::Direct => 0,
        }
    }

    /// Gives the next version of the page a physical page in `home.unit`; `before` is where [`crate::alloc::Alloc`]
    /// located it until now.
    #[inline]
    pub(crate) fn write(
        &mut self,
        home: Home,
        before: Option<Home>,
        flash: &mut impl Flash,
    ) -> Result<Written, RunError> {
        match self {
            Ftl::Page(page) => page.write(home, before, flash),
            Ftl::Direct => Ok(Written { ppn: direct::ppn(home), old: Some((home.unit, direct::ppn(home))) }),
        }
    }

    /// Whether TRIM does anything: with direct translation every page keeps its data.
    pub(crate) fn forgets(&self) -> bool {
        !matches!(self, Ftl::Direct)
    }

    /// Forgets the page. Returns whether it was mapped.
    pub(crate) fn trim(&mut self, home: Home) -> bool {
        match self {
            Ftl::Page(page) => page.trim(home),
            Ftl::Direct => false,
        }
    }

    /// Whether the unit can take one more page for good.
    pub(crate) fn has_room(&self, unit: u32) -> bool {
        match self {
            Ftl::Page(page) => page.has_room(unit),
            Ftl::Direct => true,
        }
    }

    /// Erase counts since the drive was new.
    pub(crate) fn wear(&self) -> Wear {
        match self {
            Ftl::Page(page) => page.wear(),
            Ftl::Direct => Wear::default(),
        }
    }

    /// Erased blocks of a unit.
    pub(crate) fn free_blocks(&self, unit: u32) -> u64 {
        match self {
            Ftl::Page(page) => page.free_blocks(unit),
            Ftl::Direct => 0,
        }
    }

    /// A copy that shares its maps until one side writes them.
    pub(crate) fn snapshot(&mut self) -> Self {
        match self {
            Ftl::Page(page) => Ftl::Page(Box::new(page.snapshot())),
            Ftl::Direct => Ftl::Direct,
        }
    }
}
