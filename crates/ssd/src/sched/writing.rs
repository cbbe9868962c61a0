//! The pages that the commands in the queue of a die will write.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde::{Deserialize, Serialize};

use super::pages::Run;
use super::{Pages, Queued};
use crate::op::CommandKind;

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
    /// By unit and page.
    pages: BTreeMap<(u32, u32), Writers>,
}

/// The commands that will write a page.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Writers {
    commands: u32,
    /// Those of them that move it there from elsewhere.
    copies: u32,
    /// Number of the last one that does not.
    last: u64,
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
        let is_copy = queued.command.kind == CommandKind::Copies;
        for page in queued.pages.runs().flat_map(each) {
            let writers = self.pages.entry(page).or_default();
            writers.commands += 1;
            writers.copies += u32::from(is_copy);
            if !is_copy {
                writers.last = writers.last.max(queued.number);
            }
        }
    }

    #[inline]
    pub(super) fn remove(&mut self, queued: &Queued) {
        for run in queued.pages.runs() {
            slots(run).for_each(|slot| self.places[slot] -= 1);
        }
        if self.is_exact {
            self.remove_each(queued);
        }
    }

    fn remove_each(&mut self, queued: &Queued) {
        let is_copy = queued.command.kind == CommandKind::Copies;
        for page in queued.pages.runs().flat_map(each) {
            if let Entry::Occupied(mut writers) = self.pages.entry(page) {
                writers.get_mut().commands -= 1;
                writers.get_mut().copies -= u32::from(is_copy);
                if writers.get().commands == 0 {
                    writers.remove();
                }
            }
        }
    }

    /// Whether one of the pages may be among them.
    #[inline]
    pub(super) fn may_hold(&self, pages: &Pages) -> bool {
        !self.places.is_empty()
            && pages.runs().any(|run| slots(run).any(|slot| self.places[slot] > 0))
            && (!self.is_exact || self.holds(pages))
    }

    fn holds(&self, pages: &Pages) -> bool {
        let holds =
            |run: &Run| self.pages.range((run.unit, run.first)..=(run.unit, run.last)).next().is_some();
        pages.runs().any(holds)
    }

    /// The number of the last command that writes one of the pages. None where that is not known: where pages are not counted one
    /// by one, and where a page is moved to its place, so that it can be read elsewhere.
    pub(super) fn last(&self, pages: &Pages) -> Option<u64> {
        let mut last = 0;
        for run in pages.runs() {
            for (_, writers) in self.pages.range((run.unit, run.first)..=(run.unit, run.last)) {
                if writers.copies > 0 {
                    return None;
                }
                last = last.max(writers.last);
            }
        }
        (last > 0).then_some(last)
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
