//! Places of zones.
//!
//! With the static mapping the zone after goes to the unit after: an address says which dies it is on, as a host needs it that
//! spreads its zones over them. With the dynamic one ([`ZoneMap`]) the drive spreads the zones that are written.

use serde::{Deserialize, Serialize};

use super::Home;
use super::striped::{self, Striped};
use super::zone_map::ZoneMap;
use crate::divisor::Divisor;
use crate::geometry::Geometry;

/// From pages to the places of their zones.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Zoned {
    zones: Striped,
    /// Pages of a zone.
    pages: Divisor,
    /// Places of zones, with the dynamic mapping.
    map: Option<ZoneMap>,
}

impl Zoned {
    /// `geometry`: as the translation layer has it.
    pub(super) fn new(config: &striped::Config, is_dynamic: bool, geometry: &Geometry) -> Self {
        let pages = Divisor::new(geometry.pages_per_block.into());
        let zones = Striped::new(config, geometry);
        let map = is_dynamic.then(|| {
            let blocks = (0..geometry.units()).map(|unit| geometry.unit_blocks(unit) as u32);
            let order = (0..geometry.units()).map(|number| zones.home(number.into()).unit);
            ZoneMap::new((geometry.logical_pages / pages.get()) as usize, blocks, order.collect())
        });
        Self { zones, pages, map }
    }

    pub(super) fn units(&self) -> u32 {
        self.zones.units()
    }

    /// The place of a page, if its zone has one.
    pub(crate) fn locate(&self, lpn: u64) -> Option<Home> {
        let (zone, page) = self.pages.split(lpn);
        let home = match &self.map {
            None => self.zones.home(zone),
            Some(map) => Self::home(map.get(zone as usize)?),
        };
        Some(self.at(home, page))
    }

    /// The place of a page that is written: its zone gets one if it has none.
    pub(crate) fn bind(&mut self, lpn: u64) -> Home {
        let (zone, page) = self.pages.split(lpn);
        let home = match &mut self.map {
            None => self.zones.home(zone),
            Some(map) => Self::home(map.bind(zone as usize)),
        };
        self.at(home, page)
    }

    /// The first page of a zone, with the number of its block as key.
    fn home((unit, key): (u32, u32)) -> Home {
        Home { unit, key }
    }

    fn at(&self, Home { unit, key }: Home, page: u64) -> Home {
        Home { unit, key: key * self.pages.get() as u32 + page as u32 }
    }

    /// The zone of a place is full.
    pub(crate) fn fill(&mut self, home: Home) {
        if let Some(map) = &mut self.map {
            map.fill((home.unit, home.key / self.pages.get() as u32));
        }
    }

    /// Pages of a zone are forgotten in order: with the last one it gives its block back. Returns whether it did.
    pub(crate) fn forget(&mut self, lpn: u64) -> bool {
        let (zone, page) = self.pages.split(lpn);
        let Some(map) = self.map.as_mut().filter(|_| page + 1 == self.pages.get()) else { return false };
        map.release(zone as usize);
        true
    }

    /// A block is worn out.
    pub(crate) fn wear_out(&mut self, unit: u32, block: u32) {
        if let Some(map) = &mut self.map {
            map.wear_out((unit, block));
        }
    }

    /// True if zones get their places when they are written.
    pub(crate) fn is_dynamic(&self) -> bool {
        self.map.is_some()
    }

    /// True if the mapping is dynamic, and zones without a block are more than good blocks.
    pub(crate) fn is_short(&self) -> bool {
        self.map.as_ref().is_some_and(ZoneMap::is_short)
    }

    /// A zone without a block has failed.
    pub(crate) fn fail(&mut self) {
        if let Some(map) = &mut self.map {
            map.fail();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_a_zone_follow_each_other_in_one_block_and_zones_go_round() {
        let geometry = Geometry::for_test(2, 1, 1, 1);
        let zoned = Zoned::new(&striped::Config::default(), false, &geometry);
        let homes = (0..12).filter_map(|lpn| zoned.locate(lpn));
        let homes: Vec<_> = homes.map(|home| (home.unit, home.key)).collect();
        let expected =
            [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2), (1, 3), (0, 4), (0, 5), (0, 6), (0, 7)];
        assert_eq!(homes, expected);
    }
}
