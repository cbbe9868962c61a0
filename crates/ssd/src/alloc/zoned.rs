//! Places of zones: the zone after goes to the unit after, so that zones that are written together lie on other dies.
//!
//! The mapping is static: an address says which dies it is on, as a host needs it that spreads its zones over them.

use serde::{Deserialize, Serialize};

use super::Home;
use super::striped::{self, Striped};
use crate::divisor::Divisor;
use crate::geometry::Geometry;

/// From pages to the places of their zones.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Zoned {
    zones: Striped,
    /// Pages of a zone.
    pages: Divisor,
}

impl Zoned {
    /// `geometry`: as the translation layer has it.
    pub(super) fn new(config: &striped::Config, geometry: &Geometry) -> Self {
        let pages = Divisor::new(geometry.pages_per_block.into());
        Self { zones: Striped::new(config, geometry), pages }
    }

    pub(super) fn units(&self) -> u32 {
        self.zones.units()
    }

    pub(super) fn home(&self, lpn: u64) -> Home {
        let (zone, page) = self.pages.split(lpn);
        let Home { unit, key } = self.zones.home(zone);
        Home { unit, key: key * self.pages.get() as u32 + page as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_a_zone_follow_each_other_in_one_block_and_zones_go_round() {
        let geometry = Geometry::for_test(2, 1, 1, 1);
        let zoned = Zoned::new(&striped::Config::default(), &geometry);
        let homes: Vec<_> = (0..12).map(|lpn| zoned.home(lpn)).map(|home| (home.unit, home.key)).collect();
        let expected =
            [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2), (1, 3), (0, 4), (0, 5), (0, 6), (0, 7)];
        assert_eq!(homes, expected);
    }
}
