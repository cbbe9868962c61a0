//! Groups of open blocks, each for pages that a classifier expects to live alike.
//!
//! A unit has one open block a group. The one of the host's group that was written last is [`Unit::host`], that of the group
//! that pages were moved to last is [`Unit::collected`]; the others are *parked* here, and take their place when their turn comes.
//!
//! Why a collection never runs out of erased blocks, though it may have to open one for each of G groups of relocated pages: a unit
//! keeps G - 1 blocks more than it needs for one group. Let f be the number of erased blocks, R the erased pages in open
//! blocks of relocated pages, and P the pages of a block. A collection moves fewer than P pages and frees a block, so f P + R never
//! falls below G P. If it must open blocks for the groups of a set S, these had less room together than what is moved to
//! them, less than P; each other group has at most P. So R < P + (G - |S|) P, hence f P > (|S| - 1) P, and f is at least |S|.

use serde::{Deserialize, Serialize};

use super::overdue::Deadline;
use super::pools::{Chosen, Entered};
use super::{Frontier, Geometry, Home, NO_BLOCK, PageFtl, Upkeep};
use crate::ftl::classifier::{Classes, GroupCounts, Predictions};

/// Counters of a group of a drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupCounters {
    /// Pages written to it: of the host, or moved.
    pub written: u64,
    /// Pages moved out of it.
    pub moved_out: u64,
    /// Blocks of it that were erased.
    pub erased: u64,
    /// Sum of the lives of these, from opening to erase, in pages that the host wrote.
    pub life: u64,
}

/// Events of placement, as NVMe's Flexible Data Placement logs them (TP4146).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacementEvents {
    /// Pages that the host wrote with a handle that the drive has no group for (03h, invalid placement identifier).
    pub invalid_handles: u64,
    /// Blocks that took no more pages of the host, though not full, because of `ftl.open_time` (01h, active time limit
    /// exceeded, and 00h, not fully written to capacity).
    pub overdue_blocks: u64,
    /// Pages that these had left.
    pub unwritten_pages: u64,
    /// Blocks that valid pages were moved out of (80h, media reallocated).
    pub reallocated_blocks: u64,
}

/// Counters of all groups of a drive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// Groups that pages of the host go to, by number.
    pub host: Vec<GroupCounters>,
    /// Groups that relocated pages go to, by number.
    pub moved: Vec<GroupCounters>,
    /// Events.
    pub events: PlacementEvents,
    /// Predictions of `ftl.classifier=learned`.
    pub predictions: Option<Predictions>,
}

/// A block that waits for its group's turn.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Parked {
    pub(super) frontier: Frontier,
    /// Mapping units that its open page still takes.
    pub(super) open: u32,
}

/// Groups of a unit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct OfUnit {
    /// Those of the host, then those of relocated pages; the two that are in place are stale here.
    pub(super) parked: Vec<Parked>,
    /// Groups in place: of the host, and of relocated pages; counted over all.
    pub(super) in_place: [u32; 2],
    /// Group of each block, and time of the map when it was opened.
    #[serde(with = "crate::raw")]
    pub(super) group_of: Vec<u32>,
    #[serde(with = "crate::raw")]
    opened_at: Vec<u64>,
    /// Since when the open block of each group of the host takes pages, ns.
    pub(super) began_ns: Vec<u64>,
    /// Block that pages are being moved out of.
    moving: u32,
}

/// Groups of a drive.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::ftl) struct Groups {
    pub(super) classes: Classes,
    pub(super) units: Vec<OfUnit>,
    counters: Vec<GroupCounters>,
    pub(super) entered: Entered,
    #[serde(skip)]
    pub(super) chosen: Chosen,
    pub(super) events: PlacementEvents,
    pub(super) deadline: Deadline,
}

impl Groups {
    pub(super) fn new(classes: Classes, units: impl Iterator<Item = u64>, pages_per_block: u32) -> Self {
        let entered = Entered::new(classes.pools(), classes.pages());
        let GroupCounts { host, moved } = classes.counts;
        let none = Parked { frontier: Frontier { block: NO_BLOCK, next: pages_per_block }, open: 0 };
        let groups = (host + moved) as usize;
        let unit = |blocks: u64| OfUnit {
            parked: vec![none; groups],
            in_place: [0, host],
            group_of: vec![0; blocks as usize],
            opened_at: vec![0; blocks as usize],
            began_ns: vec![0; host as usize],
            moving: NO_BLOCK,
        };
        let (counters, events) = (vec![GroupCounters::default(); groups], PlacementEvents::default());
        let (units, deadline) = (units.map(unit).collect(), Deadline::default());
        Self { classes, units, counters, entered, chosen: Chosen::default(), events, deadline }
    }

    /// Those of a drive with so many maps, of so many pages each.
    pub(super) fn of(
        upkeep: &Upkeep<'_>,
        counts: GroupCounts,
        geometry: &Geometry,
        (maps, map_pages): (u32, u64),
    ) -> Self {
        let block = geometry.pages_per_block;
        let blocks = (0..geometry.units()).map(|unit| geometry.unit_blocks(unit));
        // A block for each group is erased, or open and not full.
        let full: u64 =
            blocks.clone().map(|blocks| blocks.saturating_sub(u64::from(counts.host + counts.moved))).sum();
        let physical = full * u64::from(block) * u64::from(maps) / u64::from(geometry.units());
        let of_maps = (maps as usize, map_pages, physical);
        let classes = Classes::new(upkeep.classifier, counts, upkeep.isolated, block, of_maps);
        Self { deadline: Deadline::new(upkeep.open_time), ..Self::new(classes, blocks, block) }
    }

    /// Groups of the host.
    pub(super) fn host_groups(&self) -> u32 {
        self.classes.counts.host
    }

    pub(super) fn snapshot(&mut self) -> Self {
        let (units, counters, entered) = (self.units.clone(), self.counters.clone(), self.entered.clone());
        let chosen = Chosen::default();
        Self { classes: self.classes.snapshot(), units, counters, entered, chosen, ..*self }
    }
}

/// A kind of group: of pages of the host, or of relocated ones.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Host,
    Moved,
}

impl PageFtl {
    /// Counters of the groups.
    pub(in crate::ftl) fn placement(&self) -> Option<Placement> {
        let groups = self.groups.as_ref()?;
        let (host, moved) = groups.counters.split_at(groups.host_groups() as usize);
        let predictions = groups.classes.predictions();
        Some(Placement { host: host.to_vec(), moved: moved.to_vec(), events: groups.events, predictions })
    }

    /// Forgets what the groups did.
    pub(in crate::ftl) fn forget_counts(&mut self) {
        if let Some(groups) = &mut self.groups {
            groups.counters.fill(GroupCounters::default());
            groups.events = PlacementEvents::default();
            groups.classes.forget_counts();
        }
    }

    /// The open block of the group of a page that the host writes takes its place.
    pub(super) fn place_host(&mut self, unit: u32, key: u32, handle: u8) {
        let map = self.map_of(unit);
        let Some(groups) = &mut self.groups else { return };
        let group = groups.classes.of_host(map, key, handle);
        groups.classes.written(map, key, handle);
        groups.counters[group as usize].written += 1;
        groups.entered.add(groups.classes.pool_of(group));
        groups.events.invalid_handles += u64::from(!groups.classes.knows(handle));
        self.put_in_place(unit, Kind::Host, group);
    }

    /// A page of the host goes to the SLC cache, and to its group when it is folded.
    pub(super) fn note_host(&mut self, unit: u32, key: u32, handle: u8) {
        let map = self.map_of(unit);
        if let Some(groups) = &mut self.groups {
            groups.classes.written(map, key, handle);
            groups.events.invalid_handles += u64::from(!groups.classes.knows(handle));
        }
    }

    /// The open block of the group of a page that is folded takes its place.
    pub(super) fn place_folded(&mut self, unit: u32, from: u32) {
        let Some(group) = self.host_group_of(unit, from) else { return };
        if let Some(groups) = &mut self.groups {
            groups.counters[group as usize].written += 1;
            groups.entered.add(groups.classes.pool_of(group));
        }
        self.put_in_place(unit, Kind::Host, group);
    }

    /// The open block of the group of a page that the host writes, and mapping units that its open page still takes, if that group is not in
    /// place.
    pub(super) fn frontier_of(&self, home: Home, handle: u8) -> Option<(Frontier, u32)> {
        let groups = self.groups.as_ref()?;
        let group = groups.classes.of_host(self.map_of(home.unit), home.key, handle);
        let own = &groups.units[home.unit as usize];
        let parked = own.parked[group as usize];
        (own.in_place[0] != group).then_some((parked.frontier, parked.open))
    }

    /// The open block of the group of a page that is moved takes its place.
    pub(super) fn place_moved(&mut self, unit: u32, from: u32) {
        if let Some(group) = self.group_of_moved(unit, from) {
            self.put_in_place(unit, Kind::Moved, group);
        }
    }

    /// The group, counted over all, that the page at physical page `from` is moved to.
    pub(super) fn group_of_moved(&self, unit: u32, from: u32) -> Option<u32> {
        let groups = self.groups.as_ref()?;
        let block = from / self.rules.pages_per_block.get() as u32;
        let key = self.units[unit as usize].owner.get(from.into());
        let source = groups.units[unit as usize].group_of[block as usize];
        Some(groups.host_groups() + groups.classes.of_moved(self.map_of(unit), key, source))
    }

    pub(super) fn put_in_place(&mut self, unit: u32, kind: Kind, group: u32) {
        let Some(groups) = &mut self.groups else { return };
        let own = &mut groups.units[unit as usize];
        let now = std::mem::replace(&mut own.in_place[kind as usize], group);
        if now == group {
            return;
        }
        let state = &mut self.units[unit as usize];
        let next = own.parked[group as usize];
        own.parked[now as usize] = match kind {
            Kind::Host => {
                state.retire_host(&self.rules);
                Parked { frontier: state.host, open: state.open }
            }
            Kind::Moved => Parked { frontier: state.collected, open: 0 },
        };
        match kind {
            Kind::Host => (state.host, state.open) = (next.frontier, next.open),
            Kind::Moved => state.collected = next.frontier,
        }
    }

    /// A block was opened for the group of the host, or of relocated pages, that is in place.
    pub(super) fn opened_block(&mut self, unit: u32, block: u32, moved: bool) {
        let map = self.map_of(unit);
        let Some(groups) = &mut self.groups else { return };
        let now = groups.classes.now(map);
        let own = &mut groups.units[unit as usize];
        let group = own.in_place[usize::from(moved)];
        own.group_of[block as usize] = group;
        own.opened_at[block as usize] = now;
        if !moved {
            own.began_ns[group as usize] = groups.deadline.begin();
        }
    }

    /// A page was moved out of a block to the group in place.
    pub(super) fn moved_out(&mut self, unit: u32, block: u32, key: u32) {
        let map = self.map_of(unit);
        let Some(groups) = &mut self.groups else { return };
        let own = &mut groups.units[unit as usize];
        groups.events.reallocated_blocks += u64::from(own.moving != block);
        own.moving = block;
        let (from, to) = (own.group_of[block as usize], own.in_place[1]);
        groups.classes.moved_out(map, from, key);
        groups.counters[from as usize].moved_out += 1;
        groups.counters[to as usize].written += 1;
        let [from, to] = [from, to].map(|group| groups.classes.pool_of(group));
        if from != to {
            groups.entered.add(to);
        }
    }

    /// A block was collected and erased.
    pub(super) fn erased_block(&mut self, unit: u32, block: u32) {
        let map = self.map_of(unit);
        let Some(groups) = &mut self.groups else { return };
        let own = &mut groups.units[unit as usize];
        own.moving = NO_BLOCK;
        let (group, opened) = (own.group_of[block as usize], own.opened_at[block as usize]);
        let life = groups.classes.now(map).saturating_sub(opened);
        let counters = &mut groups.counters[group as usize];
        counters.erased += 1;
        counters.life += life;
        if groups.classes.collected(map, group, opened) {
            for unit in 0..self.units.len() as u32 {
                if self.map_of(unit) == map {
                    self.shorten_queues(unit);
                }
            }
        }
    }

    /// True if a parked open block of the host's groups, or of those of relocated pages, has no erased page: whichever group comes next, it
    /// may need another one.
    pub(super) fn some_group_is_full(&self, unit: u32, moved: bool) -> bool {
        let Some(groups) = &self.groups else { return false };
        let own = &groups.units[unit as usize];
        let host = groups.host_groups();
        (0..).zip(&own.parked).any(|(group, parked): (u32, _)| {
            let is_full = parked.open == 0 && self.rules.is_full(parked.frontier);
            (group >= host) == moved && !own.in_place.contains(&group) && is_full
        })
    }

    /// Closes the page of flash with this number, if some group is filling it. Returns the mapping units that are padded.
    pub(in crate::ftl) fn close_page_at(&mut self, unit: u32, page: u32) -> u32 {
        if self.open_page_of(unit) == Some(page) {
            return self.close_page(unit);
        }
        if self.open_slc_page(unit) == Some(page) {
            return self.close_slc_page(unit);
        }
        let per_block = self.rules.pages_per_block.get() as u32;
        let per_page = self.rules.per_page;
        let Some(groups) = &mut self.groups else { return 0 };
        let own = &mut groups.units[unit as usize];
        let fills = |parked: &&mut Parked| {
            let next = parked.frontier.block.wrapping_mul(per_block).wrapping_add(parked.frontier.next);
            parked.open > 0 && next.wrapping_sub(1) / per_page == page
        };
        let in_place = own.in_place;
        let found = (0..).zip(&mut own.parked).filter(|(group, _): &(u32, _)| !in_place.contains(group));
        let Some(parked) = found.map(|(_, parked)| parked).find(fills) else { return 0 };
        parked.open = 0;
        let padded;
        (parked.frontier, padded) = self.units[unit as usize].pad(&self.rules, parked.frontier);
        padded
    }

    /// Closes the pages that any group of the host is filling.
    pub(in crate::ftl) fn close_pages(&mut self, unit: u32) {
        self.close_page(unit);
        self.close_slc_page(unit);
        let host = self.groups.as_ref().map_or(0, |groups| groups.host_groups());
        for group in 0..host {
            self.put_in_place(unit, Kind::Host, group);
            self.close_page(unit);
        }
    }
}
