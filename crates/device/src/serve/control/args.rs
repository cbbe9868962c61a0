//! Arguments of a command: JSON values under their names, or the same as text.

use flashweir_trace::quantity::{parse_bytes, parse_nanos};
use serde_json::{Map, Value};

/// Why a command gave no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fail {
    /// The command or an argument is none: change it.
    BadInput(String),
    /// The drive does not do it, as it is.
    Refused(String),
}

/// Arguments of a command.
pub(super) struct Args<'a> {
    command: &'a str,
    values: &'a Map<String, Value>,
}

impl<'a> Args<'a> {
    /// Arguments of a command, each under a known name.
    pub(super) fn new(
        command: &'a str,
        values: &'a Map<String, Value>,
        known: &[&str],
    ) -> Result<Self, Fail> {
        if let Some(name) = values.keys().find(|name| !known.contains(&name.as_str())) {
            let known = if known.is_empty() { "no argument".into() } else { known.join(", ") };
            return Err(Fail::BadInput(format!(
                "{command}: {}: unknown argument; expected {known}",
                shown(name)
            )));
        }
        Ok(Self { command, values })
    }

    fn wrong<T>(&self, name: &str, value: &Value, expected: &str) -> Result<T, Fail> {
        Err(Fail::BadInput(format!(
            "{}: {name}: {}; expected {expected}",
            self.command,
            shown(&value.to_string())
        )))
    }

    /// An argument that must be there.
    pub(super) fn needed<T>(&self, name: &str, value: Option<T>, expected: &str) -> Result<T, Fail> {
        value.ok_or_else(|| Fail::BadInput(format!("{}: {name}: missing; expected {expected}", self.command)))
    }

    pub(super) fn text(&self, name: &str, expected: &str) -> Result<Option<&'a str>, Fail> {
        match self.values.get(name) {
            None => Ok(None),
            Some(Value::String(text)) if !text.is_empty() => Ok(Some(text)),
            Some(other) => self.wrong(name, other, expected),
        }
    }

    /// A whole number above 0.
    pub(super) fn count(&self, name: &str) -> Result<Option<u64>, Fail> {
        let expected = "a whole number above 0, of at most 64 bits";
        let Some(value) = self.values.get(name) else { return Ok(None) };
        let found = match value {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        match found {
            Some(count) if count > 0 => Ok(Some(count)),
            _ => self.wrong(name, value, expected),
        }
    }

    /// A whole number from 0 of at most 32 bits.
    pub(super) fn number(&self, name: &str) -> Result<Option<u32>, Fail> {
        let Some(value) = self.values.get(name) else { return Ok(None) };
        let found = match value {
            Value::Number(number) => number.as_u64().and_then(|number| u32::try_from(number).ok()),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        found.map_or_else(
            || self.wrong(name, value, "a whole number from 0 to 4294967295"),
            |number| Ok(Some(number)),
        )
    }

    /// True or false; false if it is not given.
    pub(super) fn flag(&self, name: &str) -> Result<bool, Fail> {
        match self.values.get(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(Value::String(text)) if text == "true" || text == "false" => Ok(text == "true"),
            Some(other) => self.wrong(name, other, "true or false"),
        }
    }

    /// A time with its unit, ns.
    pub(super) fn time(&self, name: &str) -> Result<Option<u64>, Fail> {
        let expected = "a time with its unit, such as 5ms";
        let Some(value) = self.values.get(name) else { return Ok(None) };
        let has_unit = |text: &&str| text.ends_with(|last: char| last.is_alphabetic());
        match value.as_str().filter(has_unit).and_then(parse_nanos) {
            Some(time_ns) if time_ns < 1 << 60 => Ok(Some(time_ns)),
            _ => self.wrong(name, value, expected),
        }
    }

    /// Bytes: a number, or one with its unit.
    pub(super) fn bytes(&self, name: &str) -> Result<Option<u64>, Fail> {
        let expected = "bytes, such as 1048576 or 1MiB";
        let Some(value) = self.values.get(name) else { return Ok(None) };
        let found = match value {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => parse_bytes(text),
            _ => None,
        };
        match found {
            Some(bytes) if bytes < 1 << 60 => Ok(Some(bytes)),
            _ => self.wrong(name, value, expected),
        }
    }
}

/// A text for a message, cut where it is long.
pub(super) fn shown(text: &str) -> String {
    let mut found: String =
        text.chars().take(60).map(|char| if char.is_control() { '?' } else { char }).collect();
    if text.chars().nth(60).is_some() {
        found.push_str("...");
    }
    found
}
