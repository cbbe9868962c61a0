//! Combinations that make no sense where tenants get channels of their own.

use super::Refusal;
use crate::config::Config;
use crate::error::ConfigError;
use crate::geometry::Geometry;

pub(super) const TENANTS: [Refusal; 1] = [Refusal {
    keys: "tenants.channels, alloc.kind=striped or superblock",
    reason: "the address says which dies a page goes to: use alloc.kind=dynamic or hybrid",
    applies: |config| config.tenants.are_on() && !config.alloc.binds_late(),
}];

/// Checks that depend on the geometry or on the choice of windows.
pub(super) fn check(config: &Config, geometry: &Geometry) -> Result<(), ConfigError> {
    let refuse = |keys: String, reason: &str| Err(ConfigError::Refused { keys, reason: reason.into() });
    let own = &config.tenants;
    if !own.are_on() {
        return Ok(());
    }
    if geometry.channels == 1 {
        return refuse(
            "tenants.channels, channels=1".into(),
            "there is one channel, so there is nothing to choose",
        );
    }
    if own.min_channels > config.channels {
        let keys = format!("tenants.min_channels = {}, channels = {}", own.min_channels, config.channels);
        return refuse(keys, "a group can't have more channels than there are");
    }
    Ok(())
}
