//! Sequential addresses: each request starts where the one before it ended, rounded up to the alignment, and the
//! first again once the span has no room left.

use super::Place;

/// A cursor over the span, in units of the alignment.
#[derive(Clone, Debug)]
pub(super) struct Sequential {
    next: u64,
    align_sectors: u64,
    span_sectors: u64,
}

impl Sequential {
    pub(super) fn new(span_sectors: u64, align_sectors: u64) -> Self {
        Self { next: 0, align_sectors, span_sectors }
    }
}

impl Place for Sequential {
    #[inline]
    fn place(&mut self, sectors: u32) -> u64 {
        let sectors = u64::from(sectors);
        // Compared by subtraction: the sum may not fit where the span is all of the address space.
        if self.next > (self.span_sectors - sectors) / self.align_sectors {
            self.next = 0;
        }
        let start = self.next;
        self.next += sectors.div_ceil(self.align_sectors);
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_before_the_end_and_keeps_the_alignment() {
        let mut sequential = Sequential::new(10, 2);
        let starts: Vec<u64> = [3, 3, 2, 2, 1].iter().map(|&sectors| sequential.place(sectors) * 2).collect();
        assert_eq!(starts, [0, 4, 8, 0, 2]);
    }
}
