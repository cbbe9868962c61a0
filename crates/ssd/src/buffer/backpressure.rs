//! Backpressure: when a write that finds room enters the buffer. Writes enter first come, first served, and reads pass them.
//!
//! A write that enters makes the next one wait: for its bytes at `buffer.admit_rate` (the leaky bucket of `host/limits.rs`), or
//! for a time a page that grows evenly with the pressure, from 0 to the largest. Pressure is the share of the buffer that is in
//! use, or of the erased blocks that are missing. OpenZFS holds operations back in the same place, by the share of dirty data
//! (`zfs_delay_scale`), with a time that has no bound. A [reserve](super::reserve) holds writes back in phases.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reserve::{Filling, PARTS, Reserve};
use crate::host::Meter;
use crate::quantity::{Bytes, LONGEST_NS, Nanos, round_to_u64};

/// When a write enters a buffer that has room.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "backpressure", rename_all = "kebab-case")]
pub enum BackpressureConfig {
    /// At once: writes wait for room only.
    None(Unset),
    /// At a fixed rate.
    Rate(Rate),
    /// The later, the fuller the buffer is.
    Fill(Fill),
    /// The later, the fewer erased blocks there are.
    Free(Free),
    /// In phases: not at all while a reserve of erased space lasts, then at just less than their own rate until it is full again.
    Reserve(Reserve),
}

impl Default for BackpressureConfig {
    fn default() -> Self {
        Self::None(Unset {})
    }
}

/// Without settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Unset {}

/// The rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Rate {
    /// Bytes a second that enter the buffer at most.
    #[schemars(range(min = 1))]
    pub admit_rate: Bytes,
}

impl Default for Rate {
    fn default() -> Self {
        Self { admit_rate: Bytes(100 << 20) }
    }
}

/// A ramp over the buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Fill {
    /// Share of the buffer in use from which on writes are held back.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub fill_from: f64,
    /// Time that each page of a write holds the next one back, where the buffer is full.
    #[schemars(range(max = LONGEST_NS))]
    pub fill_delay: Nanos,
}

impl Default for Fill {
    fn default() -> Self {
        Self { fill_from: 0.5, fill_delay: Nanos(1_000_000) }
    }
}

/// A ramp over erased blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Free {
    /// Mean number of erased blocks of a unit below which writes are held back: most where it is down to `gc.free_blocks`.
    #[schemars(range(min = 1))]
    pub free_below: u32,
    /// Time that each page of a write holds the next one back, where erased blocks are fewest.
    #[schemars(range(max = LONGEST_NS))]
    pub free_delay: Nanos,
}

impl Default for Free {
    fn default() -> Self {
        Self { free_below: 8, free_delay: Nanos(1_000_000) }
    }
}

impl BackpressureConfig {
    /// True if writes are held back.
    pub(crate) fn is_on(&self) -> bool {
        !matches!(self, Self::None(_))
    }

    /// The number of erased blocks from which on writes are held back.
    pub(crate) fn free_below(&self) -> Option<u32> {
        if let Self::Free(own) = self { Some(own.free_below) } else { None }
    }
}

/// A share: a number of parts, of so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) parts: u64,
    pub(crate) of: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Rule {
    Rate(Meter),
    Fill { from_ppm: u64, delay_ns: u64 },
    Free { below: u64, least: u64, delay_ns: u64 },
    Reserve(Box<Filling>),
}

/// Holds writes back.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Backpressure {
    rule: Rule,
    /// From when on the next write enters, ns.
    ready_ns: u64,
    /// The last time for which the array was asked to call, ns.
    called_ns: u64,
}

impl Backpressure {
    /// The backpressure of a buffer, if it has any. `least`: erased blocks of a unit that are never used up.
    pub(crate) fn new(config: &BackpressureConfig, least: u32) -> Option<Box<Self>> {
        let rule = match config {
            BackpressureConfig::None(_) => return None,
            BackpressureConfig::Rate(own) => Rule::Rate(Meter::new(own.admit_rate.0, 0)),
            BackpressureConfig::Fill(own) => {
                let from_ppm = round_to_u64(own.fill_from * PARTS as f64);
                Rule::Fill { from_ppm, delay_ns: own.fill_delay.0 }
            }
            BackpressureConfig::Free(own) => {
                Rule::Free { below: own.free_below.into(), least: least.into(), delay_ns: own.free_delay.0 }
            }
            BackpressureConfig::Reserve(own) => Rule::Reserve(Box::new(Filling::new(own))),
        };
        Some(Box::new(Self { rule, ready_ns: 0, called_ns: 0 }))
    }

    /// From when on the next write enters, ns.
    pub(crate) fn ready_ns(&self) -> u64 {
        if let Rule::Rate(meter) = &self.rule { meter.ready_ns() } else { self.ready_ns }
    }

    /// Returns true once for each time that a write waits for.
    pub(crate) fn calls(&mut self) -> bool {
        let ready_ns = self.ready_ns();
        std::mem::replace(&mut self.called_ns, ready_ns) != ready_ns
    }

    /// True if the pressure is that of erased blocks.
    pub(crate) fn heeds_free_blocks(&self) -> bool {
        matches!(self.rule, Rule::Free { .. })
    }

    /// A write has entered. `used`: pages of the buffer in use, of all; `free`: erased blocks of all units, and units.
    pub(crate) fn entered(&mut self, now_ns: u64, bytes: u64, pages: u64, used: Share, free: Share) {
        let (pressure, delay_ns) = match &mut self.rule {
            Rule::Rate(meter) => return meter.charge(now_ns, bytes),
            Rule::Reserve(filling) => {
                self.ready_ns = now_ns.saturating_add(filling.entered(now_ns, bytes));
                return;
            }
            Rule::Fill { from_ppm, delay_ns } => {
                let parts = (used.parts * PARTS).saturating_sub(*from_ppm * used.of);
                (Share { parts, of: used.of * (PARTS - *from_ppm) }, *delay_ns)
            }
            Rule::Free { below, least, delay_ns } => {
                let of = free.of * (*below - *least);
                let missing = (free.of * *below).saturating_sub(free.parts);
                (Share { parts: missing.min(of), of }, *delay_ns)
            }
        };
        let parts = u128::from(delay_ns) * u128::from(pages) * u128::from(pressure.parts);
        let wait_ns = parts.checked_div(u128::from(pressure.of)).unwrap_or(0);
        self.ready_ns = now_ns.saturating_add(u64::try_from(wait_ns).unwrap_or(u64::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait_ns(config: &BackpressureConfig, used: (u64, u64), free: (u64, u64)) -> u64 {
        let mut held = Backpressure::new(config, 1).expect("it is on");
        let share = |(parts, of)| Share { parts, of };
        held.entered(1000, 8192, 2, share(used), share(free));
        held.ready_ns() - 1000
    }

    #[test]
    fn delays_grow_evenly_with_the_pressure() {
        let fill = BackpressureConfig::Fill(Fill { fill_from: 0.5, fill_delay: Nanos(600) });
        let waits = [0, 4, 5, 6, 7, 8].map(|used| wait_ns(&fill, (used, 8), (0, 1)));
        assert_eq!(waits, [0, 0, 300, 600, 900, 1200], "of two pages");
        let free = BackpressureConfig::Free(Free { free_below: 4, free_delay: Nanos(600) });
        // Of two units: from 8 erased blocks down to 2.
        let waits = [9, 8, 6, 5, 2, 1].map(|free_blocks| wait_ns(&free, (0, 8), (free_blocks, 2)));
        assert_eq!(waits, [0, 0, 400, 600, 1200, 1200]);
        // A buffer that is held back when it is full is so by its room.
        let by_room = BackpressureConfig::Fill(Fill { fill_from: 1.0, fill_delay: Nanos(600) });
        assert_eq!(wait_ns(&by_room, (8, 8), (0, 1)), 0);
    }

    #[test]
    fn bytes_enter_at_the_rate() {
        let rate = BackpressureConfig::Rate(Rate { admit_rate: Bytes(8_192_000) });
        assert_eq!(wait_ns(&rate, (0, 8), (0, 1)), 1_000_000);
    }
}
