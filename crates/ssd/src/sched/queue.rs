//! The commands that wait for a die, in the order in which they are to run.

use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use super::chunks::Chunks;
use super::flin::order::Order;
use super::unordered::Unordered;
use super::writing::{MANY, Writing};
use super::{Chain, Pages, Queued};
use crate::op::CommandKind;

/// The queue of a die: first what no read passes any more, then the rest. A read goes to where the two meet, more often than
/// not, and that costs nothing however many wait.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Queue {
    settled: VecDeque<Queued>,
    rest: Chunks,
    /// Service times of all, ns.
    service_ns: u64,
    /// Those that are not awaited reads.
    others: u32,
    /// Those that move pages.
    copies: u32,
    /// Those that read.
    reads: usize,
    /// Commands so far, and the units that they write ([`Pages::units`]).
    numbers: u64,
    units: u64,
    /// Commands so far that were put before others.
    returns: u64,
    /// Chains of which the second command may not start yet.
    chains: BTreeSet<u64>,
    /// Pages that will be written by those waiting.
    writing: Writing,
    /// The order in which [`super::flin`] has them run.
    order: Option<Box<Order>>,
    /// In a long queue of [`super::out_of_order`].
    unordered: Option<Box<Unordered>>,
}

impl Queue {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.settled.len() + self.rest.len()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.settled.is_empty() && self.rest.is_empty()
    }

    /// The command at a place.
    #[inline]
    pub(crate) fn get(&self, place: usize) -> Option<&Queued> {
        let settled = self.settled.len();
        if place < settled { self.settled.get(place) } else { self.rest.get(place - settled) }
    }

    /// All of them, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Queued> {
        self.settled.iter().chain(self.rest.iter())
    }

    /// Commands at the front that no read passes, whatever it is.
    #[inline]
    pub(super) fn settled(&self) -> usize {
        self.settled.len()
    }

    /// The others, in order.
    #[inline]
    pub(super) fn rest(&self) -> &Chunks {
        &self.rest
    }

    /// No read passes the first `count` any more.
    #[inline]
    pub(super) fn settle(&mut self, count: usize) {
        while self.settled.len() < count
            && let Some(queued) = self.rest.pop_front()
        {
            self.settled.push_back(queued);
        }
    }

    /// True if any command that waits moves pages.
    #[inline]
    pub(super) fn has_copies(&self) -> bool {
        self.copies > 0
    }

    /// Commands that wait and read, of the host or not.
    pub(super) fn reads(&self) -> usize {
        self.reads
    }

    /// Units that commands have written so far.
    pub(super) fn units(&self) -> u64 {
        self.units
    }

    /// Commands so far that were put before others that wait.
    pub(super) fn returns(&self) -> u64 {
        self.returns
    }

    /// The last command, and the order of [`super::flin`].
    pub(super) fn last_and_order(&mut self) -> Option<(&Queued, &mut Order)> {
        let last = self.rest.back().or_else(|| self.settled.back())?;
        Some((last, self.order.get_or_insert_default()))
    }

    /// The order of [`super::flin`], if any command has come.
    pub(super) fn order(&self) -> Option<&Order> {
        self.order.as_deref()
    }

    /// The order of [`super::flin`].
    pub(super) fn order_mut(&mut self) -> &mut Order {
        self.order.get_or_insert_default()
    }

    /// The command of a number. Only where all are put at the end.
    pub(super) fn of_number(&self, number: u64) -> Option<&Queued> {
        match self.settled.binary_search_by_key(&number, |queued| queued.number) {
            Ok(place) => self.settled.get(place),
            Err(_) => self.rest.of_number(number),
        }
    }

    /// The place of the command of a number. Only where all are put at the end.
    pub(super) fn place_of(&self, number: u64) -> Option<usize> {
        let in_settled = self.settled.binary_search_by_key(&number, |queued| queued.number);
        in_settled.ok().or_else(|| Some(self.settled.len() + self.rest.place_of(number)?))
    }

    /// True if the command of that number waits. Only where all are put at the end.
    pub(super) fn has(&self, number: u64) -> bool {
        self.settled.binary_search_by_key(&number, |queued| queued.number).is_ok() || self.rest.has(number)
    }

    /// Commands that wait and are not reads that the host waits for.
    pub(crate) fn others(&self) -> u32 {
        self.others
    }

    /// Lists of what can start, in a long queue.
    #[inline]
    pub(super) fn unordered(&self) -> Option<&Unordered> {
        self.unordered.as_deref()
    }

    /// The same, to be changed.
    pub(super) fn unordered_mut(&mut self) -> Option<&mut Unordered> {
        self.unordered.as_deref_mut()
    }

    /// Lists the commands that keep no order, as long as the queue is long. Only where all are put at the end.
    #[inline]
    pub(super) fn list_unordered(&mut self) {
        if self.unordered.is_some() != self.is_long() {
            let listed = self.is_long().then(|| Box::new(self.iter().collect()));
            self.unordered = listed;
        }
    }

    /// Service times of all that wait, ns.
    pub(super) fn service_ns(&self) -> u64 {
        self.service_ns
    }

    /// Puts a command at the end, where no order is ever changed: nothing is kept account of for a scheduler.
    #[inline]
    pub(crate) fn append(&mut self, queued: Queued) {
        if let Chain::Second { number } | Chain::Between { waits: number, .. } = queued.chain {
            self.chains.insert(number);
        }
        self.settled.push_back(queued);
    }

    /// Takes out the first command, where all were appended.
    #[inline]
    pub(crate) fn take_first(&mut self) -> Option<Queued> {
        self.settled.pop_front()
    }

    /// Puts a command at a place.
    #[inline]
    pub(crate) fn insert(&mut self, place: usize, mut queued: Queued) {
        self.service_ns += queued.command.total_ns();
        self.others += u32::from(!queued.is_awaited_read());
        self.copies += u32::from(queued.command.kind == CommandKind::Copies);
        if queued.command.kind == CommandKind::Read {
            self.reads += 1;
        } else {
            self.units |= queued.pages.units();
        }
        // A command that comes back keeps its number: those that are no awaited reads are in the order of theirs.
        if queued.number == 0 {
            self.numbers += 1;
            queued.number = self.numbers;
            if let Chain::Second { number } | Chain::Between { waits: number, .. } = queued.chain {
                self.chains.insert(number);
            }
        }
        if queued.command.kind != CommandKind::Read && !queued.pages.is_empty() {
            self.writing.add(&queued);
        }
        self.returns += u64::from(place < self.len());
        if let Some(unordered) = &mut self.unordered {
            unordered.add(&queued);
        }
        let settled = self.settled.len();
        if place < settled {
            self.settled.insert(place, queued);
        } else if place == settled && queued.is_awaited_read() {
            // Where the two meet, a read is one that no other passes.
            self.settled.push_back(queued);
        } else {
            self.rest.insert(place - settled, queued);
        }
        self.suit();
    }

    /// Takes a command out.
    #[inline]
    pub(crate) fn remove(&mut self, place: usize) -> Option<Queued> {
        let settled = self.settled.len();
        let queued = match place.checked_sub(settled) {
            None if place == 0 => self.settled.pop_front(),
            None => self.settled.remove(place),
            Some(0) => self.rest.pop_front(),
            Some(place) => self.rest.remove(place),
        }?;
        self.service_ns -= queued.command.total_ns();
        self.others -= u32::from(!queued.is_awaited_read());
        self.copies -= u32::from(queued.command.kind == CommandKind::Copies);
        self.reads -= usize::from(queued.command.kind == CommandKind::Read);
        if let Some(unordered) = &mut self.unordered {
            unordered.remove(&queued);
        }
        if queued.command.kind != CommandKind::Read && !queued.pages.is_empty() {
            self.writing.remove(&queued);
        }
        self.suit();
        Some(queued)
    }

    /// The second command of a chain may start.
    pub(crate) fn release(&mut self, chain: u64) {
        self.chains.remove(&chain);
    }

    /// True if the command is the second of a chain and the first is not done.
    #[inline]
    pub(crate) fn holds_back(&self, queued: &Queued) -> bool {
        matches!(queued.chain, Chain::Second { number } | Chain::Between { waits: number, .. }
            if self.chains.contains(&number))
    }

    /// True if a command that waits may write one of the pages: if not, none does.
    #[inline]
    pub(super) fn may_write(&self, pages: &Pages) -> bool {
        self.writing.may_hold(pages)
    }

    /// True if the queue is long enough that [`Queue::last_writer`] is faster than a scan.
    #[inline]
    pub(super) fn is_long(&self) -> bool {
        self.writing.is_exact()
    }

    /// Of the commands that a read may pass and whose number is below `before`: the last one that writes one of the pages, and its
    /// place. Only in a long queue.
    pub(super) fn last_writer(&self, pages: &Pages, before: u64) -> Option<(usize, &Queued)> {
        let (place, queued) = self.rest.find_number(self.writing.last(pages, before)?)?;
        Some((self.settled.len() + place, queued))
    }

    /// The number, below `before`, of the last command that writes one of the pages; of the last one that erases one of them. Only
    /// in a long queue.
    pub(super) fn last_before(&self, pages: &Pages, before: u64) -> (Option<u64>, Option<u64>) {
        (self.writing.last(pages, before), self.writing.last_erase(pages, before))
    }

    /// Numbers below `before` of the commands that write or erase one of the pages, some of them more than once. Only in a long
    /// queue.
    pub(super) fn writers_before(&self, pages: &Pages, before: u64) -> impl Iterator<Item = u64> {
        self.writing.all(pages, before)
    }

    /// The place of the last erase of one of the pages. Only in a long queue.
    pub(super) fn last_erase(&self, pages: &Pages) -> Option<usize> {
        let number = self.writing.last_erase(pages, u64::MAX)?;
        let in_rest = self.rest.find_number(number).map(|(place, _)| self.settled.len() + place);
        in_rest.or_else(|| self.settled.iter().rposition(|queued| queued.number == number))
    }

    /// Looks for pages one by one if there have come to be many commands.
    #[inline]
    fn suit(&mut self) {
        let is_exact = if self.writing.is_exact() { self.len() > MANY / 4 } else { self.len() > MANY };
        if is_exact != self.writing.is_exact() {
            self.change(is_exact);
        }
    }

    #[cold]
    fn change(&mut self, is_exact: bool) {
        let waiting = self.settled.iter().chain(self.rest.iter());
        let writes = |queued: &&Queued| queued.command.kind != CommandKind::Read;
        self.writing.change(is_exact, waiting.filter(writes));
    }
}
