//! The commands that wait for a die, in the order in which they are to run.

use std::collections::VecDeque;

use super::Pages;
use super::pages::Run;
use crate::nand::{Command, CommandKind};
use crate::stats::Spent;

/// A command's part in a chain of two, of which the second starts no earlier than the first is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chain {
    /// It has none.
    None,
    /// It is the first of chain `number`; the second is for `die`.
    First { number: u64, die: u32 },
    /// It is the second one, and the first is not done: it keeps its place, but may not start.
    Second { number: u64 },
}

/// A command that waits, with what a scheduler may want to know.
#[derive(Clone, Debug)]
pub(crate) struct Queued {
    pub(crate) command: Command,
    /// Pages that it reads or writes; empty if the scheduler does not reorder.
    pub(crate) pages: Pages,
    pub(crate) chain: Chain,
    /// Number of the request that it serves.
    pub(crate) request: u64,
    /// When it was handed over, ns.
    pub(crate) arrived_ns: u64,
    /// What its die had done by then.
    pub(crate) spent: Spent,
    /// Commands that it has passed.
    pub(crate) passed: u32,
}

impl Queued {
    /// Whether it reads a page that the host waits for, or that says where such a page is.
    #[inline]
    pub(crate) fn is_awaited_read(&self) -> bool {
        self.command.kind == CommandKind::Read && self.command.awaited
    }
}

/// Counts of pages yet to be written, by a hash of where they are: a count of none is certain.
const SLOTS: usize = 256;
/// Pages that are counted as one place.
const PAGES_PER_PLACE: u32 = 64;

/// The queue of a die.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    waiting: VecDeque<Queued>,
    /// Commands at the front that no read passes, whatever it is.
    pub(super) settled: usize,
    /// Service times of all, ns.
    service_ns: u64,
    /// Pages that will be written by those waiting; empty until there are any.
    writing: Vec<u32>,
}

impl Queue {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The command at a place.
    #[inline]
    pub(crate) fn get(&self, place: usize) -> Option<&Queued> {
        self.waiting.get(place)
    }

    /// All of them, in order.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Queued> + ExactSizeIterator {
        self.waiting.iter()
    }

    /// Commands that wait behind those at the front that no read passes.
    pub(crate) fn behind(&self) -> u32 {
        (self.waiting.len() - self.settled) as u32
    }

    /// Service times of all that wait, ns.
    pub(super) fn service_ns(&self) -> u64 {
        self.service_ns
    }

    /// Puts a command at a place.
    #[inline]
    pub(crate) fn insert(&mut self, place: usize, queued: Queued) {
        self.service_ns += queued.command.total_ns();
        self.count(&queued, true);
        if place < self.settled {
            self.settled += 1;
        }
        if place == self.waiting.len() {
            self.waiting.push_back(queued);
        } else {
            self.waiting.insert(place, queued);
        }
    }

    /// Takes a command out.
    #[inline]
    pub(crate) fn remove(&mut self, place: usize) -> Option<Queued> {
        let queued = if place == 0 { self.waiting.pop_front() } else { self.waiting.remove(place) }?;
        self.service_ns -= queued.command.total_ns();
        self.count(&queued, false);
        if place < self.settled {
            self.settled -= 1;
        }
        Some(queued)
    }

    /// The second command of a chain may start.
    pub(crate) fn release(&mut self, chain: u64) {
        for queued in &mut self.waiting {
            if queued.chain == (Chain::Second { number: chain }) {
                queued.chain = Chain::None;
            }
        }
    }

    fn count(&mut self, queued: &Queued, enters: bool) {
        if matches!(queued.command.kind, CommandKind::Read | CommandKind::Erase) {
            return;
        }
        for slot in queued.pages.runs().flat_map(slots) {
            if self.writing.is_empty() {
                self.writing = vec![0; SLOTS];
            }
            let count = &mut self.writing[slot];
            *count = if enters { *count + 1 } else { *count - 1 };
        }
    }

    /// Whether a command that waits may write one of the pages: if not, none does.
    #[inline]
    pub(super) fn may_write(&self, pages: &Pages) -> bool {
        !self.writing.is_empty() && pages.runs().flat_map(slots).any(|slot| self.writing[slot] > 0)
    }
}

/// Where the pages of a run are counted.
#[inline]
fn slots(run: &Run) -> impl Iterator<Item = usize> + use<> {
    let unit = run.unit.wrapping_mul(97);
    let places = run.first / PAGES_PER_PLACE..=run.last / PAGES_PER_PLACE;
    places.map(move |place| unit.wrapping_add(place) as usize % SLOTS)
}
