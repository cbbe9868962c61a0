//! Block requests and where they come from: trace formats, workload generators, transforms.
//!
//! [`Request`] is the one currency of the house. Nothing here knows about drives, wall clocks or threads.
#![forbid(unsafe_code)]

mod error;
pub mod format;
pub mod generate;
pub mod output;
pub mod quantity;
pub mod reason;
mod request;
mod source;
pub mod transform;
pub mod trees;

pub use error::{FieldError, Position, TraceError};
pub use request::{LogRecord, Op, Request, SECTOR_BYTES};
pub use source::Source;
