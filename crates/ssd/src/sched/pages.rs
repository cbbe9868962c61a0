//! The physical pages that a command reads or writes.

use serde::{Deserialize, Serialize};

/// Neighbouring pages of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Run {
    pub(super) unit: u32,
    pub(super) first: u32,
    pub(super) last: u32,
}

impl Run {
    #[inline]
    pub(super) fn overlaps(&self, other: &Run) -> bool {
        self.unit == other.unit && self.first <= other.last && other.first <= self.last
    }
}

/// Pages, as runs within a unit. One run needs no memory of its own.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Pages {
    first: Option<Run>,
    more: Option<Box<More>>,
}

/// Fields that few commands have.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct More {
    runs: Vec<Run>,
    /// Around the pages that are moved to those of the runs, if any are.
    source: Option<Run>,
}

impl Pages {
    /// One more page.
    #[inline]
    pub(crate) fn add(&mut self, unit: u32, ppn: u32) {
        self.add_run(unit, ppn, ppn);
    }

    /// More pages, `first` to `last`.
    #[inline]
    pub(crate) fn add_run(&mut self, unit: u32, first: u32, last: u32) {
        let run = Run { unit, first, last };
        let Some(only) = &mut self.first else {
            self.first = Some(run);
            return;
        };
        let before = self.more.as_mut().and_then(|more| more.runs.last_mut()).unwrap_or(only);
        if before.unit == unit && before.last.wrapping_add(1) == first {
            before.last = last;
        } else {
            self.more.get_or_insert_default().runs.push(run);
        }
    }

    /// One page is moved.
    #[inline]
    pub(crate) fn add_move(&mut self, unit: u32, from: u32, to: u32) {
        self.add(unit, to);
        let more = self.more.get_or_insert_default();
        let source = more.source.get_or_insert(Run { unit, first: from, last: from });
        source.first = source.first.min(from);
        source.last = source.last.max(from);
    }

    /// More pages, those of another command that goes with this one.
    pub(crate) fn append(&mut self, other: &Pages) {
        if other.is_empty() {
            return;
        }
        other.runs().for_each(|run| self.add_run(run.unit, run.first, run.last));
        if let Some(from) = other.more.as_ref().and_then(|more| more.source) {
            let more = self.more.get_or_insert_default();
            // Sources of several units are one range of all: what may be a page to wait for is one.
            let source = more.source.get_or_insert(from);
            source.first = source.first.min(from.first);
            source.last = source.last.max(from.last);
        }
    }

    /// True if there is no page.
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    #[inline]
    pub(super) fn runs(&self) -> impl Iterator<Item = &Run> {
        self.first.iter().chain(self.more.iter().flat_map(|more| &more.runs))
    }

    /// True if the two have a page in common.
    #[inline]
    pub(crate) fn overlaps(&self, other: &Pages) -> bool {
        self.runs().any(|run| other.runs().any(|other| run.overlaps(other)))
    }

    /// Their units, by the last six bits of the number.
    #[inline]
    pub(super) fn units(&self) -> u64 {
        self.runs().fold(0, |units, run| units | 1 << (run.unit & 63))
    }

    /// Where these pages may be before `moves` are made: where they are now, if nothing is moved there, or anywhere from
    /// where those come.
    pub(super) fn before(&self, moves: &Pages) -> Pages {
        let mut pages = Pages::default();
        let is_moved = |run: &Run| run.first == run.last && moves.runs().any(|moved| moved.overlaps(run));
        for run in self.runs().filter(|run| !is_moved(run)) {
            pages.add_run(run.unit, run.first, run.last);
        }
        if let Some(Run { unit, first, last }) = moves.more.as_ref().and_then(|more| more.source) {
            pages.add_run(unit, first, last);
        }
        pages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_make_a_run_and_others_do_not() {
        let mut pages = Pages::default();
        for ppn in [4, 5, 9] {
            pages.add(1, ppn);
        }
        pages.add(2, 10);
        assert_eq!(pages.runs().count(), 3);
        let one = |unit, ppn| {
            let mut pages = Pages::default();
            pages.add(unit, ppn);
            pages
        };
        assert!(pages.overlaps(&one(1, 5)) && pages.overlaps(&one(2, 10)));
        assert!(!pages.overlaps(&one(1, 10)) && !pages.overlaps(&one(2, 5)) && !pages.overlaps(&one(1, 6)));
        assert_eq!(pages.units(), 1 << 1 | 1 << 2);
    }

    #[test]
    fn before_a_move_a_page_may_be_anywhere_in_what_is_moved() {
        let mut moves = Pages::default();
        moves.add_move(3, 70, 8);
        moves.add_move(3, 75, 9);
        let mut read = Pages::default();
        read.add(3, 9);
        read.add(3, 30);
        let before = read.before(&moves);
        let mut programmed = Pages::default();
        programmed.add(3, 75);
        assert!(before.overlaps(&programmed) && !read.overlaps(&programmed));
        let runs: Vec<_> = before.runs().map(|run| (run.first, run.last)).collect();
        assert_eq!(runs, [(30, 30), (70, 75)]);
    }
}
