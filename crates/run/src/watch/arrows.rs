//! Arrows from a request to each of its commands.
//!
//! In a Perfetto trace, slices with the same flow form a chain: the second is joined to the first, the third to the
//! second. A request whose commands run side by side would so lead to one of them only. Each arrow therefore has a flow
//! of its own, and since the request's slice begins before its commands are known, it names as many as it may need.

use std::collections::BTreeMap;
use std::ops::Range;

use flashweir_trace::{Op, Request};

/// Requests for which flows are kept: of older ones, commands that come that late have no arrow.
const MAX_REQUESTS: usize = 1 << 16;

/// Flows that requests have named and that no command has taken yet.
pub(super) struct Arrows {
    page_sectors: u64,
    next: u64,
    left: BTreeMap<u64, Range<u64>>,
}

impl Arrows {
    pub(super) fn new(page_sectors: u32) -> Self {
        // Flow 0 is none.
        Self { page_sectors: page_sectors.into(), next: 1, left: BTreeMap::new() }
    }

    /// The flows of a request's slice.
    pub(super) fn reserve(&mut self, number: u64, request: &Request) -> Vec<u64> {
        let first = request.lba / self.page_sectors;
        let pages = request.end().div_ceil(self.page_sectors).saturating_sub(first);
        let count = match request.op {
            Op::Read => pages,
            // A page written in part may be read on one die and programmed on another; and once there may be no room.
            Op::Write | Op::Append => 2 * pages + 1,
            _ => 0,
        };
        let flows = self.next..self.next + count;
        self.next += count;
        if count > 0 {
            self.left.insert(number, flows.clone());
            if self.left.len() > MAX_REQUESTS {
                self.left.pop_first();
            }
        }
        flows.collect()
    }

    /// A flow that leads from a request to what it caused; none if it has named no more.
    pub(super) fn take(&mut self, number: u64) -> Option<u64> {
        let left = self.left.get_mut(&number)?;
        let flow = left.next();
        if left.is_empty() {
            self.left.remove(&number);
        }
        flow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITE: Request = Request { time_ns: 0, lba: 4, sectors: 16, stream: 0, op: Op::Write, handle: 0 };

    #[test]
    fn every_arrow_is_one_of_its_request_and_taken_once() {
        let mut arrows = Arrows::new(8);
        let first = arrows.reserve(0, &WRITE);
        let second = arrows.reserve(1, &Request { op: Op::Read, ..WRITE });
        assert_eq!(first, [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(second, [8, 9, 10]);
        let taken: Vec<_> = (0..4).map_while(|_| arrows.take(1)).collect();
        assert_eq!(taken, second);
        assert_eq!(arrows.take(0), Some(1));
        assert_eq!(arrows.take(2), None);
        assert!(arrows.reserve(2, &Request { op: Op::Flush, lba: 0, sectors: 0, ..WRITE }).is_empty());
    }

    #[test]
    fn memory_is_bounded() {
        let mut arrows = Arrows::new(8);
        for number in 0..2 * MAX_REQUESTS as u64 {
            arrows.reserve(number, &WRITE);
        }
        assert_eq!(arrows.left.len(), MAX_REQUESTS);
        assert_eq!(arrows.take(0), None);
    }
}
