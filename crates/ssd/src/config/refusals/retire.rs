//! Refusals about blocks that are retired.

use super::Row;
use crate::config::Config;
use crate::ftl::FtlConfig;
use crate::refusal::Refusal;

pub(super) static RETIRE: [Row; 1] = [Row {
    refusal: Refusal::new(
        "ageing.retire, ftl.kind",
        "a unit has as many data blocks and blocks of a log as it was made with: use ftl.kind=page, dftl or zones",
    ),
    applies: |config| {
        let loses_blocks =
            matches!(config.ftl, FtlConfig::Page(_) | FtlConfig::Dftl(_) | FtlConfig::Zones(_));
        retires(config) && !loses_blocks
    },
}];

fn retires(config: &Config) -> bool {
    config.ageing.is_on() && config.ageing.retire.0.is_some()
}
