//! The oldest command that can start at once: not the second of a chain whose first is not done, not one that depends on a
//! command before it, and no program while the bus is in use. If none can, the oldest that only waits for the bus.
//! Commands that write to a unit keep their order; a read keeps its place towards those that write or erase its page.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::queued::Behind;
use super::{Queue, Queued, work};
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
    pub(super) fn pick(self, queue: &mut Queue, bus_is_free: bool) -> usize {
        if queue.unordered().is_some() {
            self.pick_listed(queue, bus_is_free)
        } else {
            self.pick_of_all(queue, bus_is_free)
        }
    }

    /// The choice, where all are looked through.
    fn pick_of_all(self, queue: &Queue, bus_is_free: bool) -> usize {
        let mut after_bus = None;
        // Units that a command before writes: a die has 64 of them at most, with numbers that follow one another.
        let mut written = 0_u64;
        let mut reads = queue.reads();
        for (place, queued) in queue.iter().enumerate().take(self.window) {
            work::look_at(1);
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

    /// The choice, where what can start is listed. A read is looked at again only once the last command before it that writes
    /// its page is gone.
    fn pick_listed(self, queue: &mut Queue, bus_is_free: bool) -> usize {
        let can_start = |queued: &Queued| bus_is_free || queued.command.kind != CommandKind::Program;
        let limit = queue.get(self.window - 1).map_or(u64::MAX, |last| last.number);
        let (first, mut after_bus) = first_of_units(queue, limit, can_start);
        let last = first.unwrap_or(limit);
        let mut at = 0;
        while let Some(number) = queue.unordered().and_then(|unordered| unordered.free(at))
            && number <= last
        {
            let Some(queued) = queue.of_number(number) else { break };
            match hindrance(queue, queued) {
                Hindrance::Command(behind) => {
                    if let Some(unordered) = queue.unordered_mut() {
                        unordered.hold(at, behind);
                    }
                    continue;
                }
                Hindrance::Other => {}
                Hindrance::None if can_start(queued) => return queue.place_of(number).unwrap_or(0),
                Hindrance::None => {
                    after_bus = after_bus.map_or(Some(number), |before| Some(before.min(number)))
                }
            }
            at += 1;
        }
        first.or(after_bus).and_then(|number| queue.place_of(number)).unwrap_or(0)
    }
}

/// Numbers, up to a limit, of the oldest commands that keep an order and can start: at once, and once the bus is free.
fn first_of_units(
    queue: &Queue,
    limit: u64,
    can_start: impl Fn(&Queued) -> bool,
) -> (Option<u64>, Option<u64>) {
    let (mut first, mut after_bus) = (None::<u64>, None::<u64>);
    let Some(unordered) = queue.unordered() else { return (None, None) };
    for number in unordered.heads().filter(|number| *number <= limit) {
        let Some(queued) = queue.of_number(number) else { continue };
        if unordered.is_head(number, queued.pages.units())
            && !queue.holds_back(queued)
            && !unordered.is_read_before(&queued.pages, number)
        {
            let found = if can_start(queued) { &mut first } else { &mut after_bus };
            *found = Some(found.map_or(number, |before| before.min(number)));
        }
    }
    (first, after_bus)
}

/// Why a command that keeps no order may not start.
enum Hindrance {
    None,
    /// As long as the command of this number waits.
    Command(u64),
    Other,
}

/// Why this one may not, in a long queue.
fn hindrance(queue: &Queue, queued: &Queued) -> Hindrance {
    if queue.holds_back(queued) {
        return Hindrance::Other;
    }
    let opens = queued.command.opens > 0;
    if queued.pages.is_empty() || !opens && !queue.may_write(&queued.pages) {
        return Hindrance::None;
    }
    match queue.last_before(&queued.pages, queued.number) {
        (Some(writer), _) => Hindrance::Command(writer),
        // A read that opens a block comes after its erase.
        (None, Some(erase)) if opens => Hindrance::Command(erase),
        (None, Some(_)) => Hindrance::Other,
        (None, None) => Hindrance::None,
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
        Behind::Number(number) if queue.has(number) => return true,
        known if known == none => return false,
        _ => {}
    }
    let mut earlier = queue.iter().take(place).inspect(|_| work::look_at(1));
    let found = earlier.find(|before| touches(queued, before));
    behind.set(found.map_or(none, |before| Behind::Number(before.number)));
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
                    assert_eq!(policy.pick(&mut queue, bus_is_free), place, "step {step}, {units} units");
                }
                listed += usize::from(queue.unordered().is_some());
                if draw(5) > 0 && queue.len() > 500 {
                    let place = policy.pick(&mut queue, draw(3) == 0);
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
