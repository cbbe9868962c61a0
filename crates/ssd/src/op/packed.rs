//! Pages of flash that a collection reads and programs where it moves mapping units.

use serde::{Deserialize, Serialize};

use super::Ops;

/// Pages read and programmed by moves of mapping units, in the order of the moves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Packed {
    pub(super) reads: u32,
    pub(super) programs: u32,
    /// Page read last.
    pub(super) from: Option<u32>,
    /// Page programmed last.
    to: Option<u32>,
}

impl Packed {
    /// A mapping unit moves from one page of flash to another.
    pub(super) fn add(&mut self, from: u32, to: u32) {
        self.reads += u32::from(self.from.replace(from) != Some(from));
        self.programs += u32::from(self.to.replace(to) != Some(to));
    }
}

impl Ops {
    /// As these, where pages of flash hold so many mapping units.
    pub(crate) fn packing(self, per_page: u32) -> Self {
        Self { per_page, ..self }
    }

    /// The page of flash with this number was read by the step before, and need not be read for the units moved next.
    pub(crate) fn in_ram(&mut self, page: u32) {
        self.packed.from = Some(page);
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
