//! Static allocation: the digits of the LPN, least significant first, name channel, die, plane and chip in one of the
//! six orders of SSDsim (Hu et al. 2011, 2013).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Home;
use crate::divisor::Divisor;
use crate::geometry::Geometry;

/// Static allocation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// Digits of the logical page number, the one that varies fastest first: C channel, W chip, D die, P plane.
    pub order: Order,
}

/// The six orders of SSDsim, named by the digits of the LPN from the fastest to the slowest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Order {
    /// Channel, die, plane, chip: the best one in SSDsim's study.
    #[default]
    Cdpw,
    /// Channel, die, chip, plane.
    Cdwp,
    /// Channel, plane, die, chip.
    Cpdw,
    /// Channel, plane, chip, die.
    Cpwd,
    /// Channel, chip, die, plane.
    Cwdp,
    /// Chip, die, plane, channel.
    Wdpc,
}

impl Order {
    const fn digits(self) -> [u8; 4] {
        match self {
            Order::Cdpw => *b"CDPW",
            Order::Cdwp => *b"CDWP",
            Order::Cpdw => *b"CPDW",
            Order::Cpwd => *b"CPWD",
            Order::Cwdp => *b"CWDP",
            Order::Wdpc => *b"WDPC",
        }
    }

    /// Channel, chip, die and plane of a page, of so many each.
    pub(super) fn place(self, [channels, chips, dies, planes]: [u32; 4], lpn: u64) -> [u32; 4] {
        let (mut number, mut place) = (lpn, [0; 4]);
        for digit in self.digits() {
            let (at, extent) = match digit {
                b'C' => (0, channels),
                b'W' => (1, chips),
                b'D' => (2, dies),
                _ => (3, planes),
            };
            place[at] = (number % u64::from(extent)) as u32;
            number /= u64::from(extent);
        }
        place
    }

    /// The digits that have more than one value on this geometry: what the order really does there.
    fn effective(self, geometry: &Geometry) -> Vec<u8> {
        self.digits().into_iter().filter(|digit| extent(geometry, *digit) > 1).collect()
    }
}

fn extent(geometry: &Geometry, digit: u8) -> u32 {
    match digit {
        b'C' => geometry.channels,
        b'W' => geometry.chips,
        b'D' => geometry.dies,
        _ => geometry.planes,
    }
}

pub(super) fn inert_on(config: &Config, geometry: &Geometry) -> Option<(&'static str, String)> {
    let default = Order::default();
    (config.order != default && config.order.effective(geometry) == default.effective(geometry)).then(|| {
        let name = |order: Order| String::from_utf8_lossy(&order.digits()).into_owned();
        let (order, default) = (name(config.order), name(default));
        ("alloc.order", format!("on this geometry {order} and {default} place every page alike"))
    })
}

/// The table from the low digits of an LPN to its unit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Striped {
    units: Divisor,
    /// Mapping units in a page of flash: so many in a row go to the same unit.
    per_page: Divisor,
    unit_of: Vec<u32>,
}

impl Striped {
    pub(super) fn new(config: &Config, geometry: &Geometry) -> Self {
        let units = geometry.units();
        let unit_of = (0..units)
            .map(|number| {
                let extents = [geometry.channels, geometry.chips, geometry.dies, geometry.planes];
                let [channel, chip, die, plane] = config.order.place(extents, number.into());
                geometry.unit_at(channel, chip, die, plane)
            })
            .collect();
        Self {
            units: Divisor::new(units.into()),
            per_page: Divisor::new(geometry.units_per_page.into()),
            unit_of,
        }
    }

    pub(super) fn units(&self) -> u32 {
        self.units.get() as u32
    }

    #[inline]
    pub(super) fn home(&self, lpn: u64) -> Home {
        if self.per_page.get() > 1 {
            return self.home_in_page(lpn);
        }
        let (key, low) = self.units.split(lpn);
        Home { unit: self.unit_of[low as usize], key: key as u32 }
    }

    /// As [`Striped::home`], where pages of flash hold several mapping units: pages of flash are striped.
    #[inline(never)]
    fn home_in_page(&self, lpn: u64) -> Home {
        let (page, slot) = self.per_page.split(lpn);
        let (page, low) = self.units.split(page);
        Home { unit: self.unit_of[low as usize], key: (page * self.per_page.get() + slot) as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SSDsim's formula for its best order: ch = lpn % C; die = lpn/C % D; plane = lpn/(C D) % P; chip = lpn/(P D C) % W.
    #[test]
    fn cdpw_is_ssdsims_formula() {
        let geometry = Geometry::for_test(4, 3, 2, 2);
        let striped = Striped::new(&Config { order: Order::Cdpw }, &geometry);
        for lpn in 0..200u64 {
            let (c, d, p, w) = (lpn % 4, lpn / 4 % 2, lpn / 8 % 2, lpn / 16 % 3);
            let home = striped.home(lpn);
            assert_eq!(home.unit, geometry.unit_at(c as u32, w as u32, d as u32, p as u32));
            assert_eq!(u64::from(home.key), lpn / 48);
        }
    }

    #[test]
    fn mapping_units_of_a_page_stay_together() {
        let geometry = Geometry { units_per_page: 4, ..Geometry::for_test(4, 3, 2, 2) };
        let whole = Striped::new(&Config::default(), &Geometry::for_test(4, 3, 2, 2));
        let striped = Striped::new(&Config::default(), &geometry);
        for lpn in 0..800u64 {
            let page = whole.home(lpn / 4);
            assert_eq!(striped.home(lpn), Home { unit: page.unit, key: page.key * 4 + (lpn % 4) as u32 });
        }
    }

    #[test]
    fn every_order_is_a_bijection_on_one_stripe() {
        let geometry = Geometry::for_test(4, 3, 2, 2);
        for order in [Order::Cdpw, Order::Cdwp, Order::Cpdw, Order::Cpwd, Order::Cwdp, Order::Wdpc] {
            let mut seen = Striped::new(&Config { order }, &geometry).unit_of;
            seen.sort_unstable();
            assert!(seen.iter().copied().eq(0..48), "{order:?}");
        }
    }
}
