//! Reads ahead of writes within a bound: a new read moves forward from the tail, past writes only, and stops before it
//! would pass another read, a write to its page, an erase or copies of a collection, or push the estimated latency of a
//! write over `sched.write_bound`. The estimate: the write's age, what is left of the command that runs, the service times of
//! all before it, and its own; waits for the bus are left out. A write already over the bound is not passed either.
//! (Zhu et al. 2017, section 3.3.)

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Passing, SchedConfig};

/// No settings of its own: see `sched.write_bound` and `sched.preempt_gc`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Config {}

pub(super) fn passing(config: &SchedConfig) -> Passing {
    Passing {
        write_bound_ns: config.write_bound.ns(),
        collections: config.preempt_gc,
        hindered_reads: false,
        interrupts_copies: config.preempt_gc,
    }
}
