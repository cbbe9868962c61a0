//! The integration tests of the crate in one binary: linking each by itself takes longer than most of them.

#[path = "binary.rs"]
mod binary;
#[path = "blktrace.rs"]
mod blktrace;
#[path = "corpus.rs"]
mod corpus;
#[path = "errors.rs"]
mod errors;
#[path = "no_panic.rs"]
mod no_panic;
#[path = "round_trip.rs"]
mod round_trip;
