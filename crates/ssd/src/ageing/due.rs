//! Blocks whose data is due to be moved: because of its age, of reads, or of the retries that they took. Nothing is searched: a block
//! comes into a queue when its first page is written and when a read finds it due, and stays there until it was erased.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// Reason for which a block is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Reason {
    /// Its data is old.
    Age,
    /// Reads, or the retries that they took.
    Reads,
}

/// A block, and its cycles when it came into a queue.
pub(super) type Entry = (u32, u32);

/// Queues of a unit.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Queues {
    /// Blocks with data, oldest first.
    by_age: VecDeque<Entry>,
    /// Blocks that reads have found due, and when, ns.
    by_reads: VecDeque<(Entry, u64)>,
}

/// Blocks that are due, and the limits by which they are.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Due {
    units: Vec<Queues>,
    /// Days at 25 degrees Celsius.
    pub(super) days: Option<f64>,
    reads: u32,
    level: u8,
    /// Entries of a queue from which on it is cleared of blocks that were erased since.
    long: usize,
}

impl Due {
    /// Of so many units with so many blocks, by these limits: days at 25 degrees, readings, and a level of steps.
    pub(super) fn new(units: u32, unit_blocks: u32, days: Option<f64>, (reads, level): (u32, u8)) -> Self {
        let units = vec![Queues::default(); units as usize];
        Self { units, days, reads, level, long: 2 * unit_blocks as usize }
    }

    /// A block gets its first page, or has one from before the run. `is_still`: an entry's block was not erased since.
    pub(super) fn written(
        &mut self,
        unit: u32,
        (entry, is_older): (Entry, bool),
        is_still: impl Fn(Entry) -> bool,
    ) {
        if self.days.is_some() {
            let queue = &mut self.units[unit as usize].by_age;
            while queue.front().is_some_and(|entry| !is_still(*entry)) {
                queue.pop_front();
            }
            if queue.len() >= self.long {
                queue.retain(|entry| is_still(*entry));
            }
            if is_older {
                queue.push_front(entry);
            } else {
                queue.push_back(entry);
            }
        }
    }

    /// True if a block that was read so often, last at this level, is due.
    #[inline]
    pub(super) fn is_due(&self, reads: u32, level: u8) -> bool {
        reads >= self.reads || level >= self.level
    }

    /// A read has found a block due, at a time, ns.
    pub(super) fn read(&mut self, unit: u32, entry: Entry, now_ns: u64, is_still: impl Fn(Entry) -> bool) {
        let queue = &mut self.units[unit as usize].by_reads;
        queue.retain(|(entry, _)| is_still(*entry));
        queue.push_back((entry, now_ns));
    }

    /// The block of a unit with the oldest data, of those that are ready.
    pub(super) fn oldest(&self, unit: u32, is_ready: impl Fn(Entry) -> bool) -> Option<u32> {
        self.units[unit as usize].by_age.iter().find(|entry| is_ready(**entry)).map(|(block, _)| *block)
    }

    /// The block of a unit that reads found due first, of those that are ready, and when that was, ns.
    pub(super) fn read_first(&self, unit: u32, is_ready: impl Fn(Entry) -> bool) -> Option<(u32, u64)> {
        let found = self.units[unit as usize].by_reads.iter().find(|(entry, _)| is_ready(*entry));
        found.map(|((block, _), due_ns)| (*block, *due_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_due_in_order_until_they_are_erased() {
        let mut due = Due::new(1, 2, Some(3.0), (100, 2));
        let all = |_| true;
        for block in 0..3 {
            due.written(0, ((block, 0), false), all);
        }
        assert_eq!(due.oldest(0, all), Some(0));
        assert_eq!(due.oldest(0, |entry| entry.0 > 1), Some(2));
        // The queue is long, and two of its blocks were erased since: they leave it.
        due.written(0, ((3, 0), false), |entry| entry.0 == 1);
        due.written(0, ((4, 0), false), |entry| entry.0 != 0);
        assert_eq!(due.oldest(0, all), Some(1));
        due.written(0, ((5, 0), true), all);
        assert_eq!(due.oldest(0, all), Some(5), "data from before the run is the oldest");
        assert_eq!(due.read_first(0, all), None);
        due.read(0, (7, 1), 40, all);
        due.read(0, (8, 1), 50, all);
        assert_eq!(due.read_first(0, all), Some((7, 40)));
        assert_eq!(due.read_first(0, |entry| entry.0 == 8), Some((8, 50)));
        due.read(0, (9, 1), 60, |entry| entry.0 != 7);
        assert_eq!(due.read_first(0, all), Some((8, 50)));
        assert!(due.is_due(100, 0) && due.is_due(0, 2) && !due.is_due(99, 1));
    }
}
