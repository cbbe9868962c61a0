//! Refusals about the SLC cache.

use super::Row;
use crate::config::Config;
use crate::ftl::FtlConfig;
use crate::refusal::Refusal;

pub(super) static SLC: [Row; 2] = [
    Row {
        refusal: Refusal::new(
            "slc.kind, ftl.kind",
            "blocks in SLC mode have fewer pages, and a data block, a log or a zone has a place for each of them: use \
             ftl.kind=page or dftl",
        ),
        applies: |config| {
            config.slc.is_on() && !matches!(config.ftl, FtlConfig::Page(_) | FtlConfig::Dftl(_))
        },
    },
    Row {
        refusal: Refusal::new(
            "slc.kind, pages_per_block, nand.cell, ftl.map_unit",
            "a block in SLC mode would hold no whole page or mapping unit: use larger blocks",
        ),
        applies: |config| config.slc.is_on() && pages_in_slc_mode(config) == 0,
    },
];

/// Mapping units of a block in SLC mode.
fn pages_in_slc_mode(config: &Config) -> u32 {
    let pages = config.pages_per_block / config.timing.page_types(&config.nand).max(1);
    pages * config.units_per_page() / config.mapped_pages()
}
