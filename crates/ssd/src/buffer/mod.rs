//! The write buffer: pages that the drive has taken but not yet programmed.
//!
//! One implementation besides none: [`WriteBuffer`], pages shared by all units, with a replacement policy. It holds state and answers questions;
//! when pages enter and leave, and what a request waits for, is the run loop's.

mod backpressure;
pub(crate) mod destage;
mod mask;
mod pages;
mod replacement;
mod reserve;
mod waiting;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use backpressure::{Backpressure, BackpressureConfig, Share};
pub(crate) use destage::DestageConfig;
pub(crate) use mask::SectorMask;
pub(crate) use pages::{Incoming, PageShape, WriteBuffer};
pub(crate) use replacement::Replacement;
pub(crate) use waiting::Place;

use crate::quantity::Bytes;

/// When a buffered write is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ack {
    /// When it is in the buffer.
    #[default]
    Buffer,
    /// When it is on flash: pages leave the buffer as soon as their unit can take them.
    Flash,
}

/// In what order pages may leave the buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// The oldest page of every unit, whatever waits for others.
    #[default]
    Any,
    /// No page ahead of an older request.
    InOrder,
}

/// The write buffer. It belongs to the hardware, so presets may set its size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BufferConfig {
    /// Size; 0 is no buffer. Whole pages are used.
    pub bytes: Bytes,
    /// When a buffered write is acknowledged.
    pub ack: Ack,
    /// True: capacitors write it to flash when power fails, so a flush has nothing to wait for. False: a flush waits until the
    /// pages written before it are on flash.
    pub protected: bool,
    /// In what order pages may leave it.
    pub order: Order,
    /// Next page to leave among those that wait for a unit.
    pub replacement: Replacement,
    /// Time at which pages leave it before they must.
    #[serde(flatten)]
    pub destage: DestageConfig,
    /// Time at which a write enters it though there is room.
    #[serde(flatten)]
    pub backpressure: BackpressureConfig,
    /// True: a write to a page that waits in the buffer joins its entry. False: it takes an entry of its own.
    pub coalesce: bool,
}

impl Default for BufferConfig {
    fn default() -> Self {
        Self {
            bytes: Bytes(0),
            ack: Ack::Buffer,
            protected: false,
            order: Order::Any,
            replacement: Replacement::Fifo,
            destage: DestageConfig::default(),
            backpressure: BackpressureConfig::default(),
            coalesce: true,
        }
    }
}
