//! Zones of a zoned namespace: the state machine of the NVMe Zoned Namespace Command Set, revision 1.1, section 2.1.1.
//!
//! Pure: addresses are logical blocks, nothing here knows of flash or time. [`Zones::read`], [`Zones::write`],
//! [`Zones::append`], [`Zones::commit`] and [`Zones::manage`] check a command and make its transitions, or return the
//! status that the specification names and change nothing.
//!
//! - A write to an EMPTY or CLOSED zone opens it implicitly. Where no zone may be opened any more, the controller closes
//!   the zone that was opened implicitly longest ago; zones that were opened explicitly stay open.
//! - *Active* zones are open or CLOSED ones. A zone is FULL when its write pointer reaches its capacity, or by *finish*.
//! - *ZRWA* (zone random write area): of a zone opened with one, the blocks from the write pointer on may be written in
//!   any order. A write beyond the area commits what is needed to move it; a commit does so explicitly.
//!
//! Where the specification leaves an order of checks open, it is that of QEMU's `hw/nvme/ctrl.c`: limits of the command,
//! the zone's state, the address, then open and active zones.

mod status;
mod table;

pub use status::Status;
pub use table::{Change, Zones};

use serde::{Deserialize, Serialize};

/// State of a zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ZoneState {
    /// Nothing is written.
    #[default]
    Empty,
    /// Opened by a write.
    ImplicitlyOpened,
    /// Opened by a command.
    ExplicitlyOpened,
    /// Written in part, and not open: it still takes an active resource.
    Closed,
    /// Takes no more writes until it is reset.
    Full,
    /// Can be read only; no command makes it writable.
    ReadOnly,
    /// Can't be used.
    Offline,
}

impl ZoneState {
    /// True if the zone takes an open resource.
    pub fn is_open(self) -> bool {
        matches!(self, ZoneState::ImplicitlyOpened | ZoneState::ExplicitlyOpened)
    }

    /// True if the zone takes an active resource.
    pub fn is_active(self) -> bool {
        self.is_open() || self == ZoneState::Closed
    }
}

/// Zone random write areas of a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Zrwa {
    /// Blocks of an area.
    pub size: u64,
    /// Blocks that are committed together: a divisor of `size`.
    pub granularity: u64,
    /// Zones that may have an area at a time.
    pub resources: u32,
}

/// Fixed properties of the zones of a namespace; lengths in logical blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// Number of zones, at least 1.
    pub zones: u32,
    /// Distance of the first blocks of two zones, at least 1.
    pub size: u64,
    /// Blocks of a zone that can be written, from its first on: at least 1, at most `size`.
    pub capacity: u64,
    /// Zones that may be open at a time; `None` is no limit.
    pub max_open: Option<u32>,
    /// Zones that may be active at a time; `None` is no limit.
    pub max_active: Option<u32>,
    /// Longest append; `None` is no limit.
    pub max_append: Option<u64>,
    /// True if a read may go on into the next zone.
    pub reads_across: bool,
    /// Random write areas, if there are any.
    pub zrwa: Option<Zrwa>,
}

/// Action of a Zone Management Send command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Opens the zone explicitly.
    Open {
        /// With a random write area.
        zrwa: bool,
    },
    /// Closes an open zone.
    Close,
    /// Makes the zone FULL.
    Finish,
    /// Makes the zone EMPTY: its data is gone.
    Reset,
    /// Makes a READ ONLY zone OFFLINE.
    Offline,
}

/// A zone as the report of zones describes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Zone {
    /// Its state.
    pub state: ZoneState,
    /// Blocks before the write pointer. Without meaning where the zone is FULL, READ ONLY or OFFLINE; of a FULL zone the blocks
    /// that were written.
    pub written: u64,
    /// True if it has a random write area.
    pub has_zrwa: bool,
    /// Number of the implicit opening, for the choice of the zone that the controller closes.
    pub(crate) opened: u64,
}

#[cfg(test)]
mod tests;
