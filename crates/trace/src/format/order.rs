//! Time: the clock that starts at the first request and never goes back, and the sorting of nearly sorted traces.

use std::collections::VecDeque;

use crate::{LogRecord, Request};

/// Degree to which records of a format are in time order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// In order; what goes back is clamped.
    AsIs,
    /// Sorted within a window of so many records, in constant memory.
    Window(usize),
    /// Not in order at all: the whole trace is sorted in memory.
    Whole,
}

/// Something with a time on the trace's own clock.
pub(crate) trait Timed {
    /// When it arrived, ns on the trace's own clock.
    fn time(&self) -> u64;

    /// Moves to the clock that starts at `base`; its arrival becomes `arrival`.
    fn rebase(&mut self, base: u64, arrival: u64);
}

impl Timed for Request {
    fn time(&self) -> u64 {
        self.time_ns
    }

    fn rebase(&mut self, _base: u64, arrival: u64) {
        self.time_ns = arrival;
    }
}

impl Timed for LogRecord {
    fn time(&self) -> u64 {
        self.request.time_ns
    }

    fn rebase(&mut self, base: u64, arrival: u64) {
        self.request.time_ns = arrival;
        for time in [&mut self.due_ns, &mut self.issue_ns, &mut self.completion_ns].into_iter().flatten() {
            *time = time.saturating_sub(base);
        }
    }
}

/// The clock of what is read: zero at the first request, never back.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    /// Time of the first request on the trace's own clock.
    base: Option<u64>,
    /// Arrival of the last request from the base.
    last: u64,
}

impl Clock {
    /// A clock that starts at time zero, whenever the first request comes.
    pub(crate) const fn from_zero() -> Self {
        Self { base: Some(0), last: 0 }
    }

    /// Rebases `item`; true if its time had gone back.
    #[inline]
    pub(crate) fn set<T: Timed>(&mut self, item: &mut T) -> bool {
        let base = *self.base.get_or_insert(item.time());
        let elapsed = item.time().checked_sub(base);
        let back = elapsed.is_none_or(|elapsed| elapsed < self.last);
        self.last = self.last.max(elapsed.unwrap_or(0));
        item.rebase(base, self.last);
        back
    }

    /// Time of the first request on the trace's own clock, ns; 0 before it.
    pub(crate) fn base(&self) -> u64 {
        self.base.unwrap_or(0)
    }

    /// Arrival of the last request, ns from the first.
    pub(crate) const fn last(&self) -> u64 {
        self.last
    }
}

/// Puts nearly sorted items in order: holds at most `window` of them and gives up the earliest. Equal times keep
/// their order.
#[derive(Debug)]
pub(crate) struct Sorter<T> {
    window: usize,
    /// In order, unless the window is without limit: then it is sorted once, at the end.
    queue: VecDeque<T>,
    sorted: bool,
    latest: u64,
}

impl<T: Timed> Sorter<T> {
    /// A sorter that holds `window` items; `usize::MAX` holds all.
    pub(crate) const fn new(window: usize) -> Self {
        Self { window, queue: VecDeque::new(), sorted: window != usize::MAX, latest: 0 }
    }

    /// Takes `item`; true if it came later than something with a later time.
    #[inline]
    pub(crate) fn push(&mut self, item: T) -> bool {
        let time = item.time();
        let late = time < self.latest;
        self.latest = self.latest.max(time);
        if late && self.sorted {
            // Late items belong near the back, so little is moved.
            let place = self.queue.partition_point(|held| held.time() <= time);
            self.queue.insert(place, item);
        } else {
            self.queue.push_back(item);
        }
        late
    }

    /// The earliest item, if more are held than the window asks for or `all` are wanted.
    #[inline]
    pub(crate) fn pop(&mut self, all: bool) -> Option<T> {
        if !all && self.queue.len() <= self.window {
            return None;
        }
        if !self.sorted {
            self.queue.make_contiguous().sort_by_key(Timed::time);
            self.sorted = true;
        }
        self.queue.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;

    fn at(time_ns: u64) -> Request {
        Request { time_ns, lba: time_ns, sectors: 1, stream: 0, op: Op::Read, handle: 0 }
    }

    #[test]
    fn the_clock_starts_at_the_first_request_and_never_goes_back() {
        let mut clock = Clock::default();
        let times = [100, 150, 120, 90, 160].map(|time| {
            let mut request = at(time);
            (clock.set(&mut request), request.time_ns)
        });
        assert_eq!(times, [(false, 0), (false, 50), (true, 50), (true, 50), (false, 60)]);
    }

    #[test]
    fn a_window_sorts_what_it_holds() {
        let mut sorter = Sorter::new(2);
        let mut out = Vec::new();
        let late: Vec<bool> = [3, 1, 2, 2, 5, 4]
            .map(|time| {
                let late = sorter.push(at(time));
                out.extend(sorter.pop(false).map(|request| request.time_ns));
                late
            })
            .to_vec();
        out.extend(std::iter::from_fn(|| sorter.pop(true).map(|request| request.time_ns)));
        assert_eq!(out, [1, 2, 2, 3, 4, 5]);
        assert_eq!(late, [false, true, true, true, false, true]);
        let mut whole = Sorter::new(usize::MAX);
        for time in [9, 3, 7, 1] {
            whole.push(at(time));
            assert!(whole.pop(false).is_none());
        }
        let in_order: Vec<u64> =
            std::iter::from_fn(|| whole.pop(true).map(|request| request.time_ns)).collect();
        assert_eq!(in_order, [1, 3, 7, 9]);
    }
}
