//! Dynamic mapping of zones to dies: a zone gets its block when its first page is placed, and gives it back when it is reset.
//!
//! It goes to the unit (a set of dies, with superblocks) where the fewest zones are being written, of those to the one with
//! the fewest zones, then to the one that was given zones least often, and there to the block that was given back longest ago. So
//! zones that are written together lie on other
//! dies as far as there are any, and blocks beyond those of the capacity take turns with the others. A block that wears out is
//! used only where no other one is left.

use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

/// Unit and block of a zone.
type Place = (u32, u32);

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Unit {
    /// Erased blocks without a zone, in the order in which they were given back.
    free: VecDeque<u32>,
    /// The same, of those worn out.
    worn_free: VecDeque<u32>,
    worn: BTreeSet<u32>,
    /// Blocks of zones that are being written: not full yet.
    open: BTreeSet<u32>,
    /// Zones now, and so far.
    used: u32,
    given: u64,
}

/// Blocks of zones.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ZoneMap {
    places: Vec<Option<Place>>,
    units: Vec<Unit>,
    /// Units in the order in which they are preferred, where nothing else decides.
    order: Vec<u32>,
    /// Zones that failed without a block.
    failed: usize,
}

impl ZoneMap {
    /// `blocks`: those of each unit, at least as many as there are zones.
    pub(super) fn new(zones: usize, blocks: impl Iterator<Item = u32>, order: Vec<u32>) -> Self {
        let units = blocks.map(|blocks| Unit { free: (0..blocks).collect(), ..Unit::default() });
        Self { places: vec![None; zones], units: units.collect(), order, failed: 0 }
    }

    pub(super) fn get(&self, zone: usize) -> Option<Place> {
        *self.places.get(zone)?
    }

    /// The block of a zone, which gets one if it has none.
    pub(super) fn bind(&mut self, zone: usize) -> Place {
        if let Some(place) = self.places[zone] {
            return place;
        }
        let (unit, block) = self.take().expect("each zone has a block");
        let own = &mut self.units[unit as usize];
        own.open.insert(block);
        own.used += 1;
        own.given += 1;
        self.places[zone] = Some((unit, block));
        (unit, block)
    }

    fn take(&mut self) -> Option<Place> {
        let units = &self.units;
        let load = |unit: &u32| {
            let own = &units[*unit as usize];
            (own.open.len(), own.used, own.given)
        };
        let order = || self.order.iter().copied();
        if let Some(unit) = order().filter(|unit| !units[*unit as usize].free.is_empty()).min_by_key(load) {
            return Some((unit, self.units[unit as usize].free.pop_front()?));
        }
        let unit = order().find(|unit| !units[*unit as usize].worn_free.is_empty())?;
        Some((unit, self.units[unit as usize].worn_free.pop_front()?))
    }

    /// A zone is full.
    pub(super) fn fill(&mut self, (unit, block): Place) {
        self.units[unit as usize].open.remove(&block);
    }

    /// A zone is empty: its block is free for any other one.
    pub(super) fn release(&mut self, zone: usize) {
        let Some((unit, block)) = self.places[zone].take() else { return };
        let own = &mut self.units[unit as usize];
        own.open.remove(&block);
        own.used -= 1;
        let free = if own.worn.contains(&block) { &mut own.worn_free } else { &mut own.free };
        free.push_back(block);
    }

    /// A block is worn out.
    pub(super) fn wear_out(&mut self, (unit, block): Place) {
        let own = &mut self.units[unit as usize];
        own.worn.insert(block);
        if let Some(at) = own.free.iter().position(|free| *free == block) {
            own.free.remove(at);
            own.worn_free.push_back(block);
        }
    }

    /// True if zones without a block are more than the good blocks that are left for them.
    pub(super) fn is_short(&self) -> bool {
        let used: usize = self.units.iter().map(|unit| unit.used as usize).sum();
        let free: usize = self.units.iter().map(|unit| unit.free.len()).sum();
        self.places.len() - used - self.failed > free
    }

    /// A zone without a block has failed: it needs none.
    pub(super) fn fail(&mut self) {
        self.failed += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_goes_to_the_unit_with_the_fewest_open_zones_then_to_the_one_with_the_fewest() {
        let mut map = ZoneMap::new(6, [4, 4].into_iter(), vec![1, 0]);
        assert_eq!([map.bind(0), map.bind(2), map.bind(4)], [(1, 0), (0, 0), (1, 1)]);
        assert_eq!(map.bind(0), (1, 0), "it stays there");
        map.fill((1, 0));
        map.fill((1, 1));
        assert_eq!(map.bind(1), (1, 2), "nothing is open there, though more is full");
        map.release(1);
        assert_eq!((map.get(1), map.bind(3)), (None, (1, 3)), "the block given back comes last");
    }

    #[test]
    fn a_worn_block_is_left_alone_as_long_as_there_are_others_and_then_zones_run_short() {
        let mut map = ZoneMap::new(2, [3].into_iter(), vec![0]);
        assert_eq!(map.bind(0), (0, 0));
        map.wear_out((0, 0));
        map.release(0);
        assert!(!map.is_short());
        assert_eq!([map.bind(0), map.bind(1)], [(0, 1), (0, 2)]);
        map.wear_out((0, 1));
        map.release(0);
        assert!(map.is_short(), "one zone, and no good block");
        map.fail();
        assert!(!map.is_short());
        map.release(1);
        assert_eq!([map.bind(0), map.bind(1)], [(0, 2), (0, 0)], "before there is no room, a worn one goes");
    }
}
