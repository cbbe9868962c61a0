//! Settings of TRIM that have no effect.

use super::{NoEffect, is_direct};
use crate::trim::TrimConfig;

pub(super) const TRIM: [NoEffect; 3] = [
    NoEffect {
        keys: "trim.*, ftl.kind=direct",
        reason: "every page keeps its data",
        applies: |config| is_direct(config) && config.trim != TrimConfig::default(),
        clear: |config| config.trim = TrimConfig::default(),
    },
    NoEffect {
        keys: "trim.*, ftl.kind=zones, ftl.host=none",
        reason: "a TRIM resets zones",
        applies: |config| config.takes_zone_commands() && config.trim != TrimConfig::default(),
        clear: |config| config.trim = TrimConfig::default(),
    },
    NoEffect {
        keys: "trim.batch, trim.page_time, trim.idle_after, trim.backlog=0",
        reason: "a TRIM leaves no page for later",
        applies: |config| {
            let granularity = config.trim.granularity;
            config.trim.backlog == 0 && config.trim != TrimConfig { granularity, ..TrimConfig::default() }
        },
        clear: |config| {
            let granularity = config.trim.granularity;
            config.trim = TrimConfig { granularity, ..TrimConfig::default() };
        },
    },
];
