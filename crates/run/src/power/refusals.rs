//! Drives whose power can't be cut, with the reason and a drive that would do.

use flashweir_ssd::{Config, ConfigError, FtlConfig, Geometry};

/// Physical pages that lists of images can number.
const MAX_PAGES: u64 = u32::MAX as u64 - 1;

/// Refuses power cuts where what is on flash says nothing.
pub(super) fn check(config: &Config, geometry: &Geometry) -> Result<(), ConfigError> {
    let refuse = |keys: &str, reason: &str| {
        Err(ConfigError::Refused { keys: format!("power cuts, {keys}"), reason: reason.into() })
    };
    if matches!(config.ftl, FtlConfig::Direct(_)) {
        return refuse(
            "ftl.kind=direct",
            "pages are overwritten in place, and there is no map to rebuild: use ftl.kind=page",
        );
    }
    if geometry.physical_pages() > MAX_PAGES {
        return refuse(
            "capacity",
            "at most 2^32 - 2 pages of flash can be kept track of: use a smaller drive, or larger pages",
        );
    }
    Ok(())
}
