//! Pages by the time until they are written again, as a model predicts it that learns while the drive runs.
//!
//! The target and the use of the prediction are those of Chakraborttii and Litz (SYSTOR 2021): the death time of a page, from the
//! history of its writes, and one block for pages whose death times are close. Their neural network is not taken, nor the recurrent one of
//! PHFTL (Sun et al., HPCA 2024). This model is linear, and learns from each page that is written again by recursive least squares
//! (Plackett 1950; Haykin, Adaptive Filter Theory). So nothing is trained beforehand, and a drive's controller could afford it. A page
//! that is relocated later than it should have died teaches, too, or the model would only know pages that die.
//!
//! Intervals are counted in *ticks*, 512 for as many writes as the map has pages, and compared by their logarithm, in half octaves
//! from one tick to five times the map. Features of a page that is written: the interval that ends, the mean of its intervals (a new one counts a
//! quarter), if it has any; the mean of the intervals in its region, a part in 256 of the map; and whether the write goes on where the one
//! before it ended. State is 32 bits a page: the tick of its last write, and these features as they were at that time.
//!
//! Group 0 has the pages that are predicted to live longest. Bounds are those with which predictions within a group are as close as they
//! can be, in the least squares of classes (Fisher, Journal of the American Statistical Association 1958). A relocated page goes by
//! its age, if that is more than was predicted.

mod bounds;

use serde::{Deserialize, Serialize};

use crate::cow::CowVec;
use crate::quantity::round_to_u64;
use bounds::closest;

/// Ticks in as many writes as the map has pages.
const TICKS: u64 = 512;
/// Class of intervals of more than five times the map; class 0 is less than a tick, and two classes are an octave.
const LONG: u32 = 24;
/// A predicted interval is right if it is at most so many classes off.
const RIGHT: f64 = 2.0;
/// Features, with a constant one.
const FEATURES: usize = 6;
const REGIONS: u64 = 256;
/// Share that a write has in the mean of its region.
const OF_REGION: f64 = 1.0 / 64.0;
/// Weight of what was learned before, at each page: that of 10,000 pages ago is a third.
const FORGETTING: f64 = 0.9999;
/// Times between new bounds, in as many writes as the map has pages.
const BOUNDS: u64 = 8;
/// Parts of a class in the mean interval of a page.
const PARTS: u32 = 8;

/// Predictions of a drive, and their errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Predictions {
    /// Pages that were written again, so that the interval that was predicted is known.
    pub known: u64,
    /// Those of them that were predicted within an octave.
    pub right: u64,
    /// Sum of the errors, thousandths of octaves.
    pub error: u64,
    /// Pages that were relocated after they should have died.
    pub outlived: u64,
}

/// The model of a map.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Learner {
    weights: [f64; FEATURES],
    /// The inverse of the features' correlations, row by row.
    inverse: Vec<f64>,
    /// Mean class of the intervals in each region.
    regions: Vec<f64>,
    /// Pages by class of their prediction, halved each time that as many were written as the map has.
    predicted: Vec<u64>,
    /// The group of each class.
    groups: Vec<u32>,
    count: u32,
    /// The page written last.
    last: u32,
    pub(super) predictions: Predictions,
}

/// State of a page: the tick of its last write modulo 2^16, and features at that time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct State {
    tick: u32,
    /// Too long ago for the tick to say.
    is_old: bool,
    is_sequential: bool,
    /// The last interval, and the mean in parts; none before the second write.
    intervals: Option<(u32, u32)>,
}

/// A state's tick is known up to so many ticks later.
const KNOWN: u32 = 1 << 15;

impl State {
    /// The mean is below 255 parts, so that no state is all ones.
    fn bits(self) -> u32 {
        let (last, mean) = self.intervals.unwrap_or((31, 0));
        self.tick << 16
            | u32::from(self.is_old) << 15
            | u32::from(self.is_sequential) << 14
            | last << 8
            | mean
    }

    fn of(bits: u32) -> Option<Self> {
        let last = bits >> 8 & 63;
        (bits != CowVec::EMPTY).then(|| Self {
            tick: bits >> 16,
            is_old: bits >> 15 & 1 == 1,
            is_sequential: bits >> 14 & 1 == 1,
            intervals: (last <= LONG).then_some((last, bits & 255)),
        })
    }

    /// Class of the time since the last write.
    fn age(self, tick: u64) -> u32 {
        let ticks = (tick as u32).wrapping_sub(self.tick) & 0xffff;
        if self.is_old || ticks >= KNOWN { LONG } else { class_of(ticks) }
    }
}

/// The class of an interval: half octaves from one tick on.
fn class_of(ticks: u32) -> u32 {
    let Some(octave) = ticks.checked_ilog2() else { return 0 };
    let ticks = u64::from(ticks);
    (1 + 2 * octave + u32::from(ticks * ticks >= 1 << (2 * octave + 1))).min(LONG)
}

fn tick(now: u64, count: u64) -> u64 {
    now.saturating_mul(TICKS) / count
}

impl Predictions {
    pub(super) fn add(&mut self, other: &Self) {
        self.known += other.known;
        self.right += other.right;
        self.error += other.error;
        self.outlived += other.outlived;
    }
}

impl Learner {
    pub(super) fn new(groups: u32) -> Self {
        let mut inverse = vec![0.0; FEATURES * FEATURES];
        inverse.iter_mut().step_by(FEATURES + 1).for_each(|diagonal| *diagonal = 100.0);
        // Before anything is known, groups are octaves down from the map.
        let class_of_map = class_of(TICKS as u32);
        let group = |class: u32| (class_of_map.saturating_sub(class).div_ceil(2)).min(groups - 1);
        Self {
            // The mean of its intervals, or those of its region.
            weights: [0.0, 0.0, 0.0, 0.0, 1.0, 0.0],
            inverse,
            regions: vec![f64::from(LONG); REGIONS as usize],
            predicted: vec![0; LONG as usize + 1],
            groups: (0..=LONG).map(group).collect(),
            count: groups,
            last: u32::MAX,
            predictions: Predictions::default(),
        }
    }

    fn features(&self, state: State, key: u32, count: u64) -> [f64; FEATURES] {
        let of_region = self.regions[region(key, count)];
        let is_known = f64::from(u8::from(state.intervals.is_some()));
        let (last, mean) = state.intervals.unwrap_or_default();
        let scaled = |class: f64| class / f64::from(LONG);
        let mean = f64::from(mean) / f64::from(PARTS);
        let is_sequential = f64::from(u8::from(state.is_sequential));
        let more = is_known * (mean - of_region);
        [1.0, is_known, scaled(f64::from(last) * is_known), scaled(more), scaled(of_region), is_sequential]
    }

    /// The predicted class of a page with these features.
    fn predict(&self, features: &[f64; FEATURES]) -> f64 {
        let sum: f64 = self.weights.iter().zip(features).map(|(weight, feature)| weight * feature).sum();
        (sum * f64::from(LONG)).clamp(0.0, LONG.into())
    }

    /// A page with these features had an interval of a class: recursive least squares.
    fn learn(&mut self, features: &[f64; FEATURES], class: f64) {
        let mut gain = [0.0; FEATURES];
        for (gain, row) in gain.iter_mut().zip(self.inverse.chunks_exact(FEATURES)) {
            *gain = row.iter().zip(features).map(|(entry, feature)| entry * feature).sum();
        }
        let spread: f64 = gain.iter().zip(features).map(|(gain, feature)| gain * feature).sum();
        let sum: f64 = self.weights.iter().zip(features).map(|(weight, feature)| weight * feature).sum();
        let error = class / f64::from(LONG) - sum;
        let scale = 1.0 / (FORGETTING + spread);
        for (weight, gain) in self.weights.iter_mut().zip(&gain) {
            *weight += gain * scale * error;
        }
        // Features that stay as they are would be forgotten: without a bound the inverse grows until it says nothing.
        let trace: f64 = self.inverse.iter().step_by(FEATURES + 1).sum();
        let forgets = if trace < 100.0 * FEATURES as f64 { FORGETTING } else { 1.0 };
        for (row, of_row) in self.inverse.chunks_exact_mut(FEATURES).zip(&gain) {
            for (entry, of_column) in row.iter_mut().zip(&gain) {
                *entry = (*entry - of_row * of_column * scale) / forgets;
            }
        }
    }

    /// State of a page that is written now.
    fn next(&self, table: &CowVec, key: u32, (now, count): (u64, u64)) -> State {
        let intervals = State::of(table.get(key.into())).map(|state| {
            let last = state.age(tick(now, count));
            let mean = state.intervals.map_or(last * PARTS, |(_, mean)| (3 * mean + last * PARTS + 2) / 4);
            (last, mean)
        });
        let tick = (tick(now, count) & 0xffff) as u32;
        State { tick, is_old: false, is_sequential: key == self.last.wrapping_add(1), intervals }
    }

    fn group_of(&self, class: f64) -> u32 {
        self.groups[round(class)]
    }

    /// The group of a page that is written now.
    pub(super) fn of_host(&self, table: &CowVec, key: u32, time: (u64, u64)) -> u32 {
        self.group_of(self.predict(&self.features(self.next(table, key, time), key, time.1)))
    }

    /// The group of a page that is relocated now.
    pub(super) fn of_moved(&self, table: &CowVec, key: u32, (now, count): (u64, u64)) -> u32 {
        let Some(state) = State::of(table.get(key.into())) else { return 0 };
        let predicted = self.predict(&self.features(state, key, count));
        self.group_of(predicted.max(state.age(tick(now, count)).into()))
    }

    /// A page is relocated. One that lives longer than was predicted will have an interval of at least twice its age, as far as that
    /// is known.
    pub(super) fn moved(&mut self, table: &CowVec, key: u32, (now, count): (u64, u64)) {
        let Some(state) = State::of(table.get(key.into())) else { return };
        let (features, age) = (self.features(state, key, count), state.age(tick(now, count)));
        if f64::from(age) > self.predict(&features) {
            self.predictions.outlived += 1;
            self.learn(&features, (age + 2).min(LONG).into());
        }
    }

    /// A page is written.
    pub(super) fn written(&mut self, table: &mut CowVec, key: u32, (now, count): (u64, u64)) {
        let state = self.next(table, key, (now, count));
        if let Some(before) = State::of(table.get(key.into())) {
            let class = f64::from(before.age(tick(now, count)));
            let features = self.features(before, key, count);
            let error = (self.predict(&features) - class).abs();
            let known = &mut self.predictions;
            known.known += 1;
            known.right += u64::from(error <= RIGHT);
            known.error += round_to_u64(error * 500.0);
            self.learn(&features, class);
            let of_region = &mut self.regions[region(key, count)];
            *of_region += (class - *of_region) * OF_REGION;
        }
        let predicted = self.predict(&self.features(state, key, count));
        self.predicted[round(predicted)] += 1;
        self.last = key;
        table.set(key.into(), state.bits());
        let passes = |times: u64| (now + 1) * times / count > now * times / count;
        if passes(BOUNDS) {
            self.bound(passes(1));
        }
        let (before, after) = (tick(now, count), tick(now + 1, count));
        if before / u64::from(KNOWN / 2) < after / u64::from(KNOWN / 2) {
            forget_ticks(table, count, after);
        }
    }

    /// New bounds, by the pages that were written lately.
    fn bound(&mut self, halves: bool) {
        let first = closest(&self.predicted, self.count as usize);
        // The last group of classes has the longest intervals: it is group 0.
        let groups = (0..self.groups.len()).map(|class| first.iter().filter(|first| **first > class).count());
        self.groups = groups.map(|group| group as u32).collect();
        if halves {
            self.predicted.iter_mut().for_each(|pages| *pages /= 2);
        }
    }
}

/// The nearest class.
fn round(class: f64) -> usize {
    round_to_u64(class) as usize
}

fn region(key: u32, count: u64) -> usize {
    (u64::from(key) * REGIONS / count).min(REGIONS - 1) as usize
}

/// Ticks that were long ago are forgotten, before they come again.
fn forget_ticks(table: &mut CowVec, count: u64, tick: u64) {
    for key in 0..count {
        let bits = table.get(key);
        if let Some(state) = State::of(bits)
            && !state.is_old
            && state.age(tick) == LONG
            && (tick as u32).wrapping_sub(state.tick) & 0xffff >= KNOWN / 2
        {
            table.set(key, State { is_old: true, ..state }.bits());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGES: u64 = 1024;

    /// Writes pages at their turn, each `every` writes, the rest of the time the others one after the other.
    fn run(pages: &[(u32, u64)], writes: u64) -> (Learner, CowVec) {
        let (mut learner, mut table) = (Learner::new(4), CowVec::new(PAGES));
        for now in 0..writes {
            let due = pages.iter().find(|(key, every)| now % every == u64::from(*key));
            let other = 512 + (now * 7 % 512) as u32;
            learner.written(&mut table, due.map_or(other, |(key, _)| *key), (now, PAGES));
        }
        (learner, table)
    }

    #[test]
    fn intervals_are_predicted_once_they_are_learned() {
        let (learner, table) = run(&[(1, 16), (2, 64)], 40 * PAGES);
        for (key, every) in [(1, 16_u32), (2, 64)] {
            let state = State::of(table.get(key)).expect("written");
            let predicted = learner.predict(&learner.features(state, key as u32, PAGES));
            let class = f64::from(class_of(every * TICKS as u32 / PAGES as u32));
            assert!((predicted - class).abs() < 1.5, "{every}: {predicted}, {class}");
        }
        let Predictions { known, right, error, .. } = learner.predictions;
        assert!(right * 10 > known * 8 && error < 1000 * known, "{right} of {known}, {error}");
    }

    #[test]
    fn pages_that_die_sooner_go_to_later_groups_and_age_takes_them_back() {
        let (learner, table) = run(&[(1, 16), (2, 64)], 40 * PAGES);
        let now = 40 * PAGES;
        let group = |key, now| learner.of_moved(&table, key, (now, PAGES));
        assert!(group(1, now) > group(600, now), "{} {}", group(1, now), group(600, now));
        assert_eq!(group(1, now + 8 * PAGES), 0, "it should have been written long ago");
        assert_eq!(group(300, now), 0, "never written");
    }

    #[test]
    fn states_are_32_bits_and_back() {
        for intervals in [None, Some((0, 0)), Some((LONG, LONG * PARTS))] {
            for flag in [false, true] {
                let state = State { tick: 0xffff, is_old: flag, is_sequential: flag, intervals };
                assert_eq!(State::of(state.bits()), Some(state));
            }
        }
        assert_eq!([0, 1, 2, 3, 512, 2048, u32::MAX].map(class_of), [0, 1, 3, 4, 19, 23, 24]);
    }

    #[test]
    fn a_page_that_was_written_long_ago_stays_old_when_ticks_come_again() {
        let (mut learner, mut table) = (Learner::new(4), CowVec::new(2));
        learner.written(&mut table, 1, (0, 2));
        let turn = (1 << 16) / TICKS * 2;
        for now in 1..=turn {
            learner.written(&mut table, 0, (now, 2));
        }
        let state = State::of(table.get(1)).expect("written");
        assert!(state.is_old && state.age(tick(turn, 2)) == LONG);
    }
}
