//! The oldest command that can start at once: not the second of a chain whose first is not done, not one that depends on a
//! command before it, and no program while the bus is in use. If none can, the oldest that only waits for the bus.
//! Commands that write to a unit keep their order; a read keeps its place towards those that write or erase its page.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Chain, Queue, Queued};
use crate::op::CommandKind;

/// How far it looks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// Commands of a die's queue among which it chooses.
    #[schemars(range(min = 1, max = 1024))]
    pub window: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { window: 32 }
    }
}

/// The policy with its number.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct OutOfOrder {
    window: usize,
}

impl OutOfOrder {
    pub(super) fn new(own: &Config) -> Self {
        Self { window: own.window as usize }
    }

    /// See [`super::Scheduler::pick`].
    pub(super) fn pick(self, queue: &Queue, bus_is_free: bool) -> usize {
        let mut after_bus = None;
        // Units that a command before writes: a die has 64 of them at most, with numbers that follow one another.
        let mut written = 0_u64;
        // Commands still to come that are no programs: without one, none can start before the bus is free.
        let mut others = queue.len() - queue.programs();
        for (place, queued) in queue.iter().enumerate().take(self.window) {
            let is_program = queued.command.kind == CommandKind::Program;
            if after_bus.is_some() && others == 0 {
                break;
            }
            others -= usize::from(!is_program);
            let can_start = bus_is_free || !is_program;
            let is_read = queued.command.kind == CommandKind::Read;
            let units = if is_read { 0 } else { queued.pages.units() };
            let keeps_order = units & written != 0;
            written |= units;
            // Only the first of those that wait for the bus is ever chosen.
            if keeps_order
                || matches!(queued.chain, Chain::Second { .. })
                || !can_start && after_bus.is_some()
            {
                continue;
            }
            let may_depend = place > 0 && (!is_read || queue.may_write(&queued.pages));
            if may_depend && queue.iter().take(place).any(|before| touches(queued, before)) {
                continue;
            }
            if can_start {
                return place;
            }
            after_bus = Some(place);
        }
        after_bus.unwrap_or(0)
    }
}

/// Whether one of the two reads what the other writes or erases.
fn touches(queued: &Queued, before: &Queued) -> bool {
    let is_read = |queued: &Queued| queued.command.kind == CommandKind::Read;
    is_read(queued) != is_read(before) && queued.pages.overlaps(&before.pages)
}
