//! The covering array: drives on which every pair of values is there at least once. Greedy, as AETG (Cohen et al. 1997):
//! each drive begins with a pair that is missing, and then takes for one factor after the other the value that makes the most
//! missing pairs.

use std::collections::{BTreeMap, BTreeSet};

use super::space::{Chosen, Row, Space};

/// A factor and the number of its value.
pub(super) type Level = (usize, usize);

/// Drives, and the pairs that no drive can have.
pub(super) struct Array {
    pub(super) rows: Vec<Row>,
    /// Why, by pair.
    pub(super) refused: BTreeMap<[Level; 2], BTreeSet<String>>,
    /// Pairs of the array.
    pub(super) pairs: usize,
}

/// Random numbers.
pub(super) struct Draw(pub(super) u64);

impl Draw {
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

/// Pairs that are missing.
struct Missing {
    /// By factor: the number of its first value among all values.
    first: Vec<usize>,
    values: usize,
    is_missing: Vec<bool>,
}

impl Missing {
    fn place(&self, one: Level, other: Level) -> usize {
        (self.first[one.0] + one.1) * self.values + self.first[other.0] + other.1
    }

    fn has(&self, one: Level, other: Level) -> bool {
        self.is_missing[self.place(one.min(other), one.max(other))]
    }

    fn set(&mut self, one: Level, other: Level, is_missing: bool) {
        let place = self.place(one.min(other), one.max(other));
        self.is_missing[place] = is_missing;
    }
}

/// All pairs of values, at least one of them a policy's.
fn pairs(space: &Space) -> Vec<[Level; 2]> {
    let levels = |factor: usize| (0..space.factors[factor].values.len()).map(move |value| (factor, value));
    let mut pairs = Vec::new();
    for one in 0..space.factors.len() {
        for other in one + 1..space.factors.len() {
            if space.factors[one].is_policy || space.factors[other].is_policy {
                pairs.extend(levels(one).flat_map(|one| levels(other).map(move |other| [one, other])));
            }
        }
    }
    pairs
}

/// Takes for each factor that is not chosen the value that makes the most missing pairs.
fn improve(space: &Space, missing: &Missing, (mut row, mut chosen): (Row, Chosen), draw: &mut Draw) -> Row {
    let mut factors: Vec<_> = (0..row.len()).filter(|factor| !chosen.contains_key(factor)).collect();
    draw.shuffle(&mut factors);
    // Keys of a policy come after it.
    factors.sort_by_key(|factor| space.factors[*factor].key.acts_with.is_some());
    for factor in factors {
        if !space.exists(&row, factor) {
            continue;
        }
        let gain = |value: usize| {
            let others = chosen.iter().map(|(factor, value)| (*factor, *value));
            others.filter(|other| missing.has((factor, value), *other)).count()
        };
        let mut values: Vec<_> =
            (0..space.factors[factor].values.len()).map(|value| (gain(value), value)).collect();
        draw.shuffle(&mut values);
        values.sort_by_key(|(gain, _)| std::cmp::Reverse(*gain));
        for (_, value) in values.into_iter().filter(|(gain, _)| *gain > 0) {
            let before = std::mem::replace(&mut row[factor], value);
            chosen.insert(factor, value);
            if space.suits(&row, &chosen) {
                break;
            }
            chosen.remove(&factor);
            row[factor] = before;
        }
    }
    row
}

/// The array of a seed.
pub(super) fn build(space: &Space, seed: u64) -> Array {
    let mut draw = Draw(seed);
    let mut pairs = pairs(space);
    let mut values = 0;
    let first = space.factors.iter().map(|factor| {
        values += factor.values.len();
        values - factor.values.len()
    });
    let first = first.collect();
    let mut missing = Missing { first, values, is_missing: vec![false; values * values] };
    for [one, other] in &pairs {
        missing.set(*one, *other, true);
    }
    draw.shuffle(&mut pairs);
    let mut array = Array { rows: Vec::new(), refused: BTreeMap::new(), pairs: pairs.len() };
    for pair in pairs {
        if !missing.has(pair[0], pair[1]) {
            continue;
        }
        match space.complete(pair.into_iter().collect()) {
            Ok(begun) => {
                let row = improve(space, &missing, begun, &mut draw);
                let standing = space.standing(&row);
                let levels: Vec<Level> =
                    row.iter().copied().enumerate().filter(|(factor, _)| standing[*factor]).collect();
                for (number, one) in levels.iter().enumerate() {
                    levels[..number].iter().for_each(|other| missing.set(*one, *other, false));
                }
                array.rows.push(row);
            }
            Err(reasons) => {
                array.refused.insert(pair, reasons);
            }
        }
    }
    array
}
