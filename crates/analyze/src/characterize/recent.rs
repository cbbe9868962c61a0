//! Where the last requests of an operation ended, and so what is sequential: a request that starts where one of the last
//! K + 1 ended, so that K others may come between two of a run (Yang 2009, section 5.1).

/// Ends of the last requests.
pub(super) struct Recent {
    ends: Vec<u64>,
    next: usize,
    keep: usize,
}

impl Recent {
    /// Keeps `keep` ends, at least one.
    pub(super) fn new(keep: usize) -> Self {
        Self { ends: Vec::with_capacity(keep), next: 0, keep }
    }

    /// True if `start` equals one of the ends kept, so that a request that starts there continues an earlier one.
    #[inline]
    pub(super) fn continues(&self, start: u64) -> bool {
        // Counting has no way out of the loop, so it takes a few instructions for all ends together.
        self.ends.iter().map(|end| u32::from(*end == start)).sum::<u32>() > 0
    }

    /// True if `start` is less than `distance` away from one of the ends kept.
    #[inline]
    pub(super) fn is_near(&self, start: u64, distance: u64) -> bool {
        self.ends.iter().map(|end| u32::from(end.abs_diff(start) < distance)).sum::<u32>() > 0
    }

    /// A request ended at `end`.
    #[inline]
    pub(super) fn push(&mut self, end: u64) {
        if self.ends.len() < self.keep {
            self.ends.push(end);
            return;
        }
        self.ends[self.next] = end;
        self.next = if self.next + 1 == self.keep { 0 } else { self.next + 1 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_as_k_may_come_between() {
        for gap in [0, 1, 10] {
            let mut recent = Recent::new(gap + 1);
            recent.push(100);
            for other in 0..gap as u64 {
                assert!(recent.continues(100) && !recent.continues(99));
                recent.push(5000 + other);
            }
            assert!(recent.continues(100), "with {gap} between");
            recent.push(9000);
            assert!(!recent.continues(100), "with {} between", gap + 1);
        }
    }

    #[test]
    fn near_is_on_either_side() {
        let mut recent = Recent::new(3);
        assert!(!recent.is_near(0, 10));
        recent.push(u64::MAX);
        recent.push(1000);
        assert!(recent.is_near(991, 10) && recent.is_near(1009, 10) && !recent.is_near(1010, 10));
        assert!(recent.is_near(u64::MAX - 9, 10));
    }
}
