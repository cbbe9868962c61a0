//! Refusals about TRIM.

use super::Row;
use crate::config::Clock;
use crate::refusal::Refusal;

pub(super) static TRIM: [Row; 1] = [Row {
    refusal: Refusal::new(
        "trim.backlog, clock=lock-step",
        "with a common clock nothing is done beside the cycles: use clock=async",
    ),
    applies: |config| config.trim.backlog > 0 && config.clock == Clock::LockStep,
}];
