//! Order of turns within a channel: consecutive pages differ in chip first, then die, then plane.

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

/// Answer of a channel to a request for a unit.
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

    /// The unit of a page that nobody wrote in this run: where filling the drive in order would have put it, or the next one
    /// that has room. `step`: 1, or the number of channels to stay on the page's own.
    pub(super) fn by_address(&self, lpn: u64, step: u64, has_room: impl Fn(u32) -> bool) -> Option<u32> {
        let channels = self.next.len() as u64;
        let of_channel = u64::from(self.units_per_channel);
        let unit = |place: u64| {
            let turn = self.order[(place / channels % of_channel) as usize];
            (place % channels) as u32 * self.units_per_channel + turn
        };
        (0..channels * of_channel / step).map(|tried| unit(lpn + tried * step)).find(|unit| has_room(*unit))
    }

    /// The channel's next unit in turn whose die is idle and which has room.
    #[inline]
    pub(super) fn take(&mut self, channel: u32, view: &impl AllocView) -> Turn {
        let (turn, next) = self.look(channel, view);
        self.next[channel as usize] = next;
        turn
    }

    /// As [`Turns::take`], without taking it; with the turn after it.
    #[inline]
    pub(super) fn look(&self, channel: u32, view: &impl AllocView) -> (Turn, u32) {
        let base = channel * self.units_per_channel;
        let next = self.next[channel as usize];
        let mut answer = Turn::Full;
        for step in 0..self.units_per_channel {
            let at = (next + step) % self.units_per_channel;
            let unit = base + self.order[at as usize];
            if view.has_room(unit) {
                if view.die_is_idle(unit / self.planes) && !view.is_taken(unit) {
                    return (Turn::Unit(unit), (at + 1) % self.units_per_channel);
                }
                answer = Turn::Busy;
            }
        }
        (answer, next)
    }
}
