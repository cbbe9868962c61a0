//! Placement handles that a user gives the requests of a trace: by process, file or address.

use serde::Serialize;

use crate::quantity::parse_bytes;
use crate::{SECTOR_BYTES, TraceError};

/// The form of a rule, for messages.
const FORM: &str = "CONDITION[&CONDITION...]->HANDLE with proc=PATTERN, file=PATTERN or address=FROM..TO, such as \
                    proc=rocksdb:compact*->3";

/// Rules that give requests a placement handle. The first rule that a request meets counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hints(Vec<Rule>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    text: String,
    conditions: Vec<Condition>,
    handle: u8,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Condition {
    Process(Vec<u8>),
    File(Vec<u8>),
    /// The request begins in these sectors.
    Sectors(std::ops::Range<u64>),
}

/// A rule, and how many requests it gave its handle to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hinted {
    /// The rule as it was given.
    pub hint: String,
    /// Number of requests.
    pub requests: u64,
}

impl Hints {
    /// Parses rules, each `CONDITION[&CONDITION...]->HANDLE`; one text may hold several between `;`.
    ///
    /// Conditions are `proc=PATTERN` (the process), `file=PATTERN` (the file or device, as the trace names it) and
    /// `address=FROM..TO` (bytes, as `64MiB`, of which either end may be left out). Patterns are whole names with `*`
    /// for any text and `?` for any byte.
    pub fn parse<T: AsRef<str>>(texts: &[T]) -> Result<Self, TraceError> {
        let rules = texts.iter().flat_map(|text| text.as_ref().split(';'));
        rules.map(|text| Rule::parse(text.trim())).collect::<Result<_, _>>().map(Self)
    }

    /// True if there is no rule.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if a rule asks for the process.
    pub(crate) fn ask_for_process(&self) -> bool {
        let mut all = self.0.iter().flat_map(|rule| &rule.conditions);
        all.any(|condition| matches!(condition, Condition::Process(_)))
    }

    /// The rules, none of which was met yet.
    pub(crate) fn counts(&self) -> Vec<Hinted> {
        self.0.iter().map(|rule| Hinted { hint: rule.text.clone(), requests: 0 }).collect()
    }

    /// The first rule that a request meets, by its number, and the handle.
    pub(crate) fn find(&self, process: &[u8], file: &[u8], lba: u64) -> Option<(usize, u8)> {
        let met = |rule: &Rule| rule.conditions.iter().all(|condition| condition.holds(process, file, lba));
        let found = self.0.iter().position(met)?;
        Some((found, self.0[found].handle))
    }
}

impl Rule {
    fn parse(text: &str) -> Result<Self, TraceError> {
        let wrong = |expected: &str| TraceError::Spec {
            what: "hint".to_owned(),
            found: text.to_owned(),
            expected: expected.to_owned(),
        };
        let (conditions, handle) = text.rsplit_once("->").ok_or_else(|| wrong(FORM))?;
        let handle = handle.trim().parse().map_err(|_| wrong("a handle from 0 to 255 after ->"))?;
        let mut found = Vec::new();
        for part in conditions.split('&') {
            let (key, value) = part.split_once('=').ok_or_else(|| wrong(FORM))?;
            let value = value.trim();
            if value.is_empty() {
                return Err(wrong(FORM));
            }
            found.push(match key.trim() {
                "proc" => Condition::Process(value.as_bytes().to_vec()),
                "file" => Condition::File(value.as_bytes().to_vec()),
                "address" => Condition::Sectors(sectors(value).ok_or_else(|| {
                    wrong(
                        "an address range FROM..TO of whole sectors, such as 64MiB..1GiB, with TO above FROM",
                    )
                })?),
                _ => return Err(wrong(FORM)),
            });
        }
        Ok(Self { text: text.to_owned(), conditions: found, handle })
    }
}

/// The sectors of `FROM..TO` in bytes; an end that is left out is the first or last there is.
fn sectors(text: &str) -> Option<std::ops::Range<u64>> {
    let (from, to) = text.split_once("..")?;
    let bound = |text: &str, left_out: u64| match text.trim() {
        "" => Some(left_out),
        text => parse_bytes(text).filter(|bytes| bytes % SECTOR_BYTES == 0).map(|bytes| bytes / SECTOR_BYTES),
    };
    let range = bound(from, 0)?..bound(to, u64::MAX)?;
    (!range.is_empty()).then_some(range)
}

impl Condition {
    fn holds(&self, process: &[u8], file: &[u8], lba: u64) -> bool {
        match self {
            Self::Process(pattern) => matches(pattern, process),
            Self::File(pattern) => matches(pattern, file),
            Self::Sectors(range) => range.contains(&lba),
        }
    }
}

/// True if all of `text` fits a pattern: `*` stands for any bytes, `?` for one. Takes at most as many steps as the
/// product of their lengths.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut next) = (0, 0);
    // The last star, and how much of the text it stands for.
    let mut star: Option<(usize, usize)> = None;
    while next < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, next));
                at += 1;
            }
            Some(byte) if *byte == b'?' || *byte == text[next] => (at, next) = (at + 1, next + 1),
            _ => {
                let Some((place, taken)) = star else { return false };
                star = Some((place, taken + 1));
                (at, next) = (place + 1, taken + 1);
            }
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_whole_names_with_stars() {
        for (pattern, text, fits) in [
            ("rocksdb:compact*", "rocksdb:compact7", true),
            ("rocksdb:compact*", "rocksdb:compact", true),
            ("rocksdb:compact*", "rocksdb:flush", false),
            ("*a*b", "xaabab", true),
            ("*a*b", "xaaba", false),
            ("?b", "ab", true),
            ("?b", "b", false),
            ("", "", true),
            ("*", "", true),
        ] {
            assert_eq!(matches(pattern.as_bytes(), text.as_bytes()), fits, "{pattern} {text}");
        }
    }

    #[test]
    fn the_first_rule_that_is_met_counts() {
        let texts = ["proc=db*&address=4KiB..->3; file=/dev/sd?->2", "address=..8KiB->1"];
        let hints = Hints::parse(&texts).unwrap();
        assert!(hints.ask_for_process());
        assert_eq!(hints.find(b"db7", b"/dev/sda", 8), Some((0, 3)));
        assert_eq!(hints.find(b"db7", b"/dev/sda", 7), Some((1, 2)));
        assert_eq!(hints.find(b"db7", b"/dev/nvme0n1", 7), Some((2, 1)));
        assert_eq!(hints.find(b"x", b"", 16), None);
        assert_eq!(hints.counts()[1].hint, "file=/dev/sd?->2");
    }

    #[test]
    fn bad_rules_say_what_was_expected() {
        for (text, said) in [
            ("proc=x", "CONDITION[&CONDITION...]->HANDLE"),
            ("proc=->1", "CONDITION[&CONDITION...]->HANDLE"),
            ("name=x->1", "CONDITION[&CONDITION...]->HANDLE"),
            ("proc=x->256", "a handle from 0 to 255 after ->"),
            ("proc=x->", "a handle from 0 to 255 after ->"),
            ("address=1..2->1", "an address range FROM..TO of whole sectors"),
            ("address=4KiB..4KiB->1", "with TO above FROM"),
            ("", "CONDITION[&CONDITION...]->HANDLE"),
        ] {
            let error = Hints::parse(&[text]).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
