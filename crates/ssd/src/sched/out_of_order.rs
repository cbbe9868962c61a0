//! The oldest command that can start at once: not the second of a chain whose first is not done, not one that depends on a
//! command before it, and no program while the bus is in use. If none can, the oldest that only waits for the bus.
//! Commands that write to a unit keep their order; a read keeps its place towards those that write or erase its page.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::queue::Behind;
use super::{Queue, Queued};
use crate::op::CommandKind;

/// Depth of the search.
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
        let mut reads = queue.reads();
        for (place, queued) in queue.iter().enumerate().take(self.window) {
            // Behind the last read, whatever writes to a unit that is written before can't start either.
            if after_bus.is_some() && reads == 0 && written == queue.units() {
                break;
            }
            let can_start = bus_is_free || queued.command.kind != CommandKind::Program;
            let is_read = queued.command.kind == CommandKind::Read;
            reads -= usize::from(is_read);
            let units = if is_read { 0 } else { queued.pages.units() };
            let keeps_order = units & written != 0;
            written |= units;
            // Only the first of those that wait for the bus is ever chosen.
            if keeps_order || queue.holds_back(queued) || !can_start && after_bus.is_some() {
                continue;
            }
            // A read that opens a block comes after its erase.
            let opens = queued.command.opens > 0;
            let may_depend = place > 0 && (!is_read || opens || queue.may_write(&queued.pages));
            if may_depend && depends(queue, place, queued) {
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

/// True if the command at a place touches pages of one before it. The answer is remembered: one it was found to depend on
/// until that is gone, that there is none until a command comes back before others.
fn depends(queue: &Queue, place: usize, queued: &Queued) -> bool {
    let behind = &queued.behind;
    let none = Behind::Nothing { returns: queue.returns() };
    match behind.get() {
        Behind::Number(number) if queue.has(number) => return true,
        known if known == none => return false,
        _ => {}
    }
    let found = queue.iter().take(place).find(|before| touches(queued, before));
    behind.set(found.map_or(none, |before| Behind::Number(before.number)));
    found.is_some()
}

/// True if one of the two reads what the other writes or erases.
pub(super) fn touches(queued: &Queued, before: &Queued) -> bool {
    let is_read = |queued: &Queued| queued.command.kind == CommandKind::Read;
    is_read(queued) != is_read(before) && queued.pages.overlaps(&before.pages)
}
