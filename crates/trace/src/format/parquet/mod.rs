//! flashweir's own request log: one row a [`LogRecord`](crate::LogRecord), in Parquet, so that any table tool reads
//! it. Row groups are of bounded size: writing and reading take the same memory however long the log is.
//!
//! A file says what it is in its key-value metadata: `flashweir.schema` = `requests`, and a version that grows when
//! a column changes its meaning. Of other Parquet tables nothing is known here, so they are refused.

mod plug;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub(crate) use plug::{LogDecoder, LogEncoder};
pub use read::LogReader;
pub use write::LogWriter;

/// Key of the metadata entry that says what the rows are.
const SCHEMA_KEY: &str = "flashweir.schema";

/// Value of that entry.
const SCHEMA_NAME: &str = "requests";

/// Key of the metadata entry with the version of the schema.
const VERSION_KEY: &str = "flashweir.schema_version";

/// The version written, and the only one read.
const VERSION: &str = "1";

/// The columns. Times and addresses are signed because table tools subtract them.
const SCHEMA: &str = "message flashweir_request {
    required int64 time_ns;
    required binary op (STRING);
    required int64 lba;
    required int32 sectors (INTEGER(32, false));
    required int32 stream (INTEGER(16, false));
    optional int64 due_ns;
    optional int64 issue_ns;
    optional int64 completion_ns;
    required int32 flags (INTEGER(32, false));
    required binary process (STRING);
    required int32 handle (INTEGER(8, false));
}";
