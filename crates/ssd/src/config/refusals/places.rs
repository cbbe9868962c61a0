//! Pages that have their places, with allocations that choose places.

use super::Row;
use crate::config::Config;
use crate::ftl::FtlConfig;
use crate::refusal::Refusal;

pub(super) static PLACES: [Row; 1] = [Row {
    refusal: Refusal::new(
        "ftl.kind, alloc.kind, tenants.channels",
        "a physical address or a zone says which die a page goes to, so there is nothing to allocate, and a data block lies on \
         one die and not on a set of them: use a map of pages, or alloc.kind=striped, with zones also superblock, and all channels \
         for everybody; with data blocks also dynamic and hybrid",
    ),
    applies: |config: &Config| {
        let is_fixed = matches!(config.ftl, FtlConfig::Direct(_));
        let is_zoned = config.ftl.zones().is_some();
        let (late, in_sets) = (config.binds_late(), config.alloc.has_superblocks());
        ((is_fixed || config.ftl.maps_blocks()) && in_sets) || ((is_fixed || is_zoned) && late)
    },
}];
