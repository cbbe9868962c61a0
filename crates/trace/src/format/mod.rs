//! Trace formats.

pub mod parquet;
