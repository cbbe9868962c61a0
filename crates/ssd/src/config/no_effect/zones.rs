//! Settings of drives with zones that have no effect.

use super::NoEffect;
use crate::buffer::Replacement;
use crate::config::{Config, Precondition};
use crate::ftl::FtlConfig;
use crate::ftl::zones::{Config as Zones, Finish, Separate, ZoneMap};
use crate::gc::GcConfig;
use crate::quantity::Auto;
use crate::task::BackgroundConfig;
use crate::wear::WearConfig;

fn own(config: &mut Config, change: impl FnOnce(&mut Zones)) {
    if let FtlConfig::Zones(zones) = &mut config.ftl {
        change(zones);
    }
}

fn clear_log(zones: &mut Zones) {
    let default = Zones::default();
    (zones.separate, zones.handles, zones.log_unit) = (default.separate, default.handles, Auto(None));
}

fn clear_areas(zones: &mut Zones) {
    let default = Zones::default();
    (zones.zrwa_size, zones.zrwa_granularity, zones.zrwa_resources) =
        (default.zrwa_size, default.zrwa_granularity, default.zrwa_resources);
}

pub(super) const ZONES: [NoEffect; 9] = [
    NoEffect {
        keys: "ftl.separate, ftl.handles, ftl.log_unit, ftl.host=none",
        reason: "without the host's log nothing is mapped or kept apart",
        applies: |config| {
            let mut cleared = config.clone();
            own(&mut cleared, clear_log);
            config.ftl.is_zoned() && cleared.ftl != config.ftl
        },
        clear: |config| own(config, clear_log),
    },
    NoEffect {
        keys: "ftl.handles, ftl.separate",
        reason: "only ftl.separate=handles keeps handles apart",
        applies: |config| {
            config.ftl.zones().is_some_and(|zones| {
                zones.separate != Separate::Handles && zones.handles != Zones::default().handles
            })
        },
        clear: |config| own(config, |zones| zones.handles = Zones::default().handles),
    },
    NoEffect {
        keys: "ftl.finish, ftl.host=log",
        reason: "the host's log finishes no zone",
        applies: |config| {
            let own = config.ftl.zones().filter(|_| !config.ftl.is_zoned());
            own.is_some_and(|zones| zones.finish != Finish::default())
        },
        clear: |config| own(config, |zones| zones.finish = Finish::default()),
    },
    NoEffect {
        keys: "ftl.zone_map, ftl.host=log",
        reason: "the host's log chooses the zones that it writes",
        applies: |config| {
            let own = config.ftl.zones().filter(|_| !config.ftl.is_zoned());
            own.is_some_and(|zones| zones.zone_map != ZoneMap::default())
        },
        clear: |config| own(config, |zones| zones.zone_map = ZoneMap::default()),
    },
    NoEffect {
        keys: "ftl.zrwa_size, ftl.zrwa_granularity, ftl.zrwa_resources, ftl.host=log",
        reason: "the host's log writes at write pointers",
        applies: |config| {
            let mut cleared = config.clone();
            own(&mut cleared, clear_areas);
            !config.ftl.is_zoned() && cleared.ftl != config.ftl
        },
        clear: |config| own(config, clear_areas),
    },
    NoEffect {
        keys: "ftl.zrwa_granularity, ftl.zrwa_resources, ftl.zrwa_size=0",
        reason: "no zone has a random write area",
        applies: |config| {
            config.ftl.zones().is_some_and(|zones| {
                zones.zrwa_size.0 == 0
                    && (zones.zrwa_granularity.0.is_some() || zones.zrwa_resources.0.is_some())
            })
        },
        clear: |config| own(config, clear_areas),
    },
    NoEffect {
        keys: "gc.*, wear.*, background.collect, ftl.host=none",
        reason: "the drive collects nothing: its host resets zones",
        applies: |config| {
            config.ftl.is_zoned()
                && (config.gc != GcConfig::default()
                    || config.wear != WearConfig::default()
                    || config.background.collect != BackgroundConfig::default().collect)
        },
        clear: |config| {
            (config.gc, config.wear) = (GcConfig::default(), WearConfig::default());
            config.background.collect = BackgroundConfig::default().collect;
        },
    },
    NoEffect {
        keys: "precondition=steady or empty, ftl.host=none",
        reason: "full zones are as steady as can be, and behind a write pointer nothing was there before the run",
        applies: |config| {
            let same = matches!(config.precondition, Precondition::Steady | Precondition::Empty);
            config.ftl.is_zoned() && same
        },
        clear: |config| {
            let steady = config.precondition == Precondition::Steady;
            config.precondition = if steady { Precondition::Full } else { Precondition::OnRead };
        },
    },
    NoEffect {
        keys: "buffer.replacement, ftl.host=none",
        reason: "pages of a zone leave the buffer in the order of their addresses",
        applies: |config| config.ftl.is_zoned() && config.buffer.replacement != Replacement::default(),
        clear: |config| config.buffer.replacement = Replacement::default(),
    },
];
