//! Ageing of cells: raw bit errors of each block by its cycles, the age of its data and its reads; what the error-correcting code
//! makes of them; and how much longer a read takes for it. Off by default: every read is right at once.
//!
//! The unit of account is the block of a unit: its data is as old as the first page written since its erase, and all its pages have
//! the same errors. Errors are those to be expected, so nothing is drawn in a run: a page needs the same retries whenever it is read
//! in the same state. [`law`] has the errors, [`code`](mod@code) the steps of a read, [`blocks`] the state of each block, [`reach`] when
//! its steps change.

mod blocks;
mod code;
mod config;
mod due;
mod law;
mod reach;

pub use config::{AgeingConfig, AgeingKind, ReadsOf};
pub use law::{CellKind, Law, cell_kinds};

pub(crate) use blocks::{Ageing, More};
pub(crate) use code::Steps;
pub(crate) use due::Reason;
