//! Storage engines: the kinds that know which of their data live long, and say so by placement handles.
//!
//! Each engine is a [`Step`]: asked for work, it appends requests to a queue. Handles count from the spec's `stream`; with
//! `hints=false` all requests have that one. Every engine goes on without end; the spec's count ends it.

mod btree;
mod cachelib;
mod lsm;
mod options;
#[cfg(test)]
mod tests;
mod zones;
#[cfg(test)]
mod zones_tests;

use std::collections::VecDeque;

pub(super) use options::{Engine, Options};

use super::arrivals::Clock;
use super::draw::{Draw, Purpose};
use super::mix::Mix;
use super::volume::Place;
use crate::{Op, Request};

/// A request of an engine: no time yet, and its handle counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Item {
    op: Op,
    lba: u64,
    sectors: u64,
    handle: u8,
}

impl Item {
    const FLUSH: Item = Item { op: Op::Flush, lba: 0, sectors: 0, handle: 0 };
}

/// An engine at work.
#[derive(Clone, Debug)]
enum State {
    Cachelib(cachelib::Cachelib),
    Btree(Box<btree::Btree>),
    Lsm(Box<lsm::Lsm>),
    Zones(zones::Zones),
}

/// The requests of an engine.
#[derive(Clone, Debug)]
pub(super) struct Writer {
    state: State,
    queue: VecDeque<Item>,
    clock: Clock,
    mix: Mix,
    draw: Draw,
    hints: bool,
    stream: u8,
}

impl Writer {
    pub(super) fn new(options: Options, range: Place, seed: u64, clock: Clock, mix: Mix, stream: u8) -> Self {
        let state = match options.engine {
            Engine::Cachelib { .. } => State::Cachelib(cachelib::Cachelib::new(&options, range, seed)),
            Engine::Wal | Engine::Btree { .. } => {
                State::Btree(Box::new(btree::Btree::new(&options, range, seed)))
            }
            Engine::Lsm { .. } => State::Lsm(Box::new(lsm::Lsm::new(&options, range))),
            Engine::Zones(own) => State::Zones(zones::Zones::new(own, range, seed)),
        };
        let draw = Draw::new(seed, Purpose::Ops);
        Self { state, queue: VecDeque::new(), clock, mix, draw, hints: options.hints, stream }
    }

    /// Appends the next requests.
    pub(super) fn fill(&mut self, out: &mut Vec<Request>, count: usize) {
        for _ in 0..count {
            let item = self.next();
            out.push(Request {
                time_ns: self.clock.next_ns(),
                lba: item.lba,
                sectors: item.sectors as u32,
                stream: 0,
                op: item.op,
                handle: if self.hints { self.stream + item.handle } else { self.stream },
            });
        }
    }

    fn next(&mut self) -> Item {
        let reads = match &self.state {
            State::Cachelib(_) | State::Zones(_) => !self.mix.write.hit(self.draw.bits()),
            State::Btree(_) | State::Lsm(_) => false,
        };
        match &mut self.state {
            State::Cachelib(cache) if reads => return cache.read(),
            State::Zones(zones) if reads => return zones.read(),
            _ => {}
        }
        loop {
            if let Some(item) = self.queue.pop_front() {
                return item;
            }
            match &mut self.state {
                State::Cachelib(cache) => cache.step(&mut self.queue),
                State::Btree(tree) => tree.step(&mut self.queue),
                State::Lsm(tree) => tree.step(&mut self.queue),
                State::Zones(zones) => zones.step(&mut self.queue),
            }
        }
    }
}

/// A range written in order, in requests of at most `most` sectors.
fn run(queue: &mut VecDeque<Item>, op: Op, handle: u8, lba: u64, sectors: u64, most: u64) {
    let mut done = 0;
    while done < sectors {
        let length = most.min(sectors - done);
        queue.push_back(Item { op, lba: lba + done, sectors: length, handle });
        done += length;
    }
}

/// A log that is written around and around.
#[derive(Clone, Copy, Debug)]
struct Ring {
    start: u64,
    sectors: u64,
    next: u64,
}

impl Ring {
    fn new(start: u64, sectors: u64) -> Self {
        Self { start, sectors, next: 0 }
    }

    /// The place of the next record; it begins again where the record no longer fits.
    fn append(&mut self, sectors: u64) -> u64 {
        if self.next + sectors > self.sectors {
            self.next = 0;
        }
        let lba = self.start + self.next;
        self.next += sectors;
        lba
    }
}
