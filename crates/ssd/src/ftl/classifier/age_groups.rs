//! Age groups: a chain of groups whose number and sizes follow a model of how soon pages are written again (`MiDAS`, Oh et al., FAST
//! 2024, sections 3 and 4; without its group of hot pages).
//!
//! A page of the host enters the first group; each group but the last is a queue, and when it has more blocks than it should the
//! oldest one is collected, whose valid pages enter the next group. The last group has all other blocks and is collected by
//! the fewest valid pages. So a page's group is its age.
//!
//! The model. Let S(a) be the share of written pages that are not written again within `a` further writes (the paper's *update
//! interval distribution*), as the product over ages of the shares that survive each, measured on a sample of pages: of those that
//! reached that age, whenever they were written. A page enters group i + 1 at rate S(A_i) for each page that the host writes,
//! A_i being the age at which it leaves group i; a group of `s` pages whose pages enter at rate r keeps each for s / r writes, so
//! A_i = A_(i-1) + s_i / S(A_(i-1)). What is valid in group i is the integral of S from A_(i-1) to A_i. The last group has what is
//! valid elsewhere on u of its space; collected as a queue it relocates the share v with u = (1 - v) / -ln v, and so programs
//! S(A_(n-1)) / (1 - v) pages for each page of the host. Amplification is the sum of the rates.
//!
//! After each as many writes as twice the map has pages the sizes are chosen anew: groups are added to the chain one by one,
//! each with the best size, and then each size is tried again. They are adopted if the model promises a tenth less than what was
//! measured. A group that relocates another share than the model said, by more than a tenth, ends the chain: those after it join it. Both wait for
//! an epoch after a change, of which blocks that a queue has too many join the last group.

use serde::{Deserialize, Serialize};

use crate::cow::CowVec;

/// One page in so many is sampled.
const SAMPLE: u32 = 8;
/// Intervals are counted in this many parts of as many writes as the map has pages, up to `SPAN` times that.
const PARTS: u64 = 64;
const SPAN: u64 = 4;
const BINS: usize = (PARTS * SPAN) as usize;
/// Sizes that are tried: multiples of this share of all blocks.
const STEPS: u32 = 64;
/// Times the map's pages after which the sizes are chosen anew.
const EPOCH: u64 = 2;
/// Sampled intervals without which nothing is chosen.
const MIN_SAMPLES: u64 = 256;

/// The chain of a map, and what is known of its pages.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Chain {
    /// Sizes of the groups but the last, of [`STEPS`] parts of all blocks.
    sizes: Vec<u32>,
    /// The share that each of these relocates by the model, and since then: valid pages, and pages of all blocks collected.
    expected: Vec<f64>,
    relocated: Vec<(u64, u64)>,
    /// By age: sampled pages that were written again, and those that reached it.
    ends: Vec<u64>,
    reached: Vec<u64>,
    /// Additions of this epoch to these: the difference to the age before.
    more: Vec<i64>,
    /// True if the sizes are new in this epoch, so that what groups relocate tells of the change.
    settles: bool,
    /// Pages programmed, and when the epoch began.
    programmed: u64,
    begun: u64,
    /// Physical pages of the units that the map is of.
    physical: u64,
}

/// Times of sampled pages of a map.
pub(super) fn table_len(pages: u64) -> u64 {
    pages.div_ceil(SAMPLE.into())
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

    /// A page was written by the host at a time. `table` has the times of sampled pages.
    pub(super) fn written(&mut self, table: &mut CowVec, key: u32, (now, count): (u64, u64)) {
        self.programmed += 1;
        if !key.is_multiple_of(SAMPLE) {
            return;
        }
        let (at, time) = (u64::from(key / SAMPLE), now as u32 & (u32::MAX >> 1));
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
        for at in 0..table_len(count) {
            let written = table.get(at);
            if written != CowVec::EMPTY {
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
            let model = Model::new(&self.ends, &self.reached, self.physical as f64 / count as f64);
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

/// The bin of an age in units of the map's pages.
#[expect(clippy::cast_sign_loss, reason = "ages are not negative")]
fn part(age: f64) -> usize {
    (age * PARTS as f64) as usize
}

/// The model, in units of the map's pages.
struct Model {
    /// S(a) at a = 0, 1 / [`PARTS`], ...; constant behind the end.
    survives: Vec<f64>,
    /// Physical pages for each page of the map.
    space: f64,
}

impl Model {
    fn new(ends: &[u64], reached: &[u64], space: f64) -> Self {
        let mut share = 1.0;
        let after = ends.iter().zip(reached).map(|(ends, reached)| {
            share *= 1.0 - *ends as f64 / (*reached).max(*ends).max(1) as f64;
            share
        });
        Self { survives: std::iter::once(1.0).chain(after).collect(), space }
    }

    fn survives(&self, age: f64) -> f64 {
        self.survives[part(age).min(self.survives.len() - 1)]
    }

    /// The integral of S between two ages.
    fn valid(&self, from: f64, to: f64) -> f64 {
        let (mut sum, mut age) = (0.0, from);
        while age < to {
            let next = ((part(age) + 1) as f64 / PARTS as f64).min(to);
            if age >= SPAN as f64 {
                return sum + self.survives(age) * (to - age);
            }
            sum += self.survives(age) * (next - age);
            age = next;
        }
        sum
    }

    /// The ages at which pages leave each group but the last.
    fn ages(&self, sizes: &[u32]) -> Vec<f64> {
        let mut age = 0.0;
        let leaves = sizes.iter().map(|size| {
            let pages = self.space * f64::from(*size) / f64::from(STEPS);
            age += pages / self.survives(age).max(1e-6);
            age
        });
        leaves.collect()
    }

    /// The share of its pages that each group but the last relocates.
    fn relocates(&self, sizes: &[u32]) -> Vec<f64> {
        let mut before = 0.0;
        let shares = self.ages(sizes).into_iter().map(|age| {
            let share = self.survives(age) / self.survives(before).max(1e-6);
            before = age;
            share
        });
        shares.collect()
    }

    /// Amplification with these groups; `None` where the last one has no room for what is left.
    fn amplification(&self, sizes: &[u32]) -> Option<f64> {
        let taken = sizes.iter().sum::<u32>();
        let ages = self.ages(sizes);
        let rate = ages.last().map_or(1.0, |age| self.survives(*age));
        let valid = 1.0 - ages.last().map_or(0.0, |age| self.valid(0.0, *age));
        let space = self.space * f64::from(STEPS.checked_sub(taken)?) / f64::from(STEPS);
        let used = valid.max(0.0) / space;
        let before: f64 = [0.0].iter().chain(&ages).take(sizes.len()).map(|age| self.survives(*age)).sum();
        (used < 0.995).then(|| before + rate / (1.0 - relocated(used)))
    }

    /// The best sizes of at most so many groups, and their amplification.
    fn best(&self, groups: usize) -> (Vec<u32>, f64) {
        let mut best = (Vec::new(), self.amplification(&[]).unwrap_or(f64::INFINITY));
        while best.0.len() + 1 < groups {
            let mut sizes = best.0.clone();
            sizes.push(0);
            if !self.improve(&mut best, &mut sizes, best_of_last) {
                break;
            }
        }
        for at in 0..best.0.len() {
            let mut sizes = best.0.clone();
            self.improve(&mut best, &mut sizes, |_| at);
        }
        best
    }

    /// Tries all sizes of one group. Returns whether one is better than the best.
    fn improve(
        &self,
        best: &mut (Vec<u32>, f64),
        sizes: &mut [u32],
        which: impl Fn(&[u32]) -> usize,
    ) -> bool {
        let at = which(sizes);
        let before = best.1;
        for size in 1..STEPS {
            sizes[at] = size;
            if let Some(amplification) = self.amplification(sizes)
                && amplification < best.1 - 1e-9
            {
                *best = (sizes.to_vec(), amplification);
            }
        }
        best.1 < before
    }
}

fn best_of_last(sizes: &[u32]) -> usize {
    sizes.len() - 1
}

/// The share v of valid pages in the victims of a queue whose space is used to u: u = (1 - v) / -ln v (Menon 1995).
fn relocated(used: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0 - 1e-6);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if (1.0 - middle) / minus_ln(middle) < used {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// -ln x for 0 < x < 1, in additions and divisions alone: the same on all machines.
fn minus_ln(x: f64) -> f64 {
    if x < 0.5 {
        return std::f64::consts::LN_2 + minus_ln(x.max(1e-300) * 2.0);
    }
    let ratio = (1.0 - x) / (1.0 + x);
    let (mut sum, mut power) = (0.0, ratio);
    for odd in (1..40).step_by(2) {
        sum += power / f64::from(odd);
        power *= ratio * ratio;
    }
    2.0 * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_those_of_the_library() {
        for x in [1e-9, 0.01, 0.3, 0.5, 0.7, 0.999] {
            assert!((minus_ln(x) + f64::ln(x)).abs() < 1e-9, "{x}");
        }
    }

    /// For uniform writes with u = 0.8 a queue relocates 0.6286: (1 - v) / -ln v = 0.8.
    #[test]
    fn a_queue_relocates_the_closed_form() {
        let v = relocated(0.8);
        assert!(((1.0 - v) / -f64::ln(v) - 0.8).abs() < 1e-6, "{v}");
    }

    /// Uniform writes gain nothing by age: a chain of two queues is one queue. Hot and cold pages gain.
    #[test]
    fn groups_gain_where_ages_tell_pages_apart() {
        let one = Model::new(&[1; BINS], &[PARTS; BINS], 1.25);
        let alone = one.amplification(&[]).expect("room");
        let (_, chained) = one.best(8);
        assert!(chained > alone * 0.97, "{alone} {chained}");

        // Nine of ten writes are to pages that are written again after a sixteenth of the map; the others are not.
        let mut ends = vec![0; BINS];
        ends[4] = 900;
        let mut reached = vec![100; BINS];
        reached[..5].fill(1000);
        let two = Model::new(&ends, &reached, 1.25);
        let (sizes, chained) = two.best(8);
        assert!(!sizes.is_empty() && chained < 1.3, "{sizes:?} {chained}");
    }

    /// Pages written in turn, each after as many writes as the map has pages: all reach that age, and end there.
    #[test]
    fn survival_is_that_of_pages_written_in_turn() {
        let (count, mut chain) = (640, Chain::new(4, 800));
        let mut table = CowVec::new(table_len(count));
        for now in 0..2 * EPOCH * count {
            chain.written(&mut table, (now % count) as u32, (now, count));
            chain.adapt(&table, (now, count));
        }
        let model = Model::new(&chain.ends, &chain.reached, 1.25);
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
