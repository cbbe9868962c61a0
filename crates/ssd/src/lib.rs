//! The simulated drive.
#![forbid(unsafe_code)]
