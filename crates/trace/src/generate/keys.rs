//! The vocabulary of specs: kinds, keys with default and unit, and taking a text apart into pairs that are all known.
//! `spec.rs` interprets the values.

mod table;

pub use table::KEYS;

use super::app::App;
use crate::TraceError;

/// Choice of addresses in a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Every start equally likely.
    Random,
    /// Each request where the last one ended.
    Sequential,
    /// The k-th most popular start with probability proportional to k^-theta.
    Zipf,
    /// A share of the starts gets its own share of the requests.
    HotCold,
    /// Large files copied to a file system, and deleted when it is full.
    FileCopy,
    /// The file system of a desktop in daily use.
    Desktop,
    /// One storage engine.
    Store(Store),
    /// One application.
    App(App),
}

/// A storage engine that knows the lifetimes of its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// A flash cache of small and large objects.
    Cachelib,
    /// A log-structured merge tree.
    Lsm,
    /// A log.
    Wal,
    /// A log, and pages written in place.
    Btree,
    /// Commands to the zones of a zoned namespace.
    Zones,
}

impl Kind {
    /// All kinds, in the order of the documentation.
    pub const ALL: [Kind; 25] = [
        Kind::Random,
        Kind::Sequential,
        Kind::Zipf,
        Kind::HotCold,
        Kind::Store(Store::Cachelib),
        Kind::Store(Store::Lsm),
        Kind::Store(Store::Wal),
        Kind::Store(Store::Btree),
        Kind::Store(Store::Zones),
        Kind::FileCopy,
        Kind::Desktop,
        Kind::App(App::CopyMp3),
        Kind::App(App::Pcmark05),
        Kind::App(App::Browser),
        Kind::App(App::Email),
        Kind::App(App::InstallWindows),
        Kind::App(App::InstallLinux),
        Kind::App(App::Emule),
        Kind::App(App::Bittorrent),
        Kind::App(App::Ext4Install),
        Kind::App(App::PackageBuild),
        Kind::App(App::SqliteWal),
        Kind::App(App::Postgresql),
        Kind::App(App::Rocksdb),
        Kind::App(App::VmBoot),
    ];

    /// The name in a spec.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Random => "random",
            Kind::Sequential => "sequential",
            Kind::Zipf => "zipf",
            Kind::HotCold => "hotcold",
            Kind::FileCopy => "filecopy",
            Kind::Desktop => "desktop",
            Kind::Store(Store::Cachelib) => "cachelib",
            Kind::Store(Store::Lsm) => "lsm",
            Kind::Store(Store::Wal) => "wal",
            Kind::Store(Store::Btree) => "btree",
            Kind::Store(Store::Zones) => "zones",
            Kind::App(app) => app.name(),
        }
    }

    /// One sentence for the command line.
    pub const fn help(self) -> &'static str {
        match self {
            Kind::Random => "starts uniformly at random",
            Kind::Sequential => {
                "each request starts where the last one ended, from the first again at the end"
            }
            Kind::Zipf => "the k-th most popular start has probability proportional to k^-theta",
            Kind::HotCold => "a hot share of the starts gets its own share of the requests",
            Kind::FileCopy => {
                "writes of a file system to which music and films are copied, and where some are deleted"
            }
            Kind::Desktop => {
                "writes of a file system on which somebody surfs, writes, develops, plays and downloads"
            }
            Kind::Store(Store::Cachelib) => {
                "a flash cache: small objects in buckets anywhere, large ones in regions one behind the other"
            }
            Kind::Store(Store::Lsm) => {
                "a log-structured merge tree: a log, files of each level, compactions that read and discard"
            }
            Kind::Store(Store::Wal) => "a log written around and around, flushed after each record",
            Kind::Store(Store::Btree) => {
                "a log, and pages of a database written in place, popular ones more often"
            }
            Kind::Store(Store::Zones) => {
                "commands to zones: some are written at a time, finished, and reset before they are written again"
            }
            Kind::App(app) => app.help(),
        }
    }

    fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// One key of a spec, for documentation and the command line.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The name in a spec.
    pub name: &'static str,
    /// The kinds that have it.
    pub kinds: &'static [Kind],
    /// Type or unit of the value: `size`, `time`, `share`, `number`, ...
    pub unit: &'static str,
    /// The value if the key is not given, in words where it depends on others.
    pub default: &'static str,
    /// One sentence.
    pub help: &'static str,
}

impl Key {
    /// The kinds that have it, by name; `applications` stands for all of those.
    pub fn owners(&self) -> Vec<&'static str> {
        let app = |kind: &&Kind| matches!(kind, Kind::App(_));
        let mut owners: Vec<&str> =
            self.kinds.iter().filter(|kind| !app(kind)).map(|kind| kind.name()).collect();
        if self.kinds.iter().any(|kind| app(&kind)) {
            owners.push("applications");
        }
        owners
    }
}

impl Kind {
    /// The keys of this kind, in canonical order.
    pub fn keys(self) -> impl Iterator<Item = &'static Key> {
        KEYS.iter().filter(move |key| key.kinds.contains(&self))
    }
}

/// A spec taken apart: its kind, and its values by key, every key known to the kind and given once.
#[derive(Debug)]
pub(super) struct Pairs<'a> {
    pub(super) kind: Kind,
    values: Vec<(&'static str, &'a str)>,
}

impl<'a> Pairs<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, TraceError> {
        let (name, rest) = text.trim().split_once(':').unwrap_or((text.trim(), ""));
        let kind = Kind::named(name).ok_or_else(|| unknown_kind(name))?;
        let mut pairs = Pairs { kind, values: Vec::new() };
        for pair in rest.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').ok_or_else(|| {
                refuse(
                    "workload",
                    pair,
                    format!("expected key=value; the keys of {} are {}", kind.name(), list(kind)),
                )
            })?;
            let name = known_key(kind, name.trim())?;
            if pairs.get(name).is_some() {
                return Err(refuse("workload key", name, "given twice; give it once"));
            }
            pairs.values.push((name, value.trim()));
        }
        Ok(pairs)
    }

    /// The value given for a key.
    pub(super) fn get(&self, name: &str) -> Option<&'a str> {
        self.values.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }

    /// The value of a key, read by `parse`, or `default` if it was not given.
    pub(super) fn read<T>(
        &self,
        name: &str,
        default: T,
        expected: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<T, TraceError> {
        self.get(name).map_or(Ok(default), |text| parse(text).ok_or_else(|| bad_value(name, text, expected)))
    }
}

/// True if a text is meant as a spec: a kind alone or with keys, or at least of the form `word:key=...`.
pub(super) fn is_spec(text: &str) -> bool {
    let word =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let (name, rest) = text.trim().split_once(':').unwrap_or((text.trim(), ""));
    Kind::named(name).is_some()
        || (word(name) && rest.split_once('=').is_some_and(|(key, _)| word(key.trim())))
}

/// The error of a value that can't be used.
pub(super) fn bad_value(key: &str, found: &str, expected: impl Into<String>) -> TraceError {
    refuse(&format!("workload key `{key}`"), found, expected)
}

fn refuse(what: &str, found: &str, expected: impl Into<String>) -> TraceError {
    TraceError::Spec { what: what.into(), found: found.into(), expected: expected.into() }
}

fn unknown_kind(name: &str) -> TraceError {
    let names = Kind::ALL.map(Kind::name);
    let expected = format!("no such kind{}; the kinds are {}", hint(name, names), names.join(", "));
    refuse("workload", name, expected)
}

fn known_key(kind: Kind, name: &str) -> Result<&'static str, TraceError> {
    if let Some(key) = kind.keys().find(|key| key.name == name) {
        return Ok(key.name);
    }
    let elsewhere = KEYS.iter().find(|key| key.name == name);
    let reason = elsewhere.map_or_else(
        || format!("no such key{}", hint(name, kind.keys().map(|key| key.name))),
        |key| format!("has no effect in {}, it is a key of {}", kind.name(), key.owners().join(" and ")),
    );
    Err(refuse("workload key", name, format!("{reason}; the keys of {} are {}", kind.name(), list(kind))))
}

fn list(kind: Kind) -> String {
    kind.keys().map(|key| key.name).collect::<Vec<_>>().join(", ")
}

/// ` (did you mean x?)` if one of the names is near enough to be meant.
fn hint<'n>(text: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    names
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(text, name), name))
        .min()
        .filter(|(distance, name)| *distance <= 2.max(name.len() / 3))
        .map_or_else(String::new, |(_, name)| format!(" (did you mean `{name}`?)"))
}
