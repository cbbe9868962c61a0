//! The events to come, in the order of their times; those of one instant in the order in which they were set.
//!
//! The next few are in a list in order, all others in a heap: where few things are in progress, as nearly always, an event
//! takes its place among those few, and the next one is at the front.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use serde::{Deserialize, Serialize};

/// An event that is neither of a die's array nor of a bus.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum Other {
    /// A command reaches its die: the oldest of those that come at this instant.
    Arrival(u32),
    /// A tag is handed out: of a fence around dies that had nothing to do, or of a time that was asked for.
    Tag(u32),
}

/// Bits of the number of an actor in a key; above them stand a sequence number (of 2^44) and the time.
const ACTOR_BITS: u32 = 20;

/// Events in the list: so few that it costs less to move them than to go through a heap.
const NEAR: usize = 32;

/// All of them. An *actor* is a die, a bus, or (the last one) all else. Time, sequence number and actor are one number, so
/// that one comparison orders them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Agenda {
    /// The first events, in order, from `first` on.
    near: Vec<u128>,
    first: usize,
    /// Those after them.
    far: BinaryHeap<Reverse<u128>>,
    /// Data of events of no die and no bus, by their numbers, in order.
    rest: VecDeque<(u64, Other)>,
    actors: u32,
    sequence: u64,
}

impl Agenda {
    /// An agenda of `actors` dies and buses.
    pub(super) fn new(actors: u32) -> Self {
        let (far, rest) = (BinaryHeap::new(), VecDeque::new());
        Self { near: Vec::with_capacity(2 * NEAR), first: 0, far, rest, actors, sequence: 0 }
    }

    /// An event of an actor is at `time_ns`, after all those of that time so far. Returns its number.
    #[inline]
    pub(super) fn set(&mut self, actor: u32, time_ns: u64) -> u64 {
        self.sequence += 1;
        let low = self.sequence << ACTOR_BITS | u64::from(actor);
        let key = u128::from(time_ns) << 64 | u128::from(low);
        if self.near.len() == 2 * NEAR || !self.far.is_empty() {
            self.make_room(key);
        } else {
            self.insert(key);
        }
        self.sequence
    }

    /// Puts an event into the list, which has room.
    #[inline]
    fn insert(&mut self, key: u128) {
        match self.near.last() {
            // Ends of programs and erases are mostly the latest and go last; ends of transfers are mostly the next and go first.
            Some(last) if *last > key => self.insert_before(key),
            _ => self.near.push(key),
        }
    }

    /// As [`Agenda::insert`], of an event that is not the last one: those before it move up if places before the first one are free.
    #[inline]
    fn insert_before(&mut self, key: u128) {
        let first = self.first;
        // It has the highest sequence number so far: times alone are compared.
        let time_ns = (key >> 64) as u64;
        let is_before = |before: &u128| (*before >> 64) as u64 <= time_ns;
        let before =
            if is_before(&self.near[first]) { self.near[first..].partition_point(is_before) } else { 0 };
        if first == 0 {
            return self.near.insert(before, key);
        }
        self.near.copy_within(first..first + before, first - 1);
        self.near[first - 1 + before] = key;
        self.first -= 1;
    }

    /// As [`Agenda::insert`], where the list may have no room, or there are events after those of the list.
    #[inline(never)]
    fn make_room(&mut self, key: u128) {
        if self.far.peek().is_some_and(|Reverse(far)| *far < key) {
            return self.far.push(Reverse(key));
        }
        self.near.drain(..self.first);
        self.first = 0;
        self.insert(key);
        while self.near.len() > NEAR
            && let Some(last) = self.near.pop()
        {
            self.far.push(Reverse(last));
        }
    }

    /// Something else comes at `time_ns`.
    pub(super) fn push(&mut self, time_ns: u64, other: Other) {
        let number = self.set(self.actors, time_ns);
        self.rest.push_back((number, other));
    }

    /// Other data of the event with that number.
    pub(super) fn take(&mut self, number: u64) -> Option<Other> {
        let place = self.rest.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        self.rest.remove(place).map(|(_, other)| other)
    }

    /// Time of the next event, ns.
    #[inline]
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.near.get(self.first).map(|key| (key >> 64) as u64)
    }

    /// The next event happens: its time, number and actor.
    #[inline]
    pub(super) fn fire(&mut self) -> Option<(u64, u64, u32)> {
        let key = *self.near.get(self.first)?;
        self.first += 1;
        if self.first == self.near.len() {
            self.refill();
        }
        let actor = key as u32 & ((1 << ACTOR_BITS) - 1);
        Some(((key >> 64) as u64, key as u64 >> ACTOR_BITS, actor))
    }

    /// The list is empty: it gets the first events of the heap.
    #[inline]
    fn refill(&mut self) {
        self.near.clear();
        self.first = 0;
        while self.near.len() < NEAR / 2
            && let Some(Reverse(key)) = self.far.pop()
        {
            self.near.push(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    use super::*;

    #[test]
    fn events_happen_by_time_and_then_in_the_order_in_which_they_were_set() {
        for (actors, under_way) in [(1, 2), (7, 20), (24, 40), (300, 400)] {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(actors);
            let mut agenda = Agenda::new(actors as u32);
            let mut expected: BTreeMap<(u64, u64), u32> = BTreeMap::new();
            let mut now = 0;
            for _ in 0..20_000 {
                let next = expected.pop_first();
                assert_eq!(agenda.next_ns(), next.map(|((time, _), _)| time));
                let fired = agenda.fire();
                assert_eq!(fired, next.map(|((time, number), actor)| (time, number, actor)));
                now = fired.map_or(now, |(time, ..)| time);
                if let Some((_, number, actor)) = fired {
                    assert_eq!(agenda.take(number).is_some(), u64::from(actor) == actors);
                }
                for _ in 0..random.next_u64() % if expected.len() > under_way { 2 } else { 4 } {
                    let (actor, time) = (random.next_u64() % (actors + 1), now + random.next_u64() % 90);
                    let number = if actor == actors {
                        agenda.push(time, Other::Tag(0));
                        agenda.sequence
                    } else {
                        agenda.set(actor as u32, time)
                    };
                    expected.insert((time, number), actor as u32);
                }
            }
        }
    }
}
