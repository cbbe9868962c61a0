//! Asynchronous channels behind a shared write buffer, as Wen ("Garbage-Collection Forwarding: A Technique for
//! Improving Internal Parallelism of Multichannel SSDs", 2012) describes them.

use std::collections::VecDeque;

use crate::models::ftl::Ftl;
use crate::models::lockstep::Times;
use crate::models::stream::{Piece, Stream, Striping};

/// Work of a channel while others collect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// Nothing: "fully independent", or synchronized if there is one unit.
    None,
    /// Garbage-collection forwarding.
    Forwarding,
    /// Cycle filling.
    CycleFilling,
}

/// A drive of this model, but for its translation layers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drive {
    pub(crate) striping: Striping,
    pub(crate) times: Times,
    pub(crate) method: Method,
    /// Pages that the buffer holds.
    pub(crate) buffer: usize,
    /// Most spare blocks of a channel that still collects ahead.
    pub(crate) spare_blocks: usize,
    /// True if writes of a page that waits coalesce in its entry.
    pub(crate) coalesce: bool,
}

/// Outcome of a run; times in nanoseconds, those of channels summed over units.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) requests: u64,
    pub(crate) time: u64,
    pub(crate) host: u64,
    pub(crate) gc: u64,
    pub(crate) mapping: u64,
    /// Mandatory collections.
    pub(crate) collections: u64,
    /// Steps (merges, page copies) of mandatory collections, and of forward ones.
    pub(crate) mandatory_steps: u64,
    pub(crate) forward_steps: u64,
    units: usize,
}

impl Outcome {
    /// Requests a second.
    pub(crate) fn iops(&self) -> f64 {
        self.requests as f64 * 1e9 / self.time as f64
    }

    /// Shares of channel time: writing host data, collecting, neither (without translation pages).
    pub(crate) fn shares(&self) -> [f64; 3] {
        let all = (self.units as u64 * self.time) as f64;
        let [host, gc, mapping] = [self.host, self.gc, self.mapping].map(|time| time as f64 / all);
        [host, gc, 1.0 - host - gc - mapping]
    }
}

/// Work that a channel is busy with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Busy {
    /// Nothing, or waiting for the others at a preemption point.
    No,
    /// Writing so many entries of the buffer.
    Write(usize),
    /// A merge or page copy.
    Step,
    /// The erase of the victim.
    Erase,
}

/// The collection that a channel is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Collection {
    No,
    Mandatory,
    Forward,
}

#[derive(Debug)]
struct Channel<F> {
    ftl: F,
    waiting: VecDeque<Piece>,
    busy: Busy,
    until: u64,
    collection: Collection,
    /// Cycle filling: takes part in the collection in progress.
    follows: bool,
    /// Cycle filling: has still to take the step that the initiator is at.
    owes: bool,
}

/// A run in progress.
#[derive(Debug)]
struct Run<F> {
    drive: Drive,
    now: u64,
    channels: Vec<Channel<F>>,
    /// Entries of the buffer, those being written included.
    entries: usize,
    /// Pieces of the request that the host has at hand.
    pieces: VecDeque<Piece>,
    stream: Stream,
    /// True if the host waits for room.
    full: bool,
    /// Cycle filling: the channel that started the collection in progress.
    initiator: Option<usize>,
    outcome: Outcome,
}

impl Drive {
    /// Serves a whole workload until its last page is written.
    pub(crate) fn run<F: Ftl>(&self, spec: &str, ftl: impl Fn() -> F) -> Outcome {
        let channel = |_| Channel {
            ftl: ftl(),
            waiting: VecDeque::new(),
            busy: Busy::No,
            until: 0,
            collection: Collection::No,
            follows: false,
            owes: false,
        };
        let mut run = Run {
            drive: *self,
            now: 0,
            channels: (0..self.striping.units).map(channel).collect(),
            entries: 0,
            pieces: VecDeque::new(),
            stream: Stream::new(spec, self.striping),
            full: false,
            initiator: None,
            outcome: Outcome { units: self.striping.units, ..Outcome::default() },
        };
        while run.advance() {}
        assert!(run.entries == 0 && run.pieces.is_empty(), "stuck: {:?}", run.outcome);
        run.outcome.requests = run.stream.taken();
        run.outcome.time = run.now;
        run.outcome
    }
}

impl<F: Ftl> Run<F> {
    /// One instant: the host fills the buffer, idle channels start what they can, time goes on to the next ends.
    /// False once nothing is left to do.
    fn advance(&mut self) -> bool {
        self.fill();
        if self.drive.method == Method::CycleFilling && self.initiator.is_none() {
            self.start_filling();
        }
        for unit in 0..self.channels.len() {
            self.serve(unit);
        }
        match self.drive.method {
            Method::None => {}
            Method::Forwarding => self.forward(),
            Method::CycleFilling => self.cycle_fill(),
        }
        let busy = self.channels.iter().filter(|channel| channel.busy != Busy::No);
        let Some(next) = busy.map(|channel| channel.until).min() else { return false };
        self.now = next;
        for unit in 0..self.channels.len() {
            if self.channels[unit].busy != Busy::No && self.channels[unit].until == next {
                self.end(unit);
            }
        }
        true
    }

    /// The host writes as long as there is room. Without a buffer the next request enters when the last is done.
    fn fill(&mut self) {
        loop {
            if self.pieces.is_empty() {
                if self.drive.buffer == 0 && self.entries > 0 {
                    self.full = true;
                    return;
                }
                if !self.stream.next(&mut self.pieces) {
                    self.full = false;
                    return;
                }
            }
            while let Some(&piece) = self.pieces.front() {
                if !self.join(piece) {
                    if self.drive.buffer > 0 && self.entries == self.drive.buffer {
                        self.full = true;
                        return;
                    }
                    self.channels[piece.unit].waiting.push_back(piece);
                    self.entries += 1;
                }
                self.pieces.pop_front();
            }
        }
    }

    /// Joins a piece to an entry of its page that waits.
    fn join(&mut self, piece: Piece) -> bool {
        let waiting = &mut self.channels[piece.unit].waiting;
        let same = |entry: &&mut Piece| (entry.page, entry.lane) == (piece.page, piece.lane);
        match waiting.iter_mut().find(same).filter(|_| self.drive.coalesce && self.drive.buffer > 0) {
            Some(entry) => {
                entry.sectors |= piece.sectors;
                true
            }
            None => false,
        }
    }

    /// Gives a channel that is at rest its next page, or the next step of its mandatory collection.
    fn serve(&mut self, unit: usize) {
        let channel = &mut self.channels[unit];
        if channel.busy != Busy::No || channel.follows || self.initiator == Some(unit) {
            return;
        }
        if channel.collection == Collection::Mandatory {
            self.collect(unit);
            return;
        }
        let Some(&first) = channel.waiting.front() else { return };
        // A forward collection is suspended here.
        channel.collection = Collection::No;
        if !channel.ftl.has_room(first.page) {
            self.outcome.collections += 1;
            channel.collection = Collection::Mandatory;
            channel.ftl.begin();
            self.collect(unit);
            return;
        }
        let (bound, before) = (self.drive.striping.bound > 1, channel.waiting.len());
        let mut sectors = 0;
        channel.waiting.retain(|entry| {
            // Of a super page all entries leave together, of a page the oldest.
            let leaves = if bound { entry.page == first.page } else { sectors == 0 };
            if leaves {
                sectors |= entry.sectors;
            }
            !leaves
        });
        let spent = channel.ftl.write(first.page);
        let times = self.drive.times;
        let host = times.write + if sectors == self.drive.striping.whole() { 0 } else { times.read };
        self.outcome.host += host;
        self.outcome.gc += spent.gc;
        self.outcome.mapping += spent.mapping;
        channel.busy = Busy::Write(before - channel.waiting.len());
        channel.until = self.now + host + spent.gc + spent.mapping;
    }

    /// The next step of a channel's own collection, or the erase at its end.
    fn collect(&mut self, unit: usize) {
        let channel = &mut self.channels[unit];
        let time = if let Some(time) = channel.ftl.collect_step() {
            channel.busy = Busy::Step;
            match channel.collection {
                Collection::Mandatory => self.outcome.mandatory_steps += 1,
                _ => self.outcome.forward_steps += 1,
            }
            time
        } else {
            channel.busy = Busy::Erase;
            self.drive.times.erase
        };
        channel.until = self.now + time;
        self.outcome.gc += time;
    }

    /// Ends the work that a channel is busy with.
    fn end(&mut self, unit: usize) {
        let channel = &mut self.channels[unit];
        match std::mem::replace(&mut channel.busy, Busy::No) {
            Busy::No | Busy::Step => {}
            Busy::Write(entries) => self.entries -= entries,
            Busy::Erase => {
                channel.ftl.erase();
                channel.collection = Collection::No;
                if self.initiator == Some(unit) {
                    self.initiator = None;
                    for channel in &mut self.channels {
                        channel.follows = false;
                        channel.owes = false;
                    }
                }
            }
        }
    }

    /// Garbage-collection forwarding: channels without a page to write collect while others have to.
    fn forward(&mut self) {
        let collecting = self.channels.iter().any(|channel| channel.collection == Collection::Mandatory);
        for unit in 0..self.channels.len() {
            let channel = &mut self.channels[unit];
            if channel.busy != Busy::No
                || !channel.waiting.is_empty()
                || channel.collection == Collection::Mandatory
            {
                continue;
            }
            if channel.collection == Collection::No {
                if !self.full || !collecting || channel.ftl.spare() > self.drive.spare_blocks {
                    continue;
                }
                if !channel.ftl.has_victim() {
                    continue;
                }
                channel.ftl.begin();
                channel.collection = Collection::Forward;
            }
            self.collect(unit);
        }
    }

    /// Cycle filling: if a channel at rest has to collect, it does, and all others with few spare blocks take part.
    fn start_filling(&mut self) {
        let must = |channel: &Channel<F>| {
            let first = channel.waiting.front();
            channel.busy == Busy::No && first.is_some_and(|first| !channel.ftl.has_room(first.page))
        };
        let Some(initiator) = self.channels.iter().position(must) else { return };
        self.initiator = Some(initiator);
        self.outcome.collections += 1;
        self.channels[initiator].collection = Collection::Mandatory;
        self.channels[initiator].ftl.begin();
        let spare_blocks = self.drive.spare_blocks;
        for (unit, channel) in self.channels.iter_mut().enumerate() {
            if unit != initiator && channel.ftl.spare() <= spare_blocks {
                channel.follows = true;
                channel.ftl.begin();
            }
        }
    }

    /// Cycle filling: once all are at a preemption point, the initiator takes its next step and all who follow take one
    /// of the same kind with it. Who is still in the middle of a page write takes it as soon as that is over.
    fn cycle_fill(&mut self) {
        let Some(initiator) = self.initiator else { return };
        if self.channels.iter().all(|channel| !channel.collects()) {
            self.collect(initiator);
            for channel in &mut self.channels {
                channel.owes = channel.follows;
            }
        }
        let kind = self.channels[initiator].busy;
        for channel in &mut self.channels {
            if !channel.owes || channel.busy != Busy::No || kind == Busy::No {
                continue;
            }
            channel.owes = false;
            if kind == Busy::Step {
                if let Some(time) = channel.ftl.fill_step() {
                    channel.busy = Busy::Step;
                    channel.until = self.now + time;
                    self.outcome.gc += time;
                    self.outcome.forward_steps += 1;
                }
            } else if channel.ftl.can_erase() {
                channel.busy = Busy::Erase;
                channel.until = self.now + self.drive.times.erase;
                self.outcome.gc += self.drive.times.erase;
            }
        }
    }
}

impl<F> Channel<F> {
    /// True if it is in the middle of a step of a collection.
    fn collects(&self) -> bool {
        matches!(self.busy, Busy::Step | Busy::Erase)
    }
}
