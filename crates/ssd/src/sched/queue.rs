//! The commands that wait for a die, in the order in which they are to run.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};

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

    /// Whether it writes its pages.
    fn writes(&self) -> bool {
        !matches!(self.command.kind, CommandKind::Read | CommandKind::Erase)
    }
}

/// Pages that count as one place.
const PAGES_PER_PLACE: u32 = 64;

/// The queue of a die: first what no read passes any more, then the rest. A read goes to where the two meet, more often than
/// not, and that costs nothing however many wait.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    settled: VecDeque<Queued>,
    rest: VecDeque<Queued>,
    /// Service times of all, ns.
    service_ns: u64,
    /// Those that are not awaited reads.
    others: u32,
    /// Where those waiting will write: places of some pages each, and how often.
    writing: BTreeMap<(u32, u32), u32>,
}

impl Queue {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.settled.len() + self.rest.len()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.settled.is_empty() && self.rest.is_empty()
    }

    /// The command at a place.
    #[inline]
    pub(crate) fn get(&self, place: usize) -> Option<&Queued> {
        let settled = self.settled.len();
        if place < settled { self.settled.get(place) } else { self.rest.get(place - settled) }
    }

    /// All of them, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Queued> {
        self.settled.iter().chain(&self.rest)
    }

    /// Commands at the front that no read passes, whatever it is.
    #[inline]
    pub(super) fn settled(&self) -> usize {
        self.settled.len()
    }

    /// The others, in order.
    #[inline]
    pub(super) fn rest(&self) -> &VecDeque<Queued> {
        &self.rest
    }

    /// No read passes the first `count` any more.
    #[inline]
    pub(super) fn settle(&mut self, count: usize) {
        while self.settled.len() < count
            && let Some(queued) = self.rest.pop_front()
        {
            self.settled.push_back(queued);
        }
    }

    /// Commands that wait and are not reads that the host waits for.
    pub(crate) fn others(&self) -> u32 {
        self.others
    }

    /// Service times of all that wait, ns.
    pub(super) fn service_ns(&self) -> u64 {
        self.service_ns
    }

    /// Puts a command at a place.
    #[inline]
    pub(crate) fn insert(&mut self, place: usize, queued: Queued) {
        self.service_ns += queued.command.total_ns();
        self.others += u32::from(!queued.is_awaited_read());
        if queued.writes() {
            for place in queued.pages.runs().flat_map(places) {
                *self.writing.entry(place).or_default() += 1;
            }
        }
        let settled = self.settled.len();
        if place < settled {
            self.settled.insert(place, queued);
        } else {
            self.rest.insert(place - settled, queued);
        }
    }

    /// Takes a command out.
    #[inline]
    pub(crate) fn remove(&mut self, place: usize) -> Option<Queued> {
        let settled = self.settled.len();
        let queued = if place < settled {
            take(&mut self.settled, place)
        } else {
            take(&mut self.rest, place - settled)
        }?;
        self.service_ns -= queued.command.total_ns();
        self.others -= u32::from(!queued.is_awaited_read());
        if queued.writes() {
            for place in queued.pages.runs().flat_map(places) {
                if let Entry::Occupied(mut times) = self.writing.entry(place) {
                    *times.get_mut() -= 1;
                    if *times.get() == 0 {
                        times.remove();
                    }
                }
            }
        }
        Some(queued)
    }

    /// The second command of a chain may start.
    pub(crate) fn release(&mut self, chain: u64) {
        for queued in self.settled.iter_mut().chain(&mut self.rest) {
            if queued.chain == (Chain::Second { number: chain }) {
                queued.chain = Chain::None;
            }
        }
    }

    /// Whether a command that waits may write one of the pages: if not, none does.
    #[inline]
    pub(super) fn may_write(&self, pages: &Pages) -> bool {
        !self.writing.is_empty()
            && pages.runs().flat_map(places).any(|place| self.writing.contains_key(&place))
    }
}

/// Takes a command out, most often the first.
#[inline]
fn take(queue: &mut VecDeque<Queued>, place: usize) -> Option<Queued> {
    if place == 0 { queue.pop_front() } else { queue.remove(place) }
}

/// Where the pages of a run are: unit and number of the place.
#[inline]
fn places(run: &Run) -> impl Iterator<Item = (u32, u32)> + use<> {
    let unit = run.unit;
    (run.first / PAGES_PER_PLACE..=run.last / PAGES_PER_PLACE).map(move |place| (unit, place))
}
