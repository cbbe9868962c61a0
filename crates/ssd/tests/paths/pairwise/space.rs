//! Drives of the covering array: rows of values, and the search for a drive on which given values have their effect.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use flashweir_ssd::config::layers::{Ineffective, settle, to_value};
use flashweir_ssd::{Config, ConfigError};
use serde_json::{Map, Value};

use super::factors::{BASE, Factor};

/// By factor: the number of its value.
pub(super) type Row = Vec<usize>;
/// Factors whose values are chosen.
pub(super) type Chosen = BTreeMap<usize, usize>;

/// Settings that come with the value of a policy: room for groups of open blocks, and few of them; times of both passes.
fn companions(key: &str, value: &str) -> &'static [(&'static str, &'static str)] {
    match (key, value) {
        (
            "ftl.classifier",
            "stream" | "generations" | "frequency" | "interval" | "age-groups" | "learned",
        ) => &[("op_ratio", "12"), ("ftl.groups", "2")],
        ("ftl.classifier", "death-time") => &[("op_ratio", "12")],
        ("ftl.separate", "handles") => &[("op_ratio", "12"), ("ftl.handles", "2")],
        ("nand.programs", "foggy-fine") => &[("timing.program", "100us,300us")],
        _ => &[],
    }
}

/// Drives that a search looks at before it gives up.
const MAX_DRIVES: usize = 5_000;
/// Keys on which the effect of an allocation depends: its notes name the key alone.
const SHAPE: [&str; 5] = ["chips", "planes", "dies", "units", "planes_bound"];

/// All drives that can be made of the factors.
pub(super) struct Space {
    pub(super) factors: Vec<Factor>,
    base: Value,
    /// The sections of the base that differ from the default.
    changed: BTreeSet<&'static str>,
    /// By factor and value: the value in a configuration.
    values: Vec<Vec<Value>>,
    /// By factor: the number of the value that the base has.
    of_base: Vec<Option<usize>>,
    /// By factor: the factor and value without which it does not exist.
    owners: Vec<Option<(usize, usize)>>,
    /// By text of a refusal or of a note: the factors that it names.
    named: RefCell<BTreeMap<String, BTreeSet<usize>>>,
    /// By row (numbers of values below 256): many searches look at the same drives, whose configurations take the time.
    settled: RefCell<BTreeMap<Vec<u8>, Settled>>,
    /// Pairs for which more drives are named than are looked at.
    pub(super) gave_up: Cell<usize>,
    /// The reasons that the last search found before it gave up.
    so_far: RefCell<Vec<String>>,
}

/// By factor: whether its value is there when all without effect is set back. With the notes that say why not.
type Settled = Rc<Result<(Vec<bool>, Vec<Ineffective>), ConfigError>>;

/// A conflict among the settings of a row.
struct Conflict {
    reasons: Vec<String>,
    /// Factors that it depends on.
    factors: BTreeSet<usize>,
}

/// A text of the command line as a value.
fn parse(text: &str) -> Value {
    let number = serde_json::from_str::<Value>(text).ok();
    number.filter(|value| value.is_number() || value.is_boolean()).unwrap_or_else(|| text.into())
}

/// The section that a dotted key belongs to.
fn section_of(key: &str) -> &str {
    key.split_once('.').map_or(key, |(section, _)| section)
}

fn put(table: &mut Value, key: &str, value: Value) {
    let place = key.split('.').fold(table, |place, part| &mut place[part]);
    *place = value;
}

/// The value of a key, if the configuration has it.
pub(super) fn get<'a>(table: &'a Value, key: &str) -> Option<&'a Value> {
    key.split('.').try_fold(table, |place, part| place.get(part))
}

/// True if the keys of a refusal or of a note name the key; a table's wildcard names its keys as those without effect.
fn names(keys: &str, key: &str, with_tables: bool) -> bool {
    keys.split([',', ' ', '=', ';', ':', '(', ')']).any(|token| match token.split_once('*') {
        Some((prefix, "")) => with_tables && key.starts_with(prefix),
        Some((prefix, suffix)) => key.starts_with(prefix) && key.ends_with(suffix),
        None => {
            token == key || with_tables && key.strip_prefix(token).is_some_and(|rest| rest.starts_with('.'))
        }
    })
}

impl Space {
    /// `engine`: the time path of all drives.
    pub(super) fn new(factors: Vec<Factor>, engine: &str) -> Self {
        let mut base = to_value(&Config::default());
        put(&mut base, "engine", engine.into());
        for (key, value) in BASE {
            put(&mut base, key, parse(value));
        }
        let changed = BASE.into_iter().map(|(key, _)| section_of(key)).chain(["engine"]).collect();
        let owner = |factor: &Factor| {
            let (name, choice) = factor.key.acts_with.as_ref()?;
            let owner = factors.iter().position(|other| other.key.name == *name).expect("a policy");
            let value = factors[owner].values.iter().position(|value| value == choice).expect("its value");
            Some((owner, value))
        };
        let owners: Vec<_> = factors.iter().map(owner).collect();
        let values = factors.iter().zip(&owners).map(|(factor, owner)| {
            let of = |value: &String| {
                let mut table = base.clone();
                if let Some((owner, choice)) = *owner {
                    put(&mut table, &factors[owner].key.name, parse(&factors[owner].values[choice]));
                }
                put(&mut table, &factor.key.name, parse(value));
                let config: Config = serde_json::from_value(table)
                    .unwrap_or_else(|error| panic!("{}={value}: {error}", factor.key.name));
                get(&to_value(&config), &factor.key.name).expect("set before").clone()
            };
            factor.values.iter().map(of).collect()
        });
        let values: Vec<Vec<Value>> = values.collect();
        let of_base = factors.iter().zip(&values).map(|(factor, values)| {
            values.iter().position(|value| get(&base, &factor.key.name) == Some(value))
        });
        let of_base = of_base.collect();
        Self {
            factors,
            base,
            changed,
            values,
            of_base,
            owners,
            named: RefCell::default(),
            settled: RefCell::default(),
            gave_up: Cell::default(),
            so_far: RefCell::default(),
        }
    }

    /// True if the factor exists on the drive.
    pub(super) fn exists(&self, row: &Row, factor: usize) -> bool {
        self.owners[factor].is_none_or(|(owner, choice)| row[owner] == choice)
    }

    /// True if the factor and all its owners exist on the drive.
    fn is_there(&self, row: &Row, factor: usize) -> bool {
        self.exists(row, factor) && self.owners[factor].is_none_or(|(owner, _)| self.is_there(row, owner))
    }

    /// Settings of a drive, as on the command line.
    pub(super) fn settings(&self, row: &Row) -> Vec<(&'static str, String)> {
        let own = (0..row.len()).filter(|factor| row[*factor] > 0 && self.exists(row, *factor));
        let own = own.map(|factor| {
            let Factor { key, values, .. } = &self.factors[factor];
            (key.name.as_str(), values[row[factor]].clone())
        });
        let own: Vec<(&str, String)> = own.collect();
        let more = own.iter().flat_map(|(key, value)| companions(key, value).iter().copied());
        let fixed = BASE.into_iter().chain(more).map(|(key, value)| (key, value.to_owned()));
        let fixed: Vec<_> = fixed.collect();
        fixed.into_iter().chain(own).collect()
    }

    /// The configuration of a row, read from the sections that differ from the default: all of them take several times as long.
    fn config(&self, row: &Row) -> Config {
        let differs = |(factor, value): &(usize, usize)| {
            self.of_base[*factor] != Some(*value) && self.exists(row, *factor)
        };
        let chosen = row.iter().copied().enumerate().filter(differs);
        let chosen: Vec<_> = chosen.map(|(factor, value)| (&self.factors[factor], factor, value)).collect();
        let companions =
            chosen.iter().flat_map(|(factor, _, value)| companions(&factor.key.name, &factor.values[*value]));
        let companions: Vec<_> = companions.collect();
        let keys = chosen.iter().map(|(factor, ..)| factor.key.name.as_str());
        let keys = keys.chain(companions.iter().map(|(key, _)| *key));
        let mut table = Map::new();
        for section in keys.map(section_of).chain(self.changed.iter().copied()) {
            if !table.contains_key(section) {
                table.insert(section.into(), self.base[section].clone());
            }
        }
        let mut table = Value::Object(table);
        for (factor, number, value) in chosen {
            put(&mut table, &factor.key.name, self.values[number][value].clone());
        }
        for (key, value) in companions {
            put(&mut table, key, parse(value));
        }
        serde_json::from_value(table).expect("each value was read before")
    }

    /// The drive that a row settles to, computed once.
    fn settled(&self, row: &Row) -> Settled {
        let number = |value: &usize| u8::try_from(*value).expect("fewer values than 256");
        let key: Vec<u8> = row.iter().map(number).collect();
        if let Some(settled) = self.settled.borrow().get(&key) {
            return Rc::clone(settled);
        }
        let settled = Rc::new(self.settle(row));
        self.settled.borrow_mut().insert(key, Rc::clone(&settled));
        settled
    }

    fn settle(&self, row: &Row) -> Result<(Vec<bool>, Vec<Ineffective>), ConfigError> {
        let config = self.config(row);
        let (settled, notes) = settle(config.clone())?;
        if settled == config {
            return Ok(((0..row.len()).map(|factor| self.is_there(row, factor)).collect(), notes));
        }
        let config = to_value(&settled);
        let stands = |(factor, value): (usize, &usize)| {
            self.exists(row, factor)
                && get(&config, &self.factors[factor].key.name) == Some(&self.values[factor][*value])
        };
        Ok((row.iter().enumerate().map(stands).collect(), notes))
    }

    /// Values of a legal drive that have their effect: by factor.
    pub(super) fn standing(&self, row: &Row) -> Vec<bool> {
        match &*self.settled(row) {
            Ok((stands, _)) => stands.clone(),
            Err(error) => panic!("{:?}: {error}", self.settings(row)),
        }
    }

    /// Factors that a refusal or a note names, but not by a wildcard.
    fn named(&self, text: &str) -> BTreeSet<usize> {
        if let Some(named) = self.named.borrow().get(text) {
            return named.clone();
        }
        let is_named = |factor: &usize| names(text, &self.factors[*factor].key.name, false);
        let named: BTreeSet<_> = (0..self.factors.len()).filter(is_named).collect();
        self.named.borrow_mut().insert(text.into(), named.clone());
        named
    }

    /// `None` if the drive is legal and each chosen value has its effect.
    fn conflict(&self, row: &Row, chosen: &Chosen) -> Option<Conflict> {
        let settled = self.settled(row);
        let (stands, notes) = match &*settled {
            Ok(settled) => settled,
            Err(ConfigError::Refused { keys, reason }) => {
                let factors = &self.named(keys) | &self.named(reason);
                return Some(Conflict { factors, reasons: vec![reason.clone()] });
            }
            Err(error) => panic!("neither legal nor in the tables: {:?}: {error}", self.settings(row)),
        };
        let mut conflict = Conflict { reasons: Vec::new(), factors: BTreeSet::new() };
        for factor in chosen.keys().filter(|factor| !stands[**factor]) {
            let owner = self.owners[*factor].map(|(owner, _)| owner);
            let is_why = |note: &&Ineffective| {
                [Some(*factor), owner]
                    .into_iter()
                    .flatten()
                    .any(|factor| names(&note.keys, &self.factors[factor].key.name, true))
            };
            let before = conflict.reasons.len();
            for note in notes.iter().filter(is_why) {
                conflict.reasons.push(note.reason.clone());
                conflict.factors.extend(self.named(&note.keys));
                if note.keys.starts_with("alloc.") && !note.keys.contains(',') {
                    conflict.factors.extend(SHAPE.iter().flat_map(|key| self.named(key)));
                }
            }
            let key = &self.factors[*factor].key.name;
            assert!(
                conflict.reasons.len() > before,
                "{key} has no effect, and no note says so: {:?}",
                self.settings(row)
            );
        }
        (!conflict.reasons.is_empty()).then_some(conflict)
    }

    /// Chooses the policies without which chosen keys do not exist. The reason if another one is chosen.
    fn with_owners(&self, mut chosen: Chosen) -> Result<Chosen, String> {
        for factor in chosen.keys().copied().collect::<Vec<_>>() {
            let Some((owner, choice)) = self.owners[factor] else { continue };
            if *chosen.entry(owner).or_insert(choice) != choice {
                let owner = &self.factors[owner];
                return Err(format!("it acts only with {}={}", owner.key.name, owner.values[choice]));
            }
        }
        Ok(chosen)
    }

    /// A drive on which the chosen values have their effect, with all that had to be chosen for it. The reasons why there
    /// is none, otherwise, that of the values themselves first: every way out that a refusal or a note names was tried.
    pub(super) fn complete(&self, pair: Chosen) -> Result<(Row, Chosen), Vec<String>> {
        self.search(pair, MAX_DRIVES).map_err(|reasons| {
            reasons.unwrap_or_else(|| {
                self.gave_up.set(self.gave_up.get() + 1);
                self.so_far.take()
            })
        })
    }

    /// The same among so many drives; without reasons if there are more.
    pub(super) fn search(&self, pair: Chosen, most: usize) -> Result<(Row, Chosen), Option<Vec<String>>> {
        let mut reasons: Vec<String> = Vec::new();
        let mut seen = BTreeSet::from([pair.clone()]);
        let mut waiting = VecDeque::from([pair]);
        let mut looked_at = 0;
        while let Some(chosen) = waiting.pop_front() {
            if looked_at == most {
                let mut listed = BTreeSet::new();
                reasons.retain(|reason| listed.insert(reason.clone()));
                self.so_far.replace(reasons);
                return Err(None);
            }
            looked_at += 1;
            let chosen = match self.with_owners(chosen) {
                Ok(chosen) => chosen,
                Err(reason) => {
                    reasons.push(reason);
                    continue;
                }
            };
            let row: Row = (0..self.factors.len()).map(|factor| *chosen.get(&factor).unwrap_or(&0)).collect();
            let Some(conflict) = self.conflict(&row, &chosen) else { return Ok((row, chosen)) };
            reasons.extend(conflict.reasons);
            for factor in conflict.factors.into_iter().filter(|factor| !chosen.contains_key(factor)) {
                for value in (0..self.factors[factor].values.len()).filter(|value| *value != row[factor]) {
                    let mut next = chosen.clone();
                    next.insert(factor, value);
                    if seen.insert(next.clone()) {
                        waiting.push_back(next);
                    }
                }
            }
        }
        let mut listed = BTreeSet::new();
        reasons.retain(|reason| listed.insert(reason.clone()));
        Err(Some(reasons))
    }
}
