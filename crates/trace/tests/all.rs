//! The integration tests of the crate in one binary: linking each by itself takes longer than most of them.

mod binary;
mod blktrace;
mod corpus;
mod errors;
mod no_panic;
mod round_trip;
mod support;
