//! Refusals about zones.

use flashweir_trace::SECTOR_BYTES;

use crate::config::{Config, Precondition};
use crate::error::ConfigError;
use crate::ftl::classifier::GroupCounts;
use crate::geometry::Geometry;
use crate::refusal::{ACTIVE_ZONES, RANDOM_WRITE_AREA};

/// Refuses random write areas that are no parts of zones, and a host's log with more open zones than may be active.
pub(super) fn check(config: &Config, geometry: &Geometry) -> Result<(), ConfigError> {
    check_areas(config, geometry)?;
    check_log(config, geometry)
}

fn check_areas(config: &Config, geometry: &Geometry) -> Result<(), ConfigError> {
    let Some(own) = config.ftl.zones().filter(|_| config.ftl.is_zoned()) else { return Ok(()) };
    let (size, page) = (own.zrwa_size.0, u64::from(geometry.page_sectors) * SECTOR_BYTES);
    if size == 0 {
        return Ok(());
    }
    let superblocks = config.alloc.superblocks(geometry)?;
    let shape = superblocks.as_ref().map(|superblocks| superblocks.shape(geometry));
    let zone = u64::from(shape.as_ref().unwrap_or(geometry).pages_per_block) * page;
    if size > zone || !size.is_multiple_of(page) {
        let expected =
            format!("expected whole pages of {page} bytes, at most {zone}, the capacity of a zone");
        return Err(RANDOM_WRITE_AREA.of_value("ftl.zrwa_size", size, expected));
    }
    let part = own.zrwa_granularity.0.map_or(page, |bytes| bytes.0);
    if part == 0 || !part.is_multiple_of(page) || !size.is_multiple_of(part) {
        let expected =
            format!("expected whole pages of {page} bytes, and a divisor of ftl.zrwa_size, {size}");
        return Err(RANDOM_WRITE_AREA.of_value("ftl.zrwa_granularity", part, expected));
    }
    Ok(())
}

fn check_log(config: &Config, geometry: &Geometry) -> Result<(), ConfigError> {
    let Some(own) = config.ftl.zones().filter(|_| !config.ftl.is_zoned()) else { return Ok(()) };
    let Some(most) = own.max_active.0 else { return Ok(()) };
    let sets = config.alloc.superblocks(geometry)?.map_or(geometry.units(), |superblocks| superblocks.sets());
    let upkeep = config.upkeep();
    let frontiers = upkeep.groups().map_or(upkeep.frontiers, GroupCounts::open_blocks);
    // Pages that were there before the run lie in a zone of their own.
    let laid = u32::from(config.precondition == Precondition::OnRead);
    if laid > 0 && config.units_per_page() > 1 {
        return Err(ACTIVE_ZONES.because(
            format!("ftl.max_active = {most}, ftl.log_unit, precondition=on-read"),
            "a zone of pages that were there before the run is left before it is full, and stays active: use \
                     precondition=full or empty",
        ));
    }
    let needed = sets.saturating_mul(frontiers + laid);
    if needed <= most {
        return Ok(());
    }
    let of_laid = if laid > 0 { ", one of them for precondition=on-read" } else { "" };
    Err(ACTIVE_ZONES.because(format!("ftl.max_active = {most}, ftl.host=log, ftl.separate"), format!(
            "the log writes {} zones at a time in each of {sets} sets of dies{of_laid}: expected at least {needed}, or fewer \
             sets (alloc.superblock_dies)",
            frontiers + laid
        )))
}
