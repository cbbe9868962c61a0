//! Channels in lock step over a log-block translation layer, as Huang ("On Channel Management in Advanced Solid-State
//! Disk Architecture", 2010) describes them.

use std::collections::VecDeque;

use crate::models::log::Log;
use crate::models::stream::{Piece, Stream, Striping};

/// Work of the other channels while one collects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Planner {
    /// Nothing.
    None,
    /// They merge the data block of the same number.
    SuperDataBlock,
    /// They merge as many data blocks, each of its own choice.
    CycleStealing,
}

/// Times of one chip, nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// Page read, transfer included.
    pub(crate) read: u64,
    /// Page write, transfer included.
    pub(crate) write: u64,
    /// Block erase.
    pub(crate) erase: u64,
}

impl Times {
    /// 4 KiB pages.
    pub(crate) const MLC: Self = Self { read: 166_000, write: 906_000, erase: 1_500_000 };
    /// 2 KiB pages.
    pub(crate) const SLC: Self = Self { read: 131_000, write: 306_000, erase: 1_500_000 };

    /// One page, copied.
    pub(crate) fn copy(self) -> u64 {
        self.read + self.write
    }
}

/// A drive of this model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drive {
    pub(crate) striping: Striping,
    /// Data blocks of a unit.
    pub(crate) data_blocks: u32,
    /// Log blocks of a unit.
    pub(crate) log_blocks: u32,
    /// Pages of a block.
    pub(crate) per_block: u32,
    pub(crate) times: Times,
    pub(crate) planner: Planner,
    /// Most merges of a collection; 0: no limit.
    pub(crate) throttle: u32,
    /// Pages that the gating buffer holds.
    pub(crate) buffer: usize,
    /// True if pages of a request must not overtake older requests.
    pub(crate) in_order: bool,
    /// True if a write of a page that is already waiting takes up no entry of its own.
    pub(crate) coalesce: bool,
}

/// Outcome of a run. Times in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) requests: u64,
    pub(crate) write_cycles: u64,
    /// (Super) pages programmed and (super) blocks erased, of all units.
    pub(crate) programs: u64,
    pub(crate) erases: u64,
    pub(crate) serving: u64,
    pub(crate) collecting: u64,
    /// Merges of each collection's initiator, in order.
    pub(crate) merges: Vec<u32>,
}

impl Outcome {
    /// Requests a second.
    pub(crate) fn iops(&self) -> f64 {
        self.requests as f64 * 1e9 / (self.serving + self.collecting) as f64
    }
}

/// A page that waits, possibly for pieces of several requests.
type Entry = Piece;

/// A run in progress.
#[derive(Debug)]
pub(crate) struct Run {
    drive: Drive,
    logs: Vec<Log>,
    waiting: VecDeque<Entry>,
    pub(crate) outcome: Outcome,
}

impl Drive {
    /// Serves a whole workload, and writes out what is left in the buffer at the end.
    pub(crate) fn run(&self, spec: &str) -> Outcome {
        let mut run = Run::new(*self);
        let mut stream = Stream::new(spec, self.striping);
        let mut pieces = VecDeque::new();
        while stream.next(&mut pieces) {
            run.serve(&mut pieces);
        }
        run.drain();
        run.outcome.requests = stream.taken();
        run.outcome
    }
}

impl Run {
    /// A full drive with empty logs.
    pub(crate) fn new(drive: Drive) -> Self {
        let log = || Log::new(drive.data_blocks, drive.log_blocks, drive.per_block);
        Self {
            drive,
            logs: (0..drive.striping.units).map(|_| log()).collect(),
            waiting: VecDeque::new(),
            outcome: Outcome::default(),
        }
    }

    /// The log of a unit.
    pub(crate) fn log(&mut self, unit: usize) -> &mut Log {
        &mut self.logs[unit]
    }

    /// Pages in the buffer.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Takes a request.
    pub(crate) fn serve(&mut self, pieces: &mut VecDeque<Piece>) {
        if self.drive.buffer == 0 {
            self.waiting.append(pieces);
            self.drain();
        } else {
            while let Some(piece) = pieces.pop_front() {
                self.enter(piece);
            }
        }
    }

    /// Puts one page into the buffer; a full buffer flushes first.
    fn enter(&mut self, piece: Piece) {
        if self.drive.coalesce && !self.drive.in_order {
            let same = |entry: &&mut Entry| {
                (entry.unit, entry.page, entry.lane) == (piece.unit, piece.page, piece.lane)
            };
            if let Some(entry) = self.waiting.iter_mut().find(same) {
                entry.sectors |= piece.sectors;
                return;
            }
        }
        if self.waiting.len() == self.drive.buffer {
            self.flush();
        }
        self.waiting.push_back(piece);
    }

    /// Writes out all that waits.
    pub(crate) fn drain(&mut self) {
        while !self.waiting.is_empty() {
            self.flush();
        }
    }

    /// One flush: the oldest page of every unit, in one write cycle.
    fn flush(&mut self) {
        let mut chosen: Vec<Option<(u32, u128)>> = vec![None; self.logs.len()];
        let mut stays = VecDeque::with_capacity(self.waiting.len());
        let mut held_up = None;
        while let Some(entry) = self.waiting.pop_front() {
            if self.drive.in_order && held_up.is_some_and(|request| request != entry.request) {
                stays.push_back(entry);
                break;
            }
            match &mut chosen[entry.unit] {
                free @ None => *free = Some((entry.page, entry.sectors)),
                // The pages of one super page leave together.
                Some((page, sectors)) if self.drive.striping.bound > 1 && *page == entry.page => {
                    *sectors |= entry.sectors;
                }
                Some(_) => {
                    held_up = Some(entry.request);
                    stays.push_back(entry);
                }
            }
        }
        stays.append(&mut self.waiting);
        self.waiting = stays;
        self.cycle(&chosen);
    }

    /// One write cycle: at most one page a unit.
    fn cycle(&mut self, chosen: &[Option<(u32, u128)>]) {
        for (unit, _) in chosen.iter().enumerate().filter(|(_, page)| page.is_some()) {
            if !self.logs[unit].has_room() {
                self.collect(unit);
            }
        }
        let mut reads = false;
        for (unit, &(page, sectors)) in
            chosen.iter().enumerate().filter_map(|(unit, page)| Some((unit, page.as_ref()?)))
        {
            self.logs[unit].append(page);
            self.outcome.programs += 1;
            reads |= sectors != self.drive.striping.whole();
        }
        let times = self.drive.times;
        self.outcome.serving += times.write + if reads { times.read } else { 0 };
        self.outcome.write_cycles += 1;
    }

    /// A collection of one unit, while which all others do what the planner says.
    pub(crate) fn collect(&mut self, initiator: usize) {
        let Drive { planner, throttle, per_block, times, .. } = self.drive;
        let mut merges = 0;
        let mut everywhere = 0;
        while let Some(page) = self.logs[initiator].oldest_in_victim() {
            if throttle > 0 && merges == throttle {
                break;
            }
            let block = self.logs[initiator].data_block(page);
            for (unit, log) in self.logs.iter_mut().enumerate() {
                if unit == initiator || planner == Planner::SuperDataBlock {
                    log.merge(block);
                    everywhere += 1;
                } else if planner == Planner::CycleStealing
                    && let Some(page) = log.oldest()
                {
                    log.merge(log.data_block(page));
                    everywhere += 1;
                }
            }
            merges += 1;
            self.outcome.collecting += u64::from(per_block) * times.copy() + times.erase;
        }
        let moved = self.logs[initiator].erase_oldest();
        self.outcome.collecting += u64::from(moved) * times.copy() + times.erase;
        if planner == Planner::CycleStealing {
            for (unit, log) in self.logs.iter_mut().enumerate() {
                if unit != initiator && log.erase_empty() {
                    self.outcome.erases += 1;
                }
            }
        }
        self.outcome.merges.push(merges);
        self.outcome.programs += everywhere * u64::from(per_block) + u64::from(moved);
        self.outcome.erases += everywhere + 1;
    }
}
