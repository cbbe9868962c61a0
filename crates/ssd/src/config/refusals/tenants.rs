//! Combinations that make no sense where tenants get channels of their own.

use super::Refusal;
use crate::alloc::AllocConfig;
use crate::config::{Config, Precondition};
use crate::error::ConfigError;
use crate::geometry::Geometry;
use crate::host::HostMode;
use crate::tenants::{Applies, ChannelsConfig, TenantsConfig, Turns};

pub(super) const TENANTS: [Refusal; 16] = [
    Refusal {
        keys: "tenants.channels, alloc.kind=striped",
        reason: "static allocation computes the channel of every page: use alloc.kind=dynamic or hybrid",
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
        keys: "tenants.window_requests",
        reason: "expected 1 to 100000000 requests",
        applies: |config| !(1..=100_000_000).contains(&config.tenants.window_requests),
    },
    Refusal {
        keys: "tenants.window_time, tenants.level_requests, tenants.min_channels",
        reason: "expected at least 1",
        applies: |config| {
            let TenantsConfig { window_time, level_requests, min_channels, .. } = config.tenants;
            window_time.0 == 0 || level_requests == 0 || min_channels == 0
        },
    },
    Refusal {
        keys: "tenants.min_channels, tenants.channels",
        reason: "only partially-isolated and ssdkeeper keep channels for a group: leave it at 1",
        applies: |config| config.tenants.min_channels != 1 && !config.tenants.keeps_channels(),
    },
    Refusal {
        keys: "tenants.applies=same, tenants.channels",
        reason: "look-ahead knows the requests of its windows anyhow, and without windows there is nothing to hold back: leave \
                 it at next",
        applies: |config| {
            let TenantsConfig { channels, applies, .. } = &config.tenants;
            *applies == Applies::Same
                && matches!(channels, ChannelsConfig::All(_) | ChannelsConfig::LookAhead(_))
        },
    },
    Refusal {
        keys: "tenants.applies=same, tenants.channels=shared or isolated, alloc.kind=dynamic",
        reason: "what they give does not depend on the window: leave it at next, or use alloc.kind=hybrid",
        applies: |config| {
            let fixed =
                matches!(config.tenants.channels, ChannelsConfig::Shared(_) | ChannelsConfig::Isolated(_));
            config.tenants.applies == Applies::Same
                && fixed
                && !matches!(config.alloc, AllocConfig::Hybrid(_))
        },
    },
    Refusal {
        keys: "tenants.turns=shortest or shortest-fair, alloc.kind=striped or buffer.bytes",
        reason: "pages only wait for a channel under dynamic allocation without a buffer: set alloc.kind=dynamic or hybrid, and \
                 leave the buffer out",
        applies: |config| {
            config.tenants.turns != Turns::Arrival
                && (!config.alloc.binds_late() || config.buffer.bytes.0 > 0)
        },
    },
    Refusal {
        keys: "tenants.turns=shortest or shortest-fair, host.queue_depth=1 or host.slots=1",
        reason: "with one request at a time there is nothing to choose from: raise the queue depth, or set host.mode=open",
        applies: |config| config.tenants.turns != Turns::Arrival && config.is_one_at_a_time(),
    },
    Refusal {
        keys: "tenants.turns=shortest, tenants.channels=look-ahead",
        reason: "it tries both orders for each window: leave it at arrival",
        applies: |config| config.tenants.turns == Turns::Shortest && config.tenants.looks_ahead().is_some(),
    },
    Refusal {
        keys: "tenants.most_slowed",
        reason: "expected 0 to 1",
        applies: |config| !(0.0..=1.0).contains(&config.tenants.most_slowed),
    },
    Refusal {
        keys: "tenants.most_slowed, tenants.turns",
        reason: "only turns=shortest-fair, or an allocator that says so, heeds it: set that, or leave it at 0.05",
        applies: |config| {
            config.tenants.most_slowed.to_bits() != TenantsConfig::default().most_slowed.to_bits()
                && config.tenants.turns != Turns::ShortestFair
                && !config.tenants.is_external()
        },
    },
    Refusal {
        keys: "tenants.depth",
        reason: "expected 1 window, or 2",
        applies: |config| config.tenants.looks_ahead().is_some_and(|depth| !(1..=2).contains(&depth)),
    },
    Refusal {
        keys: "tenants.dominant_share, tenants.most_groups",
        reason: "expected a share of 0 to 1, and 2 to 65535 groups",
        applies: |config| match &config.tenants.channels {
            ChannelsConfig::Ssdkeeper(own) => {
                !(0.0..=1.0).contains(&own.dominant_share) || !(2..=65_535).contains(&own.most_groups)
            }
            _ => false,
        },
    },
    Refusal {
        keys: "alloc.kind=hybrid, tenants.channels=shared, partially-isolated or ssdkeeper, precondition",
        reason: "their groups are of reads or of writes, and those of reads only place what is read before it is written: use \
                 precondition=on-read, or alloc.kind=dynamic",
        applies: |config| {
            let by_type = matches!(
                config.tenants.channels,
                ChannelsConfig::Shared(_)
                    | ChannelsConfig::PartiallyIsolated(_)
                    | ChannelsConfig::Ssdkeeper(_)
            );
            by_type
                && matches!(config.alloc, AllocConfig::Hybrid(_))
                && config.precondition != Precondition::OnRead
        },
    },
];

/// What only the geometry, or a choice of windows, can tell.
pub(super) fn check(config: &Config, geometry: &Geometry) -> Result<(), ConfigError> {
    let refuse = |keys: String, reason: &str| Err(ConfigError::Refused { keys, reason: reason.into() });
    let (own, default) = (&config.tenants, TenantsConfig::default());
    if !own.are_on() {
        let windows =
            |config: &TenantsConfig| (config.window_requests, config.window_time, config.level_requests);
        if windows(own) != windows(&default) {
            let keys = "tenants.window_requests, tenants.window_time, tenants.level_requests".into();
            return refuse(keys, "without an allocator there are no windows: set tenants.channels");
        }
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
    if own.window_time != default.window_time && !matches!(config.host.mode, HostMode::Open(_)) {
        return refuse(
            "tenants.window_time".into(),
            "in a closed loop the times of the workload mean nothing, and windows end by requests: set host.mode=open",
        );
    }
    Ok(())
}
