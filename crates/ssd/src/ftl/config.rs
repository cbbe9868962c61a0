//! The translation layers as the configuration names them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{dftl, direct, log, page, zones};

/// Translation of logical pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FtlConfig {
    /// A full page map, collected by `gc.victim`.
    Page(page::Config),
    /// The logical page number is the physical one: no map, no collection. For workloads of physical addresses.
    Direct(direct::Config),
    /// A block map and a page-mapped log written in FIFO order; every collection merges in full.
    LogBlock(log::log_block::Config),
    /// DFTL: a page map on flash, of which the entries used last are in RAM.
    Dftl(dftl::Config),
    /// FAST: a block map, one log block for sequential writes, the others for random ones.
    Fast(log::fast::Config),
    /// BAST: a block map, and a log block of its own for each data block that is overwritten, as long as there are enough.
    Bast(log::bast::Config),
    /// KAST: FAST whose log blocks for random writes are shared by a limited number of data blocks each.
    Kast(log::kast::Config),
    /// Zones, with a host that writes them: no map of pages in the drive, and no collection by it.
    Zones(zones::Config),
}

impl Default for FtlConfig {
    fn default() -> Self {
        FtlConfig::Page(page::Config::default())
    }
}

impl FtlConfig {
    /// Blocks that a unit has besides data blocks, log blocks for random writes and the one kept erased; `None` if it maps pages.
    pub(crate) fn blocks_besides_log(&self) -> Option<u64> {
        match self {
            FtlConfig::Page(_) | FtlConfig::Direct(_) | FtlConfig::Dftl(_) | FtlConfig::Zones(_) => None,
            FtlConfig::LogBlock(_) | FtlConfig::Bast(_) => Some(0),
            FtlConfig::Fast(_) | FtlConfig::Kast(_) => Some(1),
        }
    }

    /// True if the map lies on flash.
    pub(crate) fn has_map_on_flash(&self) -> bool {
        matches!(self, FtlConfig::Dftl(_))
    }

    /// True if zones get their dies when they are written.
    pub(crate) fn maps_zones_dynamically(&self) -> bool {
        self.is_zoned() && self.zones().is_some_and(|zones| zones.zone_map == zones::ZoneMap::Dynamic)
    }

    /// The zones of the drive, if it has any.
    pub(crate) fn zones(&self) -> Option<&zones::Config> {
        if let FtlConfig::Zones(own) = self { Some(own) } else { None }
    }

    /// True if requests are commands to zones, without a layer of the host between.
    pub(crate) fn is_zoned(&self) -> bool {
        self.zones().is_some_and(|own| own.host == zones::Host::None)
    }

    /// True if blocks are mapped, with a log beside them.
    pub(crate) fn maps_blocks(&self) -> bool {
        self.blocks_besides_log().is_some()
    }
}
