//! The one table of combinations that make no sense, each with its reason. A setting at its default never refuses.

mod flash;
mod host;
mod managed;
mod slc;
mod superblocks;
mod tenants;
mod zones;

use super::{Config, Engine, bounds};
use crate::error::ConfigError;
use crate::ftl::FtlConfig;
use crate::ftl::dftl::CACHED_ENTRY_BYTES;
use crate::geometry::Geometry;
use crate::nand::Transfer;

/// A combination that is refused.
#[derive(Clone, Copy, Debug)]
pub struct Refusal {
    /// The keys that do not go together.
    pub keys: &'static str,
    /// Why.
    pub reason: &'static str,
    applies: fn(&Config) -> bool,
}

/// All refusals across slots that need no geometry.
pub fn all() -> impl Iterator<Item = &'static Refusal> {
    let all = REFUSALS.iter().chain(&superblocks::SUPERBLOCKS).chain(&managed::MANAGED);
    all.chain(&tenants::TENANTS).chain(&host::HOST).chain(&flash::FLASH).chain(&slc::SLC)
}

const REFUSALS: [Refusal; 5] = [
    Refusal {
        keys: "buffer.low_mark, buffer.high_mark",
        reason: "pages leave the buffer from the high mark on, down to the low one: expected low_mark below high_mark",
        applies: |config| config.buffer.destage.marks_cross(),
    },
    Refusal {
        keys: "buffer.free_below, gc.free_blocks",
        reason: "writes are held back from the first on, and most at the second: expected buffer.free_below above gc.free_blocks",
        applies: |config| {
            config.buffer.backpressure.free_below().is_some_and(|below| below <= config.gc.free_blocks)
        },
    },
    Refusal {
        keys: "nand.codeword",
        reason: "expected a size that divides `page`, and `ftl.map_unit` if that is smaller",
        applies: |config| {
            let codeword = config.nand.codeword.0;
            let unit = config.ftl.map_unit().unwrap_or(config.page.0);
            let divides = [config.page.0, unit].iter().all(|size| size.is_multiple_of(codeword));
            config.nand.transfer == Transfer::Codeword && !divides
        },
    },
    Refusal {
        keys: "ftl.kind=direct, alloc.kind=dynamic or hybrid",
        reason: "a physical address names its unit, so there is nothing to allocate",
        applies: |config| matches!(config.ftl, FtlConfig::Direct(_)) && config.alloc.binds_late(),
    },
    Refusal {
        keys: "ftl.kind=zones, alloc.kind=dynamic or hybrid",
        reason: "a zone has its dies, and pages of it go nowhere else: use alloc.kind=superblock or striped",
        applies: |config| config.ftl.zones().is_some() && config.alloc.binds_late(),
    },
];

/// Says why a configuration can't be simulated, if it can't.
pub fn check(config: &Config) -> Result<(), ConfigError> {
    bounds::check(config)?;
    for refusal in all() {
        if (refusal.applies)(config) {
            return Err(ConfigError::Refused { keys: refusal.keys.into(), reason: refusal.reason.into() });
        }
    }
    let geometry = Geometry::new(config)?;
    check_maps(config, &geometry)?;
    zones::check(config, &geometry)?;
    tenants::check(config, &geometry)?;
    if config.engine == Engine::BusyUntil
        && let Some(reason) = config.needs_events()
    {
        let reason = format!("{reason}: use engine=auto or engine=event");
        return Err(ConfigError::Refused { keys: "engine=busy-until".into(), reason });
    }
    Ok(())
}

/// A cache of the map holds an entry, and a map of all units has room for all pages.
fn check_maps(config: &Config, geometry: &Geometry) -> Result<(), ConfigError> {
    let is_shared = config.alloc.binds_late();
    let caches = if is_shared { 1 } else { geometry.units() };
    if let FtlConfig::Dftl(dftl) = &config.ftl
        && dftl.entries(caches) == 0
    {
        let least = CACHED_ENTRY_BYTES * u64::from(caches);
        let who = if is_shared { "the drive".into() } else { format!("each of the {caches} units") };
        let reason =
            format!("{who} caches entries of {CACHED_ENTRY_BYTES} bytes, at least one: use at least {least}");
        return Err(ConfigError::Refused {
            keys: format!("ftl.cache_bytes = {}", dftl.cache_bytes.0),
            reason,
        });
    }
    let of_map = if config.ftl.has_map_on_flash() {
        geometry.logical_pages.div_ceil(geometry.entries_per_translation_page())
    } else {
        0
    };
    let pages = geometry.logical_pages + of_map;
    if is_shared && pages >= u64::from(u32::MAX) {
        let reason = format!("one map serves all units and holds 2^32 - 2 pages, not {pages}");
        return Err(ConfigError::Refused { keys: "alloc.kind=dynamic or hybrid, capacity".into(), reason });
    }
    Ok(())
}
