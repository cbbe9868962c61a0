//! Keys of ageing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::nand::Cell;
use crate::quantity::{Auto, LONGEST_NS, Limit, Nanos};

/// Bit errors of blocks, the code that corrects them, and the retries of a read. Off by default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AgeingConfig {
    /// Bit errors of a block.
    pub kind: AgeingKind,
    /// Cells whose errors, rating and code are taken. `auto`: `nand.cell`, or the page types of `timing.read` and `timing.program`; TLC
    /// where all pages have one time.
    pub cell: Cell,
    /// Cycles that blocks are rated for: cycles of the law are scaled to it. `auto`: typical of the cell.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub rated_cycles: Auto<u32>,
    /// Program/erase cycles of every block when the drive is made.
    #[schemars(range(max = 1_000_000_000))]
    pub cycles: u32,
    /// Age of data that was there before the run, when it starts.
    #[schemars(range(min = 0.0, max = 100_000.0), extend("x-unit" = "days"))]
    pub retention: f64,
    /// Temperature of the flash: data ages by Arrhenius' law with 1.1 eV, as much as the law says at 25.
    #[schemars(range(min = -40.0, max = 150.0), extend("x-unit" = "degrees Celsius"))]
    pub temperature: f64,
    /// Seconds by which data ages in a second of the run: a short run then stands for months.
    #[schemars(range(min = 0.0, max = 1_000_000_000.0))]
    pub pace: f64,
    /// Relative spread of the errors of blocks: standard deviation of the logarithm of a factor of each.
    #[schemars(range(min = 0.0, max = 3.0))]
    pub spread: f64,
    /// Bits that hard decoding corrects in a codeword (`nand.codeword`). `auto`: typical of the cell, in proportion to 1 KiB.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub ecc_bits: Auto<u32>,
    /// Standard deviations above the expected errors of a codeword that the code must correct.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub margin: f64,
    /// Read retries after the first reading: each reads the page again, with other reference voltages.
    #[schemars(range(max = 100))]
    pub retries: u32,
    /// Errors after a retry, as a share of those before it.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub retry_gain: f64,
    /// Time for which a die is held while a page is decoded once more.
    #[schemars(range(max = LONGEST_NS))]
    pub decode_time: Nanos,
    /// Bits that soft decoding corrects in a codeword, after the last retry. 0: there is none. `auto`: two thirds more than `ecc_bits`.
    #[schemars(range(max = 1_000_000))]
    pub soft_bits: Auto<u32>,
    /// Readings of a page that soft decoding needs beside the last retry.
    #[schemars(range(max = 100))]
    pub soft_reads: u32,
    /// Time for which a die is held by soft decoding.
    #[schemars(range(max = LONGEST_NS))]
    pub soft_time: Nanos,
    /// Growth of the program time with 1,000 cycles of the block, as a share of it; below 0, worn cells are programmed faster.
    #[schemars(range(min = -1.0, max = 1000.0))]
    pub program_growth: f64,
    /// Reads that disturb a page.
    pub reads_of: ReadsOf,
    /// Retries of a page from which on its block is retired: its data moves, and nothing is written to it any more. Soft decoding
    /// counts as one more than `ageing.retries`, a page that can't be read as two more. Looked at when a page is read, and when a
    /// block was erased, for what is written next. `none`: no block is retired.
    #[schemars(range(min = 1, max = 102))]
    pub retire: Limit,
    /// Blocks of a plane, or superblocks of a set of dies, that are retired at most: with the next one, the drive is read-only.
    /// `none`: as many as its data leaves.
    #[schemars(range(max = 1_000_000_000))]
    pub max_retired: Limit,
    /// Parameters of the law.
    #[serde(flatten)]
    pub law: LawConfig,
}

/// Parameters of the law of bit errors: epsilon + alpha cycles^k + beta cycles^m days^n + gamma cycles^p reads^q. `auto`: those of the
/// cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LawConfig {
    /// Share of wrong bits of a new block.
    #[schemars(range(min = 0.0, max = 0.5))]
    pub epsilon: Auto<f64>,
    /// Factor of wear.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub alpha: Auto<f64>,
    /// Exponent of cycles in wear.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub k: Auto<f64>,
    /// Factor of retention.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub beta: Auto<f64>,
    /// Exponent of cycles in retention.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub m: Auto<f64>,
    /// Exponent of days in retention.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub n: Auto<f64>,
    /// Factor of read disturb.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub gamma: Auto<f64>,
    /// Exponent of cycles in read disturb.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub p: Auto<f64>,
    /// Exponent of reads in read disturb.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub q: Auto<f64>,
}

impl Default for AgeingConfig {
    fn default() -> Self {
        Self {
            kind: AgeingKind::None,
            cell: Cell::Auto,
            rated_cycles: Auto(None),
            cycles: 0,
            retention: 0.0,
            temperature: 30.0,
            pace: 1.0,
            spread: 0.0,
            ecc_bits: Auto(None),
            margin: 3.0,
            retries: 10,
            retry_gain: 0.8,
            decode_time: Nanos(0),
            soft_bits: Auto(None),
            soft_reads: 6,
            soft_time: Nanos(0),
            program_growth: 0.0,
            reads_of: ReadsOf::Auto,
            retire: Limit(None),
            max_retired: Limit(None),
            law: LawConfig::default(),
        }
    }
}

/// Models of bit errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AgeingKind {
    /// No bit is ever wrong.
    #[default]
    None,
    /// The power law of Kim, Choi and Min (FAST 2019) in cycles, days and reads.
    PowerLaw,
}

/// Reads that disturb a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReadsOf {
    /// As the law of the cell was measured.
    #[default]
    Auto,
    /// All reads of its block.
    Block,
    /// Those of a page, on average over its block.
    Page,
}

impl AgeingConfig {
    /// True if blocks age.
    pub fn is_on(&self) -> bool {
        self.kind != AgeingKind::None
    }

    /// True if blocks differ in their errors.
    pub(crate) fn draws(&self) -> bool {
        self.is_on() && self.spread > 0.0
    }
}
