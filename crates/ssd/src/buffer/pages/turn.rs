//! Entries that leave: those that a flush waits for, and those that are as old as they may be, before others.

use super::WriteBuffer;

impl WriteBuffer {
    /// A flush waits for all entries before this number; 0: none does.
    pub(crate) fn set_barrier(&mut self, sequence: u64) {
        self.barrier = sequence;
    }

    /// In order: pages that leave together may come to flash one after the other, so an entry waits for all of older requests.
    pub(crate) fn leave_by_requests(&mut self) {
        self.by_requests = self.in_order;
    }

    /// True if an entry need not wait for those of older requests.
    pub(super) fn has_turn(&self, slot: u32) -> bool {
        let request = |slot: u32| self.entries[slot as usize].request;
        !self.by_requests || self.live.oldest().is_none_or(|oldest| request(oldest) == request(slot))
    }

    /// Entries that leave in the order in which they came, whatever the replacement policy says: those before this number.
    pub(super) fn in_turn(&self) -> u64 {
        self.barrier.max(self.aged)
    }

    /// Entries that came by this time have to leave, oldest first. Returns the number before which they all are.
    pub(crate) fn let_leave(&mut self, since_ns: u64) -> u64 {
        let younger = self.live.iter().map(|slot| &self.entries[slot as usize]);
        let first =
            younger.skip_while(|entry| entry.entered_ns <= since_ns).map(|entry| entry.sequence).next();
        self.aged = first.unwrap_or(self.next_sequence);
        self.aged
    }

    /// When the oldest entry that waits came, ns.
    pub(crate) fn oldest_ns(&self) -> Option<u64> {
        let mut entries = self.live.iter().map(|slot| &self.entries[slot as usize]);
        entries.find(|entry| !entry.in_flight && !entry.is_out).map(|entry| entry.entered_ns)
    }

    /// Pages that entries take which wait.
    pub(crate) fn waiting_pages(&self) -> u64 {
        self.used - self.leaving
    }

    /// The entry of a queue that leaves next starts. `exclusive`: nothing else of that queue may until it is done.
    pub(crate) fn start(&mut self, queue: u32, exclusive: bool) {
        let in_turn = self.in_turn();
        if let Some(slot) = self.queues[queue as usize].take(in_turn) {
            self.waiting -= 1;
            let entry = &mut self.entries[slot as usize];
            entry.in_flight = true;
            self.leaving += u64::from(entry.pages);
            self.under_way[queue as usize] = exclusive;
        }
    }

    /// The entry of a queue that leaves next waits no more: it is being completed, and may be joined until it departs.
    pub(crate) fn take_out(&mut self, queue: u32) {
        let in_turn = self.in_turn();
        if let Some(slot) = self.queues[queue as usize].take(in_turn) {
            self.waiting -= 1;
            self.entries[slot as usize].is_out = true;
        }
    }

    /// An entry that was taken out is being programmed.
    pub(crate) fn depart(&mut self, slot: u32) {
        let entry = &mut self.entries[slot as usize];
        entry.in_flight = true;
        self.leaving += u64::from(entry.pages);
    }
}
