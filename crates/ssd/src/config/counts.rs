//! Counts of a drive that have to fit each other.

use flashweir_trace::SECTOR_BYTES;

use super::{Config, bounds};
use crate::error::ConfigError;
use crate::geometry::MAX_PAGE_SECTORS;
use crate::refusal::{BOUND_PAGE, MAP_UNIT, NO_PAGE};

/// Most over-provisioning, as a share of logical, and of raw.
pub(super) const MAX_OP_RATIO: f64 = 100.0;
pub(super) const MAX_OP_RAW: f64 = 0.99;

/// Pages of a unit in a mapping unit.
const MAX_MAPPED_PAGES: u64 = 64;

/// Refuses a mapping unit that neither divides the page of a unit nor is some of them.
fn check_map_unit(config: &Config) -> Result<(), ConfigError> {
    let Some(unit) = config.ftl.map_unit() else { return Ok(()) };
    let (page, of_unit) = (config.page.0, config.page.0 * u64::from(config.bound_pages()));
    let divides = |part: u64, whole: u64| part > 0 && whole.is_multiple_of(part);
    let planes = page * u64::from(config.bound_planes());
    let parts = [page, planes, of_unit];
    // Parts of a page, pages side by side on one channel, whole channels side by side.
    let fits =
        (0..3).any(|level| divides(unit, parts[level]) && (level == 0 || divides(parts[level - 1], unit)));
    let pages = unit / of_unit;
    let block = u64::from(config.pages_per_block);
    let large = divides(of_unit, unit) && pages <= MAX_MAPPED_PAGES && divides(pages, block);
    let most = u64::from(MAX_PAGE_SECTORS) * SECTOR_BYTES;
    if (fits || large) && unit.is_multiple_of(SECTOR_BYTES) && unit <= most {
        return Ok(());
    }
    let expected = format!(
        "expected a multiple of 512 bytes that divides the page of {of_unit} bytes, or up to {MAX_MAPPED_PAGES} such pages, \
             at most {}KiB, of which blocks of {block} pages hold a whole number",
        most >> 10
    );
    Err(MAP_UNIT.of_value("ftl.map_unit", unit, expected))
}

/// Refuses counts that are out of range, or do not fit each other. Returns the sectors of a page.
pub(super) fn check_counts(config: &Config) -> Result<u32, ConfigError> {
    bounds::check_counts(&[
        ("channels", config.channels.into()),
        ("chips", config.chips.into()),
        ("dies", config.dies.into()),
        ("planes", config.planes.into()),
        ("page", config.page.0),
        ("pages_per_block", config.pages_per_block.into()),
        ("capacity", config.capacity.0),
        ("gc.free_blocks", config.gc.free_blocks.of(0).into()),
    ])?;
    let page = config.page.0;
    let bound = u64::from(config.bound_pages());
    let most = u64::from(MAX_PAGE_SECTORS) * SECTOR_BYTES;
    if page * bound > most {
        return Err(BOUND_PAGE.because(
            format!("units, planes_bound: {bound} pages of {page} bytes bound"),
            format!("a page of a unit is at most {}KiB: bind fewer, or use smaller pages", most >> 10),
        ));
    }
    check_map_unit(config)?;
    if let (Some(blocks), 0) = (config.blocks_per_unit.0, config.capacity.0) {
        let (key, share) = (config.share().key(), config.share().value());
        return Err(NO_PAGE.because(
            format!("blocks_per_unit = {blocks}, {key} = {share}"),
            format!("these blocks have no page for data: expected more of them, or a smaller {key}"),
        ));
    }
    if config.capacity.0 < page {
        let expected = format!("expected at least one page of {page} bytes");
        return Err(NO_PAGE.of_value("capacity", config.capacity.0, expected));
    }
    Ok((page / SECTOR_BYTES) as u32)
}
