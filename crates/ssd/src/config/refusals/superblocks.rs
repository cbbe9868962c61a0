//! Combinations that make no sense where blocks of several dies are one superblock.

use super::Refusal;
use crate::config::Config;
use crate::ftl::FtlConfig;

fn has(config: &Config) -> bool {
    config.alloc.has_superblocks()
}

pub(super) const SUPERBLOCKS: [Refusal; 2] = [
    Refusal {
        keys: "alloc.kind=superblock, ftl.kind=direct or one that maps blocks",
        reason: "pages go to the die whose turn it is, not where an address or a data block has its place: use ftl.kind=page",
        applies: |config| {
            has(config) && (config.ftl.maps_blocks() || matches!(config.ftl, FtlConfig::Direct(_)))
        },
    },
    Refusal {
        keys: "alloc.kind=superblock, gc.planner or clock=lock-step",
        reason: "dies are collected together as their superblock is, so there is no unit whose turn could be chosen: use \
                 gc.planner=none and clock=async",
        applies: |config| has(config) && config.is_managed(),
    },
];
