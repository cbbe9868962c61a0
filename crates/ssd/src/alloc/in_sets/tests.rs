//! Pages go to the channels of their groups.

use super::super::striped::{self, Striped};
use super::*;
use crate::tenants::Group;

/// Dies and units that are busy or full.
struct View {
    busy: Vec<u32>,
    full: Vec<u32>,
}
impl AllocView for View {
    fn die_is_idle(&self, die: u32) -> bool {
        !self.busy.contains(&die)
    }
    fn has_room(&self, unit: u32) -> bool {
        !self.full.contains(&unit)
    }
}

const FREE: View = View { busy: Vec::new(), full: Vec::new() };

fn sets(groups: &[(&[u32], Placement)], writes: &[u16]) -> (Geometry, InSets) {
    let geometry = Geometry::for_test(4, 1, 1, 2);
    let mut sets = InSets::new(&geometry, 2, Within::Turns);
    let group = |(channels, placement): &(&[u32], Placement)| Group {
        channels: channels.to_vec(),
        placement: Some(*placement),
    };
    let groups = groups.iter().map(group).collect();
    sets.allocate(&Allocation { groups, reads: writes.to_vec(), writes: writes.to_vec(), turns: None });
    (geometry, sets)
}

fn unit(sets: &mut InSets, stream: u16, lpn: u64, view: &View) -> Option<u32> {
    sets.place(stream, lpn, view).map(|home| home.unit)
}

#[test]
fn groups_take_turns_on_channels_of_their_own() {
    let (_, mut sets) = sets(&[(&[0, 1], Placement::Dynamic), (&[3], Placement::Dynamic)], &[0, 1]);
    let units: Vec<_> = (0..6).map(|lpn| unit(&mut sets, (lpn % 2) as u16, lpn, &FREE)).collect();
    assert_eq!(units, [Some(0), Some(6), Some(2), Some(7), Some(1), Some(6)]);
    assert_eq!(sets.locate(2).map(|home| home.unit), Some(2));
    // A busy channel is left out; without any other the page waits.
    let view = View { busy: vec![3], full: Vec::new() };
    assert_eq!(unit(&mut sets, 1, 9, &view), None);
    assert_eq!(sets.locate(9), None);
}

#[test]
fn static_places_are_ssdsims_formula_over_the_groups_channels() {
    let geometry = Geometry::for_test(4, 3, 2, 2);
    for lpn in 0..200 {
        let (c, d, p, w) = ([1, 3][lpn as usize % 2], lpn / 2 % 2, lpn / 4 % 2, lpn / 8 % 3);
        assert_eq!(
            fixed_unit(&[1, 3], [3, 2, 2], Order::Cdpw, lpn),
            geometry.unit_at(c, w as u32, d as u32, p as u32)
        );
    }
    let (_, mut sets) = sets(&[(&[1], Placement::Static)], &[0]);
    // Idle or not, the place of a page is what it is; without room there it goes to the next one of the group.
    assert_eq!(unit(&mut sets, 0, 0, &View { busy: vec![1], full: Vec::new() }), Some(2));
    assert_eq!(unit(&mut sets, 0, 0, &View { busy: Vec::new(), full: vec![2] }), Some(3));
}

#[test]
fn mode_1_fixes_the_channel_among_those_of_the_group() {
    let geometry = Geometry::for_test(4, 1, 1, 2);
    let mut sets = InSets::new(&geometry, 1, Within::Channel);
    let group = Group { channels: vec![1, 3], placement: Some(Placement::Dynamic) };
    sets.allocate(&Allocation { groups: vec![group], reads: vec![0], writes: vec![0], turns: None });
    let units: Vec<_> = (0..5).map(|lpn| unit(&mut sets, 0, lpn, &FREE)).collect();
    // Pages 0, 2 and 4 are on channel 1, whose planes take turns.
    assert_eq!(units, [2, 6, 3, 7, 2].map(Some));
    // It waits for its channel, unless that has no room.
    let busy = View { busy: vec![1], full: Vec::new() };
    assert_eq!(unit(&mut sets, 0, 6, &busy), None);
    assert!(!sets.finds(0, 6, &busy) && sets.finds(0, 7, &busy));
    let full = View { busy: Vec::new(), full: vec![2, 3] };
    assert_eq!(unit(&mut sets, 0, 6, &full), Some(6));
    assert_eq!([sets.class_of(0, 6), sets.class_of(0, 7)], [2, 4]);
    let may = |unit: u32| sets.may_take(0, 7, unit, |_| true);
    assert_eq!([2, 3, 6, 7].map(may), [false, false, true, true]);
}

#[test]
fn pages_spill_only_where_the_group_has_no_room() {
    let (_, mut sets) = sets(&[(&[0], Placement::Dynamic)], &[0]);
    assert_eq!(unit(&mut sets, 0, 0, &View { busy: vec![0], full: vec![0] }), None);
    assert_eq!(sets.spilled, 0);
    assert_eq!(unit(&mut sets, 0, 0, &View { busy: vec![0, 1], full: vec![0, 1] }), Some(4));
    assert_eq!(sets.spilled, 1);
}

#[test]
fn a_new_allocation_leaves_pages_where_they_are_and_turns_as_they_were() {
    let (_, mut sets) = sets(&[(&[0, 1], Placement::Dynamic)], &[0]);
    assert_eq!(unit(&mut sets, 0, 5, &FREE), Some(0));
    let group = |channels: &[u32]| Group { channels: channels.to_vec(), placement: Some(Placement::Dynamic) };
    let other = Allocation {
        groups: vec![group(&[2]), group(&[0, 1])],
        reads: vec![0],
        writes: vec![1],
        turns: None,
    };
    sets.allocate(&other);
    assert_eq!(sets.locate(5).map(|home| home.unit), Some(0));
    assert_eq!(unit(&mut sets, 0, 6, &FREE), Some(2));
    // Nobody wrote page 7: it is where filling the drive would have put it, whoever has channel 3 now.
    assert_eq!(sets.lay(7, |_| true).map(|home| home.unit), Some(7));
    assert_eq!(sets.lay(11, |unit| unit != 6).map(|home| home.unit), Some(1));
}

#[test]
fn striped_groups_place_by_address_in_the_order_of_striped_allocation() {
    let geometry = Geometry::for_test(4, 3, 2, 2);
    for order in [Order::Cdpw, Order::Cdwp, Order::Cpdw, Order::Cpwd, Order::Cwdp, Order::Wdpc] {
        let mut sets = InSets::new(&geometry, 2, Within::Address(order));
        let striped = Striped::new(&striped::Config { order }, &geometry);
        // Pages of no tenant, and of tenants who share all channels, are where striped allocation has them.
        for lpn in 0..200 {
            assert_eq!(unit(&mut sets, 0, lpn, &FREE), Some(striped.home(lpn).unit));
            assert_eq!(sets.lay(lpn, |_| true).map(|home| home.unit), Some(striped.home(lpn).unit));
        }
        let group =
            |channels: &[u32]| Group { channels: channels.to_vec(), placement: Some(Placement::Static) };
        let groups = vec![group(&[0, 1, 2, 3]), group(&[2])];
        sets.allocate(&Allocation { groups, reads: vec![0, 1], writes: vec![0, 1], turns: None });
        let of_one = Striped::new(&striped::Config { order }, &Geometry::for_test(1, 3, 2, 2));
        for lpn in 0..200 {
            assert_eq!(unit(&mut sets, 0, lpn, &FREE), Some(striped.home(lpn).unit));
            assert_eq!(unit(&mut sets, 1, lpn, &FREE), Some(2 * 12 + of_one.home(lpn).unit));
        }
    }
    // Without room at its place a page goes to another unit of its group, idle ones first.
    let mut sets = InSets::new(&Geometry::for_test(4, 1, 1, 2), 1, Within::Address(Order::Cdpw));
    let busy = View { busy: vec![0], full: vec![0] };
    assert_eq!([unit(&mut sets, 0, 0, &busy), unit(&mut sets, 0, 8, &FREE)], [Some(2), Some(0)]);
}
