//! Options for reading a trace, as data.

use flashweir_trace::TraceError;
use flashweir_trace::format::{Columns, Format, Options};
use serde::{Deserialize, Serialize};

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
        })
    }
}
