//! Pages of flash that a collection reads and programs where it moves mapping units.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::Ops;

/// Pages read and programmed by moves of mapping units, in the order of the moves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Packed {
    pub(super) reads: u32,
    pub(super) programs: u32,
    /// Mapping units of the page read last, and of that programmed last.
    from: Range<u32>,
    to: Range<u32>,
}

impl Packed {
    /// A mapping unit moves; so many fill a page of flash.
    #[inline]
    pub(super) fn add(&mut self, from: u32, to: u32, per_page: u32) {
        if !self.from.contains(&from) {
            self.from = units_of(from / per_page, per_page);
            self.reads += 1;
        }
        if !self.to.contains(&to) {
            self.to = units_of(to / per_page, per_page);
            self.programs += 1;
        }
    }
}

/// Mapping units of a page of flash.
fn units_of(page: u32, per_page: u32) -> Range<u32> {
    let first = page * per_page;
    // The last unit of the largest number has no end in u32: it would count as a page of its own.
    first..first.saturating_add(per_page)
}

impl Ops {
    /// As these, where pages of flash hold so many mapping units.
    pub(crate) fn packing(self, per_page: u32) -> Self {
        Self { per_page, ..self }
    }

    /// The page of flash with this number was read by the step before, and need not be read for the units moved next.
    pub(crate) fn in_ram(&mut self, page: u32) {
        self.packed.from = units_of(page, self.per_page);
    }

    /// The units moved since the last operation came from so many pages of flash, each read once though units of it went to
    /// several places.
    pub(crate) fn read_once(&mut self, pages: u32) {
        self.packed.reads = pages;
    }

    /// So many mapping units at the end of a page of flash that is programmed stay empty.
    pub(crate) fn padded(&mut self, units: u32) {
        self.tally().padded += u64::from(units);
    }
}
