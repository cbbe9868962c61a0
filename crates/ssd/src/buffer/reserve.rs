//! A reserve of erased space of the whole drive, which writes use up at once, and for the refill of which they are held back.
//!
//! Firmware that collects large superblocks has phases: while there is a reserve, writes enter at once; once it is used up, it
//! collects until there is a reserve again, and holds writes to just less than the rate that they came at. So a queue of any
//! depth fills, and stays full for as long as the refill takes. Collection gets the time that the host leaves. This is a fluid
//! model of that loop: bytes in, bytes out. Blocks of the drive and their collections are what they are without it.
//!
//! Latencies of the Micron 7450 MAX over its load have this shape (experiments/09-real-drives).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::{Bytes, round_to_u64};

/// A reserve, and its refill.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "fields are keys of the buffer: buffer.reserve")]
pub struct Reserve {
    /// Erased bytes that writes use up at once before they are held back, until there are as many again.
    #[schemars(range(min = 1))]
    pub reserve: Bytes,
    /// Bytes a second that collection erases while writes are held back, where the host writes as many: most that it writes for long.
    #[schemars(range(min = 1))]
    pub refill_rate: Bytes,
    /// Bytes that collection erases more for each that the host writes less than `refill_rate`.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub refill_left: f64,
    /// Bytes a second that are erased while writes are not held back.
    pub refill_always: Bytes,
    /// Share of their mean rate since the refill before, at which few writes enter while they are held back. It grows evenly to
    /// all of it at `refill_rate`, the highest rate.
    #[schemars(range(min = 0.01, max = 1.0))]
    pub hold_share: f64,
}

impl Default for Reserve {
    fn default() -> Self {
        Self {
            reserve: Bytes(64 << 20),
            refill_rate: Bytes(400 << 20),
            refill_left: 1.0,
            refill_always: Bytes(0),
            hold_share: 0.95,
        }
    }
}

/// Parts in which shares of the configuration are counted.
pub(super) const PARTS: u64 = 1_000_000;

/// Parts of a byte in which erased space is counted: a byte a second is a million of them each ns.
const BYTE: i128 = 1_000_000 * 1_000_000_000;

/// State of a reserve.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Filling {
    full: i128,
    rate: u64,
    /// Erased for each byte below the rate, the byte itself included.
    factor_ppm: u64,
    always: u64,
    share_ppm: u64,
    /// Erased now, as of `at_ns`.
    left: i128,
    at_ns: u64,
    /// Bytes a second that enter during a refill; 0 while there is none.
    held_rate: u64,
    /// True from the end of a refill until no write waits: those that do enter at `rate`, not all at once.
    drains: bool,
    /// From when on the next write enters, ns.
    ready_ns: u64,
    /// Begin of the mean, ns, and bytes that entered since.
    since_ns: u64,
    bytes: u64,
}

impl Filling {
    /// A full reserve.
    pub(super) fn new(config: &Reserve) -> Self {
        let full = i128::from(config.reserve.0) * BYTE;
        Self {
            full,
            rate: config.refill_rate.0,
            factor_ppm: PARTS + round_to_u64(config.refill_left * PARTS as f64),
            always: config.refill_always.0,
            share_ppm: round_to_u64(config.hold_share * PARTS as f64),
            left: full,
            at_ns: 0,
            held_rate: 0,
            drains: false,
            ready_ns: 0,
            since_ns: 0,
            bytes: 0,
        }
    }

    /// A write has entered. Returns the time for which the next one is held back, ns.
    pub(super) fn entered(&mut self, now_ns: u64, bytes: u64) -> u64 {
        let passed = i128::from(now_ns - self.at_ns);
        self.at_ns = now_ns;
        if self.held_rate > 0 {
            self.left = self.left.saturating_add(passed.saturating_mul(self.refill()));
            if self.left >= self.full {
                (self.left, self.held_rate, self.drains) = (self.full, 0, true);
            }
        } else {
            self.left =
                self.left.saturating_add(passed.saturating_mul(i128::from(self.always) * i128::from(PARTS)));
            if self.left > self.full {
                // Nothing of the time before is left to be made up for.
                (self.left, self.since_ns, self.bytes) = (self.full, now_ns, 0);
            }
        }
        self.drains &= now_ns <= self.ready_ns;
        self.bytes = self.bytes.saturating_add(bytes);
        let factor =
            if self.held_rate > 0 { i128::from(self.factor_ppm) * (BYTE / i128::from(PARTS)) } else { BYTE };
        self.left -= i128::from(bytes) * factor;
        if self.held_rate == 0 && self.left <= 0 {
            self.held_rate = self.paced(now_ns);
            (self.since_ns, self.bytes) = (now_ns, 0);
        }
        let wait_ns = self.wait_ns(bytes);
        self.ready_ns = now_ns.saturating_add(wait_ns);
        wait_ns
    }

    /// Parts that are erased each ns of a refill, while nothing enters.
    fn refill(&self) -> i128 {
        i128::from(self.rate).saturating_mul(i128::from(self.factor_ppm))
    }

    /// Bytes a second that enter during the refill that begins now.
    fn paced(&self, now_ns: u64) -> u64 {
        let span = u128::from(now_ns - self.since_ns);
        let rate = u128::from(self.rate);
        let mean =
            (u128::from(self.bytes) * 1_000_000_000).checked_div(span).map_or(rate, |mean| mean.min(rate));
        let less = mean * (rate - mean) / rate * u128::from(PARTS.saturating_sub(self.share_ppm))
            / u128::from(PARTS);
        u64::try_from(mean - less).unwrap_or(u64::MAX).max(1)
    }

    /// A write is held back no longer than the rest of the refill takes.
    fn wait_ns(&self, bytes: u64) -> u64 {
        let at = |rate: u64| (u128::from(bytes) * 1_000_000_000).div_ceil(u128::from(rate));
        if self.held_rate == 0 {
            return if self.drains { u64::try_from(at(self.rate)).unwrap_or(u64::MAX) } else { 0 };
        }
        let own = at(self.held_rate);
        let missing = u128::try_from(self.full - self.left).unwrap_or(0);
        let rest = missing.div_ceil(u128::try_from(self.refill()).unwrap_or(1).max(1));
        u64::try_from(own.min(rest)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u64 = 4096;

    fn filling(config: &Reserve) -> Filling {
        Filling::new(&Reserve {
            reserve: Bytes(10 * PAGE),
            refill_rate: Bytes(PAGE * 1000),
            ..config.clone()
        })
    }

    /// Waits after writes of a page that come each `gap_ns`, or later where they are held back.
    fn waits(filling: &mut Filling, count: usize, from_ns: u64, gap_ns: u64) -> Vec<u64> {
        let mut now = from_ns;
        (0..count)
            .map(|_| {
                let wait = filling.entered(now, PAGE);
                now += gap_ns.max(wait);
                wait
            })
            .collect()
    }

    #[test]
    fn a_used_up_reserve_holds_writes_to_a_share_of_their_rate() {
        let mut held = filling(&Reserve { refill_left: 1.0, hold_share: 0.1, ..Reserve::default() });
        // Ten pages in 18 ms are 5/9 of the highest rate. Of that enters 1 - 0.9 x 4/9, a page each 3 ms, in which six pages are
        // erased for the two that it costs. The six that are then missing take 3 ms.
        let found = waits(&mut held, 13, 0, 2_000_000);
        assert_eq!(&found[..9], [0; 9]);
        assert!(found[9..11].iter().all(|wait| wait.abs_diff(3_000_000) < 10), "{found:?}");
        assert_eq!(
            found[11..],
            [1_000_000, 0],
            "the refill has ended: at the highest rate, until no write waits"
        );
    }

    #[test]
    fn writes_as_fast_as_the_refill_stay_held_back() {
        let mut held = filling(&Reserve { hold_share: 1.0, ..Reserve::default() });
        let found = waits(&mut held, 1000, 0, 1000);
        assert_eq!(&found[..9], [0; 9]);
        assert!(found[9..].iter().all(|&wait| wait == 1_000_000), "at the rate of the refill");
    }

    #[test]
    fn no_write_waits_longer_than_the_refill() {
        let mut held = filling(&Reserve { refill_left: 0.0, ..Reserve::default() });
        // A write, a long pause, and a burst: the mean rate would hold each write back for minutes.
        held.entered(0, PAGE);
        let found = waits(&mut held, 10, 3_600_000_000_000, 0);
        assert_eq!(&found[8..], [10_000_000, 1_000_000], "ten pages at 1,000 a second");
    }

    #[test]
    fn what_is_erased_all_the_time_keeps_slow_writes_from_being_held_back() {
        let config = Reserve { refill_always: Bytes(PAGE * 500), ..Reserve::default() };
        assert_eq!(waits(&mut filling(&config), 200, 0, 2_000_000), [0; 200]);
        let mut held = filling(&config);
        let found = waits(&mut held, 40, 0, 1_000_000);
        assert_eq!(found.iter().position(|&wait| wait > 0), Some(18), "half of each page is missing");
    }
}
