//! Whose turn it is within a channel: consecutive pages differ in chip first, then die, then plane.

use serde::{Deserialize, Serialize};

use super::AllocView;
use crate::geometry::Geometry;

/// The next unit in turn of every channel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Turns {
    units_per_channel: u32,
    planes: u32,
    next: Vec<u32>,
    order: Vec<u32>,
}

/// What a channel answers when asked for a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// This one: its die is idle, and it has room.
    Unit(u32),
    /// Those with room are busy.
    Busy,
    /// None has room.
    Full,
}

impl Turns {
    pub(super) fn new(geometry: &Geometry) -> Self {
        let order = (0..geometry.planes)
            .flat_map(|plane| (0..geometry.dies).map(move |die| (plane, die)))
            .flat_map(|(plane, die)| {
                (0..geometry.chips).map(move |chip| geometry.unit_at(0, chip, die, plane))
            })
            .collect();
        Self {
            units_per_channel: geometry.units() / geometry.channels,
            planes: geometry.planes,
            next: vec![0; geometry.channels as usize],
            order,
        }
    }

    /// The channel's next unit in turn whose die is idle and which has room.
    #[inline]
    pub(super) fn take(&mut self, channel: u32, view: &impl AllocView) -> Turn {
        let base = channel * self.units_per_channel;
        let next = &mut self.next[channel as usize];
        let mut answer = Turn::Full;
        for step in 0..self.units_per_channel {
            let at = (*next + step) % self.units_per_channel;
            let unit = base + self.order[at as usize];
            if view.has_room(unit) {
                if view.die_is_idle(unit / self.planes) {
                    *next = (at + 1) % self.units_per_channel;
                    return Turn::Unit(unit);
                }
                answer = Turn::Busy;
            }
        }
        answer
    }
}
