//! The shared pages of the buffer. A write to a page that waits joins it, if the configuration lets it; a page leaves when its
//! program is done, in the order of `waiting.rs`. Each unit has at most one page of the buffer in flight (under dynamic allocation there is one queue
//! for all units).
//!
//! An *entry* is a page of a unit; it takes as much room as it holds pages of flash, which is one unless channels or
//! planes are bound. So bound pages wait on their own but leave together.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::mask::SectorMask;
use super::waiting::{Place, Waiter, Waiting};
use super::{BufferConfig, Order};
use crate::op::PageSlice;
use ages::Ages;
use by_page::ByPage;
use waiters::{Left, Waiters};

/// A page in the buffer.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) lpn: u64,
    pub(crate) mask: SectorMask,
    /// Those that came for this entry, and not with an older one: their pages of flash take room.
    own: SectorMask,
    /// Order of entry.
    pub(crate) sequence: u64,
    /// Being programmed: nothing may join it any more.
    pub(crate) in_flight: bool,
    queue: u32,
    place: Place,
    /// Pages of flash that it holds.
    pages: u32,
    /// An older entry of the same page, and its order of entry, if that one waited when this one came.
    older: Option<(u32, u64)>,
    /// The channel that it will go to, once that is decided; for the probe.
    pub(crate) channel: Option<u32>,
    /// With superblocks, the die that programs it.
    pub(crate) die: Option<u32>,
    /// Number of the request that brought it in.
    pub(crate) request: u64,
    /// The tenant whose request that was.
    pub(crate) stream: u16,
    /// Placement handle of the request that wrote to it last.
    handle: u8,
    /// When it came, ns.
    entered_ns: u64,
    /// It waits no more, but is being completed.
    is_out: bool,
    /// Requests that wait until it is on flash.
    pub(crate) waiters: Waiters,
    /// Entries that go with this one in a command of several planes.
    pub(crate) companions: Vec<u32>,
}

impl Entry {
    /// Makes an entry that has left, or a new one, that of a page that comes in: it has its sectors, and beside them those of an
    /// older entry of the page, if there is one.
    fn begin(
        &mut self,
        incoming: &Incoming,
        sequence: u64,
        (own, mask): (SectorMask, SectorMask),
        older: Option<(u32, u64)>,
    ) {
        let Incoming { lpn, queue, place, request, stream, handle, now_ns, .. } = *incoming;
        debug_assert!(self.waiters == Waiters::default() && self.companions.is_empty(), "they have gone on");
        (self.lpn, self.mask, self.own, self.sequence) = (lpn, mask, own, sequence);
        (self.in_flight, self.is_out, self.pages) = (false, false, 1);
        (self.queue, self.place, self.older) = (queue, place, older);
        (self.channel, self.die) = (None, None);
        (self.request, self.stream, self.handle, self.entered_ns) = (request, stream, handle, now_ns);
    }

    /// Its page of a unit, of so many sectors.
    pub(crate) fn whole(&self, sectors: u32) -> PageSlice {
        PageSlice { lpn: self.lpn, first: 0, end: sectors, stream: self.stream, handle: self.handle }
    }
}

/// Sectors of a page of flash that enter the buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Incoming {
    /// The page of the unit that they belong to.
    pub(crate) lpn: u64,
    /// First sector within it.
    pub(crate) first: u32,
    /// The sector after the last one.
    pub(crate) end: u32,
    /// The queue of its unit.
    pub(crate) queue: u32,
    /// Its place there.
    pub(crate) place: Place,
    /// Number of the request.
    pub(crate) request: u64,
    /// Its tenant.
    pub(crate) stream: u16,
    /// Its placement handle.
    pub(crate) handle: u8,
    /// The present, ns.
    pub(crate) now_ns: u64,
}

impl Incoming {
    /// A part of a request, for the queue of its unit.
    pub(crate) fn new(part: &PageSlice, (queue, place): (u32, Place), request: u64, now_ns: u64) -> Self {
        let PageSlice { lpn, first, end, stream, handle } = *part;
        Self { lpn, first, end, queue, place, request, stream, handle, now_ns }
    }
}

/// Shape of the drive's pages, as far as the buffer needs it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct PageShape {
    /// Sectors of a page of flash.
    pub(crate) flash_page_sectors: u32,
    /// Pages of a logical block of a unit.
    pub(crate) pages_per_block: u32,
}

/// The shared pages.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WriteBuffer {
    capacity: u64,
    used: u64,
    /// Of these, pages of entries that are being programmed.
    leaving: u64,
    /// Entries that wait, of all queues.
    waiting: u32,
    coalesce: bool,
    in_order: bool,
    /// In order: an entry leaves when all of older requests are on flash.
    by_requests: bool,
    flash_page_sectors: u32,
    entries: Vec<Entry>,
    free: Vec<u32>,
    /// The youngest entry of each page.
    by_lpn: ByPage,
    /// Waiting entries; a queue a unit, or one.
    queues: Vec<Waiting>,
    /// Entries before this number leave in the order in which they came, because a flush waits for them.
    barrier: u64,
    /// Entries before this number do so, too, because they are as old as they may be.
    aged: u64,
    /// True for each queue whose unit has an entry in flight.
    under_way: Vec<bool>,
    /// All entries by order of entry.
    live: Ages,
    next_sequence: u64,
    /// Entries that have left so far.
    departures: u64,
}

impl WriteBuffer {
    /// A buffer of `capacity` pages of flash over `queues` queues.
    pub(crate) fn new(config: &BufferConfig, capacity: u64, pages: PageShape, queues: u32) -> Self {
        Self {
            capacity,
            used: 0,
            leaving: 0,
            waiting: 0,
            coalesce: config.coalesce,
            in_order: config.order == Order::InOrder,
            by_requests: false,
            flash_page_sectors: pages.flash_page_sectors,
            entries: Vec::new(),
            free: Vec::new(),
            by_lpn: ByPage::new(),
            queues: vec![Waiting::new(config.replacement, pages.pages_per_block); queues as usize],
            barrier: 0,
            aged: 0,
            under_way: vec![false; queues as usize],
            live: Ages::new(),
            next_sequence: 0,
            departures: 0,
        }
    }

    /// Number that the next entry gets: all before it are older.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// An entry that is in the buffer.
    pub(crate) fn entry(&mut self, slot: u32) -> &mut Entry {
        &mut self.entries[slot as usize]
    }

    /// The page of an entry that is in the buffer.
    pub(crate) fn lpn(&self, slot: u32) -> u64 {
        self.entries[slot as usize].lpn
    }

    /// The tenant of an entry that is in the buffer.
    pub(crate) fn stream(&self, slot: u32) -> u16 {
        self.entries[slot as usize].stream
    }

    /// The stream handle of a page.
    pub(crate) fn handle(&self, slot: u32) -> u8 {
        self.entries[slot as usize].handle
    }

    /// The youngest entry of a page.
    pub(crate) fn find(&self, lpn: u64) -> Option<(u32, &Entry)> {
        self.by_lpn.get(lpn).map(|slot| (slot, &self.entries[slot as usize]))
    }

    /// Joins sectors to a waiting entry of their page. Returns its slot, or `None` if there is none that they may join, or no
    /// room for one more page in it.
    #[inline]
    pub(crate) fn join(&mut self, incoming: &Incoming) -> Option<u32> {
        let slot = self.by_lpn.get(incoming.lpn)?;
        let entry = &mut self.entries[slot as usize];
        // In order, newer data must not take an old place.
        if entry.in_flight || (self.in_order && entry.request != incoming.request) {
            return None;
        }
        let page = incoming.first - incoming.first % self.flash_page_sectors;
        if !entry.own.touches(page, page + self.flash_page_sectors) {
            if self.used >= self.capacity {
                return None;
            }
            self.used += 1;
            entry.pages += 1;
        } else if !self.coalesce {
            return None;
        }
        entry.mask.insert(incoming.first, incoming.end);
        entry.own.insert(incoming.first, incoming.end);
        entry.handle = incoming.handle;
        self.queues[entry.queue as usize].touch(entry.place);
        Some(slot)
    }

    /// Takes in a page. Returns its slot, and that of an older entry of the page that waits, whose sectors the new one has too;
    /// or `None` if the buffer is full.
    pub(crate) fn insert(&mut self, incoming: &Incoming) -> Option<(u32, Option<u32>)> {
        if self.used >= self.capacity {
            return None;
        }
        let mut incoming = *incoming;
        let Incoming { lpn, first, end, .. } = incoming;
        let own = SectorMask::range(first, end);
        let mut mask = own;
        let older = self.by_lpn.get(lpn).filter(|older| !self.entries[*older as usize].in_flight);
        if let Some(older) = older {
            let older = &self.entries[older as usize];
            mask.add(&older.mask);
            // Another tenant's, perhaps, or of a unit that was not known yet: versions of a page leave in their order.
            (incoming.queue, incoming.place) = (older.queue, older.place);
        }
        let older_from = older.map(|older| (older, self.entries[older as usize].sequence));
        let slot = self.free.pop().unwrap_or_else(|| {
            self.entries.push(Entry::default());
            self.entries.len() as u32 - 1
        });
        self.entries[slot as usize].begin(&incoming, self.next_sequence, (own, mask), older_from);
        self.used += 1;
        self.live.push(slot);
        self.by_lpn.insert(lpn, slot);
        let waiter = Waiter { slot, sequence: self.next_sequence, place: incoming.place };
        self.queues[incoming.queue as usize].push(waiter);
        self.waiting += 1;
        self.next_sequence += 1;
        Some((slot, older))
    }

    /// The waiting entry of a queue that leaves next.
    pub(crate) fn next(&self, queue: u32) -> Option<u32> {
        self.queues[queue as usize].next(self.in_turn())
    }

    /// The entry of each queue that leaves next, with its queue.
    pub(crate) fn heads(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let next = |waiting: &Waiting| waiting.next(self.in_turn()).filter(|slot| self.has_turn(*slot));
        (0..).zip(&self.queues).filter_map(move |(queue, waiting)| Some((queue, next(waiting)?)))
    }

    /// The order of entry.
    pub(crate) fn sequence(&self, slot: u32) -> u64 {
        self.entries[slot as usize].sequence
    }

    /// True if pages leave in order of arrival.
    pub(crate) fn is_in_order(&self) -> bool {
        self.in_order
    }

    /// Entries of a queue that wait.
    pub(crate) fn waiting(&self, queue: u32) -> u32 {
        self.queues[queue as usize].len() as u32
    }

    /// Entries that have left so far. A page that found no room finds none before another one leaves.
    pub(crate) fn departures(&self) -> u64 {
        self.departures
    }

    /// Pages that it holds at most.
    pub(crate) fn pages(&self) -> u64 {
        self.capacity
    }

    /// Pages of it that are in use.
    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    /// Entries that wait, of all queues.
    pub(crate) fn all_waiting(&self) -> u32 {
        debug_assert_eq!(self.waiting as usize, self.queues.iter().map(Waiting::len).sum::<usize>());
        self.waiting
    }

    /// The entries that one flush over these queues takes: of each queue the one that leaves next; in order, as many as a walk from the
    /// oldest entry of all on meets before one of a newer request than the first that has to wait.
    pub(crate) fn flush_set(&self, queues: Range<u32>, into: &mut Vec<(u32, u32)>) {
        into.clear();
        if !self.in_order || self.by_requests {
            let in_turn = self.in_turn();
            for (queue, waiting) in queues.clone().zip(&self.queues[queues.start as usize..]) {
                let next = waiting.next(in_turn).filter(|slot| self.has_turn(*slot));
                into.extend(next.map(|slot| (queue, slot)));
            }
            return;
        }
        let mut held = None;
        for slot in self.live.iter() {
            let entry = &self.entries[slot as usize];
            if held.is_some_and(|request| request != entry.request) {
                return;
            }
            if into.iter().any(|(queue, _)| *queue == entry.queue) {
                held = Some(entry.request);
            } else {
                into.push((entry.queue, slot));
            }
        }
    }

    /// Queues whose unit could take a page now, with the entry that leaves next.
    pub(crate) fn ready(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.heads().filter(|(queue, _)| !self.under_way[*queue as usize])
    }

    /// An entry is on flash: its place is free. Returns who goes on.
    pub(crate) fn finish(&mut self, slot: u32) -> Left {
        let entry = &mut self.entries[slot as usize];
        self.under_way[entry.queue as usize] = false;
        self.by_lpn.remove_from(entry.lpn, slot);
        self.live.remove(slot);
        self.used -= u64::from(entry.pages);
        self.leaving -= if entry.in_flight { entry.pages.into() } else { 0 };
        self.free.push(slot);
        self.departures += 1;
        let (waiters, companions) =
            (std::mem::take(&mut entry.waiters), std::mem::take(&mut entry.companions));
        Left { channel: entry.channel, die: entry.die, waiters, companions }
    }

    /// Forgets a page (TRIM): nothing is read from the buffer any more. Returns the youngest of its entries that waited, with its
    /// slot; to be called until there is none. One in flight stays until it is done.
    pub(crate) fn forget(&mut self, lpn: u64) -> Option<(u32, Left)> {
        let slot = self.by_lpn.remove(lpn)?;
        let Entry { in_flight, is_out, queue, sequence, place, older, .. } = self.entries[slot as usize];
        if in_flight {
            return None;
        }
        self.queues[queue as usize].remove(Waiter { slot, sequence, place });
        self.waiting -= u32::from(!is_out);
        let under_way = self.under_way[queue as usize];
        let left = self.finish(slot);
        self.under_way[queue as usize] = under_way;
        if let Some((older, _)) = older.filter(|older| self.is_there(*older)) {
            self.by_lpn.insert(lpn, older);
        }
        Some((slot, left))
    }

    /// True if the entry of a slot and an order of entry has not left.
    fn is_there(&self, (slot, sequence): (u32, u64)) -> bool {
        self.live.holds(slot) && self.sequence(slot) == sequence
    }

    /// True if an entry older than `sequence` is still in the buffer.
    pub(crate) fn holds_older_than(&self, sequence: u64) -> bool {
        self.live.oldest().is_some_and(|oldest| self.sequence(oldest) < sequence)
    }
}

mod ages;
mod by_page;
mod packing;
#[cfg(test)]
mod tests;
mod turn;
mod waiters;
