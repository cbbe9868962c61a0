//! Stage 1, fairness-aware queue insertion (section 5.1 and algorithm 1 of the paper).
//!
//! The slowdown of a command is its estimated time in the shared queue by that alone: what it has waited, the rest of what runs,
//! the service times of all before it and its own; against the wait for the commands of its own flow, and its own service.
//! Commands of one flow keep their order, and so do those that write to one unit.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::sched::work;

/// A command of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Item {
    /// Its number in the queue of its die.
    pub(super) number: u64,
    pub(super) tenant: u16,
    /// Units that it writes, as [`super::super::Pages::units`].
    pub(super) units: u64,
    /// True if it stands among those of low intensity.
    pub(super) low: bool,
    /// True if it was moved forward for fairness: none of high intensity passes it.
    fixed: bool,
    arrived_ns: u64,
    service_ns: u64,
    /// Estimated wait if its flow was alone, ns.
    alone_ns: u64,
    /// Number of a command that it waits for, 0 for none that is known: it is not looked at before that is gone.
    behind: u64,
}

impl Item {
    /// Of a flow, with the units that it writes; arrived at a time, with a service time, ns.
    pub(super) fn new(number: u64, tenant: u16, units: u64, (arrived_ns, service_ns): (u64, u64)) -> Self {
        // A drive may have times of 0.
        let service_ns = service_ns.max(1);
        Self {
            number,
            tenant,
            units,
            low: false,
            fixed: false,
            arrived_ns,
            service_ns,
            alone_ns: 0,
            behind: 0,
        }
    }

    /// Slowdown if it is done `finish_ns` from now.
    fn slowdown(&self, now_ns: u64, finish_ns: u64) -> f64 {
        (now_ns - self.arrived_ns + finish_ns) as f64 / (self.alone_ns + self.service_ns) as f64
    }

    /// True if the order of the two is never changed.
    fn keeps_order(&self, other: &Self) -> bool {
        self.tenant == other.tenant || self.units & other.units != 0
    }
}

/// A die at the arrival of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// The present, ns.
    pub(crate) now_ns: u64,
    /// Time that the commands that have begun still take, ns.
    pub(crate) ahead_ns: u64,
    /// The flow of the one that runs, if one does.
    pub(crate) running: Option<u16>,
}

/// Smallest and largest of some slowdowns.
#[derive(Clone, Copy, Debug)]
struct Range {
    min: f64,
    max: f64,
}

impl Range {
    const NONE: Self = Self { min: f64::INFINITY, max: 0.0 };

    fn with(self, slowdown: f64) -> Self {
        Self { min: self.min.min(slowdown), max: self.max.max(slowdown) }
    }

    fn and(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// 1 if all are alike.
    fn fairness(self) -> f64 {
        self.min / self.max
    }
}

/// The queue of one kind and level: commands of low intensity, then the others.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct List {
    items: VecDeque<Item>,
    /// Those of low intensity.
    low: usize,
    /// Those that are known to wait for another command.
    held: usize,
}

impl List {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Item> {
        self.items.iter()
    }

    /// Puts a command at the end.
    pub(super) fn append(&mut self, item: Item) {
        self.items.push_back(Item { low: false, ..item });
    }

    /// Those that are not known to wait for another command, in order, with their places.
    pub(super) fn free(&self) -> impl Iterator<Item = (usize, &Item)> {
        self.items.iter().enumerate().filter(|(_, item)| item.behind == 0)
    }

    /// The command at a place, which is free, waits for that of a number.
    pub(super) fn hold(&mut self, place: usize, behind: u64) {
        self.items[place].behind = behind;
        self.held += 1;
    }

    /// The command of a number is gone: those that wait for it are free.
    pub(super) fn release(&mut self, number: u64) {
        if self.held == 0 {
            return;
        }
        for item in self.items.iter_mut().filter(|item| item.behind == number) {
            work::look_at(1);
            item.behind = 0;
            self.held -= 1;
        }
    }

    /// Takes the command of a number out.
    pub(super) fn remove(&mut self, number: u64) {
        let place = self.items.iter().position(|item| item.number == number);
        if let Some((place, item)) = place.and_then(|place| Some((place, self.items.remove(place)?))) {
            self.low -= usize::from(place < self.low);
            self.held -= usize::from(item.behind > 0);
        }
    }

    /// Puts a command where it is fair (algorithm 1).
    pub(super) fn insert_fairly(&mut self, mut item: Item, arrival: Arrival, min_fairness: f64) {
        // A flow may have become one of low intensity with commands among the others.
        item.low &= !self.items.range(self.low..).any(|other| item.keeps_order(other));
        let (start, end) = if item.low { (0, self.low) } else { (self.low, self.items.len()) };
        item.alone_ns = self.alone_ns(&item, end, arrival);
        let is_fixed = |other: &Item| item.keeps_order(other) || other.fixed;
        let first = self.items.range(start..end).rposition(is_fixed).map_or(start, |place| start + place + 1);
        let place = if first == end {
            // There is no other place.
            end
        } else if !item.low && self.is_most_slowed(&item, arrival, min_fairness) {
            item.fixed = true;
            first
        } else {
            self.fairest(&item, start..end, first, arrival)
        };
        self.items.insert(place, item);
        self.low += usize::from(item.low);
    }

    /// Estimated wait of a command if its flow was alone: until the command of the flow before it is done.
    fn alone_ns(&self, item: &Item, end: usize, arrival: Arrival) -> u64 {
        let before = self.items.range(..end).rev().find(|before| before.tenant == item.tenant);
        match before {
            Some(before) => {
                (before.arrived_ns + before.alone_ns + before.service_ns).saturating_sub(arrival.now_ns)
            }
            None if arrival.running == Some(item.tenant) => arrival.ahead_ns,
            None => 0,
        }
    }

    /// True if the queue is unfair to flows of high intensity, and most to that of the command, which comes last.
    fn is_most_slowed(&self, item: &Item, arrival: Arrival, min_fairness: f64) -> bool {
        let mut flows: Vec<(u16, f64, u32)> = Vec::new();
        let mut finish_ns = arrival.ahead_ns;
        for (place, one) in self.items.iter().chain([item]).enumerate() {
            finish_ns += one.service_ns;
            if place < self.low {
                continue;
            }
            let slowdown = one.slowdown(arrival.now_ns, finish_ns);
            match flows.iter_mut().find(|(tenant, ..)| *tenant == one.tenant) {
                Some((_, sum, count)) => (*sum, *count) = (*sum + slowdown, *count + 1),
                None => flows.push((one.tenant, slowdown, 1)),
            }
        }
        let mean = |(_, sum, count): &(u16, f64, u32)| sum / f64::from(*count);
        let all = flows.iter().map(mean).fold(Range::NONE, Range::with);
        let own = flows.iter().find(|(tenant, ..)| *tenant == item.tenant).map_or(0.0, mean);
        all.fairness() < min_fairness && own >= all.max
    }

    /// The place from `first` on, of a part of the queue, where a command makes the slowdowns of the part most alike; of equal
    /// ones the last.
    fn fairest(&self, item: &Item, part: std::ops::Range<usize>, first: usize, arrival: Arrival) -> usize {
        let now_ns = arrival.now_ns;
        let ahead_ns: u64 = self.items.range(..part.start).map(|before| before.service_ns).sum();
        let mut finish_ns = arrival.ahead_ns + ahead_ns;
        // Slowdowns of those before each place from `first` on, as they are.
        let mut before = Vec::with_capacity(part.end - first + 1);
        let mut all = Range::NONE;
        for (place, one) in part.clone().zip(self.items.range(part.clone())) {
            if place >= first {
                before.push(all);
            }
            finish_ns += one.service_ns;
            all = all.with(one.slowdown(now_ns, finish_ns));
        }
        before.push(all);
        let at = |place: usize| before[place - first];
        let mut after = Range::NONE;
        let own = |finish_ns: u64| item.slowdown(now_ns, finish_ns + item.service_ns);
        let mut best = (at(part.end).with(own(finish_ns)).fairness(), part.end);
        for place in (first..part.end).rev() {
            let one = &self.items[place];
            after = after.with(one.slowdown(now_ns, finish_ns + item.service_ns));
            finish_ns -= one.service_ns;
            let fairness = at(place).and(after).with(own(finish_ns)).fairness();
            if fairness > best.0 {
                best = (fairness, place);
            }
        }
        best.1
    }
}
