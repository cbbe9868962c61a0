//! Trace formats: reading any of them as requests, writing some of them.
//!
//! A file a format, or a family of formats with the same columns. A decoder knows columns and units only: what is
//! the same for all (decompression, line ends, devices, order, the clock, counts, bad lines) is in the files beside
//! it. `docs/reference/formats.md` has fields, units, known damage and what is done about it.

mod alibaba;
mod binary;
mod biotracer;
mod blkparse;
mod blkreplay;
pub mod blktrace;
mod columns5;
mod convert;
mod detect;
mod devices;
mod diskmon;
mod encode;
mod fio;
mod fiu;
mod hfplayer;
mod hints;
mod info;
mod input;
pub mod journal;
mod kind;
mod kvcache;
mod line;
mod msr;
mod number;
mod op;
mod oracle;
mod order;
mod pairing;
pub mod parquet;
mod pixel;
mod raw;
mod record;
mod report;
mod rocksdb;
mod sink;
mod source;
mod spc;
mod spool;
mod systor;
mod table;
mod tencent;
#[cfg(test)]
mod testing;
mod text;
mod trace;
mod vscsi;
mod vscsi_csv;
mod wpa;
mod writer;

pub use convert::{Conversion, Converted, convert};
pub use hints::{Hinted, Hints};
pub use info::{Info, Inspection, info};
pub use kind::Format;
pub use report::{DeviceRange, Report, Tally};
pub use table::Columns;
pub use trace::{Gauge, Trace};
pub use writer::Writer;

/// Options for reading a trace.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The format; found by name and content where it is not given.
    pub format: Option<Format>,
    /// Columns of a table of no known format.
    pub columns: Option<Columns>,
    /// Maximum number of bad lines or records to skip; they are counted and the first ones reported.
    pub skip_bad: u64,
    /// Placement handles that requests get, beside those that the trace has.
    pub hints: Hints,
}
