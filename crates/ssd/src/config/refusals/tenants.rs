//! Refusals about tenants: channels of their own.

use super::Row;
use crate::config::Config;
use crate::error::ConfigError;
use crate::refusal::{Refusal, TOO_FEW_CHANNELS};

pub(super) static TENANTS: [Row; 1] = [Row {
    refusal: Refusal::new(
        "tenants.channels, alloc.kind=superblock",
        "the pages of a superblock lie on all of its dies, whoever wrote them, so no tenant's can be kept to some channels",
    ),
    applies: |config: &Config| config.tenants.are_on() && config.alloc.has_superblocks(),
}];

/// A group has no more channels than there are.
pub(super) fn check(config: &Config) -> Result<(), ConfigError> {
    let own = &config.tenants;
    if own.are_on() && own.min_channels > config.channels {
        let keys = format!("tenants.min_channels = {}, channels = {}", own.min_channels, config.channels);
        return Err(TOO_FEW_CHANNELS.because(keys, "a group can't have more channels than there are"));
    }
    Ok(())
}
