//! The order in which the commands of one die run: lists by kind and level, and the tenant that is next.

use serde::{Deserialize, Serialize};

use super::insertion::List;
use super::intensity::Intensity;

/// Priority levels: those of NVMe's weighted round robin with urgent class.
pub(super) const LEVELS: usize = 4;
/// Kinds of queues: awaited reads, and everything else.
pub(super) const READS: usize = 0;
pub(super) const WRITES: usize = 1;

/// Order of the commands of one die: kept beside its queue, which is in the order of arrival.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Order {
    /// By kind and level.
    pub(super) lists: [[List; LEVELS]; 2],
    pub(super) turns: [Turns; 2],
    pub(super) intensity: Intensity,
}

/// Turns of all levels: the highest has half of them and one more.
const TURNS: u32 = (1 << LEVELS) - 1;

/// Position in the weighted round robin over levels: a level has twice the turns of the one below, evenly spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Turns {
    next: u32,
}

impl Turns {
    /// Levels in the order of their next turns.
    pub(super) fn levels(self) -> impl Iterator<Item = usize> {
        let mut seen = [false; LEVELS];
        let turns = (self.next..self.next + TURNS).map(|turn| level(turn % TURNS));
        turns.filter(move |level| !std::mem::replace(&mut seen[*level], true))
    }

    /// A command of a level has gone: turns of others that had none are skipped.
    pub(super) fn took(&mut self, taken: usize) {
        if let Some(turn) = (self.next..self.next + TURNS).find(|turn| level(turn % TURNS) == taken) {
            self.next = (turn + 1) % TURNS;
        }
    }
}

/// The level of a turn: those of the highest are the first, third and so on, those of the next the second, sixth and so on.
fn level(turn: u32) -> usize {
    LEVELS - 1 - (turn + 1).trailing_zeros() as usize
}
