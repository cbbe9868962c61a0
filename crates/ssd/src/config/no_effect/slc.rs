//! Settings of the SLC cache that have no effect.

use super::NoEffect;
use crate::slc::SlcConfig;

/// Before all that heeds an SLC cache.
pub(super) const CELLS: [NoEffect; 1] = [NoEffect {
    keys: "slc.*, nand.cell, timing.read, timing.program",
    reason: "cells of one bit are in SLC mode already",
    applies: |config| config.slc.is_on() && config.timing.page_types(&config.nand) == 1,
    clear: |config| config.slc = SlcConfig::default(),
}];

pub(super) const SLC: [NoEffect; 3] = [
    NoEffect {
        keys: "slc.*, slc.kind=none",
        reason: "there is no SLC cache",
        applies: |config| !config.slc.is_on() && config.slc != SlcConfig::default(),
        clear: |config| config.slc = SlcConfig::default(),
    },
    NoEffect {
        keys: "slc.static_blocks, slc.kind=dynamic",
        reason: "no block is always in SLC mode",
        applies: |config| {
            !config.slc.has_static() && config.slc.static_blocks != SlcConfig::default().static_blocks
        },
        clear: |config| config.slc.static_blocks = SlcConfig::default().static_blocks,
    },
    NoEffect {
        keys: "slc.dynamic_share, slc.kind=static",
        reason: "no other block is ever in SLC mode",
        applies: |config| {
            let default = SlcConfig::default().dynamic_share;
            !config.slc.has_dynamic() && config.slc.dynamic_share.to_bits() != default.to_bits()
        },
        clear: |config| config.slc.dynamic_share = SlcConfig::default().dynamic_share,
    },
];
