//! Blocks that were opened and that no operation counts yet.

use serde::{Deserialize, Serialize};

use super::Ops;

/// By unit, how many: of one or two units at most.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Opened(Vec<(u32, u8)>);

impl Opened {
    #[inline]
    pub(super) fn add(&mut self, unit: u32) {
        match self.0.iter_mut().find(|(of, _)| *of == unit) {
            Some((_, blocks)) => *blocks += 1,
            None => self.0.push((unit, 1)),
        }
    }

    #[inline]
    pub(super) fn take(&mut self, unit: u32) -> u8 {
        if self.0.is_empty() {
            return 0;
        }
        let at = self.0.iter().position(|(of, _)| *of == unit);
        at.map_or(0, |at| self.0.swap_remove(at).1)
    }

    /// Any unit, and how many blocks of it.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<(u32, u8)> {
        self.0.pop()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

impl Ops {
    /// Blocks of the unit that were opened, which the operation made next is the first to write to.
    #[inline]
    pub(crate) fn take_opened(&mut self, unit: u32) -> u8 {
        self.opened.take(unit)
    }

    /// An erased block of the unit is taken: the pages moved there next, or else the page written, are the first in it.
    #[inline]
    pub(crate) fn opened(&mut self, unit: u32) {
        self.opened.add(unit);
    }

    /// The list is whole: blocks that no operation writes to are counted by the last one of their unit.
    #[inline]
    pub(crate) fn settle_opened(&mut self) {
        while let Some((unit, blocks)) = self.opened.pop() {
            let op = self.list.iter_mut().rfind(|op| op.unit == unit);
            debug_assert!(op.is_some(), "a block of unit {unit} is opened, and nothing is done there");
            if let Some(op) = op {
                op.opens += blocks;
            }
        }
    }
}
