//! The events to come, in the order of their times; those of one instant in the order in which they were set.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

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

/// All of them. An *actor* is a die, a bus, or (the last one) all else.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Agenda {
    /// Time, sequence number and actor in one number, so that one comparison orders them.
    heap: BinaryHeap<Reverse<u128>>,
    rest: BTreeMap<u64, Other>,
    actors: u32,
    sequence: u64,
    /// True if the event at the top happens now: the next one that is set takes its place.
    fired: bool,
}

impl Agenda {
    /// An agenda of `actors` dies and buses.
    pub(super) fn new(actors: u32) -> Self {
        Self { heap: BinaryHeap::new(), rest: BTreeMap::new(), actors, sequence: 0, fired: false }
    }

    /// An event of an actor is at `time_ns`, after all those of that time so far. Returns its number.
    #[inline]
    pub(super) fn set(&mut self, actor: u32, time_ns: u64) -> u64 {
        self.sequence += 1;
        let low = self.sequence << ACTOR_BITS | u64::from(actor);
        let key = Reverse(u128::from(time_ns) << 64 | u128::from(low));
        if std::mem::take(&mut self.fired)
            && let Some(mut top) = self.heap.peek_mut()
        {
            *top = key;
        } else {
            self.heap.push(key);
        }
        self.sequence
    }

    /// Something else comes at `time_ns`.
    pub(super) fn push(&mut self, time_ns: u64, other: Other) {
        let number = self.set(self.actors, time_ns);
        self.rest.insert(number, other);
    }

    /// Other data of the event with that number.
    pub(super) fn take(&mut self, number: u64) -> Option<Other> {
        self.rest.remove(&number)
    }

    /// Time of the next event, ns.
    #[inline]
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse(key)| (key >> 64) as u64)
    }

    /// The next event happens: its time, number and actor. To be followed by [`Agenda::fired`].
    #[inline]
    pub(super) fn fire(&mut self) -> Option<(u64, u64, u32)> {
        let Reverse(key) = *self.heap.peek()?;
        self.fired = true;
        let actor = key as u32 & ((1 << ACTOR_BITS) - 1);
        Some(((key >> 64) as u64, key as u64 >> ACTOR_BITS, actor))
    }

    /// The event has happened.
    #[inline]
    pub(super) fn fired(&mut self) {
        if std::mem::take(&mut self.fired) {
            self.heap.pop();
        }
    }
}
