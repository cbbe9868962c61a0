//! The pages that the commands in the queue of a die will write.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::pages::Run;
use super::{Pages, Queued};

/// Counts of places.
const SLOTS: usize = 256;
/// Pages that are counted as one place.
const PAGES_PER_PLACE: u32 = 64;
/// So many commands are looked through one by one, more are not.
pub(super) const MANY: usize = 256;

/// Pages yet to be written. Counted by a hash of where they are, where a count of none is certain; and, as long as many
/// commands wait, one by one.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Writing {
    /// Empty until there is a page.
    places: Vec<u32>,
    is_exact: bool,
    /// Unit and page, and the number of a command that writes it.
    pages: BTreeSet<(u32, u32, u64)>,
}

impl Writing {
    #[inline]
    pub(super) fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// Counts pages one by one from now on, or no more, where these wait.
    pub(super) fn change<'a>(&mut self, is_exact: bool, waiting: impl Iterator<Item = &'a Queued>) {
        self.pages.clear();
        self.is_exact = is_exact;
        if is_exact {
            waiting.for_each(|queued| self.add_each(queued));
        }
    }

    #[inline]
    pub(super) fn add(&mut self, queued: &Queued) {
        if self.places.is_empty() {
            self.places = vec![0; SLOTS];
        }
        for run in queued.pages.runs() {
            slots(run).for_each(|slot| self.places[slot] += 1);
        }
        if self.is_exact {
            self.add_each(queued);
        }
    }

    fn add_each(&mut self, queued: &Queued) {
        let pages = queued.pages.runs().flat_map(each);
        self.pages.extend(pages.map(|(unit, page)| (unit, page, queued.number)));
    }

    #[inline]
    pub(super) fn remove(&mut self, queued: &Queued) {
        for run in queued.pages.runs() {
            slots(run).for_each(|slot| self.places[slot] -= 1);
        }
        if self.is_exact {
            for (unit, page) in queued.pages.runs().flat_map(each) {
                self.pages.remove(&(unit, page, queued.number));
            }
        }
    }

    /// True if one of the pages may be among them.
    #[inline]
    pub(super) fn may_hold(&self, pages: &Pages) -> bool {
        !self.places.is_empty()
            && pages.runs().any(|run| slots(run).any(|slot| self.places[slot] > 0))
            && (!self.is_exact || self.holds(pages))
    }

    fn holds(&self, pages: &Pages) -> bool {
        pages.runs().any(|run| self.of(run).next().is_some())
    }

    /// The number, below `before`, of the last command that writes one of the pages. Only where they are counted one by one.
    pub(super) fn last(&self, pages: &Pages, before: u64) -> Option<u64> {
        let numbers = pages.runs().flat_map(|run| self.of(run));
        numbers.filter(|number| *number < before).max()
    }

    fn of(&self, run: &Run) -> impl Iterator<Item = u64> {
        let range = (run.unit, run.first, 0)..=(run.unit, run.last, u64::MAX);
        self.pages.range(range).map(|(_, _, number)| *number)
    }
}

/// Where the pages of a run are counted.
#[inline]
fn slots(run: &Run) -> impl Iterator<Item = usize> + use<> {
    let unit = run.unit.wrapping_mul(97);
    let places = run.first / PAGES_PER_PLACE..=run.last / PAGES_PER_PLACE;
    places.map(move |place| unit.wrapping_add(place) as usize % SLOTS)
}

fn each(run: &Run) -> impl Iterator<Item = (u32, u32)> + use<> {
    let unit = run.unit;
    (run.first..=run.last).map(move |ppn| (unit, ppn))
}
