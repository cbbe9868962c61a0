//! Options for reading a trace, as data.

use flashweir_trace::TraceError;
use flashweir_trace::format::{Columns, Format, Hints, Options};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// Options for reading a trace, as text.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TraceOptions {
    /// Format, where detection is not to be trusted.
    pub format: Option<String>,
    /// Description of a table that no format fits.
    pub columns: Option<String>,
    /// Unreadable records to tolerate.
    pub skip_bad: u64,
    /// Rules that give requests a placement handle, such as `proc=rocksdb:compact*->3`: a text or several.
    #[serde(deserialize_with = "texts")]
    pub hint: Vec<String>,
    /// Format to write.
    pub to: Option<String>,
}

impl TraceOptions {
    /// The reader's options.
    pub fn parse(&self) -> Result<Options, TraceError> {
        Ok(Options {
            format: self.format.as_deref().map(Format::from_name).transpose()?,
            columns: self.columns.as_deref().map(Columns::parse).transpose()?,
            skip_bad: self.skip_bad,
            hints: Hints::parse(&self.hint)?,
        })
    }

    /// True if an option is set that a generator has no use for.
    pub(crate) fn are_of_traces(&self) -> bool {
        self.format.is_some() || self.columns.is_some() || self.skip_bad > 0 || !self.hint.is_empty()
    }
}

/// No text, one or several.
///
/// # Errors
/// Anything else.
pub fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let wrong = |value: &Value| D::Error::custom(format!("{value}: expected a text, or several"));
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(Vec::new()),
        Value::String(text) => Ok(vec![text]),
        Value::Array(all) => {
            all.iter().map(|one| one.as_str().map(str::to_owned).ok_or_else(|| wrong(one))).collect()
        }
        other => Err(wrong(&other)),
    }
}
