//! Data blocks that get their unit when their first page is written: dynamic allocation, and channels of tenants, under a layer that
//! maps blocks. A page can't go elsewhere than its data block, so the policy is asked for data blocks and not for pages. The data block
//! then stays on its unit, whoever writes it: what was overwritten is merged where it is.
//!
//! The pages of a data block are those that striping over all units would give it, so a sequential write still goes to as many units
//! as there are. Data blocks are numbered in the order of their first pages: to the policy they are the pages of a smaller drive.

use serde::{Deserialize, Serialize};

use super::{Alloc, AllocView, Home};
use crate::cow::CowVec;
use crate::divisor::Divisor;
use crate::geometry::Geometry;

/// The places of data blocks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct InBlocks {
    /// Gives a data block its unit.
    policy: Box<Alloc>,
    units: Divisor,
    pages_per_block: Divisor,
    /// By number: the data block of its unit that it is.
    slot_of: CowVec,
    given: Given,
    planes: u32,
}

/// Data blocks of each unit.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Given {
    /// As many as it has been given, by unit.
    counts: Vec<u32>,
    /// As many as it may be given.
    of_unit: u32,
}

impl Given {
    /// True if the unit may be given one more.
    fn has_room(&self, unit: u32) -> bool {
        self.counts[unit as usize] < self.of_unit
    }
}

/// Units have room for data blocks.
struct View<'a> {
    drive: &'a dyn AllocView,
    given: &'a Given,
}

impl AllocView for View<'_> {
    fn die_is_idle(&self, die: u32) -> bool {
        self.drive.die_is_idle(die)
    }
    fn admits(&self, unit: u32) -> bool {
        self.drive.admits(unit)
    }
    fn is_taken(&self, unit: u32) -> bool {
        self.drive.is_taken(unit)
    }
    fn has_room(&self, unit: u32) -> bool {
        self.given.has_room(unit) && self.drive.has_room(unit)
    }
}

impl InBlocks {
    /// `policy` for a drive of such a geometry, whose logical pages are data blocks.
    pub(super) fn new(geometry: &Geometry, policy: impl FnOnce(&Geometry) -> Alloc) -> Self {
        let (units, of_unit) = (geometry.units(), geometry.unit_data_blocks());
        let blocks = of_unit * u64::from(units);
        let of_blocks = Geometry { logical_pages: blocks, units_per_page: 1, ..geometry.clone() };
        Self {
            policy: Box::new(policy(&of_blocks)),
            units: Divisor::new(units.into()),
            pages_per_block: Divisor::new(geometry.pages_per_block.into()),
            slot_of: CowVec::new(blocks),
            given: Given { counts: vec![0; units as usize], of_unit: of_unit as u32 },
            planes: geometry.planes,
        }
    }

    /// The policy, for what is not about a page.
    pub(super) fn policy(&self) -> &Alloc {
        &self.policy
    }

    pub(super) fn policy_mut(&mut self) -> &mut Alloc {
        &mut self.policy
    }

    /// Queues of a write buffer: a unit's, and those of data blocks without a unit.
    pub(super) fn queues(&self, geometry: &Geometry) -> u32 {
        self.units.get() as u32 + self.policy.queues(geometry)
    }

    pub(super) fn queue_of(&mut self, stream: u16, lpn: u64) -> (u32, u64) {
        if let Some(home) = self.locate(lpn) {
            return (home.unit, home.key.into());
        }
        let block = self.block_of(lpn).0;
        (self.units.get() as u32 + self.policy.queue_of(stream, block).0, lpn)
    }

    /// Pages with a unit don't wait for another one.
    pub(super) fn class_of(&self, stream: u16, lpn: u64) -> u32 {
        let waits = self.locate(lpn).is_none();
        if waits { 1 + self.policy.class_of(stream, self.block_of(lpn).0) } else { 0 }
    }

    /// The number of a page's data block, and the page's offset there.
    #[inline]
    fn block_of(&self, lpn: u64) -> (u64, u32) {
        let (page, unit) = self.units.split(lpn);
        let (block, offset) = self.pages_per_block.split(page);
        (block * self.units.get() + unit, offset as u32)
    }

    fn home(&self, unit: u32, slot: u32, offset: u32) -> Home {
        Home { unit, key: slot * self.pages_per_block.get() as u32 + offset }
    }

    /// Where a page belongs, if its data block has a unit.
    #[inline]
    pub(super) fn locate(&self, lpn: u64) -> Option<Home> {
        let (block, offset) = self.block_of(lpn);
        let slot = self.slot_of.get(block);
        if slot == CowVec::EMPTY {
            return None;
        }
        Some(self.home(self.policy.locate(block)?.unit, slot, offset))
    }

    /// Where a page would belong if its data block were given to a unit now; where it belongs, if that has one.
    pub(super) fn home_in(&self, lpn: u64, unit: u32) -> Home {
        let slot = self.given.counts[unit as usize].min(self.given.of_unit - 1);
        let new = self.home(unit, slot, self.block_of(lpn).1);
        self.locate(lpn).unwrap_or(new)
    }

    /// The policy has given the data block a unit: it is the next one there.
    fn give(&mut self, lpn: u64, unit: u32) -> Home {
        let (block, offset) = self.block_of(lpn);
        let count = &mut self.given.counts[unit as usize];
        let slot = *count;
        *count += 1;
        self.slot_of.set(block, slot);
        self.home(unit, slot, offset)
    }

    pub(super) fn place(&mut self, stream: u16, lpn: u64, drive: &impl AllocView) -> Option<Home> {
        if let Some(home) = self.locate(lpn) {
            return drive.admits(home.unit).then_some(home);
        }
        let block = self.block_of(lpn).0;
        let view = View { drive, given: &self.given };
        let unit = self.policy.place(stream, block, &view)?.unit;
        Some(self.give(lpn, unit))
    }

    /// True if [`InBlocks::place`] finds a unit.
    pub(super) fn finds(&self, stream: u16, lpn: u64, drive: &impl AllocView) -> bool {
        if let Some(home) = self.locate(lpn) {
            return drive.admits(home.unit);
        }
        let view = View { drive, given: &self.given };
        self.policy.finds(stream, self.block_of(lpn).0, &view)
    }

    pub(super) fn lay(&mut self, lpn: u64, has_room: impl Fn(u32) -> bool) -> Option<Home> {
        if let Some(home) = self.locate(lpn) {
            return Some(home);
        }
        let block = self.block_of(lpn).0;
        let given = &self.given;
        let room: &dyn Fn(u32) -> bool = &|unit| given.has_room(unit) && has_room(unit);
        let unit = self.policy.lay(block, room)?.unit;
        Some(self.give(lpn, unit))
    }

    /// As [`InBlocks::place`], to a unit that may take the page.
    pub(super) fn assign(&mut self, lpn: u64, unit: u32) -> Home {
        if let Some(home) = self.locate(lpn) {
            return home;
        }
        let unit = self.policy.assign(self.block_of(lpn).0, unit).unit;
        self.give(lpn, unit)
    }

    pub(super) fn may_take(
        &self,
        stream: u16,
        lpn: u64,
        unit: u32,
        geometry: &Geometry,
        has_room: impl Fn(u32) -> bool,
    ) -> bool {
        if let Some(home) = self.locate(lpn) {
            return home.unit == unit;
        }
        let room: &dyn Fn(u32) -> bool = &|unit| self.given.has_room(unit) && has_room(unit);
        room(unit) && self.policy.may_take(stream, self.block_of(lpn).0, unit, geometry, room)
    }

    pub(super) fn only_die(
        &self,
        stream: u16,
        lpn: u64,
        geometry: &Geometry,
        has_room: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        if let Some(home) = self.locate(lpn) {
            return Some(home.unit / self.planes);
        }
        let room: &dyn Fn(u32) -> bool = &|unit| self.given.has_room(unit) && has_room(unit);
        self.policy.only_die(stream, self.block_of(lpn).0, geometry, room)
    }

    pub(super) fn snapshot(&mut self) -> Self {
        Self {
            policy: Box::new(self.policy.snapshot()),
            slot_of: self.slot_of.snapshot(),
            given: self.given.clone(),
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alloc::AllocConfig;

    /// Four units of two data blocks of four pages.
    fn places() -> Alloc {
        let geometry = Geometry {
            maps_blocks: true,
            pages_per_block: 4,
            unit_logical_pages: 8,
            logical_pages: 32,
            ..Geometry::for_test(4, 1, 1, 1)
        };
        Alloc::new(&AllocConfig::dynamic(), None, &geometry)
    }

    struct Busy(Vec<u32>);
    impl AllocView for Busy {
        fn die_is_idle(&self, die: u32) -> bool {
            !self.0.contains(&die)
        }
        fn has_room(&self, _: u32) -> bool {
            true
        }
    }

    #[test]
    fn a_data_block_stays_where_its_first_page_was_written() {
        let mut places = places();
        assert_eq!(places.locate(5), None);
        // Pages 1, 5, 9 and 13 are a data block, whose unit is the first idle one.
        let first = places.place(0, 5, &Busy(vec![0, 1])).expect("units 2 and 3 are idle");
        assert_eq!(first, Home { unit: 2, key: 1 });
        // The others go there though it is busy, and no other data block does.
        let busy = Busy(vec![0, 1, 2, 3]);
        assert_eq!(places.place(0, 13, &busy), Some(Home { unit: 2, key: 3 }));
        assert_eq!(places.place(0, 2, &busy), None);
        assert!(places.finds(0, 9, &busy) && !places.finds(0, 2, &busy));
        assert_eq!(
            [places.class_of(0, 9), places.class_of(0, 2)],
            [0, 1],
            "it does not wait behind those without a unit"
        );
        // The second data block of the unit begins where the first one ends.
        assert_eq!(places.home_in(16, 2), Home { unit: 2, key: 4 });
        assert_eq!(places.assign(16, 2), Home { unit: 2, key: 4 });
        assert!(
            !places.may_take(0, 2, 2, &Geometry::for_test(4, 1, 1, 1), |_| true),
            "it has no room for a third"
        );
    }

    #[test]
    fn every_page_of_the_drive_has_a_place_of_its_own() {
        let mut places = places();
        // Old data lies by address, whatever was written before.
        places.place(0, 1, &Busy(vec![0, 1, 2])).expect("unit 3 is idle");
        let laid = |places: &mut Alloc, lpn| places.lay(lpn, |_| true).expect("it has room");
        let mut homes: Vec<_> = (0..32).rev().map(|lpn| laid(&mut places, lpn)).collect();
        assert_eq!(homes[31], places.locate(0).expect("laid"));
        homes.sort_unstable_by_key(|home| (home.unit, home.key));
        let all = (0..4).flat_map(|unit| (0..8).map(move |key| Home { unit, key }));
        assert_eq!(homes, all.collect::<Vec<_>>());
    }

    #[test]
    fn a_drive_filled_in_order_is_striped() {
        for [chips, dies, planes] in [[2, 2, 2], [1, 2, 2], [2, 1, 1], [2, 1, 2]] {
            let logical_pages = u64::from(3 * chips * dies * planes) * 8;
            let geometry = Geometry {
                maps_blocks: true,
                pages_per_block: 4,
                unit_logical_pages: 8,
                logical_pages,
                ..Geometry::for_test(3, chips, dies, planes)
            };
            let mut places = Alloc::new(&AllocConfig::dynamic(), None, &geometry);
            let as_filled = AllocConfig::dynamic().filled([chips, dies, planes]);
            let striped = Alloc::new(&as_filled, None, &geometry);
            for lpn in 0..logical_pages {
                assert_eq!(places.place(0, lpn, &Busy(Vec::new())), striped.locate(lpn), "page {lpn}");
            }
        }
    }
}
