//! The integration tests of the crate in one binary: linking each by itself takes longer than most of them.

#[path = "characterize.rs"]
mod characterize;
#[path = "characterize_detail.rs"]
mod characterize_detail;
