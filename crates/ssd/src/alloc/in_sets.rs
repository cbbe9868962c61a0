//! Pages to the channels of their tenant's group (`tenants/`): dynamically, as SSDsim does on all channels, or by a fixed
//! function of the address (SSD-keeper's hybrid page allocator has both). What was written under an earlier allocation is
//! found where it lies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::turns::{Turn, Turns};
use super::{AllocView, Home};
use crate::cow::CowVec;
use crate::geometry::Geometry;
use crate::tenants::{Allocation, Placement};

/// Dynamic allocation for groups of tenants that mostly write, static allocation for those that mostly read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Config {}

/// The channels of a group, and the one that is next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Set {
    channels: Vec<u32>,
    next: usize,
    fixed: bool,
}

/// The groups' channels, and the unit of every page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct InSets {
    /// Mapping units in a page of flash: so many in a row have the same place by their address.
    per_page: u64,
    /// True if the address says which of the group's channels a page goes to.
    fixes_channel: bool,
    chips: u32,
    dies: u32,
    planes: u32,
    turns: Turns,
    sets: Vec<Set>,
    /// Whom pages go to when their group has no room left.
    everywhere: Set,
    tenants: u16,
    writes: Vec<u16>,
    unit_of: CowVec,
    /// Pages that went to another group's channels for want of room.
    pub(crate) spilled: u64,
}

impl InSets {
    /// All channels for everybody, until [`InSets::allocate`] says otherwise.
    pub(super) fn new(geometry: &Geometry, tenants: u16, fixes_channel: bool) -> Self {
        let everywhere = Set { channels: (0..geometry.channels).collect(), next: 0, fixed: false };
        Self {
            per_page: geometry.units_per_page.into(),
            fixes_channel,
            chips: geometry.chips,
            dies: geometry.dies,
            planes: geometry.planes,
            turns: Turns::new(geometry),
            sets: vec![everywhere.clone()],
            everywhere,
            tenants,
            writes: Vec::new(),
            unit_of: CowVec::new(geometry.logical_pages),
            spilled: 0,
        }
    }

    pub(super) fn tenants(&self) -> u16 {
        self.tenants
    }

    /// From now on pages go to these channels. A group whose channels stay goes on with its turns.
    pub(super) fn allocate(&mut self, allocation: &Allocation) {
        let before = std::mem::take(&mut self.sets);
        for group in &allocation.groups {
            let same = before.iter().find(|set| set.channels == group.channels);
            let next = same.map_or(0, |set| set.next);
            let fixed = group.placement == Some(Placement::Static);
            self.sets.push(Set { channels: group.channels.clone(), next, fixed });
        }
        self.writes.clone_from(&allocation.writes);
    }

    /// The group of the pages that a tenant writes. Pages of no tenant have none: they go everywhere.
    pub(super) fn group_of(&self, stream: u16) -> Option<u16> {
        self.writes.get(usize::from(stream)).copied()
    }

    /// Pages of one class wait for the same channels: those of the group, or the page's own among them.
    pub(super) fn class_of(&self, stream: u16, lpn: u64) -> u32 {
        let group = self.group_of(stream).unwrap_or(0);
        let own = self.group_of(stream).and_then(|group| self.own_channel(group, lpn));
        u32::from(group) * (self.everywhere.channels.len() as u32 + 1) + own.map_or(0, |own| own + 1)
    }

    /// The channel of a page whose address says which of its group's it goes to.
    fn own_channel(&self, group: u16, lpn: u64) -> Option<u32> {
        let channels = &self.sets[usize::from(group)].channels;
        self.fixes_channel.then(|| channels[(lpn / self.per_page % channels.len() as u64) as usize])
    }

    /// The units of a channel.
    fn units_of(&self, channel: u32) -> std::ops::Range<u32> {
        let per_channel = self.chips * self.dies * self.planes;
        channel * per_channel..(channel + 1) * per_channel
    }

    /// Place of a page that no tenant wrote in this run: by address over all channels, as it was there before.
    pub(super) fn lay(&mut self, lpn: u64, has_room: impl Fn(u32) -> bool) -> Option<Home> {
        let unit = self.turns.by_address(lpn / self.per_page, 1, has_room)?;
        Some(self.assign(lpn, unit))
    }

    pub(super) fn locate(&self, lpn: u64) -> Option<Home> {
        let unit = self.unit_of.get(lpn);
        (unit != CowVec::EMPTY).then_some(Home { unit, key: lpn as u32 })
    }

    /// Where a page that the tenant writes goes.
    pub(super) fn place(&mut self, stream: u16, lpn: u64, view: &impl AllocView) -> Option<Home> {
        let turn = match self.group_of(stream) {
            Some(group) => self.in_set(group, lpn, view),
            None => Turn::Full,
        };
        let unit = match turn {
            Turn::Unit(unit) => unit,
            Turn::Busy => return None,
            Turn::Full => {
                let Turn::Unit(unit) = next_in(&mut self.everywhere, &mut self.turns, view) else {
                    return None;
                };
                self.spilled += u64::from(usize::from(stream) < self.writes.len());
                unit
            }
        };
        Some(self.assign(lpn, unit))
    }

    /// True if [`InSets::place`] finds a unit.
    pub(super) fn finds(&self, stream: u16, lpn: u64, view: &impl AllocView) -> bool {
        let group = self.group_of(stream);
        let home = group.and_then(|group| self.fixed_die(group, lpn, |unit| view.has_room(unit)));
        if let Some(die) = home {
            return view.admits(die);
        }
        if let Some(own) = group.and_then(|group| self.own_channel(group, lpn)) {
            let turn = self.turns.look(own, view).0;
            if turn != Turn::Full {
                return turn != Turn::Busy;
            }
        }
        let mut answer = Turn::Full;
        let sets = group.map(|group| &self.sets[usize::from(group)]);
        for set in sets.into_iter().chain([&self.everywhere]) {
            for channel in &set.channels {
                match self.turns.look(*channel, view).0 {
                    Turn::Unit(_) => return true,
                    Turn::Busy => answer = Turn::Busy,
                    Turn::Full => {}
                }
            }
            if answer == Turn::Busy {
                return false;
            }
        }
        false
    }

    /// The die of a page that has one place, if there is room.
    fn fixed_die(&self, group: u16, lpn: u64, has_room: impl Fn(u32) -> bool) -> Option<u32> {
        let set = &self.sets[usize::from(group)];
        let home = || fixed_unit(&set.channels, [self.chips, self.dies, self.planes], lpn / self.per_page);
        let unit = set.fixed.then(home).filter(|unit| has_room(*unit))?;
        Some(unit / self.planes)
    }

    /// The only die that a page which the tenant writes can go to, if there is only one and it has room.
    pub(super) fn only_die(&self, stream: u16, lpn: u64, has_room: impl Fn(u32) -> bool) -> Option<u32> {
        let group = self.group_of(stream);
        let one_die = self.chips * self.dies == 1;
        let own = group.and_then(|group| self.own_channel(group, lpn));
        if let Some(own) = own.filter(|own| one_die && self.units_of(*own).any(&has_room)) {
            return Some(own);
        }
        let fixed = group.and_then(|group| self.fixed_die(group, lpn, has_room));
        let set = group.map_or(&self.everywhere, |group| &self.sets[usize::from(group)]);
        let alone = set.channels.len() == 1 && one_die;
        fixed.or_else(|| alone.then(|| set.channels[0]))
    }

    /// The page goes to this unit.
    pub(super) fn assign(&mut self, lpn: u64, unit: u32) -> Home {
        self.unit_of.set(lpn, unit);
        Home { unit, key: lpn as u32 }
    }

    /// True if a page that the tenant writes may go to a unit: to one of its group's channels, or to any if these are full.
    pub(super) fn may_take(&self, stream: u16, lpn: u64, unit: u32, has_room: impl Fn(u32) -> bool) -> bool {
        let Some(group) = self.group_of(stream) else { return true };
        let set = &self.sets[usize::from(group)];
        let shape = [self.chips, self.dies, self.planes];
        if set.fixed {
            let home = fixed_unit(&set.channels, shape, lpn / self.per_page);
            if has_room(home) {
                return home == unit;
            }
        }
        if let Some(own) = self.own_channel(group, lpn)
            && self.units_of(own).any(&has_room)
        {
            return self.units_of(own).contains(&unit);
        }
        let channel = unit / shape.iter().product::<u32>();
        let units = |channel: &u32| self.units_of(*channel);
        set.channels.contains(&channel) || !set.channels.iter().flat_map(units).any(has_room)
    }

    fn in_set(&mut self, group: u16, lpn: u64, view: &impl AllocView) -> Turn {
        if let Some(own) = self.own_channel(group, lpn) {
            let turn = self.turns.take(own, view);
            if turn != Turn::Full {
                return turn;
            }
        }
        let set = &mut self.sets[usize::from(group)];
        if set.fixed {
            let unit = fixed_unit(&set.channels, [self.chips, self.dies, self.planes], lpn / self.per_page);
            if view.has_room(unit) {
                return if view.admits(unit / self.planes) { Turn::Unit(unit) } else { Turn::Busy };
            }
        }
        next_in(set, &mut self.turns, view)
    }

    pub(super) fn snapshot(&mut self) -> Self {
        let unit_of = self.unit_of.snapshot();
        Self {
            unit_of,
            turns: self.turns.clone(),
            sets: self.sets.clone(),
            everywhere: self.everywhere.clone(),
            writes: self.writes.clone(),
            ..*self
        }
    }
}

/// The next unit of the set in turn: of the channels the first one, from the one after that of the last page on, that
/// has an idle one with room.
fn next_in(set: &mut Set, turns: &mut Turns, view: &impl AllocView) -> Turn {
    let count = set.channels.len();
    let mut answer = Turn::Full;
    for step in 0..count {
        let mut at = set.next + step;
        if at >= count {
            at -= count;
        }
        match turns.take(set.channels[at], view) {
            Turn::Unit(unit) => {
                set.next = if at + 1 == count { 0 } else { at + 1 };
                return Turn::Unit(unit);
            }
            Turn::Busy => answer = Turn::Busy,
            Turn::Full => {}
        }
    }
    answer
}

/// SSDsim's static order over these channels: channel first, then die, plane and chip.
fn fixed_unit(channels: &[u32], [chips, dies, planes]: [u32; 3], lpn: u64) -> u32 {
    let count = channels.len() as u64;
    let channel = channels[(lpn % count) as usize];
    let rest = lpn / count;
    let die = rest % u64::from(dies);
    let plane = rest / u64::from(dies) % u64::from(planes);
    let chip = rest / (u64::from(dies) * u64::from(planes)) % u64::from(chips);
    ((channel * chips + chip as u32) * dies + die as u32) * planes + plane as u32
}

#[cfg(test)]
mod tests {
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
        let mut sets = InSets::new(&geometry, 2, false);
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
                fixed_unit(&[1, 3], [3, 2, 2], lpn),
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
        let mut sets = InSets::new(&geometry, 1, true);
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
        let group =
            |channels: &[u32]| Group { channels: channels.to_vec(), placement: Some(Placement::Dynamic) };
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
}
