//! Combinations that make no sense where blocks of several dies are one superblock.

use super::Refusal;
use crate::config::Config;
use crate::ftl::FtlConfig;

fn has(config: &Config) -> bool {
    config.alloc.has_superblocks()
}

pub(super) const SUPERBLOCKS: [Refusal; 1] = [Refusal {
    keys: "alloc.kind=superblock, ftl.kind=direct or one that maps blocks",
    reason: "pages go to the die whose turn it is, not where an address or a data block has its place: use ftl.kind=page",
    applies: |config| has(config) && (config.ftl.maps_blocks() || matches!(config.ftl, FtlConfig::Direct(_))),
}];
