//! Theory tests: the simulated drive against closed forms.
//!
//! [`closed_forms`] holds the formulas, each with its source, and their own tests against printed tables. Nothing
//! here shares code with the simulator, so that an error in one can't hide in the other.

mod closed_forms;
