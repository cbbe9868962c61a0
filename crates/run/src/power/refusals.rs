//! Drives whose power can't be cut, with the reason and a drive that would do.

use flashweir_ssd::{Config, ConfigError, FtlConfig, Geometry, TOO_MANY_PAGES};

use crate::refusals::IN_PLACE;

/// Physical pages that lists of images can number.
const MAX_PAGES: u64 = u32::MAX as u64 - 1;

/// Refuses power cuts where what is on flash says nothing.
pub(super) fn check(config: &Config, geometry: &Geometry) -> Result<(), ConfigError> {
    if matches!(config.ftl, FtlConfig::Direct(_)) {
        return Err(IN_PLACE.because("power cuts, ftl.kind=direct", IN_PLACE.reason));
    }
    if geometry.physical_pages() > MAX_PAGES {
        let reason =
            "at most 2^32 - 2 pages of flash can be kept track of: use a smaller drive, or larger pages";
        return Err(TOO_MANY_PAGES.because("power cuts, capacity", reason));
    }
    Ok(())
}
