//! The oldest command that can start at once: not the second of a chain whose first is not done, not one that depends on a
//! command before it, and no program while the bus is in use. If none can, the oldest that only waits for the bus.
//! Commands that write to a unit keep their order; a read keeps its place towards those that write or erase its page.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::queued::Behind;
use super::unordered::Unordered;
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
        match queue.unordered() {
            Some(unordered) => self.pick_listed(queue, unordered, bus_is_free),
            None => self.pick_of_all(queue, bus_is_free),
        }
    }

    /// The choice, where all are looked through.
    fn pick_of_all(self, queue: &Queue, bus_is_free: bool) -> usize {
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
            if keeps_order || !can_start && after_bus.is_some() || is_held(queue, place, queued) {
                continue;
            }
            if can_start {
                return place;
            }
            after_bus = Some(place);
        }
        after_bus.unwrap_or(0)
    }

    /// The choice, where those that keep no order are listed: of the others only the first of each unit can start.
    fn pick_listed(self, queue: &Queue, unordered: &Unordered, bus_is_free: bool) -> usize {
        let can_start = |queued: &Queued| bus_is_free || queued.command.kind != CommandKind::Program;
        let (mut first, mut after_bus) = (None, None);
        let mut written = 0_u64;
        for (place, queued) in queue.iter().enumerate().take(self.window) {
            if written == queue.units() || first.is_some() {
                break;
            }
            let units = if Unordered::holds(queued) { 0 } else { queued.pages.units() };
            let is_first = units != 0 && units & written == 0;
            written |= units;
            if is_first && !is_held(queue, place, queued) {
                let found = if can_start(queued) { &mut first } else { &mut after_bus };
                found.get_or_insert(place);
            }
        }
        let last = first.unwrap_or(self.window - 1);
        let last = queue.get(last).map_or(u64::MAX, |last| last.number);
        for listed in unordered.iter().take_while(|listed| listed.number <= last) {
            if listed.writer.get().is_some_and(|writer| queue.has(writer)) {
                continue;
            }
            let Some(place) = queue.place_of(listed.number) else { continue };
            let Some(queued) = queue.get(place) else { continue };
            if is_held(queue, place, queued) {
                let Behind::Writer(writer) = queued.behind.get() else { continue };
                listed.writer.set(Some(writer));
            } else if can_start(queued) {
                return place;
            } else {
                after_bus = Some(after_bus.map_or(place, |before: usize| before.min(place)));
            }
        }
        first.or(after_bus).unwrap_or(0)
    }
}

/// True if the command at a place may not start before another one is done.
#[inline]
fn is_held(queue: &Queue, place: usize, queued: &Queued) -> bool {
    if queue.holds_back(queued) {
        return true;
    }
    // A read that opens a block comes after its erase.
    let may_depend = queued.command.kind != CommandKind::Read
        || queued.command.opens > 0
        || queue.may_write(&queued.pages);
    place > 0 && may_depend && depends(queue, place, queued)
}

/// True if the command at a place touches pages of one before it. The answer is remembered: one it was found to depend on
/// until that is gone, that there is none until a command comes back before others.
fn depends(queue: &Queue, place: usize, queued: &Queued) -> bool {
    let behind = &queued.behind;
    let none = Behind::Nothing { returns: queue.returns() };
    match behind.get() {
        Behind::Number(number) | Behind::Writer(number) if queue.has(number) => return true,
        known if known == none => return false,
        _ => {}
    }
    let found = queue.iter().take(place).find(|before| touches(queued, before));
    behind.set(match found {
        None => none,
        Some(before) if before.writes() => Behind::Writer(before.number),
        Some(before) => Behind::Number(before.number),
    });
    found.is_some()
}

/// True if one of the two reads what the other writes or erases.
pub(super) fn touches(queued: &Queued, before: &Queued) -> bool {
    let is_read = |queued: &Queued| queued.command.kind == CommandKind::Read;
    is_read(queued) != is_read(before) && queued.pages.overlaps(&before.pages)
}

#[cfg(test)]
mod tests {
    use super::super::Chain;
    use super::super::tests::{anywhere, draws};
    use super::*;

    #[test]
    fn in_a_long_queue_the_choice_is_that_of_a_search_through_all() {
        for (units, window, seed) in [(1, 1024, 1), (1, 40, 2), (3, 1024, 3), (2, 300, 4)] {
            let policy = OutOfOrder { window };
            let (mut queue, mut draw) = (Queue::default(), draws(seed));
            let (mut listed, mut waits, mut reads, mut later) = (0, 0, 0, 0);
            for step in 0..6000 {
                let chain = if draw(40) == 0 { Chain::Second { number: draw(50) } } else { Chain::None };
                queue.insert(queue.len(), Queued { chain, ..anywhere(&mut draw, units, 3000) });
                queue.list_unordered();
                if draw(30) == 0 {
                    queue.release(draw(50));
                }
                for bus_is_free in [true, false] {
                    let place = policy.pick_of_all(&queue, bus_is_free);
                    assert_eq!(policy.pick(&queue, bus_is_free), place, "step {step}, {units} units");
                }
                listed += usize::from(queue.unordered().is_some());
                if draw(5) > 0 && queue.len() > 500 {
                    let place = policy.pick(&queue, draw(3) == 0);
                    let taken = queue.remove(place).expect("it is there");
                    reads += usize::from(taken.command.kind == CommandKind::Read);
                    later += usize::from(place > 100);
                    waits += 1;
                    queue.list_unordered();
                }
            }
            assert!(listed > 5000 && waits > 2000 && reads > 200, "{listed}, {waits}, {reads}");
            assert!(later > 50 || window < 100, "{later} from behind");
        }
    }
}
