//! Settings of work in the background that have no effect.

use super::{NoEffect, is_direct};
use crate::buffer::{Ack, BackpressureConfig, DestageConfig};
use crate::config::Config;
use crate::ftl::FtlConfig;
use crate::task::{BackgroundConfig, Kind};

pub(super) const TABLE: [NoEffect; 11] = [
    NoEffect {
        keys: "background.collect.until, background.collect.after=none",
        reason: "no idle unit collects",
        applies: |config| {
            let (own, default) = (&config.background.collect, BackgroundConfig::default().collect);
            own.after.0.is_none() && own.until != default.until
        },
        clear: |config| config.background.collect.until = BackgroundConfig::default().collect.until,
    },
    NoEffect {
        keys: "background.collect.pace, background.collect.should_below=0",
        reason: "no unit collects between the commands of others",
        applies: |config| {
            let (own, default) = (&config.background.collect, BackgroundConfig::default().collect);
            own.should_below == 0 && own.pace != default.pace
        },
        clear: |config| config.background.collect.pace = BackgroundConfig::default().collect.pace,
    },
    NoEffect {
        keys: "background.level.after, wear.static_gap=0",
        reason: "no gap of wear is too large",
        applies: |config| config.background.level.after.0.is_some() && config.wear.static_gap == 0,
        clear: |config| config.background.level = BackgroundConfig::default().level,
    },
    NoEffect {
        keys: "background.write_back.after, ftl.kind",
        reason: "only the map of dftl has entries to write back",
        applies: |config| config.background.write_back.after.0.is_some() && !config.ftl.has_map_on_flash(),
        clear: |config| config.background.write_back = BackgroundConfig::default().write_back,
    },
    NoEffect {
        keys: "background.refresh.*, ageing.kind, ftl.kind",
        reason: "no block is known to have bit errors, or none is collected by itself",
        applies: |config| {
            let collects = matches!(config.ftl, FtlConfig::Page(_) | FtlConfig::Dftl(_))
                || !config.ftl.is_zoned() && config.ftl.zones().is_some();
            let is_set = config.background.refresh != BackgroundConfig::default().refresh;
            is_set && !(config.ageing.is_on() && collects)
        },
        clear: |config| config.background.refresh = BackgroundConfig::default().refresh,
    },
    NoEffect {
        keys: "background.refresh.*, no limit or no time",
        reason: "no block is ever due, or none that is due is moved",
        applies: |config| {
            let own = &config.background.refresh;
            *own != BackgroundConfig::default().refresh && !own.is_on()
        },
        clear: |config| config.background.refresh = BackgroundConfig::default().refresh,
    },
    NoEffect {
        keys: "buffer.destage, buffer.ack=flash",
        reason: "pages leave the buffer as soon as their unit can take them",
        applies: |config| {
            config.buffer.ack == Ack::Flash && config.buffer.destage != DestageConfig::default()
        },
        clear: |config| config.buffer.destage = DestageConfig::default(),
    },
    NoEffect {
        keys: "buffer.backpressure=free, ftl.kind=direct",
        reason: "nothing is erased",
        applies: |config| is_direct(config) && config.buffer.backpressure.free_below().is_some(),
        clear: |config| config.buffer.backpressure = BackpressureConfig::default(),
    },
    NoEffect {
        keys: "buffer.protected, buffer.ack=flash",
        reason: "what is acknowledged is on flash",
        applies: |config| config.buffer.ack == Ack::Flash && config.buffer.protected,
        clear: |config| config.buffer.protected = false,
    },
    NoEffect {
        keys: "background.file, background.kind=rules",
        reason: "no function is asked: set background.kind=external",
        applies: |config| config.background.kind == Kind::Rules && !config.background.file.is_empty(),
        clear: |config| config.background.file.clear(),
    },
    NoEffect {
        keys: "background.collect, background.level or background.write_back, background.kind=external",
        reason: "the function says which unit makes which step",
        applies: |config| {
            config.background.kind == Kind::External && config.background != without_rules(config).background
        },
        clear: |config| *config = without_rules(config),
    },
];

/// Copy with the rules of work in the background at their defaults.
fn without_rules(config: &Config) -> Config {
    let default = BackgroundConfig::default();
    let background = BackgroundConfig {
        collect: default.collect,
        level: default.level,
        write_back: default.write_back,
        ..config.background.clone()
    };
    Config { background, ..config.clone() }
}
