//! Pages of flash that a collection reads and programs where it moves mapping units.

use serde::{Deserialize, Serialize};

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
