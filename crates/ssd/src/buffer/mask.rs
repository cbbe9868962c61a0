//! The sectors of a page that an entry of the buffer holds.

use serde::{Deserialize, Serialize};

use crate::geometry::MAX_PAGE_SECTORS;

const WORDS: usize = MAX_PAGE_SECTORS as usize / 64;

/// Sectors of a page that are present.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SectorMask([u64; WORDS]);

impl SectorMask {
    /// Sectors `first` to `end`, `end` excluded.
    pub(crate) fn range(first: u32, end: u32) -> Self {
        let mut mask = Self::default();
        mask.insert(first, end);
        mask
    }

    /// Adds sectors.
    pub(crate) fn insert(&mut self, first: u32, end: u32) {
        if first < end && end <= 64 {
            self.0[0] |= (u64::MAX >> (64 - (end - first))) << first;
            return;
        }
        words(first, end).for_each(|(word, bits)| self.0[word] |= bits);
    }

    /// Adds the sectors of another mask.
    pub(super) fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(word, other)| *word |= other);
    }

    /// True if any sector of the range is present.
    pub(super) fn touches(&self, first: u32, end: u32) -> bool {
        words(first, end).any(|(word, bits)| self.0[word] & bits != 0)
    }

    /// True if all sectors of the range are present.
    pub(crate) fn covers(&self, first: u32, end: u32) -> bool {
        words(first, end).all(|(word, bits)| self.0[word] & bits == bits)
    }
}

/// The words of a mask that hold the sectors `first` to `end`, `end` excluded, and their bits there.
#[inline]
fn words(first: u32, end: u32) -> impl Iterator<Item = (usize, u64)> {
    let after = if first < end { end.div_ceil(64) } else { 0 };
    (first / 64..after).map(move |word| {
        let (from, to) = (first.max(word * 64) - word * 64, end.min((word + 1) * 64) - word * 64);
        (word as usize, (u64::MAX >> (64 - (to - from))) << from)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_hold_what_was_inserted() {
        let all = MAX_PAGE_SECTORS;
        for (first, end) in (0..=all).step_by(3).flat_map(|first| (first..=all).map(move |end| (first, end)))
        {
            let mask = SectorMask::range(first, end);
            let held = (0..all).filter(|sector| mask.touches(*sector, sector + 1));
            assert!(held.eq(first..end), "{first} to {end}");
            assert!(mask.covers(first, end) && !mask.covers(first, end + u32::from(end < all)) || end == all);
            assert!(first == 0 || end == first || !mask.covers(first - 1, end));
            assert!(!mask.touches(0, first) && !mask.touches(end, all));
        }
        let mut mask = SectorMask::range(60, 70);
        mask.insert(0, 60);
        assert!(mask.covers(0, 70) && !mask.covers(0, 71));
    }
}
