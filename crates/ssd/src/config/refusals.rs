//! The one table of combinations that make no sense, each with its reason. A setting at its default never refuses.

mod flash;
mod places;
mod retire;
mod slc;
mod tenants;
mod zones;

use super::{Config, Engine, bounds};
use crate::error::ConfigError;
use crate::ftl::FtlConfig;
use crate::ftl::dftl::CACHED_ENTRY_BYTES;
use crate::geometry::Geometry;
use crate::nand::Transfer;
use crate::refusal::{EXACT_TIMES, NO_CACHED_ENTRY, Refusal, SHAPE, TOO_MANY_PAGES};

/// A rule that the configuration alone breaks or keeps.
struct Row {
    refusal: Refusal,
    applies: fn(&Config) -> bool,
}

/// The rules that need nothing but the configuration, in the order in which they are checked.
pub fn table() -> impl Iterator<Item = &'static Refusal> {
    rows().map(|row| &row.refusal)
}

/// All rules by which the configuration of a drive is refused.
pub fn all() -> impl Iterator<Item = &'static Refusal> {
    table().chain(SHAPE)
}

fn rows() -> impl Iterator<Item = &'static Row> {
    let all = ROWS.iter().chain(&places::PLACES);
    all.chain(&tenants::TENANTS).chain(&flash::FLASH).chain(&slc::SLC).chain(&retire::RETIRE)
}

static ROWS: [Row; 3] = [
    Row {
        refusal: Refusal::new(
            "buffer.low_mark, buffer.high_mark",
            "pages leave the buffer from the high mark on, down to the low one: expected low_mark below high_mark",
        ),
        applies: |config| config.buffer.destage.marks_cross(),
    },
    Row {
        refusal: Refusal::new(
            "buffer.free_below, gc.free_blocks",
            "writes are held back from the first on, and most at the second: expected buffer.free_below above gc.free_blocks",
        ),
        applies: |config| {
            let below = config.buffer.backpressure.free_below();
            below.is_some_and(|below| Geometry::kept_blocks(config).is_some_and(|kept| below <= kept))
        },
    },
    Row {
        refusal: Refusal::new(
            "nand.codeword",
            "expected a size that divides `page`, and `ftl.map_unit` if that is smaller",
        ),
        applies: |config| {
            let codeword = config.nand.codeword.0;
            let unit = config.ftl.map_unit().unwrap_or(config.page.0);
            let divides = [config.page.0, unit].iter().all(|size| size.is_multiple_of(codeword));
            config.nand.transfer == Transfer::Codeword && !divides
        },
    },
];

/// Says why a configuration can't be simulated, if it can't.
pub fn check(config: &Config) -> Result<(), ConfigError> {
    bounds::check(config)?;
    if let Some(row) = rows().find(|row| (row.applies)(config)) {
        return Err(row.refusal.refuse());
    }
    let geometry = Geometry::new(config)?;
    check_maps(config, &geometry)?;
    zones::check(config, &geometry)?;
    tenants::check(config)?;
    if config.engine == Engine::BusyUntil
        && let Some(reason) = config.needs_events()
    {
        let reason = format!("{reason}: use engine=auto or engine=event");
        return Err(EXACT_TIMES.because(EXACT_TIMES.keys, reason));
    }
    Ok(())
}

/// A cache of the map holds an entry, and a map of all units has room for all pages.
fn check_maps(config: &Config, geometry: &Geometry) -> Result<(), ConfigError> {
    let is_shared = config.binds_late();
    let caches = if is_shared { 1 } else { geometry.units() };
    if let FtlConfig::Dftl(dftl) = &config.ftl
        && dftl.entries(caches) == 0
    {
        let least = CACHED_ENTRY_BYTES * u64::from(caches);
        let who = if is_shared { "the drive".into() } else { format!("each of the {caches} units") };
        let reason =
            format!("{who} caches entries of {CACHED_ENTRY_BYTES} bytes, at least one: use at least {least}");
        let keys = format!("ftl.cache_bytes = {}", dftl.cache_bytes.0);
        return Err(NO_CACHED_ENTRY.because(keys, reason));
    }
    let of_map = if config.ftl.has_map_on_flash() {
        geometry.logical_pages.div_ceil(geometry.entries_per_translation_page())
    } else {
        0
    };
    let pages = geometry.logical_pages + of_map;
    if is_shared && pages >= u64::from(u32::MAX) {
        let reason = format!("one map serves all units and holds 2^32 - 2 pages, not {pages}");
        return Err(TOO_MANY_PAGES.because("alloc.kind=dynamic or hybrid, capacity", reason));
    }
    Ok(())
}
