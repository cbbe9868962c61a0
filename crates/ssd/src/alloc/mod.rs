//! Allocation: which parallel unit a logical page goes to.
//!
//! The contract: [`Alloc::locate`] says where a page is (or, under static allocation, where it belongs);
//! [`Alloc::place`] says where its next version is to be written, or that no channel can take it now. Static
//! allocation is computed. Dynamic allocation binds a page when it is dispatched and remembers the unit. Nothing here
//! moves data: collection stays inside a unit.

mod dynamic;
mod striped;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use dynamic::Dynamic;
pub(crate) use striped::Striped;

use crate::geometry::Geometry;

/// Which parallel unit a logical page goes to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum AllocConfig {
    /// By the digits of the logical page number (static allocation).
    Striped(striped::Config),
    /// To whichever channel is idle (SSDsim's dynamic allocation). Needs events.
    Dynamic(dynamic::Config),
}

impl Default for AllocConfig {
    fn default() -> Self {
        AllocConfig::Striped(striped::Config::default())
    }
}

impl AllocConfig {
    /// Why the policy can't do with busy-until times, if it can't.
    pub(crate) fn needs_events(&self) -> Option<&'static str> {
        match self {
            AllocConfig::Striped(_) => None,
            AllocConfig::Dynamic(_) => Some("dynamic allocation waits for an idle channel"),
        }
    }

    /// Whether another order or mode than the default one is the same thing on this geometry; says why.
    pub(crate) fn inert_on(&self, geometry: &Geometry) -> Option<(&'static str, String)> {
        match self {
            AllocConfig::Striped(config) => striped::inert_on(config, geometry),
            AllocConfig::Dynamic(config) => dynamic::inert_on(config, geometry),
        }
    }
}

/// Where a logical page is mapped: the unit, and the key of its entry in that unit's map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Home {
    /// The parallel unit.
    pub(crate) unit: u32,
    /// The unit's name for the page: its number within the unit (static), or the LPN itself (dynamic).
    pub(crate) key: u32,
}

/// What an allocator may know about the drive when it decides.
pub(crate) trait AllocView {
    /// Whether the die has neither a command nor one waiting.
    fn die_is_idle(&self, die: u32) -> bool;
    /// Whether the unit can take one more page for good.
    fn has_room(&self, unit: u32) -> bool;
}

/// The allocation policies: one closed enum, because it is asked for every page.
#[derive(Clone, Debug)]
pub(crate) enum Alloc {
    /// See [`Striped`].
    Striped(Striped),
    /// See [`Dynamic`].
    Dynamic(Dynamic),
}

impl Alloc {
    pub(crate) fn new(config: &AllocConfig, geometry: &Geometry) -> Self {
        match config {
            AllocConfig::Striped(config) => Alloc::Striped(Striped::new(config, geometry)),
            AllocConfig::Dynamic(config) => Alloc::Dynamic(Dynamic::new(config, geometry)),
        }
    }

    /// Whether one map, indexed by LPN, serves all units.
    pub(crate) fn shares_map(&self) -> bool {
        matches!(self, Alloc::Dynamic(_))
    }

    /// Where the current version of `lpn` is, if it can be anywhere.
    #[inline]
    pub(crate) fn locate(&self, lpn: u64) -> Option<Home> {
        match self {
            Alloc::Striped(striped) => Some(striped.home(lpn)),
            Alloc::Dynamic(dynamic) => dynamic.locate(lpn),
        }
    }

    /// Where a page goes whatever the state of the drive; `None` if that is decided when it is dispatched.
    #[inline]
    pub(crate) fn fixed_unit(&self, lpn: u64) -> Option<u32> {
        match self {
            Alloc::Striped(striped) => Some(striped.home(lpn).unit),
            Alloc::Dynamic(_) => None,
        }
    }

    /// The channel that a page goes to whatever the state of the drive; `None` if that is decided when it is dispatched.
    pub(crate) fn fixed_channel(&self, lpn: u64, geometry: &Geometry) -> Option<u32> {
        match self {
            Alloc::Striped(striped) => Some(geometry.channel_of(striped.home(lpn).unit)),
            Alloc::Dynamic(dynamic) => dynamic.fixed_channel(lpn),
        }
    }

    /// Where the next version of `lpn` goes; `None` if every unit it may go to is taken and it had better wait.
    #[inline]
    pub(crate) fn place(&mut self, lpn: u64, view: &impl AllocView) -> Option<Home> {
        match self {
            Alloc::Striped(striped) => Some(striped.home(lpn)),
            Alloc::Dynamic(dynamic) => dynamic.place(lpn, view),
        }
    }

    pub(crate) fn snapshot(&mut self) -> Self {
        match self {
            Alloc::Striped(striped) => Alloc::Striped(striped.clone()),
            Alloc::Dynamic(dynamic) => Alloc::Dynamic(dynamic.snapshot()),
        }
    }
}
