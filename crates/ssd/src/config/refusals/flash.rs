//! Refusals about cells and their programs.

use super::Row;
use crate::config::Config;
use crate::ftl::FtlConfig;
use crate::nand::timing::has_word_lines;
use crate::nand::{Cell, Programs};
use crate::refusal::Refusal;

pub(super) static FLASH: [Row; 3] = [
    Row {
        refusal: Refusal::new(
            "nand.cell, nand.page_order, nand.programs, timing.read, timing.program",
            "expected one time, or one for each page type of the cell; for timing.program with one-shot, which takes all pages \
             of a word line, one, and with foggy-fine two: of the foggy pass and of the fine pass",
        ),
        applies: |config| {
            let Config { nand, timing, .. } = config;
            let programs = timing.program.0.len();
            let fits = match nand.programs {
                Programs::Page => true,
                Programs::OneShot => programs == 1,
                Programs::FoggyFine => programs == 2,
            };
            // Lists of different lengths are taken in turn, each by itself.
            !fits || (nand.cell != Cell::Auto || has_word_lines(nand)) && !timing.fits(nand)
        },
    },
    Row {
        refusal: Refusal::new(
            "pages_per_block, nand.cell, timing.read, timing.program",
            "word lines are whole: expected pages_per_block to be a multiple of the page types",
        ),
        applies: |config| {
            let Config { nand, timing, .. } = config;
            let types = timing.page_types(nand).max(1);
            has_word_lines(nand) && !config.pages_per_block.is_multiple_of(types)
        },
    },
    Row {
        refusal: Refusal::new(
            "nand.programs=one-shot or foggy-fine, ftl.kind",
            "a word line is programmed when its last page comes, and data blocks have pages that never come: use \
             ftl.kind=page or dftl",
        ),
        applies: |config| {
            let in_order =
                matches!(config.ftl, FtlConfig::Page(_) | FtlConfig::Dftl(_) | FtlConfig::Zones(_));
            config.nand.programs != Programs::Page && !in_order
        },
    },
];
