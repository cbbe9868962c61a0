//! The part of a map in the host's memory that the drive has in its own: segments of 4 KiB, the one used least recently makes room.
//!
//! A segment counts as there from the look-up that misses it: a command that needs it while it is on its way does not wait.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Bytes of a segment: what one miss brings.
pub(super) const SEGMENT_BYTES: u64 = 4096;
/// Bytes of an entry, one a page.
const ENTRY_BYTES: u64 = 4;

/// Segments in the drive.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct MapCache {
    capacity: u64,
    /// By segment: when it was used last, as a count of look-ups.
    used: BTreeMap<u64, u64>,
    /// The same the other way round.
    order: BTreeMap<u64, u64>,
    lookups: u64,
}

impl MapCache {
    /// A cache of so many bytes; `None` if no segment fits.
    pub(super) fn new(bytes: u64) -> Option<Self> {
        let (used, order) = (BTreeMap::new(), BTreeMap::new());
        let capacity = bytes / SEGMENT_BYTES;
        (capacity > 0).then_some(Self { capacity, used, order, lookups: 0 })
    }

    /// Looks up so many pages from `first` on. Returns the segments looked up, and those that were not there, which are from now on.
    pub(super) fn look_up(&mut self, first: u64, pages: u64) -> (u64, u64) {
        if pages == 0 {
            return (0, 0);
        }
        let per_segment = SEGMENT_BYTES / ENTRY_BYTES;
        let segments = first / per_segment..=(first + pages - 1) / per_segment;
        let count = segments.end() - segments.start() + 1;
        (count, segments.map(|segment| u64::from(!self.touch(segment))).sum())
    }

    /// Uses a segment. Returns whether it was there.
    fn touch(&mut self, segment: u64) -> bool {
        self.lookups += 1;
        let before = self.used.insert(segment, self.lookups);
        self.order.insert(self.lookups, segment);
        if let Some(before) = before {
            self.order.remove(&before);
        } else if self.used.len() as u64 > self.capacity
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.used.remove(&oldest);
        }
        before.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_segment_used_least_recently_makes_room() {
        let mut map = MapCache::new(2 * SEGMENT_BYTES).expect("there");
        assert_eq!(map.look_up(0, 1), (1, 1));
        assert_eq!(map.look_up(1023, 2), (2, 1), "pages 1023 and 1024 lie in two segments");
        assert_eq!(map.look_up(5, 3), (1, 0));
        assert_eq!(map.look_up(2048, 1), (1, 1), "takes the place of the second segment");
        assert_eq!((map.look_up(0, 1), map.look_up(1024, 1)), ((1, 0), (1, 1)));
        assert_eq!(map.look_up(7, 0), (0, 0));
    }
}
