//! Drives whose power can't be cut, with the reason and a drive that would do.

use flashweir_ssd::{Arbitration, Config, ConfigError, FtlConfig, Geometry};

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
    if config.interface_reorders() {
        let reason = "writes may reach the drive in another order than they were issued in, which says what is older: \
                      use host.arbitration=arrival, host.doorbell=1, firmware.cores=1 and firmware.hmb_bytes=0";
        return refuse("host.arbitration, host.doorbell, firmware.cores or firmware.hmb_bytes", reason);
    }
    if config.host.slots().is_some() && config.host.arbitration != Arbitration::Arrival {
        let reason = "writes then reach the drive in another order than they were issued in, which says what is older: \
                      use host.arbitration=arrival";
        return refuse("host.slots, host.arbitration", reason);
    }
    if config.limits_reorder() {
        let reason = "a write that waits for the limit of its tenant is passed by later ones of others, which says what is older: \
                      use host.mode=closed with host.arbitration=arrival, or no limits";
        return refuse("host.iops_limit or host.bytes_limit, host.mode=open or host.arbitration", reason);
    }
    if geometry.physical_pages() > MAX_PAGES {
        return refuse(
            "capacity",
            "at most 2^32 - 2 pages of flash can be kept track of: use a smaller drive, or larger pages",
        );
    }
    Ok(())
}
