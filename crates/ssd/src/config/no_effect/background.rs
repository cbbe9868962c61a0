//! Settings of work in the background that have no effect.

use super::NoEffect;
use crate::buffer::Ack;
use crate::config::Config;
use crate::task::{BackgroundConfig, Kind};

pub(super) const TABLE: [NoEffect; 8] = [
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
        keys: "background.destage.*, buffer.bytes=0 or buffer.ack=flash",
        reason: "no page stays in a buffer",
        applies: |config| {
            let stays = config.buffer.bytes.0 > 0 && config.buffer.ack == Ack::Buffer;
            config.background.destage != BackgroundConfig::default().destage && !stays
        },
        clear: |config| config.background.destage = BackgroundConfig::default().destage,
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
    NoEffect {
        keys: "background.destage.file, background.destage.kind=rules",
        reason: "no function is asked: set background.destage.kind=external",
        applies: |config| {
            config.background.destage.kind == Kind::Rules && !config.background.destage.file.is_empty()
        },
        clear: |config| config.background.destage.file.clear(),
    },
    NoEffect {
        keys: "background.destage.after, background.destage.kind=external",
        reason: "the function says when",
        applies: |config| {
            let own = &config.background.destage;
            own.kind == Kind::External && own.after.0.is_some()
        },
        clear: |config| config.background.destage.after = BackgroundConfig::default().destage.after,
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
