//! Pages that no unit can take yet. They queue up by class (see [`crate::alloc::Alloc::class_of`]): where one of a class
//! can't be placed no other of it can, so the rest is not asked, however many they are.
//!
//! *Run*: the pages of one request in one class, in order. *Rank*: order of turns, least first: runs in the order of arrival,
//! or by the pages that their request still has here, of equals the older one ([`Turns::Shortest`]). With [`Turns::ShortestFair`]
//! runs of tenants that were overtaken too much come before all others ([`Overtaken`]), in the order of arrival.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::Intake;
use super::completing::{Owner, Turn};
use super::overtaken::Overtaken;
use crate::content::Content;
use crate::error::RunError;
use crate::nand::TimePath;
use crate::op::{PageSlice, Stage};
use crate::tenants::Turns;

/// Pages left (0 in the order of arrival), then the order of arrival.
pub(super) type Rank = (u64, u64);

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Run {
    tag: u32,
    /// It goes before all that are not.
    first: bool,
    parts: VecDeque<PageSlice>,
}

/// The queues.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Unbound {
    turns: Turns,
    classes: BTreeMap<u32, BTreeMap<Rank, Run>>,
    /// The class of the first run of each class, by its rank.
    fronts: BTreeMap<Rank, u32>,
    /// The request whose pages came last, and the rank of its run in each class.
    last: (u32, BTreeMap<u32, Rank>),
    next_sequence: u64,
    len: usize,
    /// Where each run is, and what tenants lost; kept for [`Turns::ShortestFair`] only.
    places: BTreeMap<u64, (u32, Rank)>,
    overtaken: Overtaken,
}

impl Unbound {
    /// `max_late_ppm`: see [`Overtaken::new`].
    pub(super) fn new(turns: Turns, max_late_ppm: u32) -> Self {
        Self { turns, overtaken: Overtaken::new(max_late_ppm), ..Self::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Pages that wait.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// One more page of a request. Those of one request come together, in order.
    pub(super) fn push(&mut self, class: u32, tag: u32, part: PageSlice) {
        self.len += 1;
        if self.last.0 != tag {
            self.last = (tag, BTreeMap::new());
        }
        // An earlier request may have had the same tag: its runs are gone.
        let joined =
            self.last.1.get(&class).copied().and_then(|rank| Some((rank.1, self.take(class, rank)?)));
        let (sequence, mut run) = joined.unwrap_or_else(|| {
            self.next_sequence += 1;
            (self.next_sequence, Run { tag, first: false, parts: VecDeque::new() })
        });
        run.parts.push_back(part);
        if self.turns == Turns::ShortestFair {
            self.overtaken.push(part.stream, sequence, self.len as u64 - 1);
        }
        let rank = self.put(class, sequence, run);
        self.last.1.insert(class, rank);
    }

    /// The next page, of all classes whose first run has this rank or a higher one.
    pub(super) fn front(&self, from: Rank) -> Option<(Rank, u32, PageSlice)> {
        let (rank, class) = self.fronts.range(from..).next()?;
        let run = self.classes.get(class)?.get(rank)?;
        Some((*rank, run.tag, *run.parts.front()?))
    }

    /// The page whose turn it was at this rank has found a unit. Returns from which rank on to ask next.
    pub(super) fn pop(&mut self, rank: Rank) -> Rank {
        let Some(class) = self.fronts.get(&rank).copied() else { return after(rank) };
        let Some(mut run) = self.take(class, rank) else { return after(rank) };
        let part = run.parts.pop_front();
        self.len -= 1;
        let last = run.parts.is_empty();
        let next = if last { after(rank) } else { self.put(class, rank.1, run) };
        if self.turns == Turns::ShortestFair
            && let Some(part) = part
        {
            if last {
                self.places.remove(&rank.1);
            }
            self.overtaken.placed(part.stream, rank.1, last);
            self.let_first();
        }
        next
    }

    /// Lets runs go first whose tenants were overtaken too much.
    fn let_first(&mut self) {
        while let Some(number) = self.overtaken.next_due() {
            let Some((class, rank)) = self.places.get(&number).copied() else { continue };
            if let Some(run) = self.take(class, rank) {
                self.put(class, number, Run { first: true, ..run });
            }
        }
    }

    fn take(&mut self, class: u32, rank: Rank) -> Option<Run> {
        let runs = self.classes.get_mut(&class)?;
        let run = runs.remove(&rank)?;
        // It may have been the first: then the next one is.
        if self.fronts.remove(&rank).is_some()
            && let Some((first, _)) = runs.first_key_value()
        {
            self.fronts.insert(*first, class);
        }
        Some(run)
    }

    fn put(&mut self, class: u32, sequence: u64, run: Run) -> Rank {
        let left = match self.turns {
            Turns::Arrival => 0,
            Turns::ShortestFair if run.first => 0,
            Turns::Shortest | Turns::ShortestFair => run.parts.len() as u64,
        };
        let rank = (left, sequence);
        if self.turns == Turns::ShortestFair {
            self.places.insert(sequence, (class, rank));
        }
        let runs = self.classes.entry(class).or_default();
        if let Some((first, _)) = runs.first_key_value() {
            if rank < *first {
                self.fronts.remove(first);
                self.fronts.insert(rank, class);
            }
        } else {
            self.fronts.insert(rank, class);
        }
        runs.insert(rank, run);
        rank
    }

    /// Puts every page in the class that it now has, under other rules.
    pub(super) fn sort_again(&mut self, turns: Turns, class_of: impl Fn(&PageSlice) -> u32) {
        let mut runs: Vec<(u64, Run)> = std::mem::take(&mut self.classes)
            .into_values()
            .flatten()
            .map(|((_, sequence), run)| (sequence, run))
            .collect();
        runs.sort_unstable_by_key(|(sequence, _)| *sequence);
        self.fronts.clear();
        self.last.1.clear();
        self.places.clear();
        let waited = self.overtaken.take_out();
        (self.turns, self.len) = (turns, 0);
        for (number, run) in runs {
            let (first, stream) = (self.next_sequence + 1, run.parts.front().map_or(0, |part| part.stream));
            for part in run.parts {
                self.push(class_of(&part), run.tag, part);
            }
            // Its loss so far is not forgotten.
            if let (Turns::ShortestFair, Some(turn)) = (turns, waited.get(&number)) {
                (first..=self.next_sequence).for_each(|again| self.overtaken.put_back(stream, again, *turn));
            }
        }
        self.overtaken.age();
        self.let_first();
    }
}

/// The rank that comes after.
pub(super) fn after((left, sequence): Rank) -> Rank {
    (left, sequence + 1)
}

impl<A: TimePath, C: Content> Intake<A, C> {
    /// Hands a page over to its unit, if there is one that takes it. If another version is to be read first, that begins.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "part of the loop over requests")]
    pub(super) fn bind(&mut self, tag: u32, part: PageSlice) -> Result<Turn, RunError> {
        let left = self.core.codewords.left_by(part.first, part.end);
        if self.core.shares_map
            && let Some(turn) = self.take_turn(Owner::Request(tag), part, left)?
        {
            return Ok(turn);
        }
        let now = self.array.now_ns();
        let packs_late = self.core.packs_late();
        if packs_late && self.core.fills(&part, left.is_some()).is_none() {
            self.core.flush(now, &mut self.array);
        }
        let bound = self.core.write(now, tag, part, left, Stage::Direct, &mut self.array)?;
        if self.core.shares_map && !packs_late {
            // This page must be there when the next one looks for an idle die.
            self.core.flush(now, &mut self.array);
        }
        Ok(if bound.is_some() { Turn::Bound } else { Turn::Waits })
    }

    /// True if a page without a unit may wait for a die, here or in the buffer.
    #[inline]
    pub(super) fn waits_for_die(&self) -> bool {
        let waits = !self.unbound.is_empty() || !self.completing.is_empty() || self.buffer.is_some();
        self.core.shares_map && (waits || self.core.looks_up_first())
    }

    /// Asks the pages that wait, in turn, as long as it is worth it.
    pub(super) fn place_waiting(&mut self, worth: impl Fn(&A) -> bool) -> Result<(), RunError> {
        let (mut from, mut on) = ((0, 0), true);
        while on && let Some((rank, tag, part)) = self.unbound.front(from) {
            if let Some(number) = self.slots.number(tag) {
                self.array.serve(number);
            }
            self.array.begin();
            let turn = self.bind(tag, part)?;
            if turn == Turn::Waits {
                // It keeps its turn; pages of other classes may still find a die of theirs idle.
                from = after(rank);
                continue;
            }
            from = self.unbound.pop(rank);
            if turn != Turn::Behind {
                let more = if turn == Turn::Bound { self.fill_page(&mut from, tag)? } else { 0 };
                self.slots.expect(tag, self.array.submitted());
                self.settle(tag, 1 + more);
            }
            on = worth(&self.array);
        }
        Ok(())
    }

    /// Where pages of flash hold several mapping units: those of the same request that come next fill the page of the one that
    /// has just found a unit. Returns how many did.
    fn fill_page(&mut self, from: &mut Rank, tag: u32) -> Result<u32, RunError> {
        let mut more = 0;
        if !self.core.packs_late() {
            return Ok(more);
        }
        while let Some((rank, of, part)) = self.unbound.front(*from) {
            let left = self.core.codewords.left_by(part.first, part.end).is_some();
            if of != tag || self.core.fills(&part, left).is_none() {
                break;
            }
            let turn = self.bind(tag, part)?;
            if turn == Turn::Waits {
                break;
            }
            *from = self.unbound.pop(rank);
            more += u32::from(turn != Turn::Behind);
        }
        self.core.flush(self.array.now_ns(), &mut self.array);
        Ok(more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(lpn: u64) -> PageSlice {
        PageSlice { lpn, first: 0, end: 8, stream: 0, handle: 0 }
    }

    /// Requests of these pages, each in class `lpn % classes`.
    fn unbound(turns: Turns, classes: u64, requests: &[&[u64]]) -> Unbound {
        let mut unbound = Unbound::new(turns, 100_000);
        for (tag, pages) in (0..).zip(requests) {
            for lpn in *pages {
                unbound.push((lpn % classes) as u32, tag, part(*lpn));
            }
        }
        unbound
    }

    /// Pages in the order in which they find a unit, but for those that find none.
    fn order(unbound: &Unbound, stuck: &[u64]) -> Vec<u64> {
        let mut unbound = unbound.clone();
        let (mut from, mut found) = ((0, 0), Vec::new());
        while let Some((rank, _, part)) = unbound.front(from) {
            if stuck.contains(&part.lpn) {
                from = after(rank);
            } else {
                from = unbound.pop(rank);
                found.push(part.lpn);
            }
        }
        assert_eq!(unbound.is_empty(), stuck.is_empty());
        found
    }

    #[test]
    fn pages_are_asked_by_arrival_and_one_that_waits_holds_up_its_class_only() {
        let unbound = unbound(Turns::Arrival, 2, &[&[0], &[1], &[2], &[3], &[4], &[5]]);
        assert_eq!(order(&unbound, &[]), [0, 1, 2, 3, 4, 5]);
        assert_eq!(order(&unbound, &[2]), [0, 1, 3, 5]);
        assert_eq!(unbound.len(), 6);
    }

    #[test]
    fn the_request_with_fewest_pages_left_goes_first() {
        let mut unbound = unbound(Turns::Shortest, 1, &[&[0, 1, 2], &[3, 4], &[5], &[6, 7]]);
        assert_eq!(order(&unbound, &[]), [5, 3, 4, 6, 7, 0, 1, 2]);
        // A run that has begun goes before one that is longer than the rest of it.
        let (rank, ..) = unbound.front((0, 0)).expect("five waits");
        unbound.pop(rank);
        let (rank, ..) = unbound.front((0, 0)).expect("three waits");
        unbound.pop(rank);
        unbound.push(0, 9, part(9));
        assert_eq!(order(&unbound, &[]), [4, 9, 6, 7, 0, 1, 2]);
    }

    #[test]
    fn who_was_overtaken_too_much_goes_first() {
        let long: Vec<u64> = (0..20).collect();
        let mut unbound = unbound(Turns::ShortestFair, 1, &[&long]);
        // One page of another tenant after the other: the long request has its turn after 20 pages, and may be late by two.
        let mut found = Vec::new();
        for page in 100..160 {
            unbound.push(0, page, PageSlice { stream: 1, ..part(page.into()) });
            let (rank, _, part) = unbound.front((0, 0)).expect("something waits");
            unbound.pop(rank);
            found.push(part.lpn);
        }
        let shorts = found.iter().position(|page| *page < 20).expect("it came to its turn");
        assert_eq!(shorts, 23, "20, and a tenth of that, and the one that was too many");
        assert_eq!(found[shorts..shorts + 20], long, "then all of it");
    }

    #[test]
    fn a_new_allocation_does_not_forget_who_was_overtaken() {
        let long: Vec<u64> = (0..20).collect();
        let mut unbound = unbound(Turns::ShortestFair, 1, &[&long]);
        let mut found = Vec::new();
        for page in 100..160 {
            unbound.push(0, page, PageSlice { stream: 1, ..part(page.into()) });
            unbound.sort_again(Turns::ShortestFair, |_| 0);
            let (rank, _, part) = unbound.front((0, 0)).expect("something waits");
            unbound.pop(rank);
            found.push(part.lpn);
        }
        let shorts = found.iter().position(|page| *page < 20).expect("it came to its turn");
        assert!((22..=25).contains(&shorts), "20, a tenth of that, and about one: {shorts}");
    }

    #[test]
    fn pages_of_a_request_are_one_run_in_each_class() {
        let unbound = unbound(Turns::Shortest, 2, &[&[0, 1, 2, 3, 4], &[6], &[7, 8, 9, 11]]);
        assert_eq!(order(&unbound, &[]), [6, 8, 1, 3, 0, 2, 4, 7, 9, 11]);
    }

    #[test]
    fn a_new_allocation_keeps_the_order_of_arrival() {
        let mut unbound = unbound(Turns::Arrival, 2, &[&[0, 1], &[2], &[3]]);
        unbound.sort_again(Turns::Arrival, |part| u32::from(part.lpn == 2));
        assert_eq!(order(&unbound, &[2]), [0, 1, 3]);
        unbound.sort_again(Turns::Shortest, |_| 0);
        assert_eq!(order(&unbound, &[]), [2, 3, 0, 1]);
    }
}
