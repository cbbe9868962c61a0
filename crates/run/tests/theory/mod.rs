//! Theory tests: the simulated drive against closed forms.
//!
//! [`closed_forms`] holds the formulas, each with its source, and their own tests against printed tables; [`drive`] runs
//! the simulator. The tests come in two sizes: small drives and wider tolerances as they are, large ones with
//! `FLASHWEIR_FULL=1`. Nothing here shares code with the simulator, so that an error in one can't hide in the other.

mod amplification;
mod arbitration;
mod calibration;
mod closed_forms;
mod drive;
mod hot_and_cold;
mod hybrid;
mod interface;
mod limits;
mod mapping;
mod pools;
mod popularity;
mod waits;
