//! Refusals about blocks that are retired.

use super::Row;
use crate::config::Config;
use crate::ftl::FtlConfig;
use crate::refusal::Refusal;

pub(super) static RETIRE: [Row; 2] = [
    Row {
        refusal: Refusal::new(
            "ageing.retire, ftl.kind, slc.kind",
            "a data block, a log, a map on flash and the blocks of an SLC cache need all their blocks: use ftl.kind=page, or zones \
             with ftl.host=none, and slc.kind=none",
        ),
        applies: |config| {
            retires(config)
                && (config.slc.is_on()
                    || !(matches!(config.ftl, FtlConfig::Page(_)) || config.ftl.is_zoned()))
        },
    },
    Row {
        refusal: Refusal::new(
            "ageing.retire, alloc.kind, alloc.superblock_dies, tenants.channels",
            "where a unit may hold more than its share of the data, nobody can say what it can spare: use alloc.kind=striped, or \
             superblocks of all dies",
        ),
        applies: |config| retires(config) && config.binds_late(),
    },
];

fn retires(config: &Config) -> bool {
    config.ageing.is_on() && config.ageing.retire.0.is_some()
}
