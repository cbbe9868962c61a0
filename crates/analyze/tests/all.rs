//! The integration tests of the crate in one binary: linking each by itself takes longer than most of them.

mod characterize;
mod characterize_detail;
