//! Writes of single applications: the kinds named after them.
//!
//! A plan (`plan.rs`; the tables are in `desktop.rs` and `server.rs`) says how much an application writes, in which
//! phases, and which share of a phase's bytes is written first or again, in runs or not. Strands say where. The engine
//! here keeps account of what was written (`tracker.rs`) and lets that class be written next of which most is missing,
//! and of its strands the one that is most behind: so shares are met at every scale and seed, whatever else happens to
//! a request. A strand makes a burst of requests, because programs do.

mod application;
mod desktop;
mod options;
mod pattern;
mod plan;
mod server;
#[cfg(test)]
mod tests;
mod tracker;

pub use application::App;
pub(super) use options::Options;

use super::{
    arrivals::Clock,
    draw::{Draw, Purpose},
    volume::Place,
};
use crate::{Op, Request};
use pattern::{Pattern, Proposal};
use plan::Phase;
use tracker::{Class, Tracker};

/// Maximum number of proposals by a strand for one write of the class that is due.
const TRIES: usize = 6;

/// An application at work.
#[derive(Clone, Debug)]
pub(super) struct Writer {
    options: Options,
    range: Place,
    seed: u64,
    clock: Clock,
    draw: Draw,
    tracker: Tracker,
    phase: usize,
    work: Work,
    /// Starts again, from another seed, when it is done.
    endless: bool,
}

/// A phase at work.
#[derive(Clone, Debug)]
struct Work {
    phase: &'static Phase,
    strands: Vec<Pattern>,
    /// Sectors to write, and those written, in all and of each class.
    total: u64,
    done: u64,
    classes: [u64; 4],
    /// Sectors that each strand wrote when asked for a class.
    asked: Vec<[u64; 4]>,
    burst: Option<(usize, Class, u64)>,
}

impl Writer {
    pub(super) fn new(options: Options, range: Place, seed: u64, clock: Clock) -> Self {
        let place = options.place(range);
        let mut writer = Self {
            options,
            range,
            seed,
            clock,
            draw: Draw::new(seed, Purpose::Addresses),
            tracker: Tracker::new(place.lba, place.sectors),
            phase: 0,
            work: Work::new(&options, place, 0, seed),
            endless: false,
        };
        // Skips the phases before the requested one: their writes count as made, but are not emitted.
        while options.phase.is_some_and(|wanted| writer.phase < usize::from(wanted)) {
            if writer.next_of_phase().is_none() {
                writer.enter(writer.phase + 1);
            }
        }
        writer
    }

    /// Starts again, from another seed, whenever it is done.
    pub(super) fn forever(&mut self) {
        self.endless = true;
    }

    fn enter(&mut self, phase: usize) {
        self.phase = phase;
        self.work = Work::new(&self.options, self.options.place(self.range), phase, self.seed);
    }

    /// Appends the next requests, at most `count`. False if there are no more.
    pub(super) fn fill(&mut self, out: &mut Vec<Request>, count: usize) -> bool {
        for _ in 0..count {
            let Some((lba, sectors)) = self.next() else { return false };
            let time_ns = self.clock.next_ns();
            out.push(Request { time_ns, lba, sectors: sectors as u32, stream: 0, op: Op::Write, handle: 0 });
        }
        true
    }

    fn next(&mut self) -> Option<(u64, u64)> {
        loop {
            if let Some(found) = self.next_of_phase() {
                return Some(found);
            }
            let last = self.options.phase.map_or(self.options.phases() - 1, usize::from);
            if self.phase < last {
                self.enter(self.phase + 1);
            } else if self.endless {
                let (options, range, seed) = (self.options, self.range, self.seed.wrapping_add(1));
                *self = Self::new(options, range, seed, self.clock.clone());
                self.endless = true;
            } else {
                return None;
            }
        }
    }

    /// The next write of the phase; nothing if it is done.
    fn next_of_phase(&mut self) -> Option<(u64, u64)> {
        let left = self.work.total - self.work.done;
        if left == 0 {
            return None;
        }
        let aligned = self.options.aligned();
        let wants = aligned.is_some_and(|share| {
            u128::from(self.tracker.aligned_sectors) * 1000
                < u128::from(self.tracker.sectors) * u128::from(share)
        });
        let (strand, asked, made) = self.work.choose(wants, &self.tracker, &mut self.draw)?;
        let class = self.tracker.class(made.lba, made.sectors);
        self.work.strands[strand].commit(made);
        // The last request is cut, so that the volume is exact.
        let sectors = made.sectors.min(left);
        self.work.account(strand, asked, class, sectors);
        self.tracker.record(made.lba, sectors);
        Some((made.lba, sectors))
    }
}

impl Work {
    fn new(options: &Options, place: Place, index: usize, seed: u64) -> Self {
        let phase = options.phase_at(index);
        let nominal = options.nominal_sectors();
        let strand = |(number, strand)| {
            let own = seed ^ ((index as u64) << 40) ^ ((number as u64) << 48);
            Pattern::new(strand, place.lba, nominal, place.sectors, own)
        };
        Self {
            phase,
            strands: phase.strands.iter().enumerate().map(strand).collect(),
            total: options.phase_sectors(index),
            done: 0,
            classes: [0; 4],
            asked: vec![[0; 4]; phase.strands.len()],
            burst: None,
        }
    }

    /// A write that is due: which strand makes it, and of which class it was asked for.
    fn choose(
        &mut self,
        aligned: bool,
        tracker: &Tracker,
        draw: &mut Draw,
    ) -> Option<(usize, Class, Proposal)> {
        if let Some((strand, class, left)) = self.burst.take()
            && left > 0
            && self.missing(class) > 0
            && let Some(made) = self.ask(strand, class, aligned, tracker, draw)
        {
            self.burst = Some((strand, class, left - 1));
            return Some((strand, class, made));
        }
        let mut classes = Class::ALL;
        classes.sort_by_key(|class| -self.missing(*class));
        for class in classes {
            for strand in self.strands_for(class) {
                if let Some(made) = self.ask(strand, class, aligned, tracker, draw) {
                    let burst = draw.below(self.phase.strands[strand].burst);
                    self.burst = Some((strand, class, burst));
                    return Some((strand, class, made));
                }
            }
        }
        // No strand has what is due: whatever any has.
        (0..self.strands.len()).find_map(|strand| {
            let mut any = |class| self.strands[strand].propose(class, aligned, tracker, draw);
            let made = Class::ALL.into_iter().rev().find_map(&mut any)?;
            Some((strand, tracker.class(made.lba, made.sectors), made))
        })
    }

    /// A write of a strand that is of the class, or begins a run.
    fn ask(
        &mut self,
        strand: usize,
        class: Class,
        aligned: bool,
        tracker: &Tracker,
        draw: &mut Draw,
    ) -> Option<Proposal> {
        for _ in 0..TRIES {
            let made = self.strands[strand].propose(class, aligned, tracker, draw)?;
            let found = tracker.class(made.lba, made.sectors);
            if found.is_again() == class.is_again() && (class.is_run() || !found.is_run()) {
                return Some(made);
            }
            self.strands[strand].pass_over(made, found.is_again() != class.is_again());
        }
        None
    }

    /// Sectors that are missing of a class, a little ahead of what is written; ten-thousandths of them.
    fn missing(&self, class: Class) -> i128 {
        let share = i128::from(self.phase.classes[class as usize]);
        if share == 0 {
            return i128::MIN / 2;
        }
        i128::from(self.done + 128) * share - i128::from(self.classes[class as usize]) * 10_000
    }

    /// The strands that write this class, the one that is most behind first.
    fn strands_for(&self, class: Class) -> Vec<usize> {
        let weight = |strand: usize| self.phase.strands[strand].weights[class as usize];
        let mut found: Vec<usize> = (0..self.strands.len()).filter(|strand| weight(*strand) > 0).collect();
        let behind = |strand: &usize| {
            u128::from(self.asked[*strand][class as usize]) * 1_000_000 / u128::from(weight(*strand))
        };
        found.sort_by_key(behind);
        found
    }

    fn account(&mut self, strand: usize, asked: Class, class: Class, sectors: u64) {
        self.asked[strand][asked as usize] += sectors;
        self.classes[class as usize] += sectors;
        self.done += sectors;
    }
}
