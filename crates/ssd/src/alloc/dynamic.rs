//! Dynamic allocation of SSDsim (Hu et al. 2011): a page goes to whichever channel is idle, round robin; within the
//! channel chip, die and plane take turns. Mode 1 fixes the channel (LPN mod channels) and takes turns below it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::turns::{Turn, Turns};
use super::{AllocView, Home};
use crate::cow::CowVec;
use crate::geometry::Geometry;

/// Dynamic allocation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// 0: any idle channel, round robin. 1: channel = LPN mod channels, the rest round robin.
    #[schemars(range(max = 1))]
    pub mode: u8,
}

pub(super) fn inert_on(config: &Config, geometry: &Geometry) -> Option<(&'static str, String)> {
    if geometry.units() == 1 {
        return Some(("alloc.kind", "there is one parallel unit, so there is nothing to choose".into()));
    }
    (config.mode == 1 && geometry.channels == 1)
        .then(|| ("alloc.mode", "mode 1 fixes the channel, and there is only one".into()))
}

/// Round-robin state and the unit of every page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Dynamic {
    channels: u32,
    /// Mapping units in a page of flash: so many in a row have the same place by their address.
    per_page: u64,
    fixed_channel: bool,
    next_channel: u32,
    turns: Turns,
    unit_of: CowVec,
}

impl Dynamic {
    pub(super) fn new(config: &Config, geometry: &Geometry) -> Self {
        Self {
            channels: geometry.channels,
            per_page: geometry.units_per_page.into(),
            fixed_channel: config.mode == 1,
            next_channel: 0,
            turns: Turns::new(geometry),
            unit_of: CowVec::new(geometry.logical_pages),
        }
    }

    pub(super) fn locate(&self, lpn: u64) -> Option<Home> {
        let unit = self.unit_of.get(lpn);
        (unit != CowVec::EMPTY).then_some(Home { unit, key: lpn as u32 })
    }

    /// True if a page has its channel, though not its unit.
    pub(super) fn has_fixed_channels(&self) -> bool {
        self.fixed_channel
    }

    pub(super) fn fixed_channel(&self, lpn: u64) -> Option<u32> {
        self.fixed_channel.then(|| (lpn / self.per_page % u64::from(self.channels)) as u32)
    }

    pub(super) fn place(&mut self, lpn: u64, view: &impl AllocView) -> Option<Home> {
        let (first, count) =
            self.fixed_channel(lpn).map_or((self.next_channel, self.channels), |channel| (channel, 1));
        for step in 0..count {
            let channel = (first + step) % self.channels;
            if let Turn::Unit(unit) = self.turns.take(channel, view) {
                self.next_channel = (channel + 1) % self.channels;
                return Some(self.assign(lpn, unit));
            }
        }
        None
    }

    /// True if [`Dynamic::place`] finds a unit.
    pub(super) fn finds(&self, lpn: u64, view: &impl AllocView) -> bool {
        let mut channels = self.fixed_channel(lpn).map_or(0..self.channels, |channel| channel..channel + 1);
        channels.any(|channel| matches!(self.turns.look(channel, view).0, Turn::Unit(_)))
    }

    /// The page goes to this unit.
    pub(super) fn assign(&mut self, lpn: u64, unit: u32) -> Home {
        self.unit_of.set(lpn, unit);
        Home { unit, key: lpn as u32 }
    }

    /// Where a page that nobody wrote in this run lies.
    pub(super) fn lay(&mut self, lpn: u64, has_room: impl Fn(u32) -> bool) -> Option<Home> {
        let step = if self.fixed_channel { u64::from(self.channels) } else { 1 };
        let unit = self.turns.by_address(lpn / self.per_page, step, has_room)?;
        Some(self.assign(lpn, unit))
    }

    pub(super) fn snapshot(&mut self) -> Self {
        let unit_of = self.unit_of.snapshot();
        Self { unit_of, turns: self.turns.clone(), ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct View(Vec<u32>);
    impl AllocView for View {
        fn die_is_idle(&self, die: u32) -> bool {
            !self.0.contains(&die)
        }
        fn has_room(&self, unit: u32) -> bool {
            unit != 5
        }
    }

    #[test]
    fn takes_the_next_idle_channel_and_remembers_it() {
        let geometry = Geometry::for_test(4, 1, 1, 2);
        let mut dynamic = Dynamic::new(&Config { mode: 0 }, &geometry);
        assert_eq!(dynamic.locate(9), None);
        let units: Vec<_> =
            (0..5).map(|lpn| dynamic.place(lpn, &View(vec![1])).map(|home| home.unit)).collect();
        // Channel 1 is busy; each channel's planes take turns.
        assert_eq!(units, [Some(0), Some(4), Some(6), Some(1), Some(4)].map(|unit| unit));
        assert_eq!(dynamic.locate(2).map(|home| home.unit), Some(6));
    }

    #[test]
    fn mode_1_waits_for_its_channel() {
        let geometry = Geometry::for_test(4, 1, 1, 1);
        let mut dynamic = Dynamic::new(&Config { mode: 1 }, &geometry);
        assert_eq!(dynamic.place(5, &View(vec![1])), None);
        assert_eq!(dynamic.place(6, &View(vec![1])).map(|home| home.unit), Some(2));
    }
}
