//! One simulation from workload to results.
#![forbid(unsafe_code)]
