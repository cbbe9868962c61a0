//! Stages 2 and 3 (sections 5.2 and 5.3 of the paper): the read and the write that go next by priority, and the one of the two
//! that runs.

use super::order::{Order, READS, WRITES};
use super::{Queue, Queued};
use crate::op::CommandKind;
use crate::sched::out_of_order::touches;

/// A command that may go next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    /// The place in the queue of what runs: the command, or one that it depends on.
    pub(super) place: usize,
    /// Number of the command.
    pub(super) number: u64,
    arrived_ns: u64,
    service_ns: u64,
    /// Service times of the commands that it depends on: collections before a write, ns.
    before_ns: u64,
}

impl Slot {
    fn new(queued: &Queued, place: usize, before_ns: u64) -> Self {
        Self {
            place,
            number: queued.number,
            arrived_ns: queued.arrived_ns,
            service_ns: queued.command.total_ns(),
            before_ns,
        }
    }

    /// Stage 3: true if the read goes before the write. The proportional wait of each is its wait until now, the time that the other
    /// takes, and that of the collections, by its own time. Exact: no division.
    pub(super) fn waits_more_than(&self, write: &Self, now_ns: u64) -> bool {
        let wait = |own: &Self, other: &Self| {
            u128::from(now_ns - own.arrived_ns + other.service_ns + write.before_ns)
        };
        wait(self, write) * u128::from(write.service_ns) >= wait(write, self) * u128::from(self.service_ns)
    }
}

/// True if the second of two commands, in the order of arrival, has to wait for the first.
fn depends(later: &Queued, earlier: &Queued) -> bool {
    let writes = |queued: &Queued| queued.command.kind != CommandKind::Read;
    let same_unit = writes(later) && writes(earlier) && later.pages.units() & earlier.pages.units() != 0;
    same_unit || touches(later, earlier)
}

/// The read that goes next: the first that can start, of the first level in turn that has one.
pub(super) fn read(queue: &Queue, order: &Order) -> Option<Slot> {
    order.turns[READS].levels().find_map(|level| {
        order.lists[READS][level].iter().find_map(|item| {
            let place = queue.place_of(item.number)?;
            let read = queue.get(place).filter(|read| !queue.holds_back(read))?;
            let may_depend = read.command.opens > 0 || queue.may_write(&read.pages);
            let waits = may_depend && queue.iter().take(place).any(|before| depends(read, before));
            (!waits).then(|| Slot::new(read, place, 0))
        })
    })
}

/// The write that goes next, likewise; or another command that is not an awaited read. Commands that it depends on run first.
pub(super) fn write(queue: &Queue, order: &Order) -> Option<Slot> {
    order.turns[WRITES].levels().find_map(|level| {
        // Units whose next command waits for one of another die.
        let mut held = 0_u64;
        order.lists[WRITES][level].iter().find_map(|item| {
            if item.units & held != 0 {
                return None;
            }
            let place = queue.place_of(item.number)?;
            let write = queue.get(place)?;
            let (first, before_ns) = before(queue, place);
            if queue.holds_back(queue.get(first)?) {
                held |= item.units;
                return None;
            }
            Some(Slot::new(write, first, before_ns))
        })
    })
}

/// The command that runs first so that the one at a place can, and the service times of those that it depends on, ns.
fn before(queue: &Queue, place: usize) -> (usize, u64) {
    let (mut first, mut before_ns) = (place, 0);
    while let Some(later) = queue.get(first) {
        let mut earlier = queue.iter().take(first).enumerate().filter(|(_, before)| depends(later, before));
        let Some((earliest, command)) = earlier.next() else { break };
        if first == place {
            before_ns = command.command.total_ns();
            before_ns += earlier.map(|(_, before)| before.command.total_ns()).sum::<u64>();
        }
        first = earliest;
    }
    (first, before_ns)
}
