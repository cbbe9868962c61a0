//! Refusals about blocks that are retired.

use super::Row;
use crate::config::Config;
use crate::ftl::FtlConfig;
use crate::refusal::Refusal;

pub(super) static RETIRE: [Row; 1] = [Row {
    refusal: Refusal::new(
        "ageing.retire, ftl.kind, slc.kind",
        "a unit has as many data blocks, blocks of a log and of an SLC cache as it was made with: use ftl.kind=page or dftl, or zones, \
             and slc.kind=none",
    ),
    applies: |config| {
        retires(config)
            && (config.slc.is_on()
                || !(matches!(config.ftl, FtlConfig::Page(_) | FtlConfig::Dftl(_)) || config.ftl.is_zoned()))
    },
}];

fn retires(config: &Config) -> bool {
    config.ageing.is_on() && config.ageing.retire.0.is_some()
}
