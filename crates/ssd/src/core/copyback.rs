//! Copyback: a page that moves within its plane without crossing the bus, unchecked. What it has lost to wear and time is
//! copied with it, so after some moves it has to cross the bus once, where the controller's ECC mends it.

use serde::{Deserialize, Serialize};

use crate::cow::CowVec;
use crate::geometry::Geometry;

/// Copybacks of each physical page since its data last crossed the bus.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Copybacks {
    /// Most copybacks in a row.
    limit: u32,
    /// Distance of two units.
    unit_pages: u64,
    made: CowVec,
}

impl Copybacks {
    /// None where `limit` is 0: every move crosses the bus.
    pub(super) fn new(limit: u32, geometry: &Geometry) -> Option<Self> {
        let unit_pages = geometry.max_unit_pages();
        let pages = unit_pages * u64::from(geometry.units());
        (limit > 0).then(|| Self { limit, unit_pages, made: CowVec::new(pages) })
    }

    /// Pages of a unit move, from and to. Returns how many of them cross the bus.
    pub(super) fn moved(&mut self, unit: u32, moves: &[(u32, u32)]) -> u64 {
        let mut crossing = 0;
        for (from, to) in moves {
            let made = self.made.get(self.place(unit, *from));
            let made = if made == CowVec::EMPTY { 0 } else { made };
            let crosses = made >= self.limit;
            crossing += u64::from(crosses);
            let place = self.place(unit, *to);
            self.made.set(place, if crosses { 0 } else { made + 1 });
        }
        crossing
    }

    /// Mapping units move within a unit, from and to; a page of flash holds `per_page`. Returns the pages that move as they are
    /// and need not cross the bus; each counts by its first mapping unit.
    pub(super) fn moved_packed(&mut self, unit: u32, moves: &[(u32, u32)], per_page: u32) -> u64 {
        let mut copied = 0;
        for page in moves.chunk_by(|one, next| one.1 / per_page == next.1 / per_page) {
            let (from, to) = page[0];
            let is_whole = page.len() == per_page as usize
                && from.is_multiple_of(per_page)
                && page.iter().all(|(source, target)| *source == from + (target - to));
            if is_whole {
                copied += 1 - self.moved(unit, &page[..1]);
            } else {
                self.programmed(unit, to);
            }
        }
        copied
    }

    /// A page is programmed with data that came over the bus.
    pub(super) fn programmed(&mut self, unit: u32, ppn: u32) {
        let place = self.place(unit, ppn);
        if self.made.get(place) != CowVec::EMPTY {
            self.made.set(place, 0);
        }
    }

    pub(super) fn snapshot(&mut self) -> Self {
        Self { made: self.made.snapshot(), ..*self }
    }

    fn place(&self, unit: u32, ppn: u32) -> u64 {
        u64::from(unit) * self.unit_pages + u64::from(ppn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn copybacks(limit: u32) -> Copybacks {
        Copybacks::new(limit, &Geometry::new(&Config::default()).expect("a drive")).expect("a limit")
    }

    #[test]
    fn a_page_crosses_the_bus_after_so_many_copybacks() {
        let mut copybacks = copybacks(2);
        assert_eq!(copybacks.moved(0, &[(0, 10), (1, 11)]), 0);
        assert_eq!(copybacks.moved(0, &[(10, 20), (2, 21)]), 0);
        // The first has moved twice, the other once.
        assert_eq!(copybacks.moved(0, &[(20, 30), (21, 31)]), 1);
        assert_eq!(copybacks.moved(0, &[(30, 40), (31, 41)]), 1);
    }

    #[test]
    fn only_whole_pages_of_mapping_units_are_copied_back() {
        let mut copybacks = copybacks(1);
        let page: Vec<(u32, u32)> = (0..4).map(|unit| (8 + unit, 16 + unit)).collect();
        assert_eq!(copybacks.moved_packed(0, &page, 4), 1);
        // It must cross the bus now.
        let again: Vec<(u32, u32)> = (0..4).map(|unit| (16 + unit, 24 + unit)).collect();
        assert_eq!(copybacks.moved_packed(0, &again, 4), 0);
        // Part of a page, and units of two pages.
        assert_eq!(copybacks.moved_packed(0, &[(32, 40), (33, 41), (34, 42)], 4), 0);
        assert_eq!(copybacks.moved_packed(0, &[(45, 48), (46, 49), (47, 50), (52, 51)], 4), 0);
        // A page that moves as it is after one that does not.
        let mixed: Vec<(u32, u32)> =
            [(60, 64)].into_iter().chain((0..4).map(|unit| (76 + unit, 68 + unit))).collect();
        assert_eq!(copybacks.moved_packed(0, &mixed, 4), 1);
    }

    #[test]
    fn units_are_apart_and_a_new_page_starts_anew() {
        let mut copybacks = copybacks(1);
        assert_eq!(copybacks.moved(1, &[(0, 10)]), 0);
        assert_eq!(copybacks.moved(0, &[(10, 20)]), 0);
        copybacks.programmed(1, 10);
        assert_eq!(copybacks.moved(1, &[(10, 20)]), 0);
        assert_eq!(copybacks.moved(0, &[(20, 30)]), 1);
    }

    #[test]
    fn without_a_limit_there_is_none() {
        assert!(Copybacks::new(0, &Geometry::new(&Config::default()).expect("a drive")).is_none());
    }
}
