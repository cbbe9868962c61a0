//! The write buffer in the way of requests: admission, stalls, destage to flash, and flush barriers.

use flashweir_trace::{Op, Request};

use super::completing::{Owner, Turn};
use super::stations::{ENTRY_TAG, LIMIT_TAG};
use super::{Barrier, Intake};
use crate::buffer::{Ack, Incoming, Share, WriteBuffer};
use crate::config::Config;
use crate::content::Content;
use crate::core::Core;
use crate::error::RunError;
use crate::nand::{FullRecord, Probe, TimePath};
use crate::op::Stage;
use crate::sim::ledger::LAST_NS;
use crate::stats::Parts;

/// A buffer of `pages` pages; 0: of a drive whose stations take pages from it, though it has none.
pub(super) fn buffer_of<C: Content>(config: &Config, core: &Core<C>, pages: u64) -> WriteBuffer {
    let capacity = if pages > 0 { pages } else { u64::MAX };
    let queues = core.alloc.queues(&core.geometry);
    let mut buffer = WriteBuffer::new(&config.buffer, capacity, core.page_shape(), queues);
    if !config.ends_cycles_at_once() {
        buffer.leave_by_requests();
    }
    buffer
}

impl<A: TimePath, C: Content> Intake<A, C> {
    /// A write or a flush takes its turn before the buffer.
    pub(super) fn stall(&mut self, tag: u32) -> Result<(), RunError> {
        self.slots.expect(tag, 1);
        self.stalled.push_back(tag);
        self.resume_buffer()
    }

    /// Something ended: whoever waits may go on.
    pub(super) fn resume_waiting(&mut self) -> Result<(), RunError> {
        if !self.completing.is_empty() {
            self.place_completed()?;
        }
        // A page that waits only goes to an idle die: without one none need be asked.
        if !self.unbound.is_empty() && self.array.has_idle_die() {
            self.place_waiting(A::has_idle_die)?;
        }
        if self.buffer.is_some() { self.resume_buffer() } else { Ok(()) }
    }

    /// Lets stalled requests into the buffer as far as there is room, and sends on what has to leave it.
    pub(super) fn resume_buffer(&mut self) -> Result<(), RunError> {
        while let Some(tag) = self.stalled.front().copied() {
            let Some(slot) = self.slots.get(tag) else { break };
            let (request, number) = (slot.request, slot.number);
            if !self.take_turn_before_buffer(tag, &request, number)? {
                break;
            }
            self.end_of_full(tag);
            self.stalled.pop_front();
            match request.op {
                Op::Flush => {}
                // It ends when what it pads is on flash.
                Op::Finish => self.wait_for_buffer(tag),
                _ => self.settle(tag, 1),
            }
        }
        self.settle_buffer_barriers();
        if self.stations.are_managed() {
            self.decide()
        } else if self.is_flushing() {
            self.pump(true)
        } else {
            Ok(())
        }
    }

    /// A request waits until all that is in the buffer now is on flash.
    pub(super) fn wait_for_buffer(&mut self, tag: u32) {
        let sequence = self.buffer.as_ref().map_or(0, WriteBuffer::next_sequence);
        self.barriers.push(Barrier { tag, writes_left: 0, sequence });
        self.set_barrier();
    }

    /// True if a write that has not begun to enter the buffer waits for backpressure.
    pub(super) fn is_held_back(&mut self, tag: u32) -> Result<bool, RunError> {
        let now = self.array.now_ns();
        let has_begun = self.slots.get(tag).is_some_and(|slot| slot.admitted > 0);
        let Some(held) = self.backpressure.as_mut().filter(|held| !has_begun && held.ready_ns() > now) else {
            return Ok(false);
        };
        let ready_ns = held.ready_ns();
        if ready_ns > LAST_NS {
            return Err(RunError::TooLong { number: self.ledger.taken });
        }
        if held.calls() {
            self.array.call_at(ready_ns, LIMIT_TAG);
        }
        Ok(true)
    }

    /// A write is in the buffer: backpressure may hold back the one after it.
    pub(super) fn hold_back_next(&mut self, request: &Request) {
        let Some((held, buffer)) = self.backpressure.as_mut().zip(self.buffer.as_ref()) else { return };
        let (mut free, units) = (0, u64::from(self.core.mapped_units()));
        if held.heeds_free_blocks() {
            free = (0..units as u32).map(|unit| self.core.free_blocks(unit)).sum();
        }
        let used = Share { parts: buffer.used(), of: buffer.pages() };
        let pages = self.core.entries(request).count() as u64;
        held.entered(self.array.now_ns(), request.bytes(), pages, used, Share { parts: free, of: units });
    }

    /// Entries of the buffer that wait.
    pub(in crate::sim) fn waiting_in_buffer(&self) -> u32 {
        self.buffer.as_ref().map_or(0, WriteBuffer::all_waiting)
    }

    /// True if pages have to leave the buffer. One that is full has sent on what it could when it was found to be.
    pub(in crate::sim) fn is_flushing(&self) -> bool {
        self.ack == Ack::Flash || !self.barriers.is_empty() || self.ledger.drain.is_some()
    }

    /// The first stalled request is in the buffer: tells how long it found no room, if it did.
    fn end_of_full(&mut self, tag: u32) {
        if let (Some(request), Some(start_ns)) = (self.slots.number(tag), self.full_since_ns.take()) {
            let end_ns = self.array.now_ns();
            self.array.probe().full(FullRecord { request, start_ns, end_ns });
        }
    }

    /// True if a request found no room in the buffer, and nothing has left it since.
    pub(super) fn is_refused(&self, tag: u32) -> bool {
        let departures = self.buffer.as_ref().map(WriteBuffer::departures);
        self.refused.is_some_and(|(refused, until)| refused == tag && departures == Some(until))
    }

    /// Takes the remaining pages of a write, or of a commit or finish, into the buffer. Returns false if it is full before that.
    pub(super) fn admit(&mut self, tag: u32, request: &Request, committed: bool) -> Result<bool, RunError> {
        let (admitted, number) = self.slots.get(tag).map_or((0, 0), |slot| (slot.admitted, slot.number));
        let now = self.array.now_ns();
        for part in self.core.entries(request).skip(admitted as usize) {
            let incoming = Incoming::new(&part, self.core.queue_of(&part), number, now);
            let joined = self.join(&incoming);
            let Some(buffer) = &mut self.buffer else { return Ok(true) };
            let entered = joined.map(|slot| (slot, None)).or_else(|| buffer.insert(&incoming));
            let Some((slot, older)) = entered else {
                if self.stations.are_managed() {
                    self.refused = Some((tag, buffer.departures()));
                } else {
                    self.pump(false)?;
                }
                return Ok(false);
            };
            if self.ack == Ack::Flash {
                buffer.entry(slot).waiters.push(tag);
                self.slots.expect(tag, 1);
            }
            if let Some(older) = older.filter(|_| !committed) {
                self.core.content.inherit(Stage::Buffer(older), Stage::Buffer(slot));
            }
            self.entered(slot, incoming.queue);
            if committed {
                self.leave_area(slot, &part);
            } else {
                self.core.counters.coalesced += u64::from(joined.is_some() && self.is_buffered);
                self.core.counters.host_pages_written += 1;
                self.core.content.stage(Stage::Buffer(slot), number, part.lpn, part.first..part.end);
            }
            if A::Probe::ON && joined.is_none() {
                self.show_dirty(slot, part.lpn);
            }
            if let Some(slot) = self.slots.get_mut(tag) {
                slot.admitted += 1;
            }
        }
        Ok(true)
    }

    /// Joins a page to an entry that waits. Without a buffer, only pages of flash that one request writes to one page of a
    /// unit go together.
    fn join(&mut self, incoming: &Incoming) -> Option<u32> {
        let buffer = self.buffer.as_mut()?;
        if !self.is_buffered && buffer.find(incoming.lpn)?.1.request != incoming.request {
            return None;
        }
        buffer.join(incoming)
    }

    /// A new entry is a dirty page, of its channel if that is known.
    fn show_dirty(&mut self, slot: u32, lpn: u64) {
        let now = self.array.now_ns();
        if let Some(buffer) = self.buffer.as_mut().filter(|_| self.is_buffered) {
            let entry = buffer.entry(slot);
            entry.channel = self.core.alloc.fixed_channel(lpn, &self.core.geometry);
            self.array.probe().dirty_pages(now, entry.channel, 1);
        }
    }

    /// Sends the next page of every unit that can take one. A page of flash that mapping units do not fill goes only if all
    /// have to leave (`partial`), or if nothing else makes room.
    pub(in crate::sim) fn pump(&mut self, partial: bool) -> Result<(), RunError> {
        self.pump_before(u64::MAX, partial)
    }

    /// The same of entries before a number.
    pub(super) fn pump_before(&mut self, limit: u64, partial: bool) -> Result<(), RunError> {
        let now = self.array.now_ns();
        let exclusive = !self.core.shares_map && self.programs.is_empty();
        let per_page = self.core.geometry.units_per_page;
        loop {
            let Some(buffer) = &self.buffer else { return Ok(()) };
            let mut ready: Vec<_> = if partial || per_page == 1 {
                buffer.ready().collect()
            } else {
                buffer.ready_pages(per_page)
            };
            let mut started = false;
            let leaving = |(_, slot): &(u32, u32)| buffer.sequence(*slot) < limit;
            ready.retain(leaving);
            for (queue, slot) in ready {
                started |= self.send(queue, slot, per_page, exclusive)?;
            }
            self.core.flush(now, &mut self.array);
            if exclusive || !started {
                break;
            }
        }
        self.note_companions();
        Ok(())
    }

    /// Entries that went with the command of another one are done when that is.
    pub(super) fn note_companions(&mut self) {
        for (tag, companion) in self.core.companions() {
            if let Some(buffer) = &mut self.buffer {
                buffer.entry(tag - ENTRY_TAG).companions.push(companion - ENTRY_TAG);
            }
        }
    }

    /// Sends the entry of a queue that leaves next; of mapping units, as many as a page of flash takes. Returns whether any
    /// went.
    fn send(&mut self, queue: u32, first: u32, per_page: u32, exclusive: bool) -> Result<bool, RunError> {
        let now = self.array.now_ns();
        let page_sectors = self.core.page_sectors.get() as u32;
        let mut slot = first;
        for sent in 1..=per_page {
            let Some(buffer) = &mut self.buffer else { return Ok(false) };
            let entry = buffer.entry(slot);
            let left = self.core.codewords.left_by_mask(&entry.mask);
            let part = entry.whole(page_sectors);
            let (stage, request) = (Stage::Buffer(slot), entry.request);
            let shares = self.core.shares_map;
            match if shares { self.take_turn(Owner::Entry(slot), part, left)? } else { None } {
                None | Some(Turn::Bound) => {}
                Some(Turn::Waits) => return Ok(sent > 1),
                Some(Turn::Reads | Turn::Behind) => {
                    let Some(buffer) = &mut self.buffer else { return Ok(true) };
                    buffer.take_out(queue);
                    match buffer.next_in_page(queue, first).filter(|_| sent > 1) {
                        Some(next) => slot = next,
                        None => break,
                    }
                    continue;
                }
            }
            if sent > 1 && self.core.packs_late() && self.core.fills(&part, left.is_some()).is_none() {
                break;
            }
            // A die takes its next page when it has programmed the last one, and pages keep their turn.
            if sent == 1 && self.core.next_die(&part).is_some_and(|die| self.programs[die as usize] > 0) {
                return Ok(false);
            }
            if self.waits_for_steps(&part)? {
                return Ok(sent > 1);
            }
            if A::Probe::ON {
                self.array.serve(request);
            }
            let written = self.core.write(now, ENTRY_TAG + slot, part, left, stage, &mut self.array)?;
            let Some(unit) = written else { return Ok(sent > 1) };
            let mut next = None;
            if let Some(buffer) = &mut self.buffer {
                buffer.start(queue, exclusive);
                next = if sent < per_page { buffer.next_in_page(queue, first) } else { None };
            }
            // Pages behind the data of a zone, which a finish programs, wait for none.
            if !self.programs.is_empty() && self.core.is_mapped(part.lpn) {
                self.note_die(slot, unit);
            }
            if A::Probe::ON {
                self.bound(slot);
            }
            let Some(next) = next else { break };
            slot = next;
        }
        Ok(true)
    }

    /// A page of the buffer was sent to a unit of its superblock.
    fn note_die(&mut self, slot: u32, unit: u32) {
        let die = unit / self.core.geometry.planes;
        if let Some(buffer) = &mut self.buffer {
            buffer.entry(slot).die = Some(die);
            self.programs[die as usize] += 1;
        }
    }

    /// A page of the buffer was sent to a die: if its channel was not decided before, it is now.
    pub(super) fn bound(&mut self, slot: u32) {
        let Some(buffer) = &mut self.buffer else { return };
        let entry = buffer.entry(slot);
        if entry.channel.is_none() {
            let unit = self.core.unit_of(entry.lpn);
            entry.channel = unit.map(|unit| self.core.geometry.channel_of(unit));
            let now = self.array.now_ns();
            self.array.probe().dirty_pages(now, None, -1);
            self.array.probe().dirty_pages(now, entry.channel, 1);
        }
    }

    /// A page of the buffer, and those that went with it, are on flash.
    pub(super) fn leave_buffer(&mut self, slot: u32, parts: Option<Parts>) {
        let (mut next, mut leaving) = (Some(slot), Vec::new());
        while let Some(slot) = next {
            let Some(buffer) = &mut self.buffer else { return };
            let entry = buffer.finish(slot);
            if let Some(die) = entry.die {
                self.programs[die as usize] -= 1;
            }
            self.core.content.unstage(Stage::Buffer(slot));
            let now = self.array.now_ns();
            self.array.probe().dirty_pages(now, entry.channel, -1);
            let companions = entry.companions.into_iter();
            let left =
                companions.filter(|own| !self.core.is_rebuilding(now, ENTRY_TAG + own, &mut parts.clone()));
            if leaving.is_empty() {
                // In the memory of the companions.
                leaving = left.collect();
            } else {
                leaving.extend(left);
            }
            for tag in entry.waiters {
                self.end_command(tag, parts);
            }
            next = leaving.pop();
        }
    }

    /// Without a buffer: a write is done, and flushes that waited for it may be.
    pub(super) fn settle_barriers(&mut self, order: u64) {
        let mut done = Vec::new();
        for barrier in &mut self.barriers {
            let flush = self.slots.get(barrier.tag).map_or(0, |slot| slot.order);
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
        if self.barriers.is_empty() {
            return;
        }
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
