//! Refusals about tenants: channels of their own, and windows of requests.

use super::Row;
use crate::config::Config;
use crate::error::ConfigError;
use crate::host::{Arbitration, HostMode};
use crate::refusal::{Refusal, TOO_FEW_CHANNELS};

pub(super) static TENANTS: [Row; 2] = [
    Row {
        refusal: Refusal::new(
            "tenants.channels, alloc.kind=striped or superblock",
            "the address says which dies a page goes to: use alloc.kind=dynamic or hybrid",
        ),
        applies: |config: &Config| config.tenants.are_on() && !config.alloc.binds_late(),
    },
    Row {
        refusal: Refusal::new(
            "host.arbitration, host.iops_limit, host.bytes_limit, host.mode=closed, tenants.applies=same or \
             tenants.channels=look-ahead",
            "whose request comes next depends on what those before cost, or on when limits let it pass, but a window is held \
             back until it is complete: use host.mode=open, or arbitration (and with limits arrival) that asks for neither",
        ),
        applies: |config: &Config| {
            let asks = match config.host.arbitration {
                Arbitration::Fair => true,
                Arbitration::Arrival => false,
                _ => config.host.has_limits(),
            };
            matches!(config.host.mode, HostMode::Closed(_)) && asks && config.tenants.holds_back()
        },
    },
];

/// A group has no more channels than there are.
pub(super) fn check(config: &Config) -> Result<(), ConfigError> {
    let own = &config.tenants;
    if own.are_on() && own.min_channels > config.channels {
        let keys = format!("tenants.min_channels = {}, channels = {}", own.min_channels, config.channels);
        return Err(TOO_FEW_CHANNELS.because(keys, "a group can't have more channels than there are"));
    }
    Ok(())
}
