//! The covering array: drives on which every pair of values is there at least once. Greedy, as AETG (Cohen et al. 1997):
//! each drive begins with a pair that is missing, and then takes for one factor after the other the value that makes the most
//! missing pairs.

use std::collections::BTreeMap;

use super::space::{Chosen, Row, Space};

/// Drives that are looked at to give one more factor the value that it had better have.
const MAX_DRIVES: usize = 8;

/// A factor and the number of its value.
pub(super) type Level = (usize, usize);

/// Drives, and the pairs that no drive can have.
pub(super) struct Array {
    pub(super) rows: Vec<Row>,
    /// Why, by pair.
    pub(super) refused: BTreeMap<[Level; 2], Vec<String>>,
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
    /// By pair: true if no drive has it yet.
    open: Vec<bool>,
    /// By pair: true if no drive can have it.
    refused: Vec<bool>,
}

impl Missing {
    fn place(&self, one: Level, other: Level) -> usize {
        (self.first[one.0] + one.1) * self.values + self.first[other.0] + other.1
    }

    fn has(&self, one: Level, other: Level) -> bool {
        self.open[self.place(one.min(other), one.max(other))]
    }

    fn refuses(&self, one: Level, other: Level) -> bool {
        self.refused[self.place(one.min(other), one.max(other))]
    }

    fn set(&mut self, one: Level, other: Level, is_missing: bool) {
        let place = self.place(one.min(other), one.max(other));
        self.open[place] = is_missing;
    }
}

/// All pairs of values of policies.
fn pairs(space: &Space) -> Vec<[Level; 2]> {
    let policies: Vec<_> =
        (0..space.factors.len()).filter(|factor| space.factors[*factor].is_policy).collect();
    let levels = |factor: usize| (0..space.factors[factor].values.len()).map(move |value| (factor, value));
    let mut pairs = Vec::new();
    for (number, one) in policies.iter().enumerate() {
        for other in &policies[number + 1..] {
            pairs.extend(levels(*one).flat_map(|one| levels(*other).map(move |other| [one, other])));
        }
    }
    pairs
}

/// Takes for each factor that is not chosen the value that makes the most missing pairs; any value of one that is no policy.
fn improve(space: &Space, missing: &Missing, (mut row, mut chosen): (Row, Chosen), draw: &mut Draw) -> Row {
    let mut factors: Vec<_> = (0..row.len()).filter(|factor| !chosen.contains_key(factor)).collect();
    draw.shuffle(&mut factors);
    // Keys of a policy come after it.
    factors.sort_by_key(|factor| space.factors[*factor].key.acts_with.is_some());
    for factor in factors {
        if chosen.contains_key(&factor) || !space.exists(&row, factor) {
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
        let may_be_any = !space.factors[factor].is_policy && draw.below(3) == 0;
        let is_refused =
            |value: usize| chosen.iter().any(|(other, of)| missing.refuses((factor, value), (*other, *of)));
        values.retain(|(gain, value)| (*gain > 0 || may_be_any) && !is_refused(*value));
        for (_, value) in values.into_iter().take(3) {
            let mut more = chosen.clone();
            more.insert(factor, value);
            if let Ok(found) = space.search(more, MAX_DRIVES) {
                (row, chosen) = found;
                break;
            }
        }
    }
    row
}

/// Values of a drive that have their effect.
fn levels(space: &Space, row: &Row) -> Vec<Level> {
    let standing = space.standing(row);
    row.iter().copied().enumerate().filter(|(factor, _)| standing[*factor]).collect()
}

/// Drops the drives whose pairs are all on others, too.
fn prune(space: &Space, missing: &Missing, rows: &mut Vec<Row>) {
    let mut drives = vec![0; missing.open.len()];
    let pairs = |row: &Row| -> Vec<usize> {
        let levels: Vec<_> =
            levels(space, row).into_iter().filter(|(factor, _)| space.factors[*factor].is_policy).collect();
        let before = levels
            .iter()
            .enumerate()
            .flat_map(|(number, one)| levels[..number].iter().map(move |other| (other, one)));
        before.map(|(one, other)| missing.place(*one, *other)).collect()
    };
    let on_rows: Vec<_> = rows.iter().map(pairs).collect();
    on_rows.iter().flatten().for_each(|pair| drives[*pair] += 1);
    let mut on_rows = on_rows.into_iter();
    rows.retain(|_| {
        let pairs = on_rows.next().expect("one of each row");
        let is_needed = pairs.iter().any(|pair| drives[*pair] == 1);
        if !is_needed {
            for pair in &pairs {
                drives[*pair] -= 1;
            }
        }
        is_needed
    });
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
    let mut missing =
        Missing { first, values, open: vec![false; values * values], refused: vec![false; values * values] };
    for [one, other] in &pairs {
        missing.set(*one, *other, true);
    }
    draw.shuffle(&mut pairs);
    let mut array = Array { rows: Vec::new(), refused: BTreeMap::new() };
    for pair in pairs {
        if !missing.has(pair[0], pair[1]) {
            continue;
        }
        match space.complete(pair.into_iter().collect()) {
            Ok(begun) => {
                let row = improve(space, &missing, begun, &mut draw);
                let levels = levels(space, &row);
                for (number, one) in levels.iter().enumerate() {
                    levels[..number].iter().for_each(|other| missing.set(*one, *other, false));
                }
                array.rows.push(row);
            }
            Err(reasons) => {
                let place = missing.place(pair[0], pair[1]);
                (missing.open[place], missing.refused[place]) = (false, true);
                array.refused.insert(pair, reasons);
            }
        }
    }
    prune(space, &missing, &mut array.rows);
    array
}
