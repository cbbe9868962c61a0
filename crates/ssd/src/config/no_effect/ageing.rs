//! Settings of ageing that have no effect.

use super::NoEffect;
use crate::ageing::{AgeingConfig, ReadsOf};
use crate::config::{Config, Precondition};
use crate::nand::Cell;
use crate::quantity::Limit;

pub(super) const AGEING: [NoEffect; 9] = [
    NoEffect {
        keys: "ageing.*, ageing.kind=none",
        reason: "no bit is ever wrong",
        applies: |config| !config.ageing.is_on() && config.ageing != AgeingConfig::default(),
        clear: |config| config.ageing = AgeingConfig::default(),
    },
    NoEffect {
        keys: "ageing.cell, nand.cell, timing.read, timing.program",
        reason: "the cells are of that kind already",
        applies: |config| config.ageing.cell != Cell::Auto && of_flash(config) == config.ageing_bits(),
        clear: |config| config.ageing.cell = Cell::Auto,
    },
    NoEffect {
        keys: "ageing.reads_of, ageing.cell",
        reason: "the law of these cells counts these reads already",
        applies: |config| {
            let of_page = crate::ageing::cell_kinds()[(config.ageing_bits().clamp(1, 4) - 1) as usize]
                .law
                .reads_of_page;
            match config.ageing.reads_of {
                ReadsOf::Auto => false,
                ReadsOf::Block => !of_page,
                ReadsOf::Page => of_page,
            }
        },
        clear: |config| config.ageing.reads_of = ReadsOf::Auto,
    },
    NoEffect {
        keys: "ageing.retention, precondition=empty",
        reason: "there is no data from before the run",
        applies: |config| config.ageing.retention > 0.0 && config.precondition == Precondition::Empty,
        clear: |config| config.ageing.retention = 0.0,
    },
    NoEffect {
        keys: "ageing.temperature, ageing.retention=0, ageing.pace=0",
        reason: "data does not age",
        applies: |config| {
            let own = &config.ageing;
            let is_default = own.temperature.to_bits() == AgeingConfig::default().temperature.to_bits();
            !is_default && own.retention == 0.0 && own.pace == 0.0
        },
        clear: |config| config.ageing.temperature = AgeingConfig::default().temperature,
    },
    NoEffect {
        keys: "ageing.retry_gain, ageing.decode_time, ageing.retries=0",
        reason: "no page is read again",
        applies: |config| config.ageing.retries == 0 && config.ageing != without_retries(&config.ageing),
        clear: |config| config.ageing = without_retries(&config.ageing),
    },
    NoEffect {
        keys: "ageing.soft_reads, ageing.soft_time, ageing.soft_bits=0",
        reason: "no page is decoded softly",
        applies: |config| {
            config.ageing.soft_bits.0 == Some(0) && config.ageing != without_soft(&config.ageing)
        },
        clear: |config| config.ageing = without_soft(&config.ageing),
    },
    NoEffect {
        keys: "ageing.max_retired, ftl.kind=zones, ftl.host=none",
        reason: "a zone is lost with its block, and the others stay",
        applies: |config| config.ageing.max_retired.0.is_some() && config.takes_zone_commands(),
        clear: |config| config.ageing.max_retired = Limit(None),
    },
    NoEffect {
        keys: "ageing.max_retired, ageing.retire=none",
        reason: "no block is retired",
        applies: |config| config.ageing.max_retired.0.is_some() && config.ageing.retire.0.is_none(),
        clear: |config| config.ageing.max_retired = Limit(None),
    },
];

/// Bits of the cells, if `ageing.cell` does not say.
fn of_flash(config: &Config) -> u32 {
    let ageing = AgeingConfig { cell: Cell::Auto, ..config.ageing.clone() };
    Config { ageing, ..config.clone() }.ageing_bits()
}

fn without_retries(own: &AgeingConfig) -> AgeingConfig {
    let AgeingConfig { retry_gain, decode_time, .. } = AgeingConfig::default();
    AgeingConfig { retry_gain, decode_time, ..own.clone() }
}

fn without_soft(own: &AgeingConfig) -> AgeingConfig {
    let AgeingConfig { soft_reads, soft_time, .. } = AgeingConfig::default();
    AgeingConfig { soft_reads, soft_time, ..own.clone() }
}
