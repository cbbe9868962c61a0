//! Drives as targets, real and simulated: what is done to them (replay, preconditioning, probing), and what is collected from them.
//!
//! A [`Target`] executes requests and says of each when it was due, issued and completed. Nothing above it needs to know
//! whether the drive is real. Nothing here ever writes to a drive that its owner did not name.
#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

pub mod bench;
pub mod collect;
mod error;
pub mod external;
mod open;
mod options;
mod owner;
pub mod precondition;
pub mod probe;
mod prompt;
pub mod real;
pub mod replay;
pub mod safety;
pub mod serve;
pub mod session;
pub mod simulated;
mod target;

pub use error::{Error, ErrorKind};
pub(crate) use open::named_again;
pub use open::{EXTERNAL, is_simulated, open};
pub use options::{Began, OpenOptions, Stop};
pub use simulated::SIMULATED;
pub use target::{Activity, LATE_NS, Target, Timing};
