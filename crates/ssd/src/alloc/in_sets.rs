//! Pages to the channels of their tenant's group (`tenants/`): dynamically, as SSDsim does on all channels, or by a fixed
//! function of the address (SSD-keeper's hybrid page allocator has both). What was written under an earlier allocation is
//! found where it lies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::striped::Order;
use super::turns::{Turn, Turns};
use super::{AllocView, Home};
use crate::cow::CowVec;
use crate::geometry::Geometry;
use crate::tenants::{Allocation, Placement};

/// Dynamic allocation for groups of tenants that mostly write, static allocation for those that mostly read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Config {}

/// Place of a page within the channels of its group, unless that is static.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Within {
    /// On channels in turn.
    Turns,
    /// On the channel that its address says, there on units in turn.
    Channel,
    /// On the unit that its address says, in this order; static groups too.
    Address(Order),
}

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
    within: Within,
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
    pub(super) fn new(geometry: &Geometry, tenants: u16, within: Within) -> Self {
        let fixed = matches!(within, Within::Address(_));
        let everywhere = Set { channels: (0..geometry.channels).collect(), next: 0, fixed };
        Self {
            per_page: geometry.units_per_page.into(),
            within,
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
        (self.within == Within::Channel)
            .then(|| channels[(lpn / self.per_page % channels.len() as u64) as usize])
    }

    /// The units of a channel.
    fn units_of(&self, channel: u32) -> std::ops::Range<u32> {
        let per_channel = self.chips * self.dies * self.planes;
        channel * per_channel..(channel + 1) * per_channel
    }

    /// Place of a page that no tenant wrote in this run: by address over all channels, as it was there before.
    pub(super) fn lay(&mut self, lpn: u64, has_room: impl Fn(u32) -> bool) -> Option<Home> {
        let own = self.fixed_unit_in(&self.everywhere, lpn).filter(|unit| has_room(*unit));
        let unit = own.or_else(|| self.turns.by_address(lpn / self.per_page, 1, has_room))?;
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
            None => self.fixed_turn(&self.everywhere, lpn, view),
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
        let set = group.map_or(&self.everywhere, |group| &self.sets[usize::from(group)]);
        if let Some(unit) = self.fixed_unit_in(set, lpn).filter(|unit| view.has_room(*unit)) {
            return view.admits(unit);
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
    fn fixed_die(&self, group: Option<u16>, lpn: u64, has_room: impl Fn(u32) -> bool) -> Option<u32> {
        let set = group.map_or(&self.everywhere, |group| &self.sets[usize::from(group)]);
        let unit = self.fixed_unit_in(set, lpn).filter(|unit| has_room(*unit))?;
        Some(unit / self.planes)
    }

    /// The place of a page in a set whose pages have one.
    fn fixed_unit_in(&self, set: &Set, lpn: u64) -> Option<u32> {
        let order = if let Within::Address(order) = self.within { order } else { Order::Cdpw };
        let shape = [self.chips, self.dies, self.planes];
        set.fixed.then(|| fixed_unit(&set.channels, shape, order, lpn / self.per_page))
    }

    /// The same as a turn: full where pages have none.
    fn fixed_turn(&self, set: &Set, lpn: u64, view: &impl AllocView) -> Turn {
        match self.fixed_unit_in(set, lpn).filter(|unit| view.has_room(*unit)) {
            Some(unit) if view.admits(unit) => Turn::Unit(unit),
            Some(_) => Turn::Busy,
            None => Turn::Full,
        }
    }

    /// The only die that a page which the tenant writes can go to, if there is only one and it has room.
    pub(super) fn only_die(&self, stream: u16, lpn: u64, has_room: impl Fn(u32) -> bool) -> Option<u32> {
        let group = self.group_of(stream);
        let one_die = self.chips * self.dies == 1;
        let own = group.and_then(|group| self.own_channel(group, lpn));
        if let Some(own) = own.filter(|own| one_die && self.units_of(*own).any(&has_room)) {
            return Some(own);
        }
        let fixed = self.fixed_die(group, lpn, has_room);
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
        let group = self.group_of(stream);
        let set = group.map_or(&self.everywhere, |group| &self.sets[usize::from(group)]);
        if let Some(home) = self.fixed_unit_in(set, lpn).filter(|home| has_room(*home)) {
            return home == unit;
        }
        let Some(group) = group else { return true };
        if let Some(own) = self.own_channel(group, lpn)
            && self.units_of(own).any(&has_room)
        {
            return self.units_of(own).contains(&unit);
        }
        let channel = unit / (self.chips * self.dies * self.planes);
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
        let turn = self.fixed_turn(&self.sets[usize::from(group)], lpn, view);
        if turn != Turn::Full {
            return turn;
        }
        next_in(&mut self.sets[usize::from(group)], &mut self.turns, view)
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

/// The unit of a page by its address over these channels.
fn fixed_unit(channels: &[u32], [chips, dies, planes]: [u32; 3], order: Order, lpn: u64) -> u32 {
    let [channel, chip, die, plane] = order.place([channels.len() as u32, chips, dies, planes], lpn);
    ((channels[channel as usize] * chips + chip) * dies + die) * planes + plane
}

#[cfg(test)]
mod tests;
