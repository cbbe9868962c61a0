//! Queues of mapping units: several of them fill a page of flash.

use std::cmp::Reverse;

use super::WriteBuffer;

impl WriteBuffer {
    /// As [`WriteBuffer::ready`], where so many mapping units fill a page of flash: queues with a whole page. If there is none,
    /// and nothing is under way that will make room, the queue with most of one.
    pub(crate) fn ready_pages(&self, per_page: u32) -> Vec<(u32, u32)> {
        let mut ready: Vec<(u32, u32)> = self.ready().collect();
        let filled = |head: &(u32, u32)| self.waiting(head.0);
        let none_leaves = self.live.len() as u32 == self.all_waiting();
        if none_leaves && ready.iter().all(|head| filled(head) < per_page) {
            let fullest = ready.into_iter().max_by_key(|head| (filled(head), Reverse(self.sequence(head.1))));
            return fullest.into_iter().collect();
        }
        ready.retain(|head| filled(head) >= per_page);
        ready
    }

    /// The mapping unit of a queue that goes into the same page of flash as `first` and others that have just started. In order,
    /// it is of the same request; and two versions of a unit never go into one page.
    pub(crate) fn next_in_page(&self, queue: u32, first: u32) -> Option<u32> {
        let slot = self.next(queue)?;
        let entry = &self.entries[slot as usize];
        let starts = |(older, sequence): (u32, u64)| {
            self.live.get(&sequence) == Some(&older) && self.entries[older as usize].in_flight
        };
        let has_turn = !self.in_order || entry.request == self.entries[first as usize].request;
        (has_turn && !entry.older.is_some_and(starts)).then_some(slot)
    }
}
