//! Completions that stand in lines of their own: records wait, in order, until theirs arrives.

use std::collections::{HashMap, VecDeque};

use crate::LogRecord;

/// Records that may wait at once. Beyond it the oldest is given up as never completed, so that memory stays bounded.
const MOST_WAITING: usize = 1 << 16;

/// What tells one outstanding request from another: its device, and its sector or sequence number.
pub(crate) type Key = (usize, u64);

/// Records in the order of their arrival, some of which still wait for their completion.
#[derive(Debug, Default)]
pub(crate) struct Pairing {
    queue: VecDeque<(LogRecord, Option<Key>)>,
    /// Place of each waiting record, counted from the first record ever queued.
    waiting: HashMap<Key, u64>,
    /// Records that have left the queue.
    left: u64,
}

impl Pairing {
    /// Queues `record`, which waits for the completion of `key` if there is one.
    pub(crate) fn push(&mut self, record: LogRecord, key: Option<Key>) {
        let place = self.left + self.queue.len() as u64;
        if let Some(key) = key
            && let Some(earlier) = self.waiting.insert(key, place)
        {
            // The same address was issued again: the earlier one's completion was lost.
            self.release(earlier);
        }
        self.queue.push_back((record, key));
    }

    /// Completes the record that waits for `key`, if there is one.
    pub(crate) fn complete(&mut self, key: Key, time_ns: u64) {
        if let Some(place) = self.waiting.remove(&key)
            && let Some(record) = self.release(place)
        {
            record.completion_ns = Some(time_ns);
        }
    }

    /// The next record that waits no longer; any record if `all` are wanted or too many wait.
    pub(crate) fn pop(&mut self, all: bool) -> Option<LogRecord> {
        let (_, key) = self.queue.front()?;
        if key.is_some() && !all && self.queue.len() <= MOST_WAITING {
            return None;
        }
        let (record, key) = self.queue.pop_front()?;
        self.left += 1;
        if let Some(key) = key {
            self.waiting.remove(&key);
        }
        Some(record)
    }

    fn release(&mut self, place: u64) -> Option<&mut LogRecord> {
        let index = place.checked_sub(self.left)?;
        let (record, key) = self.queue.get_mut(index as usize)?;
        *key = None;
        Some(record)
    }
}
