//! Completions that stand in lines of their own: records wait, in order, until theirs arrives.

use std::collections::{HashMap, VecDeque};

use crate::{LogRecord, Op};

/// Records that may wait at once. Beyond it the oldest is given up as never completed, so that memory stays bounded.
const MAX_WAITING: usize = 1 << 16;

/// Where the like of it is issued again after this time, a record's completion was lost: Linux gives a request up after 30 s.
const LONGEST_NS: u64 = 30_000_000_000;

/// Requests of one key that are looked through for the one that completed: more are outstanding only where completions are missing.
const MAX_LOOKED_AT: usize = 1 << 10;

/// Key of an outstanding request: its device, and its sector or sequence number.
pub(crate) type Key = (usize, u64);

/// Details in an event on an outstanding request, beyond its key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// Operation of the request.
    pub(crate) op: Op,
    /// Sectors of the request that the event covers.
    pub(crate) sectors: u32,
}

/// Records in the order of their arrival, some of which still wait for their completion.
#[derive(Debug, Default)]
pub(crate) struct Pairing {
    queue: VecDeque<Held>,
    /// Places of the oldest and the newest record that wait for a key, counted from the first record ever queued.
    waiting: HashMap<Key, (u64, u64)>,
    /// Records that have left the queue.
    left: u64,
}

#[derive(Debug)]
struct Held {
    record: LogRecord,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Done,
    Waiting {
        key: Key,
        /// Sectors not completed yet.
        sectors: u32,
        /// Place of the next newer record that waits for the same key.
        newer: Option<u64>,
    },
}

impl Pairing {
    /// Queues `record`, which waits for the completion of `key` if there is one. One that waited for it before has lost its own.
    pub(crate) fn push(&mut self, record: LogRecord, key: Option<Key>) {
        if let Some(key) = key {
            while let Some((earlier, _)) = self.waiting.get(&key).copied() {
                self.take(key, earlier, State::Done);
            }
        }
        self.push_beside(record, key);
    }

    /// Queues `record`, which waits for the completion of `key` together with others that do.
    pub(crate) fn push_beside(&mut self, record: LogRecord, key: Option<Key>) {
        if let Some(key) = key {
            while let Some(lost) = self.lost(key, record.request.time_ns) {
                self.take(key, lost, State::Done);
            }
        }
        let place = self.left + self.queue.len() as u64;
        let sectors = record.request.sectors;
        self.queue.push_back(Held { record, state: State::Done });
        if let Some(key) = key {
            self.link(key, place, sectors);
        }
    }

    /// Completes the record that waits for `key`, if there is one.
    pub(crate) fn complete(&mut self, key: Key, time_ns: u64) {
        if let Some((place, _)) = self.waiting.get(&key).copied()
            && let Some(record) = self.take(key, place, State::Done)
        {
            record.completion_ns = Some(time_ns);
        }
    }

    /// Completes `part` of the record that waits for `key` and fits best: the rest waits for the sector behind the part.
    /// False if none waits.
    pub(crate) fn complete_part(&mut self, key: Key, part: Part, time_ns: u64) -> bool {
        let Some((place, waiting)) = self.find(key, part) else { return false };
        if part.sectors >= waiting {
            if let Some(record) = self.take(key, place, State::Done) {
                record.completion_ns = Some(time_ns);
            }
            return true;
        }
        let rest = (key.0, key.1.saturating_add(part.sectors.into()));
        self.take(key, place, State::Done);
        self.link(rest, place, waiting - part.sectors);
        true
    }

    /// The record that waits for `key` and asks for the same was issued again at `time_ns`, perhaps longer than before. False if
    /// none waits.
    pub(crate) fn issue_again(&mut self, key: Key, part: Part, time_ns: u64) -> bool {
        let Some(held) = self.find(key, part).and_then(|(place, _)| self.at_mut(place)) else { return false };
        (held.record.issue_ns, held.record.request.sectors) = (Some(time_ns), part.sectors);
        if let State::Waiting { sectors, .. } = &mut held.state {
            *sectors = part.sectors;
        }
        true
    }

    /// The next record that waits no longer; any record if `all` are wanted or too many wait.
    pub(crate) fn pop(&mut self, all: bool) -> Option<LogRecord> {
        if let State::Waiting { key, .. } = self.queue.front()?.state {
            if !all && self.queue.len() <= MAX_WAITING {
                return None;
            }
            self.take(key, self.left, State::Done);
        }
        let held = self.queue.pop_front()?;
        self.left += 1;
        Some(held.record)
    }

    /// Place of a record that has waited for `key` for longer than a request can be outstanding.
    fn lost(&self, key: Key, now_ns: u64) -> Option<u64> {
        let (oldest, _) = self.waiting.get(&key).copied()?;
        (self.at(oldest)?.record.request.time_ns.saturating_add(LONGEST_NS) < now_ns).then_some(oldest)
    }

    /// Of those that wait for `key` and ask for the same: one of the same length before a longer one before any, the oldest first.
    /// Its place, and how many sectors of it are not completed yet.
    fn find(&self, key: Key, part: Part) -> Option<(u64, u32)> {
        let mut next = self.waiting.get(&key).map(|(oldest, _)| *oldest);
        let mut best: Option<(bool, u64, u32)> = None;
        for _ in 0..MAX_LOOKED_AT {
            let Some(place) = next else { break };
            let held = self.at(place)?;
            let State::Waiting { sectors, newer, .. } = held.state else { return None };
            if held.record.request.op == part.op {
                if sectors == part.sectors {
                    return Some((place, sectors));
                }
                let longer = sectors > part.sectors;
                if best.is_none_or(|(known, ..)| longer && !known) {
                    best = Some((longer, place, sectors));
                }
            }
            next = newer;
        }
        best.map(|(_, place, sectors)| (place, sectors))
    }

    /// Has the record at `place` wait for `key`, as the newest that does.
    fn link(&mut self, key: Key, place: u64, sectors: u32) {
        let before = self.waiting.get(&key).copied();
        self.waiting.insert(key, (before.map_or(place, |(oldest, _)| oldest), place));
        if let Some(held) = before.and_then(|(_, newest)| self.at_mut(newest))
            && let State::Waiting { newer, .. } = &mut held.state
        {
            *newer = Some(place);
        }
        if let Some(held) = self.at_mut(place) {
            held.state = State::Waiting { key, sectors, newer: None };
        }
    }

    /// Takes the record at `place` out of those that wait for `key`, and puts it into `state`.
    fn take(&mut self, key: Key, place: u64, state: State) -> Option<&mut LogRecord> {
        let State::Waiting { newer, .. } = self.at(place)?.state else { return None };
        let (oldest, newest) = self.waiting.get(&key).copied()?;
        if oldest == place {
            match newer {
                Some(newer) => self.waiting.insert(key, (newer, newest)),
                None => self.waiting.remove(&key),
            };
        } else {
            let mut before = oldest;
            loop {
                let State::Waiting { newer: next, .. } = self.at(before)?.state else { return None };
                if next? == place {
                    break;
                }
                before = next?;
            }
            if let State::Waiting { newer: link, .. } = &mut self.at_mut(before)?.state {
                *link = newer;
            }
            if newest == place {
                self.waiting.insert(key, (oldest, before));
            }
        }
        let held = self.at_mut(place)?;
        held.state = state;
        Some(&mut held.record)
    }

    fn at(&self, place: u64) -> Option<&Held> {
        self.queue.get(place.checked_sub(self.left)? as usize)
    }

    fn at_mut(&mut self, place: u64) -> Option<&mut Held> {
        self.queue.get_mut(place.checked_sub(self.left)? as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Request;

    fn record(time_ns: u64, op: Op, sectors: u32) -> LogRecord {
        LogRecord::bare(Request { time_ns, op, lba: 8, sectors, stream: 0, handle: 0 })
    }

    fn part(op: Op, sectors: u32) -> Part {
        Part { op, sectors }
    }

    fn drain(mut pairing: Pairing) -> Vec<(u64, Option<u64>)> {
        std::iter::from_fn(|| pairing.pop(true))
            .map(|record| (record.request.time_ns, record.completion_ns))
            .collect()
    }

    #[test]
    fn a_later_record_takes_the_key_of_one_that_lost_its_completion() {
        let mut pairing = Pairing::default();
        pairing.push(record(1, Op::Read, 8), Some((0, 8)));
        pairing.push(record(2, Op::Read, 8), Some((0, 8)));
        pairing.complete((0, 8), 5);
        assert_eq!(drain(pairing), [(1, None), (2, Some(5))]);
    }

    #[test]
    fn requests_of_the_same_sector_are_distinguished_by_operation_length_and_age() {
        let mut pairing = Pairing::default();
        let key = (0, 8);
        for (time, op, sectors) in
            [(1, Op::Read, 8), (2, Op::Read, 8), (3, Op::Write, 8), (4, Op::Read, 16), (5, Op::Read, 8)]
        {
            pairing.push_beside(record(time, op, sectors), Some(key));
        }
        let completions = [(Op::Read, 16, 10), (Op::Read, 8, 11), (Op::Write, 8, 12), (Op::Read, 8, 13)];
        for (op, sectors, time_ns) in completions {
            assert!(pairing.complete_part(key, part(op, sectors), time_ns));
        }
        assert!(!pairing.complete_part(key, part(Op::Trim, 8), 14));
        assert_eq!(drain(pairing), [(1, Some(11)), (2, Some(13)), (3, Some(12)), (4, Some(10)), (5, None)]);
    }

    #[test]
    fn a_request_is_complete_with_its_last_part() {
        let mut pairing = Pairing::default();
        pairing.push_beside(record(1, Op::Write, 24), Some((0, 8)));
        pairing.push_beside(record(2, Op::Write, 8), Some((0, 16)));
        assert!(pairing.complete_part((0, 8), part(Op::Write, 8), 10));
        assert!(pairing.pop(false).is_none());
        // The rest of the first one waits for the same sector as the second.
        assert!(pairing.complete_part((0, 16), part(Op::Write, 8), 11));
        assert!(pairing.complete_part((0, 16), part(Op::Write, 16), 12));
        assert_eq!(drain(pairing), [(1, Some(12)), (2, Some(11))]);
    }

    #[test]
    fn a_request_that_is_issued_again_stays_one() {
        let mut pairing = Pairing::default();
        assert!(!pairing.issue_again((0, 8), part(Op::Read, 8), 1));
        pairing.push_beside(record(1, Op::Read, 8), Some((0, 8)));
        assert!(pairing.issue_again((0, 8), part(Op::Read, 16), 3));
        assert!(pairing.complete_part((0, 8), part(Op::Read, 16), 7));
        let record = pairing.pop(false).unwrap();
        assert_eq!((record.request.time_ns, record.request.sectors), (1, 16));
        assert_eq!((record.issue_ns, record.completion_ns), (Some(3), Some(7)));
    }

    #[test]
    fn what_waits_for_too_long_has_lost_its_completion() {
        let mut pairing = Pairing::default();
        let times = [0, LONGEST_NS, LONGEST_NS + 1];
        for time in times {
            pairing.push_beside(record(time, Op::Read, 8), Some((0, 8)));
        }
        assert!(pairing.complete_part((0, 8), part(Op::Read, 8), LONGEST_NS + 2));
        let completions = [None, Some(LONGEST_NS + 2), None];
        assert_eq!(drain(pairing), times.into_iter().zip(completions).collect::<Vec<_>>());
    }

    #[test]
    fn memory_is_bounded_where_completions_are_missing() {
        let mut pairing = Pairing::default();
        for time in 0..=MAX_WAITING as u64 {
            pairing.push_beside(record(time, Op::Read, 8), Some((0, 8)));
        }
        assert_eq!(pairing.pop(false).map(|record| record.request.time_ns), Some(0));
        assert!(pairing.pop(false).is_none());
    }
}
