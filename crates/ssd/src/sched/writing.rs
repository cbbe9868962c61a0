//! The pages that the commands in the queue of a die will write, and erase.

use serde::{Deserialize, Serialize};

use super::by_page::ByPage;
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
    /// Then: the commands that write them, and those that erase.
    writers: ByPage,
    erases: ByPage,
}

impl Writing {
    #[inline]
    pub(super) fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// Counts pages one by one from now on, or no more, where these wait.
    pub(super) fn change<'a>(&mut self, is_exact: bool, waiting: impl Iterator<Item = &'a Queued>) {
        (self.writers, self.erases) = Default::default();
        self.is_exact = is_exact;
        if is_exact {
            waiting.for_each(|queued| self.add_each(queued));
        }
    }

    /// A command comes that writes or erases.
    #[inline]
    pub(super) fn add(&mut self, queued: &Queued) {
        if queued.writes() {
            if self.places.is_empty() {
                self.places = vec![0; SLOTS];
            }
            for run in queued.pages.runs() {
                slots(run).for_each(|slot| self.places[slot] += 1);
            }
        }
        if self.is_exact {
            self.add_each(queued);
        }
    }

    fn add_each(&mut self, queued: &Queued) {
        let pages = if queued.writes() { &mut self.writers } else { &mut self.erases };
        pages.add(&queued.pages, queued.number);
    }

    /// It goes.
    #[inline]
    pub(super) fn remove(&mut self, queued: &Queued) {
        if queued.writes() {
            for run in queued.pages.runs() {
                slots(run).for_each(|slot| self.places[slot] -= 1);
            }
        }
        if self.is_exact {
            let pages = if queued.writes() { &mut self.writers } else { &mut self.erases };
            pages.remove(&queued.pages, queued.number);
        }
    }

    /// True if one of the pages may be among those to be written.
    #[inline]
    pub(super) fn may_hold(&self, pages: &Pages) -> bool {
        !self.places.is_empty()
            && pages.runs().any(|run| slots(run).any(|slot| self.places[slot] > 0))
            && (!self.is_exact || self.writers.of(pages).next().is_some())
    }

    /// The number, below `before`, of the last command that writes one of the pages. Only where they are counted one by one.
    pub(super) fn last(&self, pages: &Pages, before: u64) -> Option<u64> {
        self.writers.last(pages, before)
    }

    /// The numbers, below `before`, of all commands that write or erase one of the pages, some of them more than once. Only where
    /// they are counted one by one.
    pub(super) fn all(&self, pages: &Pages, before: u64) -> impl Iterator<Item = u64> {
        self.writers.of(pages).chain(self.erases.of(pages)).filter(move |number| *number < before)
    }

    /// Likewise, of the last one that erases one of them.
    pub(super) fn last_erase(&self, pages: &Pages, before: u64) -> Option<u64> {
        self.erases.last(pages, before)
    }
}

/// Where the pages of a run are counted.
#[inline]
fn slots(run: &Run) -> impl Iterator<Item = usize> + use<> {
    let unit = run.unit.wrapping_mul(97);
    let places = run.first / PAGES_PER_PLACE..=run.last / PAGES_PER_PLACE;
    places.map(move |place| unit.wrapping_add(place) as usize % SLOTS)
}
