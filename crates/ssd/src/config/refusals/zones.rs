//! Refusals about zones.

use crate::config::{Config, Precondition};
use crate::error::ConfigError;
use crate::ftl::classifier::GroupCounts;
use crate::geometry::Geometry;
use crate::refusal::ACTIVE_ZONES;

/// Refuses a host's log with more open zones than may be active.
pub(super) fn check(config: &Config, geometry: &Geometry) -> Result<(), ConfigError> {
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
