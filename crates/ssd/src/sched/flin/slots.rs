//! Stages 2 and 3 (sections 5.2 and 5.3 of the paper): the read and the write that go next by priority, and the one of the two
//! that runs.

use super::order::{Order, READS, WRITES};
use super::{Queue, Queued};
use crate::op::CommandKind;
use crate::sched::out_of_order::touches;
use crate::sched::unordered::Unordered;
use crate::sched::work;

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

/// A read that was found to wait for a command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    /// Its level, and its place in the list of that.
    pub(super) level: usize,
    pub(super) place: usize,
    /// Number of the command.
    pub(super) behind: u64,
}

/// The read that goes next: the first that can start, of the first level in turn that has one. Reads that wait for another
/// command are added to `held`.
pub(super) fn read(queue: &Queue, order: &Order, held: &mut Vec<Held>) -> Option<Slot> {
    order.turns[READS].levels().find_map(|level| {
        order.lists[READS][level].free().find_map(|(at, item)| {
            let place = queue.place_of(item.number)?;
            let read = queue.get(place).filter(|read| !queue.holds_back(read))?;
            let may_depend = read.command.opens > 0 || queue.may_write(&read.pages);
            if may_depend {
                let (writer, erase) = writers_before(queue, place, read);
                // An erase alone holds up a read for as long as its page may be written.
                let behind = writer.or(erase.filter(|_| read.command.opens > 0));
                held.extend(behind.map(|behind| Held { level, place: at, behind }));
                if writer.or(erase).is_some() {
                    return None;
                }
            }
            Some(Slot::new(read, place, 0))
        })
    })
}

/// Numbers of the last commands before a read, in its place, that write and that erase one of its pages.
fn writers_before(queue: &Queue, place: usize, read: &Queued) -> (Option<u64>, Option<u64>) {
    if queue.is_long() {
        return queue.last_before(&read.pages, read.number);
    }
    let (mut writer, mut erase) = (None, None);
    for before in queue.iter().take(place).inspect(|_| work::look_at(1)) {
        if depends(read, before) {
            *(if before.writes() { &mut writer } else { &mut erase }) = Some(before.number);
        }
    }
    (writer, erase)
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
        let (earliest, service_ns) = match queue.unordered() {
            Some(unordered) => listed(queue, unordered, later),
            None => looked_for(queue, first, later),
        };
        if first == place {
            before_ns = service_ns;
        }
        let Some(earliest) = earliest else { break };
        first = earliest;
    }
    (first, before_ns)
}

/// The place of the first command that the one at a place depends on, and the service times of all of them, ns.
fn looked_for(queue: &Queue, place: usize, later: &Queued) -> (Option<usize>, u64) {
    let earlier = queue.iter().take(place).inspect(|_| work::look_at(1)).enumerate();
    earlier
        .filter(|(_, before)| depends(later, before))
        .fold((None, 0), |(first, service_ns), (at, before)| {
            (first.or(Some(at)), service_ns + before.command.total_ns())
        })
}

/// The same in a long queue, by its lists.
fn listed(queue: &Queue, unordered: &Unordered, later: &Queued) -> (Option<usize>, u64) {
    let mut earlier: Vec<u64> = if later.command.kind == CommandKind::Read {
        queue.writers_before(&later.pages, later.number).collect()
    } else {
        let of_units = unordered.before(later.pages.units(), later.number);
        of_units.chain(unordered.reads_before(&later.pages, later.number)).collect()
    };
    // Those of several units or pages are there several times.
    earlier.sort_unstable();
    earlier.dedup();
    let service_ns = earlier.iter().filter_map(|number| queue.of_number(*number));
    let service_ns = service_ns.map(|before| before.command.total_ns()).sum();
    (earlier.first().and_then(|number| queue.place_of(*number)), service_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sched::tests::{anywhere, draws};

    #[test]
    fn in_a_long_queue_the_lists_find_what_a_search_finds() {
        for (units, seed) in [(1, 1), (3, 2)] {
            let (mut queue, mut draw, mut found) = (Queue::default(), draws(seed), [0; 2]);
            for step in 0..3000 {
                queue.insert(queue.len(), anywhere(&mut draw, units, 600));
                queue.list_unordered();
                if queue.unordered().is_none() {
                    continue;
                }
                let place = draw(queue.len() as u64) as usize;
                let later = queue.get(place).expect("a command");
                let unordered = queue.unordered().expect("a long queue");
                let searched = looked_for(&queue, place, later);
                assert_eq!(listed(&queue, unordered, later), searched, "step {step}");
                let is_read = later.command.kind == CommandKind::Read;
                found[usize::from(is_read)] += usize::from(searched.0.is_some());
                if is_read {
                    let earlier = queue.iter().take(place).filter(|before| depends(later, before));
                    let (writes, erases): (Vec<_>, Vec<_>) = earlier.partition(|before| before.writes());
                    let last = |of: Vec<&Queued>| of.last().map(|last| last.number);
                    assert_eq!(
                        writers_before(&queue, place, later),
                        (last(writes), last(erases)),
                        "step {step}"
                    );
                }
                if queue.len() > 600 {
                    queue.remove(draw(500) as usize);
                    queue.list_unordered();
                }
            }
            assert!(found.iter().all(|found| *found > 20), "{found:?}");
        }
    }
}
