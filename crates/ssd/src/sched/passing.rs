//! Passing: the part that the schedulers that prefer reads have in common, by which a read moves ahead of waiting
//! commands.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{Queue, Queued, work};
use crate::op::CommandKind;

/// Commands that a read passes, besides writes to other pages.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Passing {
    /// Estimated latency over which it does not push a write, ns.
    pub(super) write_bound_ns: u64,
    /// Copies and erases of collections that wait.
    pub(super) collections: bool,
    /// Reads that wait for a write to their page.
    pub(super) hindered_reads: bool,
    /// Copies that have begun: it gets in between two of them.
    pub(super) interrupts_copies: bool,
}

impl Passing {
    /// The place of a command that arrives; see [`super::Scheduler::place`].
    #[inline]
    pub(super) fn place(&self, queue: &Queue, arriving: &mut Queued, now_ns: u64, ahead_ns: u64) -> usize {
        if !arriving.is_awaited_read() {
            return queue.len();
        }
        let mut place = queue.settled();
        let has_writes = queue.may_write(&arriving.pages);
        if has_writes {
            place = Self::after_own_writes(queue, arriving).max(place);
        }
        if arriving.command.opens > 0 {
            place = Self::after_own_erase(queue, arriving).max(place);
        }
        if self.write_bound_ns < u64::MAX {
            place = self.after_bound(queue, arriving, now_ns, ahead_ns, place);
        }
        if has_writes && queue.has_copies() {
            Self::read_before_copies(queue, arriving, place);
        }
        place
    }

    /// A page is read where it is by then: the copies from `place` on, which the read passes, are not to be suspended for it.
    fn read_before_copies(queue: &Queue, read: &mut Queued, place: usize) {
        if queue.is_long() {
            let mut before = u64::MAX;
            while let Some((found, copies)) = queue.last_writer(&read.pages, before)
                && found >= place
            {
                before = copies.number;
                read.pages = read.pages.before(&copies.pages);
            }
            return;
        }
        let passed = queue.rest().iter().rev().take(queue.len() - place);
        let copies = passed.inspect(|_| work::look_at(1)).filter(|passed| passed.command.moves_within());
        for copies in copies {
            if copies.pages.overlaps(&read.pages) {
                read.pages = read.pages.before(&copies.pages);
            }
        }
    }

    /// The commands at the front that no read passes, after the queue has changed.
    #[inline]
    pub(super) fn settle(&self, queue: &mut Queue, inserted: Option<usize>) {
        // A command that is not passed settles all before it.
        if let Some(place) = inserted
            && place >= queue.settled()
            && queue.get(place).is_some_and(|queued| self.stops(queued))
        {
            queue.settle(place + 1);
        }
        if self.hindered_reads {
            while queue.rest().front().is_some_and(Queued::is_awaited_read) {
                queue.settle(queue.settled() + 1);
            }
        }
    }

    /// True if no read passes this command.
    fn stops(&self, queued: &Queued) -> bool {
        match queued.command.kind {
            CommandKind::Read => !self.hindered_reads,
            CommandKind::Program | CommandKind::Rewrite => false,
            CommandKind::Copies | CommandKind::Erase => !self.collections,
        }
    }

    /// The place behind the last command that writes a page of the read, and behind reads that wait for the same.
    fn after_own_writes(queue: &Queue, read: &Queued) -> usize {
        let mut pages = Cow::Borrowed(&read.pages);
        if queue.is_long() {
            let mut number = u64::MAX;
            while let Some((place, before)) = queue.last_writer(&pages, number) {
                if !before.command.moves_within() {
                    return place + 1 + queue.rest().reads_from(place + 1 - queue.settled());
                }
                pages = Cow::Owned(pages.before(&before.pages));
                number = before.number;
            }
            return 0;
        }
        let mut place = queue.rest().len();
        for before in queue.rest().iter().rev() {
            work::look_at(1);
            place -= 1;
            let kind = before.command.kind;
            if matches!(kind, CommandKind::Read | CommandKind::Erase) || !before.pages.overlaps(&pages) {
                continue;
            }
            if before.command.moves_within() {
                // Until its block is erased, a page is also where it was moved from.
                pages = Cow::Owned(pages.before(&before.pages));
                continue;
            }
            let hindered = queue.rest().iter().skip(place + 1).take_while(|next| next.is_awaited_read());
            return queue.settled() + place + 1 + hindered.count();
        }
        0
    }

    /// The place behind the last erase of a block that a page of the read is in. Only the first read of a block of data older
    /// than the run (`opens`) needs it: any other page was programmed since its block was erased.
    #[cold]
    #[inline(never)]
    fn after_own_erase(queue: &Queue, read: &Queued) -> usize {
        if queue.is_long() {
            return queue.last_erase(&read.pages).map_or(0, |place| place + 1);
        }
        let is_own =
            |before: &Queued| before.command.kind == CommandKind::Erase && before.pages.overlaps(&read.pages);
        let places = queue.settled()..queue.len();
        places.rev().find(|place| queue.get(*place).is_some_and(is_own)).map_or(0, |place| place + 1)
    }

    /// The place, `first` or later, behind the last write whose estimated latency would pass the bound.
    fn after_bound(&self, queue: &Queue, read: &Queued, now_ns: u64, ahead_ns: u64, first: usize) -> usize {
        // When the write before would be done: all before it, and the read, are.
        let mut done_ns = now_ns + ahead_ns + queue.service_ns() + read.command.total_ns();
        let oldest_ns = queue.rest().iter().map(|before| before.arrived_ns).next();
        if oldest_ns.is_none_or(|oldest_ns| done_ns - oldest_ns <= self.write_bound_ns) {
            return first;
        }
        let mut place = queue.len();
        for before in queue.rest().iter().rev().take(queue.len() - first) {
            let is_write = matches!(before.command.kind, CommandKind::Program | CommandKind::Rewrite);
            if is_write && done_ns - before.arrived_ns > self.write_bound_ns {
                break;
            }
            done_ns -= before.command.total_ns();
            place -= 1;
        }
        place
    }
}
