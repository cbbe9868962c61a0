//! Status of a command that a zoned namespace refuses.

use serde::{Deserialize, Serialize};

/// Why a command failed, in the specification's words. Codes B6h to BFh are command specific, the others generic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// A field of the command makes no sense.
    #[error("invalid field in command (02h)")]
    InvalidField,
    /// The address lies beyond the namespace.
    #[error("LBA out of range (80h)")]
    LbaOutOfRange,
    /// The zone can't do this with a random write area, or the namespace has none.
    #[error("invalid zone operation request (B6h)")]
    InvalidZoneOperation,
    /// All random write areas are taken.
    #[error("ZRWA resources unavailable (B7h)")]
    ZrwaUnavailable,
    /// A read crosses into another zone, or a write goes beyond the capacity of its zone.
    #[error("zone boundary error (B8h)")]
    ZoneBoundary,
    /// The zone is FULL.
    #[error("zone is full (B9h)")]
    ZoneFull,
    /// The zone is READ ONLY.
    #[error("zone is read only (BAh)")]
    ZoneReadOnly,
    /// The zone is OFFLINE.
    #[error("zone is offline (BBh)")]
    ZoneOffline,
    /// A write does not begin at the write pointer, or lies outside of the random write area.
    #[error("zone invalid write (BCh)")]
    InvalidWrite,
    /// There would be more active zones than allowed.
    #[error("too many active zones (BDh)")]
    TooManyActive,
    /// There would be more open zones than allowed.
    #[error("too many open zones (BEh)")]
    TooManyOpen,
    /// The state of the zone does not allow the transition.
    #[error("invalid zone state transition (BFh)")]
    InvalidTransition,
}

impl Status {
    /// All of them, by code.
    pub const ALL: [Status; 12] = [
        Status::InvalidField,
        Status::LbaOutOfRange,
        Status::InvalidZoneOperation,
        Status::ZrwaUnavailable,
        Status::ZoneBoundary,
        Status::ZoneFull,
        Status::ZoneReadOnly,
        Status::ZoneOffline,
        Status::InvalidWrite,
        Status::TooManyActive,
        Status::TooManyOpen,
        Status::InvalidTransition,
    ];

    /// Its status code.
    pub fn code(self) -> u8 {
        match self {
            Status::InvalidField => 0x02,
            Status::LbaOutOfRange => 0x80,
            Status::InvalidZoneOperation => 0xb6,
            Status::ZrwaUnavailable => 0xb7,
            Status::ZoneBoundary => 0xb8,
            Status::ZoneFull => 0xb9,
            Status::ZoneReadOnly => 0xba,
            Status::ZoneOffline => 0xbb,
            Status::InvalidWrite => 0xbc,
            Status::TooManyActive => 0xbd,
            Status::TooManyOpen => 0xbe,
            Status::InvalidTransition => 0xbf,
        }
    }

    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Status::InvalidField => "invalid_field",
            Status::LbaOutOfRange => "lba_out_of_range",
            Status::InvalidZoneOperation => "invalid_zone_operation",
            Status::ZrwaUnavailable => "zrwa_unavailable",
            Status::ZoneBoundary => "zone_boundary",
            Status::ZoneFull => "zone_full",
            Status::ZoneReadOnly => "zone_read_only",
            Status::ZoneOffline => "zone_offline",
            Status::InvalidWrite => "invalid_write",
            Status::TooManyActive => "too_many_active",
            Status::TooManyOpen => "too_many_open",
            Status::InvalidTransition => "invalid_transition",
        }
    }
}
