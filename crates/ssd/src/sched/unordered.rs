//! Commands that can start in a long queue of [`super::out_of_order`], to whose front come ever more that can't: they are found
//! without looking at those. Commands that keep no order with others of their units are reads, and those of which no page is
//! known; of the others only the first of each unit can start.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::by_page::ByPage;
use super::{Pages, Queued, work};
use crate::op::CommandKind;

/// Units that [`Pages::units`] tells apart.
const UNITS: usize = 64;

/// The lists, by numbers in the queue.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Unordered {
    /// Commands that keep no order and are not known to wait for another one, in order.
    free: VecDeque<u64>,
    /// Those that wait for a command, by the number of that.
    held: BTreeMap<u64, Vec<u64>>,
    /// The other commands, by unit.
    ordered: Vec<VecDeque<u64>>,
    /// The reads.
    reads: ByPage,
}

impl Unordered {
    /// True if the command keeps no order.
    #[inline]
    pub(super) fn holds(queued: &Queued) -> bool {
        queued.command.kind == CommandKind::Read || queued.pages.is_empty()
    }

    /// A command comes to the end of the queue.
    pub(super) fn add(&mut self, queued: &Queued) {
        let number = queued.number;
        if Self::holds(queued) {
            debug_assert!(self.free.back().is_none_or(|last| *last < number), "all are put at the end");
            self.free.push_back(number);
            if queued.command.kind == CommandKind::Read {
                self.reads.add(&queued.pages, number);
            }
        } else {
            each_unit(queued.pages.units()).for_each(|unit| self.ordered[unit].push_back(number));
        }
    }

    /// A command leaves the queue: those that wait for it may start.
    pub(super) fn remove(&mut self, queued: &Queued) {
        let number = queued.number;
        if Self::holds(queued) {
            if !take(&mut self.free, number) {
                self.held.values_mut().for_each(|held| held.retain(|held| *held != number));
            }
            if queued.command.kind == CommandKind::Read {
                self.reads.remove(&queued.pages, number);
            }
            return;
        }
        for unit in each_unit(queued.pages.units()) {
            take(&mut self.ordered[unit], number);
        }
        for held in self.held.remove(&number).into_iter().flatten() {
            let at = self.free.partition_point(|free| *free < held);
            self.free.insert(at, held);
        }
    }

    /// The commands that keep no order and are not known to wait for another one: the one at a place of their list.
    pub(super) fn free(&self, at: usize) -> Option<u64> {
        work::look_at(1);
        self.free.get(at).copied()
    }

    /// The one at a place of the list waits for the command of that number.
    pub(super) fn hold(&mut self, at: usize, behind: u64) {
        if let Some(number) = self.free.remove(at) {
            self.held.entry(behind).or_default().push(number);
        }
    }

    /// The first of the other commands of each unit.
    pub(super) fn heads(&self) -> impl Iterator<Item = u64> {
        self.ordered.iter().filter_map(|numbers| numbers.front().copied()).inspect(|_| work::look_at(1))
    }

    /// True if the command of that number is the first of all its units.
    pub(super) fn is_head(&self, number: u64, units: u64) -> bool {
        each_unit(units).all(|unit| self.ordered[unit].front() == Some(&number))
    }

    /// Commands before that of a number that write to these units, some of them more than once.
    pub(super) fn before(&self, units: u64, number: u64) -> impl Iterator<Item = u64> {
        let of_unit =
            move |unit: usize| self.ordered[unit].iter().copied().take_while(move |own| *own < number);
        each_unit(units).flat_map(of_unit).inspect(|_| work::look_at(1))
    }

    /// Reads before the command of a number that touch one of the pages, some of them more than once.
    pub(super) fn reads_before(&self, pages: &Pages, number: u64) -> impl Iterator<Item = u64> {
        self.reads.of(pages).filter(move |read| *read < number)
    }

    /// True if a read before the command of that number touches one of the pages.
    pub(super) fn is_read_before(&self, pages: &Pages, number: u64) -> bool {
        self.reads.of(pages).any(|read| read < number)
    }
}

impl<'a> FromIterator<&'a Queued> for Unordered {
    fn from_iter<I: IntoIterator<Item = &'a Queued>>(queued: I) -> Self {
        let mut unordered = Self {
            free: VecDeque::new(),
            held: BTreeMap::new(),
            ordered: vec![VecDeque::new(); UNITS],
            reads: ByPage::default(),
        };
        queued.into_iter().for_each(|queued| unordered.add(queued));
        unordered
    }
}

/// Takes a number out of a list in order. Returns whether it was there.
fn take(numbers: &mut VecDeque<u64>, number: u64) -> bool {
    let at = numbers.binary_search(&number);
    at.is_ok_and(|at| numbers.remove(at).is_some())
}

/// The units of a mask.
fn each_unit(mut units: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let unit = units.trailing_zeros() as usize;
        units &= units.wrapping_sub(1);
        (unit < UNITS).then_some(unit)
    })
}
