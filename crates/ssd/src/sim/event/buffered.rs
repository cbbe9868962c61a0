//! The write buffer on the event path: who enters, who waits, what is sent on, and what flushes wait for.

use flashweir_trace::{Op, Request};

use super::{BUFFER_TAG, Barrier, EventDrive};
use crate::buffer::{Ack, Incoming, WriteBuffer};
use crate::content::Content;
use crate::op::Stage;
use crate::op::PageSlice;
use crate::error::RunError;
use crate::nand::{FullRecord, Probe};
use crate::stats::Parts;

impl<P: Probe, C: Content> EventDrive<P, C> {
    /// Lets stalled requests into the buffer as far as there is room, and sends on what has to leave it.
    pub(super) fn resume_buffer(&mut self) -> Result<(), RunError> {
        while let Some(tag) = self.stalled.front().copied() {
            let Some(slot) = &self.slots[tag as usize] else { break };
            let (op, request) = (slot.request.op, slot.request);
            if op == Op::Flush {
                let sequence = self.buffer.as_ref().map_or(0, WriteBuffer::next_sequence);
                self.barriers.push(Barrier { tag, writes_left: 0, sequence });
                self.set_barrier();
            } else if !self.admit(tag, &request)? {
                if P::ON {
                    self.full_since_ns.get_or_insert(self.events.now_ns);
                }
                break;
            }
            if P::ON {
                self.end_of_full(tag);
            }
            self.stalled.pop_front();
            if op == Op::Write {
                self.settle(tag, 1);
            }
        }
        self.settle_buffer_barriers();
        if self.ack == Ack::Flash || !self.barriers.is_empty() {
            self.pump()?;
        }
        Ok(())
    }

    /// The first stalled request is in the buffer: tells how long it found no room, if it did.
    fn end_of_full(&mut self, tag: u32) {
        let request = self.slots[tag as usize].as_ref().map(|slot| slot.number);
        if let (Some(request), Some(start_ns)) = (request, self.full_since_ns.take()) {
            self.events.probe.full(FullRecord { request, start_ns, end_ns: self.events.now_ns });
        }
    }

    /// Takes the remaining pages of a write into the buffer. Returns false if it is full before that.
    fn admit(&mut self, tag: u32, request: &Request) -> Result<bool, RunError> {
        let (admitted, number) =
            self.slots[tag as usize].as_ref().map_or((0, 0), |slot| (slot.admitted, slot.number));
        for part in self.core.entries(request).skip(admitted as usize) {
            let incoming = Incoming::new(&part, self.core.queue_of(&part), number);
            let Some(buffer) = &mut self.buffer else { return Ok(true) };
            let joined = buffer.join(&incoming);
            let entered = joined.map(|slot| (slot, None)).or_else(|| buffer.insert(&incoming));
            let Some((slot, older)) = entered else {
                self.pump()?;
                return Ok(false);
            };
            if let Some(older) = older {
                self.core.content.inherit(Stage::Buffer(older), Stage::Buffer(slot));
            }
            if joined.is_some() {
                self.core.counters.coalesced += 1;
            }
            if self.ack == Ack::Flash {
                buffer.entry(slot).waiters.push(tag);
            }
            if P::ON && joined.is_none() {
                let entry = buffer.entry(slot);
                entry.channel = self.core.alloc.fixed_channel(part.lpn, &self.core.geometry);
                self.events.probe.dirty_pages(self.events.now_ns, entry.channel, 1);
            }
            self.core.counters.host_pages_written += 1;
            self.core.content.stage(Stage::Buffer(slot), number, part.lpn, part.first..part.end);
            if let Some(slot) = &mut self.slots[tag as usize] {
                slot.admitted += 1;
            }
            if self.ack == Ack::Flash {
                self.expect(tag, 1);
            }
        }
        Ok(true)
    }

    /// Sends the next page of every unit that can take one.
    fn pump(&mut self) -> Result<(), RunError> {
        let now = self.events.now_ns;
        let page_sectors = self.core.page_sectors.get() as u32;
        let exclusive = !self.core.alloc.shares_map();
        loop {
            let Some(buffer) = &mut self.buffer else { return Ok(()) };
            let ready: Vec<_> = buffer.ready().collect();
            let mut started = false;
            for (queue, slot) in ready {
                let Some(buffer) = &mut self.buffer else { return Ok(()) };
                let entry = buffer.entry(slot);
                let whole = entry.mask.covers(0, page_sectors);
                let part = PageSlice { lpn: entry.lpn, first: 0, end: page_sectors, stream: entry.stream };
                let stage = Stage::Buffer(slot);
                if P::ON {
                    self.events.request = entry.request;
                }
                if self.core.write(now, BUFFER_TAG + slot, part, whole, stage, &mut self.events)? {
                    if let Some(buffer) = &mut self.buffer {
                        buffer.start(queue, exclusive);
                    }
                    if P::ON {
                        self.bound(slot);
                    }
                    started = true;
                }
            }
            self.core.flush(now, &mut self.events);
            if exclusive || !started {
                break;
            }
        }
        for (tag, companion) in self.core.take_companions() {
            if let Some(buffer) = &mut self.buffer {
                buffer.entry(tag - BUFFER_TAG).companions.push(companion - BUFFER_TAG);
            }
        }
        Ok(())
    }

    /// A page of the buffer was sent to a die: if its channel was not decided before, it is now.
    fn bound(&mut self, slot: u32) {
        let Some(buffer) = &mut self.buffer else { return };
        let entry = buffer.entry(slot);
        if entry.channel.is_none() {
            let home = self.core.alloc.locate(entry.lpn);
            entry.channel = home.map(|home| self.core.geometry.channel_of(home.unit));
            self.events.probe.dirty_pages(self.events.now_ns, None, -1);
            self.events.probe.dirty_pages(self.events.now_ns, entry.channel, 1);
        }
    }

    /// A page of the buffer, and those that went with it, are on flash.
    pub(super) fn leave_buffer(&mut self, slot: u32, parts: Option<Parts>) {
        let mut leaving = vec![slot];
        while let Some(slot) = leaving.pop() {
            let Some(buffer) = &mut self.buffer else { return };
            let entry = buffer.finish(slot);
            self.core.content.unstage(Stage::Buffer(slot));
            self.events.probe.dirty_pages(self.events.now_ns, entry.channel, -1);
            leaving.extend(entry.companions);
            for tag in entry.waiters {
                self.end_command(tag, parts);
            }
        }
    }

    /// Without a buffer: a write is done, and flushes that waited for it may be.
    pub(super) fn settle_barriers(&mut self, order: u64) {
        let mut done = Vec::new();
        for barrier in &mut self.barriers {
            let flush = match &self.waiting {
                None => self.slots[barrier.tag as usize].as_ref().map_or(0, |slot| slot.number),
                Some(waiting) => waiting.entry(barrier.tag).order,
            };
            if order < flush {
                barrier.writes_left -= 1;
                if barrier.writes_left == 0 {
                    done.push(barrier.tag);
                }
            }
        }
        self.barriers.retain(|barrier| barrier.writes_left > 0);
        for tag in done {
            self.settle(tag, 1);
        }
    }

    fn settle_buffer_barriers(&mut self) {
        let Some(buffer) = &self.buffer else { return };
        let done: Vec<u32> = self
            .barriers
            .iter()
            .filter(|barrier| !buffer.holds_older_than(barrier.sequence))
            .map(|barrier| barrier.tag)
            .collect();
        self.barriers.retain(|barrier| !done.contains(&barrier.tag));
        self.set_barrier();
        for tag in done {
            self.settle(tag, 1);
        }
    }

    /// Tells the buffer what flushes wait for.
    fn set_barrier(&mut self) {
        let sequence = self.barriers.last().map_or(0, |barrier| barrier.sequence);
        if let Some(buffer) = &mut self.buffer {
            buffer.set_barrier(sequence);
        }
    }
}
