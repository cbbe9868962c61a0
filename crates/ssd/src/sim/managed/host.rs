//! The host's side of managed channels: requests under way, who enters the buffer, who waits, what flushes wait for.

use flashweir_trace::{Op, Request};

use super::{ManagedDrive, REQUEST_EVENT, Reverse};
use crate::buffer::{Ack, Incoming};
use crate::content::Content;
use crate::op::Stage;
use crate::error::RunError;
use crate::nand::{FullRecord, Probe};
use crate::op::NOBODY;
use crate::stats::Parts;

/// A request under way.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) request: Request,
    pub(super) number: u64,
    pub(super) issue_ns: u64,
    /// What it still waits for: its turn, reads, entries of the buffer.
    pub(super) outstanding: u32,
    /// Pages of it that are in the buffer already.
    pub(super) admitted: u64,
    /// Where the time of its last command went, or of the last of its entries that was written.
    pub(super) parts: Parts,
}

/// A flush of the host: entries older than `sequence` must be on flash.
#[derive(Clone, Copy, Debug)]
pub(super) struct Barrier {
    tag: u32,
    sequence: u64,
}

impl<P: Probe, C: Content> ManagedDrive<P, C> {
    /// Everything that arrives at this instant has: lets requests in as far as there are places, once all else has happened.
    pub(super) fn let_waiting_in(&mut self) -> Result<(), RunError> {
        while self.under_way < self.queue_depth
            && self.next_ns() != Some(self.now_ns)
            && let Some(waiting) = &mut self.waiting
            && let Some(next) = waiting.pop(self.core.flash_time())
        {
            self.start(&next.request, next.number, next.arrival_ns)?;
        }
        Ok(())
    }

    pub(super) fn open(&mut self, slot: Slot) -> u32 {
        self.under_way += 1;
        if let Some(tag) = self.free.pop() {
            self.slots[tag as usize] = Some(slot);
            tag
        } else {
            self.slots.push(Some(slot));
            self.slots.len() as u32 - 1
        }
    }

    /// A request waits for `count` things more.
    pub(super) fn expect(&mut self, tag: u32, count: u32) {
        if let Some(slot) = &mut self.slots[tag as usize] {
            slot.outstanding += count;
        }
    }

    /// A request waits for `count` things less; at none it is done.
    pub(super) fn settle(&mut self, tag: u32, count: u32) {
        let place = &mut self.slots[tag as usize];
        let Some(slot) = place else { return };
        slot.outstanding -= count;
        if slot.outstanding > 0 {
            return;
        }
        let Some(Slot { request, number, issue_ns, mut parts, .. }) = place.take() else { return };
        if let Some(waiting) = &self.waiting {
            parts.host_queue += waiting.entry(tag).waited_ns;
        }
        self.free.push(tag);
        self.under_way -= 1;
        self.ledger.complete(
            &mut self.line.probe,
            &mut self.core.counters,
            number,
            &request,
            issue_ns,
            self.now_ns,
            &parts,
        );
    }

    pub(super) fn read(&mut self, tag: u32, request: &Request) -> Result<(), RunError> {
        let start = self.start_ns();
        self.line.begin(start);
        let mut from_flash = false;
        for part in self.core.parts(request) {
            let entry = self.buffer.find(part.lpn);
            let staged = entry.map(|(slot, _)| Stage::Buffer(slot));
            if entry.is_some_and(|(_, entry)| entry.mask.covers(part.first, part.end)) {
                self.core.counters.buffer_hits += 1;
                self.core.content.read(part.lpn, part.first..part.end, None, staged);
            } else {
                from_flash = true;
                self.core.read(start, NOBODY, part, staged, &mut self.line)?;
            }
        }
        self.core.flush(start, &mut self.line);
        if from_flash && self.line.latest_ns > self.now_ns {
            if let Some(times) = &mut self.lock_step {
                times.serving_ns += self.line.latest_ns - start;
            }
            self.expect(tag, 1);
            let mut parts = self.wait_for_clock(start);
            parts.add(&self.line.latest_parts);
            if let Some(slot) = &mut self.slots[tag as usize] {
                slot.parts = parts;
            }
            self.events.push(Reverse((self.line.latest_ns, REQUEST_EVENT + tag)));
        }
        Ok(())
    }

    pub(super) fn trim(&mut self, request: &Request) -> Result<(), RunError> {
        if !self.core.ftl.forgets() {
            return Ok(());
        }
        let page_sectors = self.core.page_sectors.get() as u32;
        for part in self.core.parts(request) {
            while part.end - part.first == page_sectors
                && let Some((slot, entry)) = self.buffer.forget(part.lpn)
            {
                if self.buffered {
                    self.line.probe.dirty_pages(self.now_ns, entry.channel, -1);
                }
                self.core.content.unstage(Stage::Buffer(slot));
                for tag in entry.waiters {
                    self.settle(tag, 1);
                }
            }
            self.core.trim(self.now_ns, part, &mut self.line)?;
        }
        Ok(())
    }

    /// Lets stalled requests into the buffer as far as there is room.
    pub(super) fn resume_stalled(&mut self) {
        while let Some(tag) = self.stalled.front().copied() {
            let Some(slot) = &self.slots[tag as usize] else { break };
            let (op, request) = (slot.request.op, slot.request);
            if op == Op::Flush {
                let sequence = self.buffer.next_sequence();
                self.barriers.push(Barrier { tag, sequence });
                self.buffer.set_barrier(sequence);
            } else if !self.admit(tag, &request) {
                self.full_since_ns.get_or_insert(self.now_ns);
                break;
            }
            if let Some(start_ns) = self.full_since_ns.take() {
                let request = self.slots[tag as usize].as_ref().map_or(0, |slot| slot.number);
                self.line.probe.full(FullRecord { request, start_ns, end_ns: self.now_ns });
            }
            self.stalled.pop_front();
            if op == Op::Write {
                self.settle(tag, 1);
            }
        }
        self.settle_barriers();
    }

    /// Takes the remaining pages of a write into the buffer. Returns false if it is full before that.
    fn admit(&mut self, tag: u32, request: &Request) -> bool {
        let (admitted, number) =
            self.slots[tag as usize].as_ref().map_or((0, 0), |slot| (slot.admitted, slot.number));
        for part in self.core.entries(request).skip(admitted as usize) {
            let incoming = Incoming::new(&part, self.core.queue_of(&part), number);
            let queue = incoming.queue;
            let joined = if self.buffered { self.buffer.join(&incoming) } else { self.join_own(&incoming) };
            let entered = joined.map(|slot| (slot, None)).or_else(|| self.buffer.insert(&incoming));
            let Some((slot, older)) = entered else { return false };
            if let Some(older) = older {
                self.core.content.inherit(Stage::Buffer(older), Stage::Buffer(slot));
            }
            self.entered(slot, queue);
            if joined.is_some() && self.buffered {
                self.core.counters.coalesced += 1;
            }
            self.core.counters.host_pages_written += 1;
            self.core.content.stage(Stage::Buffer(slot), number, part.lpn, part.first..part.end);
            if P::ON && joined.is_none() && self.buffered {
                let channel = self.core.alloc.fixed_channel(part.lpn, &self.core.geometry);
                self.buffer.entry(slot).channel = channel;
                self.line.probe.dirty_pages(self.now_ns, channel, 1);
            }
            if let Some(slot) = &mut self.slots[tag as usize] {
                slot.admitted += 1;
            }
            if self.ack == Ack::Flash {
                self.buffer.entry(slot).waiters.push(tag);
                self.expect(tag, 1);
            }
        }
        true
    }

    /// Without a buffer, only pages of flash that one request writes to one page of a unit go together.
    fn join_own(&mut self, incoming: &Incoming) -> Option<u32> {
        let (_, entry) = self.buffer.find(incoming.lpn)?;
        if entry.request == incoming.request { self.buffer.join(incoming) } else { None }
    }

    /// An entry of the buffer is on flash.
    pub(super) fn leave_buffer(&mut self, slot: u32) {
        let entry = self.buffer.finish(slot);
        self.core.content.unstage(Stage::Buffer(slot));
        if self.buffered {
            self.line.probe.dirty_pages(self.now_ns, entry.channel, -1);
        }
        let parts = self.parts_of_entry(slot);
        for tag in entry.waiters {
            if let Some(slot) = &mut self.slots[tag as usize] {
                slot.parts = parts;
            }
            self.settle(tag, 1);
        }
    }

    fn settle_barriers(&mut self) {
        if self.barriers.is_empty() {
            return;
        }
        let buffer = &self.buffer;
        let (waiting, done): (Vec<_>, Vec<_>) =
            self.barriers.iter().partition(|barrier| buffer.holds_older_than(barrier.sequence));
        self.barriers = waiting;
        self.buffer.set_barrier(self.barriers.last().map_or(0, |barrier| barrier.sequence));
        for barrier in done {
            self.settle(barrier.tag, 1);
        }
    }
}
