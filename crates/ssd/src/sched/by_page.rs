//! Commands by the pages that they touch: those of a page are found at a cost that does not grow with the number of commands.
//! Runs of pages are cut into pieces, which lie in buckets by a hash of their place.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::pages::Run;
use super::{Pages, work};

/// Pages of a place: a piece lies in one.
const PAGES_PER_PLACE: u32 = 16;
/// Buckets of the smallest table.
const FEWEST: usize = 64;
/// Pieces of a bucket, on average, at most.
const PIECES: usize = 8;

/// Pages of a command within one place, with its number.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Piece {
    run: Run,
    number: u64,
}

/// Commands by page. The pieces of a place are in the order in which they came.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct ByPage {
    /// None until there is a page, then a power of two.
    buckets: Vec<VecDeque<Piece>>,
    pieces: usize,
}

impl ByPage {
    /// A command comes.
    pub(super) fn add(&mut self, pages: &Pages, number: u64) {
        for piece in pages.runs().flat_map(|run| pieces(run, number)) {
            if self.pieces >= self.buckets.len() * PIECES {
                self.grow();
            }
            let bucket = self.bucket(piece.run.unit, piece.run.first / PAGES_PER_PLACE);
            self.buckets[bucket].push_back(piece);
            self.pieces += 1;
        }
    }

    /// A command goes.
    pub(super) fn remove(&mut self, pages: &Pages, number: u64) {
        for piece in pages.runs().flat_map(|run| pieces(run, number)) {
            if self.buckets.is_empty() {
                return;
            }
            let bucket = self.bucket(piece.run.unit, piece.run.first / PAGES_PER_PLACE);
            let bucket = &mut self.buckets[bucket];
            let is_it = |there: &Piece| there.number == number && there.run == piece.run;
            if let Some(at) = bucket.iter().position(is_it) {
                work::look_at(at + 1);
                bucket.remove(at);
                self.pieces -= 1;
            }
        }
    }

    /// Numbers of the commands that touch one of the pages, some of them more than once.
    pub(super) fn of(&self, pages: &Pages) -> impl Iterator<Item = u64> {
        pages.runs().flat_map(|run| self.of_run(run))
    }

    /// The last number below `before` of a command that touches one of the pages.
    pub(super) fn last(&self, pages: &Pages, before: u64) -> Option<u64> {
        self.of(pages).filter(|number| *number < before).max()
    }

    fn of_run(&self, run: &Run) -> impl Iterator<Item = u64> {
        let (run, first) = (*run, run.first / PAGES_PER_PLACE);
        let places = (run.last / PAGES_PER_PLACE - first) as usize + 1;
        // Of a very long run every bucket is looked through once.
        let is_all = places > self.buckets.len();
        let count = places.min(self.buckets.len());
        let buckets =
            (0..count).map(move |at| if is_all { at } else { self.bucket(run.unit, first + at as u32) });
        buckets
            .flat_map(|bucket| &self.buckets[bucket])
            .inspect(|_| work::look_at(1))
            .filter(move |piece| piece.run.overlaps(&run))
            .map(|piece| piece.number)
    }

    /// The bucket of a place. Only where there are buckets.
    #[inline]
    fn bucket(&self, unit: u32, place: u32) -> usize {
        let key = u64::from(unit) << 32 | u64::from(place);
        // Fibonacci hashing (Knuth, volume 3, section 6.4).
        let hash = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        hash as usize & (self.buckets.len() - 1)
    }

    #[cold]
    fn grow(&mut self) {
        let count = (self.buckets.len() * 2).max(FEWEST);
        let old = std::mem::replace(&mut self.buckets, vec![VecDeque::new(); count]);
        for piece in old.into_iter().flatten() {
            let bucket = self.bucket(piece.run.unit, piece.run.first / PAGES_PER_PLACE);
            self.buckets[bucket].push_back(piece);
        }
    }
}

/// The pieces of a run.
#[inline]
fn pieces(run: &Run, number: u64) -> impl Iterator<Item = Piece> + use<> {
    let Run { unit, first, last } = *run;
    (first / PAGES_PER_PLACE..=last / PAGES_PER_PLACE).map(move |place| {
        let from = first.max(place * PAGES_PER_PLACE);
        let to = last.min(place * PAGES_PER_PLACE + (PAGES_PER_PLACE - 1));
        Piece { run: Run { unit, first: from, last: to }, number }
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::draws;
    use super::*;

    #[test]
    fn the_last_command_of_pages_is_that_of_a_search_through_all() {
        let mut draw = draws(3);
        let (mut by_page, mut all) = (ByPage::default(), VecDeque::new());
        let mut found = 0;
        for number in 1..6000 {
            let mut pages = |runs: u64, length: u64| {
                let mut pages = Pages::default();
                for _ in 0..runs {
                    let (unit, first) = (draw(3) as u32, draw(5000) as u32);
                    pages.add_run(unit, first, first + draw(length) as u32);
                }
                pages
            };
            let (own, sought) = (pages(2, 40), pages(1, 2000));
            let before = number / 2;
            by_page.add(&own, number);
            all.push_back((own, number));
            if number % 3 > 0 && all.len() > 300 {
                // From anywhere, most of them from the front.
                let at = (number % 7 * number % 40) as usize;
                let (pages, number) = all.remove(at).expect("it is there");
                by_page.remove(&pages, number);
            }
            for before in [before, u64::MAX] {
                let touch = all.iter().filter(|(pages, number)| *number < before && pages.overlaps(&sought));
                let expected = touch.map(|(_, number)| *number).max();
                assert_eq!(by_page.last(&sought, before), expected, "{number}");
                found += usize::from(expected.is_some());
            }
        }
        assert!(found > 6000 && by_page.buckets.len() > FEWEST, "{found}, {}", by_page.buckets.len());
        for (pages, number) in all {
            by_page.remove(&pages, number);
        }
        assert_eq!(by_page.pieces, 0);
    }
}
