//! Refusals about cells and their programs.

use super::Refusal;
use crate::config::Config;
use crate::ftl::FtlConfig;
use crate::nand::timing::has_word_lines;
use crate::nand::{Cell, Programs};

pub(super) const FLASH: [Refusal; 5] = [
    Refusal {
        keys: "nand.cell, nand.page_order, timing.read, timing.program",
        reason: "expected one time, or one for each page type of the cell",
        applies: |config| {
            let Config { nand, timing, .. } = config;
            // Lists of different lengths are taken in turn, each by itself.
            (nand.cell != Cell::Auto || has_word_lines(nand)) && !timing.fits(nand)
        },
    },
    Refusal {
        keys: "nand.programs=one-shot, timing.program",
        reason: "one program takes all pages of a word line: expected one time",
        applies: |config| config.nand.programs == Programs::OneShot && config.timing.program.0.len() != 1,
    },
    Refusal {
        keys: "nand.programs=foggy-fine, timing.program",
        reason: "expected two times: of the foggy pass and of the fine pass of a word line",
        applies: |config| config.nand.programs == Programs::FoggyFine && config.timing.program.0.len() != 2,
    },
    Refusal {
        keys: "pages_per_block, nand.cell, timing.read, timing.program",
        reason: "word lines are whole: expected pages_per_block to be a multiple of the page types",
        applies: |config| {
            let Config { nand, timing, .. } = config;
            let types = timing.page_types(nand).max(1);
            has_word_lines(nand) && !config.pages_per_block.is_multiple_of(types)
        },
    },
    Refusal {
        keys: "nand.programs=one-shot or foggy-fine, ftl.kind",
        reason: "a word line is programmed when its last page comes, and data blocks have pages that never come: use \
                 ftl.kind=page or dftl",
        applies: |config| {
            let in_order =
                matches!(config.ftl, FtlConfig::Page(_) | FtlConfig::Dftl(_) | FtlConfig::Zones(_));
            config.nand.programs != Programs::Page && !in_order
        },
    },
];
