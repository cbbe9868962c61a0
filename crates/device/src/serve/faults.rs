//! Faults that are put into a live drive: latency, throttling, sectors that can't be read.
//!
//! Latency and throttling hold requests back before they enter; they enter in the order in which they came. The wait is part of their
//! latency.

use std::collections::BTreeMap;

use flashweir_trace::SECTOR_BYTES;

/// Added latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spike {
    pub(super) add_ns: u64,
    /// Requests that still get it.
    pub(super) left: u64,
    /// Until when, ns.
    pub(super) until_ns: u64,
}

/// A limit of the throughput.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Throttle {
    pub(super) bytes_per_s: u64,
    /// Since when, and until when, ns.
    pub(super) from_ns: u64,
    pub(super) until_ns: u64,
    /// When the next request may enter, ns.
    pub(super) free_ns: u64,
}

/// Faults of a drive.
#[derive(Clone, Debug, Default)]
pub(super) struct Faults {
    pub(super) spike: Option<Spike>,
    pub(super) throttle: Option<Throttle>,
    /// No request enters before this, ns.
    not_before_ns: u64,
    /// When the last request entered, ns.
    last_ns: u64,
    /// Ranges of sectors that can't be read: first, and the one after the last.
    bad: BTreeMap<u64, u64>,
    /// Times that throughput was limited, and for how long before the current limit, ns.
    pub(super) throttled: u64,
    throttled_ns: u64,
}

impl Faults {
    /// When a request enters that arrives at `time_ns`.
    pub(super) fn enters_at(&mut self, time_ns: u64, sectors: u32) -> u64 {
        let mut enter_ns = time_ns.max(self.not_before_ns).max(self.last_ns);
        if let Some(spike) = &mut self.spike {
            if time_ns >= spike.until_ns {
                self.spike = None;
            } else {
                enter_ns = enter_ns.max(time_ns.saturating_add(spike.add_ns));
                spike.left -= 1;
                if spike.left == 0 {
                    self.spike = None;
                }
            }
        }
        if let Some(throttle) = &mut self.throttle {
            if enter_ns >= throttle.until_ns {
                self.end_throttle();
            } else {
                enter_ns = enter_ns.max(throttle.free_ns);
                let bytes = u128::from(sectors) * u128::from(SECTOR_BYTES);
                let takes_ns = bytes * 1_000_000_000 / u128::from(throttle.bytes_per_s.max(1));
                throttle.free_ns = enter_ns.saturating_add(takes_ns.min(1 << 62) as u64);
            }
        }
        self.last_ns = enter_ns;
        enter_ns
    }

    /// No request enters before this.
    pub(super) fn not_before(&mut self, time_ns: u64) {
        self.not_before_ns = time_ns;
        self.last_ns = time_ns;
        if let Some(throttle) = &mut self.throttle {
            throttle.free_ns = time_ns;
        }
    }

    /// Limits the throughput from now on.
    pub(super) fn limit(&mut self, throttle: Throttle) {
        self.end_throttle();
        self.throttled += 1;
        self.throttle = Some(throttle);
    }

    fn end_throttle(&mut self) {
        if let Some(throttle) = self.throttle.take() {
            self.throttled_ns += throttle.until_ns.min(self.last_ns).saturating_sub(throttle.from_ns);
        }
    }

    /// For how long throughput was limited until the present, ns.
    pub(super) fn throttled_ns(&self, now_ns: u64) -> u64 {
        let current = self
            .throttle
            .map_or(0, |throttle| throttle.until_ns.min(now_ns).saturating_sub(throttle.from_ns));
        self.throttled_ns + current
    }

    /// True if throughput is limited at the present.
    pub(super) fn is_throttled(&self, now_ns: u64) -> bool {
        self.throttle.is_some_and(|throttle| now_ns < throttle.until_ns)
    }

    /// Sectors can't be read until they are written.
    pub(super) fn spoil(&mut self, lba: u64, sectors: u64) {
        self.restore(lba, sectors);
        self.bad.insert(lba, lba + sectors);
    }

    /// Number of sectors that can't be read.
    pub(super) fn unreadable_sectors(&self) -> u64 {
        self.bad.iter().map(|(first, end)| end - first).sum()
    }

    /// True if any of these sectors can't be read.
    pub(super) fn is_unreadable(&self, lba: u64, sectors: u32) -> bool {
        let end = lba + u64::from(sectors);
        self.bad.range(..end).next_back().is_some_and(|(_, bad_end)| *bad_end > lba)
    }

    /// Sectors are written anew.
    pub(super) fn rewritten(&mut self, lba: u64, sectors: u32) {
        if !self.bad.is_empty() {
            self.restore(lba, sectors.into());
        }
    }

    /// Takes sectors out of those that can't be read.
    fn restore(&mut self, lba: u64, sectors: u64) {
        let end = lba + sectors;
        while let Some((first, bad_end)) =
            self.bad.range(..end).next_back().map(|(first, end)| (*first, *end))
            && bad_end > lba
        {
            self.bad.remove(&first);
            if first < lba {
                self.bad.insert(first, lba);
            }
            if bad_end > end {
                self.bad.insert(end, bad_end);
            }
            if first < lba {
                break;
            }
        }
    }

    /// Takes all faults away.
    pub(super) fn clear(&mut self) {
        self.spike = None;
        self.end_throttle();
        self.bad.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_are_readable_again_when_they_are_written() {
        let mut faults = Faults::default();
        faults.spoil(100, 50);
        faults.spoil(140, 20);
        assert_eq!(faults.unreadable_sectors(), 60);
        assert!(
            faults.is_unreadable(0, 101) && faults.is_unreadable(159, 1) && !faults.is_unreadable(160, 9)
        );
        faults.rewritten(110, 10);
        assert_eq!(faults.unreadable_sectors(), 50);
        assert!(
            !faults.is_unreadable(110, 10) && faults.is_unreadable(109, 1) && faults.is_unreadable(120, 1)
        );
        faults.rewritten(0, 1000);
        assert_eq!(faults.unreadable_sectors(), 0);
    }

    #[test]
    fn requests_wait_and_keep_their_order() {
        let mut faults =
            Faults { spike: Some(Spike { add_ns: 500, left: 2, until_ns: u64::MAX }), ..Faults::default() };
        let entered: Vec<u64> = [0, 100, 200, 900].map(|time_ns| faults.enters_at(time_ns, 8)).into();
        assert_eq!(entered, [500, 600, 600, 900]);
        faults.limit(Throttle { bytes_per_s: 4_096_000, from_ns: 1000, until_ns: 3_001_000, free_ns: 1000 });
        // A page of 4 KiB takes a millisecond.
        let entered: Vec<u64> =
            [1000, 1000, 1000, 1000, 1000].map(|time_ns| faults.enters_at(time_ns, 8)).into();
        assert_eq!(entered, [1000, 1_001_000, 2_001_000, 3_001_000, 3_001_000]);
        assert_eq!((faults.throttled, faults.throttled_ns(9_000_000)), (1, 3_000_000));
    }
}
