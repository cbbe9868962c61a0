//! Age groups: a chain of groups whose number and sizes follow a model of how soon pages are written again (`MiDAS`,
//! Oh et al., FAST 2024, sections 3 and 4; without its group of hot pages).
//!
//! A page of the host enters the first group; each group but the last is a queue, and when it has more blocks than it
//! should the oldest one is collected, whose valid pages enter the next group. The last group has all other blocks and
//! is collected by the fewest valid pages. So a page's group is its age.
//!
//! After each as many writes as twice the map has pages the sizes are chosen anew: groups are added to the chain one by
//! one, each with the best size, and then each size is tried again. They are adopted if the model promises a tenth less
//! than was measured. A group that relocates another share than the model said, by more than a tenth, ends the chain:
//! those after it join it. Both wait for an epoch after a change, when the oldest blocks of a queue that has too many
//! join the last group.

mod model;

use serde::{Deserialize, Serialize};

use crate::cow::CowVec;
use model::{Model, PARTS, SPAN, STEPS};

const BINS: usize = (PARTS * SPAN) as usize;
/// Times the map's pages after which the sizes are chosen anew.
const EPOCH: u64 = 2;
/// Intervals without which nothing is chosen.
const MIN_SAMPLES: u64 = 256;

/// The chain of a map, and what is known of its pages.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Chain {
    /// Sizes of the groups but the last, of [`STEPS`] parts of all blocks.
    sizes: Vec<u32>,
    /// The share that each of these relocates by the model, and since then: valid pages, and pages of all blocks collected.
    expected: Vec<f64>,
    relocated: Vec<(u64, u64)>,
    /// By age: pages that were written again, and those that reached it.
    ends: Vec<u64>,
    reached: Vec<u64>,
    /// Additions of this epoch to these: the difference to the age before.
    more: Vec<i64>,
    /// True if the sizes are new in this epoch, so that what groups relocate tells of the change.
    settles: bool,
    /// Pages programmed, and when the epoch began.
    programmed: u64,
    begun: u64,
    /// Pages of the blocks of the map's units that are full.
    physical: u64,
}

impl Chain {
    pub(super) fn new(groups: u32, physical: u64) -> Self {
        Self {
            sizes: Vec::new(),
            expected: Vec::new(),
            relocated: vec![(0, 0); groups as usize],
            ends: vec![0; BINS],
            reached: vec![0; BINS],
            more: vec![0; BINS + 1],
            settles: false,
            programmed: 0,
            begun: 0,
            physical,
        }
    }

    /// The group that pages enter which are moved out of a block of group `from`: the next one, up to the last.
    pub(super) fn next(&self, from: u32) -> u32 {
        (from + 1).min(self.sizes.len() as u32).max(1)
    }

    /// Blocks that each group but the last should have, of so many.
    pub(crate) fn sizes(&self, blocks: u64) -> impl Iterator<Item = u64> + '_ {
        self.sizes.iter().map(move |size| (blocks * u64::from(*size) / u64::from(STEPS)).max(1))
    }

    /// A page was written by the host at a time. `table` has the times of all pages.
    pub(super) fn written(&mut self, table: &mut CowVec, key: u32, (now, count): (u64, u64)) {
        self.programmed += 1;
        let (at, time) = (u64::from(key), now as u32 & (u32::MAX >> 1));
        let before = table.get(at);
        if before != CowVec::EMPTY {
            let interval = age(before, now);
            let end = bin(interval, count);
            self.note(interval, end + 1, (now, count));
            if let Some(ends) = self.ends.get_mut(end) {
                *ends += 1;
            }
        }
        table.set(at, time);
    }

    /// A page reached, in this epoch, all ages up to that in bin `end`.
    fn note(&mut self, age: u64, end: usize, (now, count): (u64, u64)) {
        let first = bin(age.saturating_sub(now - self.begun), count);
        self.more[first] += 1;
        self.more[end.clamp(first, BINS)] -= 1;
    }

    /// Pages were relocated out of a group.
    pub(super) fn moved_out(&mut self, group: u32, pages: u32) {
        self.programmed += u64::from(pages);
        if let Some((moved, _)) = self.relocated.get_mut(group as usize) {
            *moved += u64::from(pages);
        }
    }

    /// A block of a group, of so many pages, was erased.
    pub(super) fn collected(&mut self, group: u32, pages: u32) {
        if let Some((_, of)) = self.relocated.get_mut(group as usize) {
            *of += u64::from(pages);
        }
    }

    /// At the end of an epoch chooses the sizes anew, for a map of `count` pages. Returns true if they are new.
    pub(super) fn adapt(&mut self, table: &CowVec, (now, count): (u64, u64)) -> bool {
        if now - self.begun < EPOCH * count {
            return false;
        }
        let measured = self.programmed as f64 / (now - self.begun) as f64;
        let settled = !std::mem::take(&mut self.settles);
        if settled {
            self.cut();
        }
        let mut live = 0;
        for at in 0..count {
            let written = table.get(at);
            if written != CowVec::EMPTY {
                live += 1;
                let age = age(written, now);
                self.note(age, bin(age, count), (now, count));
            }
        }
        let mut sum = 0;
        for (reached, more) in self.reached.iter_mut().zip(&self.more) {
            sum += more;
            *reached += sum.unsigned_abs();
        }
        if settled && self.ends.iter().sum::<u64>() >= MIN_SAMPLES {
            let model = Model::new(
                &self.ends,
                &self.reached,
                [live, self.physical].map(|pages| pages as f64 / count as f64),
            );
            let (sizes, promised) = model.best(self.relocated.len());
            if promised < measured * 0.9 {
                self.expected = model.relocates(&sizes);
                self.sizes = sizes;
                self.settles = true;
            }
        }
        self.relocated.fill((0, 0));
        for number in self.ends.iter_mut().chain(&mut self.reached) {
            *number /= 2;
        }
        self.more.fill(0);
        (self.programmed, self.begun) = (0, now);
        self.settles
    }

    /// Ends the chain at the first group that does not relocate what the model said.
    fn cut(&mut self) {
        let differs = |(expected, (moved, of)): (&f64, &(u64, u64))| {
            *of > 0 && (*moved as f64 / *of as f64 - expected).abs() > 0.1
        };
        if let Some(at) = self.expected.iter().zip(&self.relocated).position(differs) {
            self.sizes.truncate(at);
            self.expected.truncate(at);
        }
    }
}

/// Writes since a time, of which the table keeps 31 bits.
fn age(written: u32, now: u64) -> u64 {
    u64::from((now as u32).wrapping_sub(written) & (u32::MAX >> 1))
}

/// The bin of an age, for a map of so many pages; all ages beyond the last bin are in one more.
fn bin(age: u64, count: u64) -> usize {
    ((age * PARTS / count) as usize).min(BINS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages written in turn, each after as many writes as the map has pages: all reach that age, and end there.
    #[test]
    fn survival_is_that_of_pages_written_in_turn() {
        let (count, mut chain) = (640, Chain::new(4, 800));
        let mut table = CowVec::new(count);
        for now in 0..2 * EPOCH * count {
            chain.written(&mut table, (now % count) as u32, (now, count));
            chain.adapt(&table, (now, count));
        }
        let model = Model::new(&chain.ends, &chain.reached, [1.0, 1.25]);
        assert!((model.survives(0.98) - 1.0).abs() < 1e-9 && model.survives(1.1) < 1e-9);
    }

    #[test]
    fn a_group_that_relocates_something_else_ends_the_chain() {
        let mut chain = Chain::new(4, 100);
        chain.sizes = vec![8, 8, 8];
        chain.expected = vec![0.1, 0.5, 0.8];
        for (group, moved) in [(0, 1), (1, 9)] {
            chain.moved_out(group, moved);
            chain.collected(group, 10);
        }
        chain.cut();
        assert_eq!(chain.sizes, [8]);
        assert_eq!([0, 1, 3].map(|from| chain.next(from)), [1, 1, 1]);
    }
}
