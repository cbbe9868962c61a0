//! The physical pages that a command reads or writes.

/// Neighbouring pages of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    unit: u32,
    first: u32,
    last: u32,
}

impl Run {
    fn overlaps(&self, other: &Run) -> bool {
        self.unit == other.unit && self.first <= other.last && other.first <= self.last
    }
}

/// Pages, as runs within a unit. One run needs no memory of its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pages {
    first: Option<Run>,
    more: Option<Box<More>>,
}

/// What few commands have.
#[derive(Clone, Debug, Default)]
struct More {
    runs: Vec<Run>,
    /// Pages moved within the unit of the first run: from, to.
    moves: Vec<(u32, u32)>,
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
        let before = match &mut self.more {
            Some(more) => more.runs.last_mut().unwrap_or(only),
            None => only,
        };
        if before.unit == unit && before.last.wrapping_add(1) == first {
            before.last = last;
        } else {
            self.more.get_or_insert_default().runs.push(run);
        }
    }

    /// One page is moved.
    pub(crate) fn add_move(&mut self, unit: u32, from: u32, to: u32) {
        self.add(unit, to);
        self.more.get_or_insert_default().moves.push((from, to));
    }

    fn runs(&self) -> impl Iterator<Item = &Run> {
        self.first.iter().chain(self.more.iter().flat_map(|more| &more.runs))
    }

    /// All pages, one after the other.
    pub(super) fn each(&self) -> impl Iterator<Item = (u32, u32)> {
        self.runs().flat_map(|run| (run.first..=run.last).map(|ppn| (run.unit, ppn)))
    }

    /// Whether the two have a page in common.
    #[inline]
    pub(crate) fn overlaps(&self, other: &Pages) -> bool {
        self.runs().any(|run| other.runs().any(|other| run.overlaps(other)))
    }

    /// Whether the two have a unit in common.
    pub(super) fn same_unit(&self, other: &Pages) -> bool {
        self.runs().any(|run| other.runs().any(|other| run.unit == other.unit))
    }

    /// Before `moves` are made, their pages are where they are moved from.
    pub(super) fn before(&self, moves: &Pages) -> Pages {
        let (unit, list) = match (&moves.first, &moves.more) {
            (Some(run), Some(more)) => (run.unit, more.moves.as_slice()),
            _ => (0, [].as_slice()),
        };
        let mut pages = Pages::default();
        for (own, ppn) in self.each() {
            let from = list.iter().find(|(_, to)| own == unit && *to == ppn);
            pages.add(own, from.map_or(ppn, |(from, _)| *from));
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
        assert_eq!(pages.each().collect::<Vec<_>>(), [(1, 4), (1, 5), (1, 9), (2, 10)]);
        let one = |unit, ppn| {
            let mut pages = Pages::default();
            pages.add(unit, ppn);
            pages
        };
        assert!(pages.overlaps(&one(1, 5)) && pages.overlaps(&one(2, 10)));
        assert!(!pages.overlaps(&one(1, 10)) && !pages.overlaps(&one(2, 5)) && !pages.overlaps(&one(1, 6)));
        assert!(pages.same_unit(&one(2, 77)) && !pages.same_unit(&one(3, 4)));
    }

    #[test]
    fn before_a_move_a_page_is_where_it_was() {
        let mut moves = Pages::default();
        moves.add_move(3, 70, 8);
        moves.add_move(3, 75, 9);
        let mut read = Pages::default();
        read.add(3, 9);
        read.add(3, 10);
        assert_eq!(read.before(&moves).each().collect::<Vec<_>>(), [(3, 75), (3, 10)]);
    }
}
