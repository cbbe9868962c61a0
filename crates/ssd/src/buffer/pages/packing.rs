//! Queues of mapping units: several of them fill a page of flash.

use std::cmp::Reverse;

use super::WriteBuffer;

impl WriteBuffer {
    /// As [`WriteBuffer::ready`], where so many mapping units fill a page of flash: queues with a whole page. If there is none,
    /// and nothing is in flight that will make room, the queue with most of one.
    pub(crate) fn ready_pages(&self, per_page: u32) -> Vec<(u32, u32)> {
        let mut ready: Vec<(u32, u32)> = self.ready().collect();
        let filled = |head: &(u32, u32)| self.waiting(head.0);
        let none_leaves = self.live.len() == self.all_waiting();
        if none_leaves && ready.iter().all(|head| filled(head) < per_page) {
            let fullest = ready.into_iter().max_by_key(|head| (filled(head), Reverse(self.sequence(head.1))));
            return fullest.into_iter().collect();
        }
        ready.retain(|head| filled(head) >= per_page);
        ready
    }

    /// The entry of a queue that leaves next, unless an older version of its page has just started.
    pub(crate) fn next_apart(&self, queue: u32) -> Option<u32> {
        let slot = self.next(queue)?;
        let starts = |older: (u32, u64)| self.is_there(older) && self.entries[older.0 as usize].in_flight;
        (!self.entries[slot as usize].older.is_some_and(starts)).then_some(slot)
    }

    /// Queues and slots of the entries that wait and may leave now, oldest first.
    pub(crate) fn by_age(&self) -> Vec<(u32, u32)> {
        let entries = self.live.iter().map(|slot| (&self.entries[slot as usize], slot));
        let waiting = entries.filter(|(entry, _)| !entry.in_flight && !entry.is_out);
        waiting.filter(|(_, slot)| self.has_turn(*slot)).map(|(entry, slot)| (entry.queue, slot)).collect()
    }

    /// The mapping unit of a queue that goes into the same page of flash as `first` and others that have just started. In order,
    /// it is of the same request; and two versions of a unit never go into one page.
    pub(crate) fn next_in_page(&self, queue: u32, first: u32) -> Option<u32> {
        let slot = self.next_apart(queue)?;
        let request = self.entries[slot as usize].request;
        (!self.in_order || request == self.entries[first as usize].request).then_some(slot)
    }
}
