//! Cells and word lines: the type of each page of a block, and the programs that take a page, a word line, or a word line
//! in two passes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bits of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cell {
    /// As many as `timing.read` has times; with `nand.programs=page`, as the longer of `timing.read` and `timing.program`.
    #[default]
    Auto,
    /// One: every page has word lines of its own.
    Slc,
    /// Two: lower and upper pages.
    Mlc,
    /// Three: lower, middle and upper pages.
    Tlc,
    /// Four: lower, middle, upper and top pages.
    Qlc,
}

impl Cell {
    /// Bits of a cell; `None` if it is not said.
    pub(crate) fn bits(self) -> Option<u32> {
        match self {
            Cell::Auto => None,
            Cell::Slc => Some(1),
            Cell::Mlc => Some(2),
            Cell::Tlc => Some(3),
            Cell::Qlc => Some(4),
        }
    }
}

/// Order of the page types within a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PageOrder {
    /// Word line by word line: lower, middle, upper, lower and so on.
    #[default]
    InTurn,
    /// Shadow order: a page of a type follows the page of the type before on the next word line, so that neighbours disturb a full
    /// word line least (Cai et al. 2017, section II.C). Lower 0, lower 1, middle 0, lower 2, middle 1, upper 0, ...
    Shadow,
}

/// Pages that one program of the array takes, and its passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Programs {
    /// Each page by itself, in the time of its type.
    #[default]
    Page,
    /// A word line at once, in `timing.program`: its pages are loaded over the bus as they come, and the array programs all of them
    /// when the last one is loaded.
    OneShot,
    /// A word line in two passes, whose times are the two of `timing.program`: the foggy pass when its last page is loaded, the fine
    /// pass after the foggy pass of the next word line (of the last one at once). For the fine pass all its pages cross the bus
    /// again.
    FoggyFine,
}

/// Programs of a page: array time, and how often all pages of a word line cross the bus once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) array_ns: u64,
    pub(super) reloads: u32,
}

/// Word lines of a block.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct WordLines {
    programs: Programs,
    /// Pages of a word line.
    pub(super) pages: u32,
    /// Word lines of a block.
    lines: u32,
    /// Page types by page, where they are not in turn.
    types: Box<[u8]>,
}

impl WordLines {
    /// Of blocks with so many pages, of so many types.
    pub(super) fn new(programs: Programs, order: PageOrder, types: u32, pages_per_block: u32) -> Self {
        let pages = types.max(1);
        let lines = pages_per_block / pages;
        let types = match order {
            PageOrder::InTurn => Box::default(),
            PageOrder::Shadow => shadow(pages, lines),
        };
        Self { programs, pages, lines, types }
    }

    /// True if pages differ in more than the lists of their times.
    pub(super) fn programs_lines(&self) -> bool {
        self.programs != Programs::Page
    }

    /// Place of a page's time in a list with one for each type.
    #[inline]
    pub(super) fn page_type(&self, page: u32, types: usize) -> usize {
        let number = if self.types.is_empty() { page } else { u32::from(self.types[page as usize]) };
        number as usize % types
    }

    /// The programs that page `page` of a block starts, if `times` are those of the list.
    pub(super) fn program(&self, page: u32, times: &[u64]) -> Program {
        let (line, place) = (page / self.pages, page % self.pages);
        if place + 1 < self.pages {
            return Program { array_ns: 0, reloads: 0 };
        }
        let first = times.first().copied().unwrap_or(0);
        if self.programs == Programs::OneShot {
            return Program { array_ns: first, reloads: 0 };
        }
        // The word line before, and the last one itself.
        let fine = u32::from(line > 0) + u32::from(line + 1 >= self.lines);
        Program { array_ns: first + u64::from(fine) * times.get(1).copied().unwrap_or(0), reloads: fine }
    }
}

/// Types of the pages of a block in shadow order.
fn shadow(types: u32, lines: u32) -> Box<[u8]> {
    let mut pages: Vec<(u32, u32)> =
        (0..lines).flat_map(|line| (0..types).map(move |page_type| (line + page_type, page_type))).collect();
    pages.sort_unstable();
    pages.into_iter().map(|(_, page_type)| page_type as u8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_come_in_turn_or_in_shadow_order() {
        let types = |order, count| -> Vec<usize> {
            let lines = WordLines::new(Programs::Page, order, count, 12);
            (0..12).map(|page| lines.page_type(page, count as usize)).collect()
        };
        assert_eq!(types(PageOrder::InTurn, 3), [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]);
        assert_eq!(types(PageOrder::Shadow, 2), [0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1]);
        assert_eq!(types(PageOrder::Shadow, 3), [0, 0, 1, 0, 1, 2, 0, 1, 2, 1, 2, 2]);
        assert_eq!(types(PageOrder::Shadow, 1), [0; 12]);
    }

    #[test]
    fn the_last_page_of_a_word_line_starts_its_program() {
        let one_shot = WordLines::new(Programs::OneShot, PageOrder::InTurn, 3, 6);
        let times: Vec<u64> = (0..6).map(|page| one_shot.program(page, &[900]).array_ns).collect();
        assert_eq!(times, [0, 0, 900, 0, 0, 900]);
    }

    #[test]
    fn the_fine_pass_follows_the_next_foggy_pass() {
        let programs = |pages_per_block| -> Vec<(u64, u32)> {
            let lines = WordLines::new(Programs::FoggyFine, PageOrder::InTurn, 2, pages_per_block);
            let all = (0..pages_per_block).map(|page| lines.program(page, &[100, 1000]));
            all.map(|program| (program.array_ns, program.reloads)).collect()
        };
        assert_eq!(programs(6), [(0, 0), (100, 0), (0, 0), (1100, 1), (0, 0), (2100, 2)]);
        assert_eq!(programs(2), [(0, 0), (1100, 1)]);
    }
}
