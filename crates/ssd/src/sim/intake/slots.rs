//! Outstanding requests, by tag.

use flashweir_trace::Request;
use serde::{Deserialize, Serialize};

use super::Intake;
use crate::content::Content;
use crate::nand::TimePath;
use crate::stats::Parts;

/// An outstanding request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sim) struct Slot {
    pub(in crate::sim) request: Request,
    pub(in crate::sim) number: u64,
    pub(in crate::sim) issue_ns: u64,
    /// Number of requests that entered before it.
    pub(in crate::sim) order: u64,
    /// Time for which it had waited at the host, ns.
    pub(in crate::sim) waited_ns: u64,
    /// Number of things that it still waits for: commands, unbound pages, entries of the buffer, or a stall. 0 once it is done.
    outstanding: u32,
    /// Pages of it that are in the buffer already.
    pub(in crate::sim) admitted: u64,
}

impl Slot {
    /// A request that waits for one thing.
    #[inline]
    pub(super) fn new(request: &Request, number: u64, issue_ns: u64, waited_ns: u64) -> Self {
        Self { request: *request, number, issue_ns, order: 0, waited_ns, outstanding: 1, admitted: 0 }
    }
}

/// The last command so far of an outstanding request.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(in crate::sim) struct Last {
    /// False if there was none; the rest is that of an earlier request then.
    is_set: bool,
    end_ns: u64,
    /// Where its time went.
    parts: Parts,
}

impl Last {
    #[inline]
    pub(in crate::sim) fn set(&mut self, end_ns: u64, parts: &Parts) {
        (self.is_set, self.end_ns, self.parts) = (true, end_ns, *parts);
    }
}

/// All of them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::sim) struct Slots {
    all: Vec<Slot>,
    /// By tag, if account is kept.
    last: Vec<Last>,
    free: Vec<u32>,
    under_way: u32,
    /// Opened so far.
    opened: u64,
    writes_under_way: u64,
}

impl Slots {
    pub(super) fn under_way(&self) -> u32 {
        self.under_way
    }

    pub(super) fn writes_under_way(&self) -> u64 {
        self.writes_under_way
    }

    #[inline]
    pub(super) fn open(&mut self, mut slot: Slot) -> u32 {
        slot.order = self.opened;
        self.opened += 1;
        self.under_way += 1;
        self.writes_under_way += u64::from(slot.request.op.writes());
        if let Some(tag) = self.free.pop() {
            self.all[tag as usize] = slot;
            tag
        } else {
            self.all.push(slot);
            self.all.len() as u32 - 1
        }
    }

    pub(in crate::sim) fn get(&self, tag: u32) -> Option<&Slot> {
        Some(&self.all[tag as usize]).filter(|slot| slot.outstanding > 0)
    }

    #[inline]
    pub(in crate::sim) fn get_mut(&mut self, tag: u32) -> Option<&mut Slot> {
        Some(&mut self.all[tag as usize]).filter(|slot| slot.outstanding > 0)
    }

    /// The last command of a request so far.
    #[inline]
    pub(in crate::sim) fn last_mut(&mut self, tag: u32) -> &mut Last {
        if self.last.len() <= tag as usize {
            self.last.resize(tag as usize + 1, Last::default());
        }
        &mut self.last[tag as usize]
    }

    /// The number of a request.
    pub(in crate::sim) fn number(&self, tag: u32) -> Option<u64> {
        self.get(tag).map(|slot| slot.number)
    }

    /// A request waits for `count` things more; requests without a tag wait for nothing.
    #[inline]
    pub(in crate::sim) fn expect(&mut self, tag: u32, count: u32) {
        if let Some(slot) = self.all.get_mut(tag as usize)
            && slot.outstanding > 0
        {
            slot.outstanding += count;
        }
    }

    /// A request waits for `count` things less. Returns true if that was all.
    #[inline]
    pub(super) fn settle(&mut self, tag: u32, count: u32) -> bool {
        let slot = &mut self.all[tag as usize];
        if slot.outstanding == 0 {
            return false;
        }
        slot.outstanding -= count;
        if slot.outstanding > 0 {
            return false;
        }
        self.writes_under_way -= u64::from(slot.request.op.writes());
        self.free.push(tag);
        self.under_way -= 1;
        true
    }

    /// The request that was the last one of a tag, and where the time of its last command went, which is nobody's any more.
    #[inline]
    fn end_of(&mut self, tag: u32) -> (&Slot, &mut Parts) {
        if self.last.len() <= tag as usize {
            self.last.resize(tag as usize + 1, Last::default());
        }
        let last = &mut self.last[tag as usize];
        if !std::mem::take(&mut last.is_set) {
            last.parts = Parts::default();
        }
        (&self.all[tag as usize], &mut last.parts)
    }
}

impl<A: TimePath, C: Content> Intake<A, C> {
    /// A command of a request is done.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the other callers are seldom there")]
    pub(super) fn end_command(&mut self, tag: u32, mut parts: Option<Parts>) {
        let now = self.array.now_ns();
        if self.stations.waits_for_clock() {
            parts = self.end_of_read(tag, parts);
        }
        if let Some(parts) = &parts {
            let last = self.slots.last_mut(tag);
            if !last.is_set || now > last.end_ns || now == last.end_ns && *parts > last.parts {
                last.set(now, parts);
            }
        }
        self.settle(tag, 1);
        if !self.companions.is_empty() {
            self.end_companions(tag, parts);
        }
    }

    /// A request waits for `count` things less; at none it is done.
    #[inline]
    pub(super) fn settle(&mut self, tag: u32, count: u32) {
        if self.slots.settle(tag, count) {
            self.end_request(tag);
        }
    }

    #[inline(never)]
    fn end_request(&mut self, tag: u32) {
        let (Slot { request, number, issue_ns, order, waited_ns, .. }, parts) = self.slots.end_of(tag);
        let (op, stream, issue_ns, order) = (request.op, request.stream, *issue_ns, *order);
        if self.interface.is_some() {
            let (request, parts) = (*request, *parts);
            self.leave_drive(tag, &request, &parts);
        } else {
            parts.host_queue += waited_ns;
            let now = self.array.now_ns();
            self.ledger.hear_of(&mut self.core.failing);
            let (probe, counters) = (self.array.probe(), &mut self.core.counters);
            self.ledger.complete(probe, counters, *number, request, issue_ns, now, parts);
            if self.limits.is_some() {
                self.ends_for_limits(stream, issue_ns);
            }
        }
        if op.writes() && self.buffer.is_none() {
            self.settle_barriers(order);
        }
    }
}
