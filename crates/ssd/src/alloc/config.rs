//! `alloc.*`: kinds of allocation, and what the rest of the configuration has to know of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Superblocks, dynamic, in_sets, striped, superblock};
use crate::error::ConfigError;
use crate::geometry::Geometry;
use crate::tenants::Placing;

/// Parallel unit of a logical page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum AllocConfig {
    /// By the digits of the logical page number (static allocation); with `tenants.channels` over those of the tenant's group.
    Striped(striped::Config),
    /// To whichever channel is idle (SSDsim's dynamic allocation). Needs events.
    Dynamic(dynamic::Config),
    /// To idle channels of the tenant's group if that mostly writes, by the logical page number over them if it mostly
    /// reads (SSD-keeper's hybrid page allocator). Needs events, and `tenants.channels`.
    Hybrid(in_sets::Config),
    /// In turn over the dies of an open superblock: a block of each of a set of dies, written, collected and erased as one.
    Superblock(superblock::Config),
}

impl Default for AllocConfig {
    fn default() -> Self {
        AllocConfig::Striped(striped::Config::default())
    }
}

impl AllocConfig {
    /// Dynamic allocation without settings.
    pub(crate) fn dynamic() -> Self {
        AllocConfig::Dynamic(dynamic::Config::default())
    }

    /// Static allocation to the places that filling the drive in order gives, on channels of so many chips, dies and planes.
    pub(crate) fn filled(&self, [chips, dies, planes]: [u32; 3]) -> Self {
        let chips_matter = chips > 1 && dies * planes > 1;
        match self {
            AllocConfig::Dynamic(_) | AllocConfig::Hybrid(_) if chips_matter => {
                AllocConfig::Striped(striped::Config { order: striped::Order::Cwdp })
            }
            AllocConfig::Dynamic(_) | AllocConfig::Hybrid(_) => Self::default(),
            own => own.clone(),
        }
    }

    /// Why the policy can't do with busy-until times, if it can't.
    pub(crate) fn needs_events(&self, by_tenant: bool) -> Option<&'static str> {
        match self {
            AllocConfig::Striped(_) if by_tenant => {
                Some("a page for which the channels of its tenant have no room waits for an idle one")
            }
            AllocConfig::Striped(_) | AllocConfig::Superblock(_) => None,
            AllocConfig::Dynamic(_) | AllocConfig::Hybrid(_) => {
                Some("dynamic allocation waits for an idle channel")
            }
        }
    }

    /// Key that has no effect on this geometry, with the reason: another order or mode than the default gives the same
    /// placement.
    pub(crate) fn inert_on(&self, geometry: &Geometry) -> Option<(&'static str, String)> {
        match self {
            AllocConfig::Striped(config) => striped::inert_on(config, geometry),
            AllocConfig::Dynamic(config) => dynamic::inert_on(config, geometry),
            AllocConfig::Hybrid(_) => None,
            AllocConfig::Superblock(config) => superblock::inert_on(config, geometry),
        }
    }

    /// The superblocks of a drive, if it has any.
    pub(crate) fn superblocks(&self, geometry: &Geometry) -> Result<Option<Superblocks>, ConfigError> {
        let AllocConfig::Superblock(config) = self else { return Ok(None) };
        Superblocks::new(config, geometry).map(Some)
    }

    /// Data pages for each page of parity; 0 without.
    pub(crate) fn parity(&self) -> u32 {
        if let AllocConfig::Superblock(config) = self { config.parity } else { 0 }
    }

    /// True if pages go to superblocks.
    pub fn has_superblocks(&self) -> bool {
        matches!(self, AllocConfig::Superblock(_))
    }

    /// True if one superblock spans all of so many dies.
    pub(crate) fn is_one_set_of(&self, dies: u32) -> bool {
        matches!(self, AllocConfig::Superblock(own) if own.superblock_dies.0.is_none_or(|of_set| of_set == dies))
    }

    /// True if pages are bound to a unit when they are dispatched, `by_tenant` if that depends on whose they are.
    pub(crate) fn binds_late(&self, by_tenant: bool) -> bool {
        match self {
            AllocConfig::Striped(_) => by_tenant,
            AllocConfig::Dynamic(_) | AllocConfig::Hybrid(_) => true,
            AllocConfig::Superblock(_) => false,
        }
    }

    /// Placement of pages on the channels of their tenant's group.
    pub(crate) fn placing(&self) -> Placing {
        match self {
            AllocConfig::Striped(_) => Placing::Address,
            AllocConfig::Hybrid(_) => Placing::Hybrid,
            AllocConfig::Dynamic(_) | AllocConfig::Superblock(_) => Placing::Dynamic,
        }
    }
}
