//! Combinations that make no sense where tenants get channels of their own.

use super::Refusal;
use crate::alloc::AllocConfig;
use crate::config::Config;
use crate::error::ConfigError;
use crate::geometry::Geometry;
use crate::tenants::Turns;

pub(super) const TENANTS: [Refusal; 5] = [
    Refusal {
        keys: "tenants.channels, alloc.kind=striped or superblock",
        reason: "the address says which dies a page goes to: use alloc.kind=dynamic or hybrid",
        applies: |config| config.tenants.are_on() && !config.alloc.binds_late(),
    },
    Refusal {
        keys: "alloc.kind=hybrid, tenants.channels=all",
        reason: "it tells groups that read from groups that write, and there are none: set tenants.channels, or use \
                 alloc.kind=dynamic or striped",
        applies: |config| matches!(config.alloc, AllocConfig::Hybrid(_)) && !config.tenants.are_on(),
    },
    Refusal {
        keys: "tenants.channels, alloc.mode=1",
        reason: "mode 1 fixes the channel of every page: use alloc.mode=0",
        applies: |config| {
            config.tenants.are_on()
                && matches!(&config.alloc, AllocConfig::Dynamic(dynamic) if dynamic.mode == 1)
        },
    },
    Refusal {
        keys: "tenants.window_time",
        reason: "expected at least 1ns",
        applies: |config| config.tenants.window_time.0 == 0,
    },
    Refusal {
        keys: "tenants.turns=shortest, tenants.channels=look-ahead",
        reason: "it tries both orders for each window: leave it at arrival",
        applies: |config| config.tenants.turns == Turns::Shortest && config.tenants.looks_ahead().is_some(),
    },
];

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
