//! Allocation: which parallel unit a logical page goes to.
//!
//! The contract: [`Alloc::locate`] says where a page is (or, under static allocation, where it belongs);
//! [`Alloc::place`] says where its next version is to be written, or that no channel can take it now. Static
//! allocation is computed. Dynamic allocation binds a page when it is dispatched and remembers the unit. Nothing here
//! moves data: collection stays inside a unit.

mod config;
mod dynamic;
mod in_blocks;
mod in_sets;
mod striped;
mod superblock;
mod turns;
mod zone_map;
mod zoned;

use serde::{Deserialize, Serialize};

pub(crate) use config::AllocConfig;
pub(crate) use dynamic::Dynamic;
pub(crate) use in_blocks::InBlocks;
pub(crate) use in_sets::InSets;
use in_sets::Within;
pub(crate) use striped::Striped;
pub(crate) use superblock::Superblocks;
pub(crate) use zoned::Zoned;

use crate::geometry::Geometry;
use crate::tenants::Allocation;

/// Where a logical page is mapped: the unit, and the key of its entry in that unit's map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Home {
    /// The parallel unit.
    pub(crate) unit: u32,
    /// The unit's name for the page: its number within the unit (static), or the LPN itself (dynamic).
    pub(crate) key: u32,
}

/// View of the drive that an allocator decides by.
pub(crate) trait AllocView {
    /// True if the die neither runs a command nor has one waiting.
    fn die_is_idle(&self, die: u32) -> bool;
    /// True if the unit can take one more page for good.
    fn has_room(&self, unit: u32) -> bool;
    /// True if a page that has one place may go to this unit now, its die idle or not.
    fn admits(&self, _unit: u32) -> bool {
        true
    }
    /// True if the unit has a page already in a cycle that is being made.
    fn is_taken(&self, _unit: u32) -> bool {
        false
    }
}

/// The allocation policies: one closed enum, because it is asked for every page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Alloc {
    /// See [`Striped`].
    Striped(Striped),
    /// See [`Dynamic`].
    Dynamic(Dynamic),
    /// See [`InSets`].
    InSets(InSets),
    /// See [`Superblocks`]: pages of flash are striped over sets of dies. The unit of a [`Home`] is such a set.
    Superblock(Striped),
    /// See [`InBlocks`].
    InBlocks(InBlocks),
    /// See [`Zoned`]: zones lie on units, or sets of dies, by number or as they are written.
    Zoned(Zoned),
}

impl Alloc {
    /// `tenants`: how many tenants there are, if their pages go to channels of their groups. `geometry`: with superblocks that of
    /// the translation layer.
    pub(crate) fn new(config: &AllocConfig, tenants: Option<u16>, geometry: &Geometry) -> Self {
        if geometry.maps_blocks && config.binds_late(tenants.is_some()) {
            return Alloc::InBlocks(InBlocks::new(geometry, |of_blocks| {
                Self::of_pages(config, tenants, of_blocks)
            }));
        }
        Self::of_pages(config, tenants, geometry)
    }

    /// One that is asked for every page.
    fn of_pages(config: &AllocConfig, tenants: Option<u16>, geometry: &Geometry) -> Self {
        match (config, tenants) {
            (AllocConfig::Striped(config), None) => Alloc::Striped(Striped::new(config, geometry)),
            (AllocConfig::Striped(config), Some(tenants)) => {
                Alloc::InSets(InSets::new(geometry, tenants, Within::Address(config.order)))
            }
            (AllocConfig::Superblock(_), _) => {
                Alloc::Superblock(Striped::new(&striped::Config::default(), geometry))
            }
            (AllocConfig::Dynamic(config), None) => Alloc::Dynamic(Dynamic::new(config, geometry)),
            (AllocConfig::Dynamic(config), Some(tenants)) => {
                let within = if config.mode == 1 { Within::Channel } else { Within::Turns };
                Alloc::InSets(InSets::new(geometry, tenants, within))
            }
            (AllocConfig::Hybrid(_), tenants) => {
                Alloc::InSets(InSets::new(geometry, tenants.unwrap_or(1), Within::Turns))
            }
        }
    }

    /// The places of zones, where the host writes them itself; `is_dynamic` if they get them when they are written.
    pub(crate) fn of_zones(config: &AllocConfig, is_dynamic: bool, geometry: &Geometry) -> Self {
        let default = striped::Config::default();
        let order = if let AllocConfig::Striped(own) = config { own } else { &default };
        Alloc::Zoned(Zoned::new(order, is_dynamic, geometry))
    }

    /// Queues of a write buffer: pages of one leave it in order.
    pub(crate) fn queues(&self, geometry: &Geometry) -> u32 {
        match self {
            Alloc::Striped(_) => geometry.units(),
            Alloc::Superblock(sets) => sets.units(),
            Alloc::Zoned(zones) => zones.units(),
            Alloc::Dynamic(_) => 1,
            Alloc::InSets(sets) => sets.tenants().into(),
            Alloc::InBlocks(blocks) => blocks.queues(geometry),
        }
    }

    /// The queue of a page, that of its unit if it is known, else of its tenant; and its number among the pages of the queue.
    #[inline]
    pub(crate) fn queue_of(&mut self, stream: u16, lpn: u64) -> (u32, u64) {
        match self {
            Alloc::Striped(striped) | Alloc::Superblock(striped) => {
                let Home { unit, key } = striped.home(lpn);
                (unit, key.into())
            }
            Alloc::Zoned(zones) => {
                let Home { unit, key } = zones.bind(lpn);
                (unit, key.into())
            }
            Alloc::Dynamic(_) => (0, lpn),
            Alloc::InSets(_) => (stream.into(), lpn),
            Alloc::InBlocks(blocks) => blocks.queue_of(stream, lpn),
        }
    }

    /// True if pages of zones have their places there.
    #[inline]
    pub(crate) fn is_zoned(&self) -> bool {
        matches!(self, Alloc::Zoned(_))
    }

    /// The places of zones, if the host writes them itself.
    pub(crate) fn zoned(&mut self) -> Option<&mut Zoned> {
        if let Alloc::Zoned(zones) = self { Some(zones) } else { None }
    }

    /// Gives tenants' pages other channels from now on.
    pub(crate) fn allocate(&mut self, allocation: &Allocation) {
        match self {
            Alloc::InSets(sets) => sets.allocate(allocation),
            Alloc::InBlocks(blocks) => blocks.policy_mut().allocate(allocation),
            _ => {}
        }
    }

    /// Forgets what was counted so far.
    pub(crate) fn forget_counts(&mut self) {
        match self {
            Alloc::InSets(sets) => sets.spilled = 0,
            Alloc::InBlocks(blocks) => blocks.policy_mut().forget_counts(),
            _ => {}
        }
    }

    /// Pages, or data blocks, that went to another group's channels for want of room.
    pub(crate) fn spilled(&self) -> u64 {
        match self {
            Alloc::InSets(sets) => sets.spilled,
            Alloc::InBlocks(blocks) => blocks.policy().spilled(),
            _ => 0,
        }
    }

    /// Pages that wait for a unit queue up by class: where one can't be placed, no other of its class can.
    pub(crate) fn class_of(&self, stream: u16, lpn: u64) -> u32 {
        match self {
            Alloc::Striped(_) | Alloc::Superblock(_) | Alloc::Zoned(_) => 0,
            Alloc::Dynamic(dynamic) => dynamic.fixed_channel(lpn).unwrap_or(0),
            Alloc::InSets(sets) => sets.class_of(stream, lpn),
            Alloc::InBlocks(blocks) => blocks.class_of(stream, lpn),
        }
    }

    /// True if a page that is bound when it is written may go to a unit, as things stand.
    pub(crate) fn may_take(
        &self,
        stream: u16,
        lpn: u64,
        unit: u32,
        geometry: &Geometry,
        has_room: impl Fn(u32) -> bool,
    ) -> bool {
        match self {
            Alloc::Striped(striped) | Alloc::Superblock(striped) => striped.home(lpn).unit == unit,
            Alloc::Zoned(zones) => zones.locate(lpn).is_none_or(|home| home.unit == unit),
            Alloc::Dynamic(dynamic) => {
                dynamic.fixed_channel(lpn).is_none_or(|channel| channel == geometry.channel_of(unit))
            }
            Alloc::InSets(sets) => sets.may_take(stream, lpn, unit, has_room),
            Alloc::InBlocks(blocks) => blocks.may_take(stream, lpn, unit, geometry, has_room),
        }
    }

    /// True if pages get their unit when they are written: of a page map one serves all units then, indexed by LPN.
    pub(crate) fn shares_map(&self) -> bool {
        matches!(self, Alloc::Dynamic(_) | Alloc::InSets(_) | Alloc::InBlocks(_))
    }

    /// Neighbouring units that divide their pages among them as they are written: those of a channel, or all. `None`: a page has
    /// its unit.
    pub(crate) fn units_sharing(&self, geometry: &Geometry) -> Option<u32> {
        match self {
            Alloc::Dynamic(own) if own.has_fixed_channels() => Some(geometry.units() / geometry.channels),
            _ => self.shares_map().then(|| geometry.units()),
        }
    }

    /// Where a page belongs that is written to a unit which may take it.
    pub(crate) fn home_in(&self, lpn: u64, unit: u32) -> Home {
        if let Alloc::InBlocks(blocks) = self {
            blocks.home_in(lpn, unit)
        } else {
            Home { unit, key: lpn as u32 }
        }
    }

    /// Where the current version of `lpn` is, if it can be anywhere.
    #[inline]
    pub(crate) fn locate(&self, lpn: u64) -> Option<Home> {
        // Striped pages are located in a few instructions; the others must not keep them from being inlined.
        match self {
            Alloc::Striped(striped) | Alloc::Superblock(striped) => Some(striped.home(lpn)),
            _ => self.locate_elsewhere(lpn),
        }
    }

    #[inline(never)]
    fn locate_elsewhere(&self, lpn: u64) -> Option<Home> {
        match self {
            Alloc::Striped(striped) | Alloc::Superblock(striped) => Some(striped.home(lpn)),
            Alloc::Zoned(zones) => zones.locate(lpn),
            Alloc::Dynamic(dynamic) => dynamic.locate(lpn),
            Alloc::InSets(sets) => sets.locate(lpn),
            Alloc::InBlocks(blocks) => blocks.locate(lpn),
        }
    }

    /// The channel that a page goes to whatever the state of the drive; `None` if that is decided when it is dispatched.
    pub(crate) fn fixed_channel(&self, lpn: u64, geometry: &Geometry) -> Option<u32> {
        match self {
            Alloc::Striped(striped) => Some(geometry.channel_of(striped.home(lpn).unit)),
            Alloc::Dynamic(dynamic) => dynamic.fixed_channel(lpn),
            Alloc::InSets(_) | Alloc::InBlocks(_) | Alloc::Superblock(_) | Alloc::Zoned(_) => None,
        }
    }

    /// Where a page that was there before the run lies: by address over all channels, as filling the drive in order would have
    /// put it. `has_room` as in [`AllocView`]. `None`: no unit has room.
    pub(crate) fn lay(&mut self, lpn: u64, has_room: impl Fn(u32) -> bool) -> Option<Home> {
        match self {
            Alloc::Striped(striped) | Alloc::Superblock(striped) => Some(striped.home(lpn)),
            Alloc::Zoned(zones) => Some(zones.bind(lpn)),
            Alloc::Dynamic(dynamic) => dynamic.lay(lpn, has_room),
            Alloc::InSets(sets) => sets.lay(lpn, has_room),
            Alloc::InBlocks(blocks) => blocks.lay(lpn, has_room),
        }
    }

    /// Where the next version of `lpn`, written by this tenant, goes; `None` if every unit it may go to is taken and it had
    /// better wait.
    #[inline]
    pub(crate) fn place(&mut self, stream: u16, lpn: u64, view: &impl AllocView) -> Option<Home> {
        match self {
            Alloc::Striped(striped) | Alloc::Superblock(striped) => Some(striped.home(lpn)),
            _ => self.place_elsewhere(stream, lpn, view),
        }
    }

    #[inline(never)]
    fn place_elsewhere(&mut self, stream: u16, lpn: u64, view: &impl AllocView) -> Option<Home> {
        match self {
            Alloc::Striped(striped) | Alloc::Superblock(striped) => Some(striped.home(lpn)),
            Alloc::Zoned(zones) => Some(zones.bind(lpn)),
            Alloc::Dynamic(dynamic) => dynamic.place(lpn, view),
            Alloc::InSets(sets) => sets.place(stream, lpn, view),
            Alloc::InBlocks(blocks) => blocks.place(stream, lpn, view),
        }
    }

    /// True if [`Alloc::place`] finds a unit.
    pub(crate) fn finds(&self, stream: u16, lpn: u64, view: &impl AllocView) -> bool {
        match self {
            Alloc::Striped(_) | Alloc::Superblock(_) | Alloc::Zoned(_) => true,
            Alloc::Dynamic(dynamic) => dynamic.finds(lpn, view),
            Alloc::InSets(sets) => sets.finds(stream, lpn, view),
            Alloc::InBlocks(blocks) => blocks.finds(stream, lpn, view),
        }
    }

    /// The only die that a page can go to, as things stand; `None` if there are several.
    pub(crate) fn only_die(
        &self,
        stream: u16,
        lpn: u64,
        geometry: &Geometry,
        has_room: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let alone = geometry.dies_per_channel() == 1;
        match self {
            Alloc::Striped(striped) | Alloc::Superblock(striped) => {
                Some(striped.home(lpn).unit / geometry.planes)
            }
            Alloc::Zoned(zones) => Some(zones.locate(lpn)?.unit / geometry.planes),
            Alloc::Dynamic(_) if geometry.total_dies() == 1 => Some(0),
            Alloc::Dynamic(dynamic) => dynamic.fixed_channel(lpn).filter(|_| alone),
            Alloc::InSets(sets) => sets.only_die(stream, lpn, has_room),
            Alloc::InBlocks(blocks) => blocks.only_die(stream, lpn, geometry, has_room),
        }
    }

    /// As [`Alloc::place`], to a unit that may take the page.
    pub(crate) fn assign(&mut self, lpn: u64, unit: u32) -> Home {
        match self {
            Alloc::Striped(striped) | Alloc::Superblock(striped) => striped.home(lpn),
            Alloc::Zoned(zones) => zones.bind(lpn),
            Alloc::Dynamic(dynamic) => dynamic.assign(lpn, unit),
            Alloc::InSets(sets) => sets.assign(lpn, unit),
            Alloc::InBlocks(blocks) => blocks.assign(lpn, unit),
        }
    }

    pub(crate) fn snapshot(&mut self) -> Self {
        match self {
            Alloc::Striped(striped) => Alloc::Striped(striped.clone()),
            Alloc::Superblock(sets) => Alloc::Superblock(sets.clone()),
            Alloc::Zoned(zones) => Alloc::Zoned(zones.clone()),
            Alloc::Dynamic(dynamic) => Alloc::Dynamic(dynamic.snapshot()),
            Alloc::InSets(sets) => Alloc::InSets(sets.snapshot()),
            Alloc::InBlocks(blocks) => Alloc::InBlocks(blocks.snapshot()),
        }
    }
}
