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
