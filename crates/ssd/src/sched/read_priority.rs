//! Reads first, not pre-emptive (Cobham 1954): the oldest read that the host waits for (of its page, or of the map's that says
//! where that is) and whose page no earlier command has yet to write; without one, the oldest command.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Passing, SchedConfig};

/// No settings of its own: see `sched.preempt_gc`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Config {}

pub(super) fn passing(config: &SchedConfig) -> Passing {
    Passing {
        write_bound_ns: u64::MAX,
        collections: true,
        hindered_reads: true,
        interrupts_copies: config.preempt_gc,
    }
}
