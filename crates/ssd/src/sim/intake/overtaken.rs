//! Loss of tenants to those whose pages overtook theirs, for [`Turns::ShortestFair`](crate::tenants::Turns): a tenant
//! that has lost too much goes first until that is made good.
//!
//! Time is counted in pages placed. A run that comes in behind n pages would be placed after those and its own in the order of
//! arrival, all pages in one queue: that is its *wait*, and the place at which it ends its *turn*. Later than that is *late*, sooner the
//! opposite. The total lateness of a tenant, including runs that should be placed already and are not, is to stay below
//! a share of its total wait.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A run that waits: the pages placed when its turn ends, and how many those are from when it came.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Turn {
    end: u64,
    wait: u64,
}

/// A tenant.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Tenant {
    /// Sums over runs that were placed, pages.
    wait: i128,
    late: i128,
    /// Runs whose turn is yet to come, by their numbers: so their turns ascend.
    early: BTreeMap<u64, Turn>,
    /// Runs whose turn is over.
    due: BTreeMap<u64, Turn>,
    /// Sums over those.
    due_wait: i128,
    due_end: i128,
    /// Due runs up to this number were returned.
    returned: u64,
}

/// All tenants.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Overtaken {
    share_ppm: u32,
    placed: u64,
    tenants: Vec<Tenant>,
}

impl Overtaken {
    /// `share_ppm`: most that a tenant may be late, in millionths of what it would have waited.
    pub(super) fn new(share_ppm: u32) -> Self {
        Self { share_ppm, ..Self::default() }
    }

    /// A page of run `number` comes in while so many wait. Its turn is behind them, or behind the run's pages that came before it.
    pub(super) fn push(&mut self, tenant: u16, number: u64, waiting: u64) {
        let tenant = usize::from(tenant);
        if self.tenants.len() <= tenant {
            self.tenants.resize_with(tenant + 1, Tenant::default);
        }
        let turn = Turn { end: self.placed + waiting, wait: waiting };
        let turn = self.tenants[tenant].early.entry(number).or_insert(turn);
        turn.end += 1;
        turn.wait += 1;
    }

    /// A page of run `number` was placed, its last one or not.
    pub(super) fn placed(&mut self, tenant: u16, number: u64, last: bool) {
        self.placed += 1;
        if last && let Some(tenant) = self.tenants.get_mut(usize::from(tenant)) {
            if let Some(turn) = tenant.early.remove(&number) {
                tenant.book(turn, self.placed);
            } else if let Some(turn) = tenant.due.remove(&number) {
                tenant.due_wait -= i128::from(turn.wait);
                tenant.due_end -= i128::from(turn.end);
                tenant.book(turn, self.placed);
            }
        }
        self.age();
    }

    /// Runs whose turn is over are due.
    pub(super) fn age(&mut self) {
        for tenant in &mut self.tenants {
            while let Some(first) = tenant.early.first_entry()
                && first.get().end < self.placed
            {
                let (number, turn) = first.remove_entry();
                tenant.due_wait += i128::from(turn.wait);
                tenant.due_end += i128::from(turn.end);
                tenant.due.insert(number, turn);
            }
        }
    }

    /// A run that is due, of a tenant that is too late in all; each is returned once, and by tenant in the order of arrival.
    pub(super) fn next_due(&mut self) -> Option<u64> {
        for tenant in &mut self.tenants {
            if tenant.due.is_empty() || !tenant.is_too_late(self.placed, self.share_ppm) {
                continue;
            }
            if let Some((number, _)) = tenant.due.range(tenant.returned + 1..).next() {
                tenant.returned = *number;
                return Some(*number);
            }
        }
        None
    }

    /// Takes what waits out, because it comes again under other numbers; see [`Overtaken::put_back`]. Returns the turns by number.
    pub(super) fn take_out(&mut self) -> BTreeMap<u64, Turn> {
        let mut turns = BTreeMap::new();
        for tenant in &mut self.tenants {
            turns.append(&mut tenant.early);
            turns.append(&mut tenant.due);
            (tenant.due_wait, tenant.due_end, tenant.returned) = (0, 0, 0);
        }
        turns
    }

    /// A run that has come again as `number` keeps the turn that it had.
    pub(super) fn put_back(&mut self, tenant: u16, number: u64, turn: Turn) {
        if let Some(tenant) = self.tenants.get_mut(usize::from(tenant)) {
            tenant.early.insert(number, turn);
        }
    }
}

impl Tenant {
    fn book(&mut self, turn: Turn, placed: u64) {
        self.wait += i128::from(turn.wait);
        self.late += i128::from(placed) - i128::from(turn.end);
    }

    fn is_too_late(&self, placed: u64, share_ppm: u32) -> bool {
        let late = self.late + self.due.len() as i128 * i128::from(placed) - self.due_end;
        late * 1_000_000 > (self.wait + self.due_wait) * i128::from(share_ppm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_the_order_of_arrival_nobody_is_late() {
        let mut overtaken = Overtaken::new(0);
        for number in 1..=10 {
            overtaken.push((number % 3) as u16, number, number - 1);
        }
        for number in 1..=10 {
            overtaken.placed((number % 3) as u16, number, true);
            assert_eq!(overtaken.next_due(), None);
        }
        assert!(overtaken.tenants.iter().all(|tenant| tenant.late == 0 && tenant.due.is_empty()));
    }

    #[test]
    fn a_tenant_that_is_overtaken_by_more_than_its_share_is_due_once() {
        let mut overtaken = Overtaken::new(200_000);
        // Tenant 0 has ten pages in a run; then those of tenant 1 come and go before it.
        for page in 0..10 {
            overtaken.push(0, 1, page);
        }
        for number in 2..5 {
            overtaken.push(1, number, 10);
            overtaken.placed(1, number, true);
        }
        for page in 0..9 {
            overtaken.placed(0, 1, false);
            // Its turn ended at the tenth page: from the thirteenth on it is more than two of ten late.
            assert_eq!(overtaken.next_due(), None, "{page}");
        }
        overtaken.push(1, 9, 1);
        overtaken.placed(1, 9, true);
        assert_eq!(overtaken.next_due(), Some(1));
        assert_eq!(overtaken.next_due(), None);
        overtaken.placed(0, 1, true);
        // 14 pages were placed, its turn was over at 10.
        assert_eq!((overtaken.tenants[0].late, overtaken.tenants[0].wait), (4, 10));
        assert_eq!(overtaken.tenants[0].due_end, 0);
    }

    #[test]
    fn what_a_tenant_gains_with_some_requests_it_may_lose_with_others() {
        let mut overtaken = Overtaken::new(0);
        overtaken.push(0, 1, 100);
        overtaken.placed(0, 1, true);
        overtaken.push(0, 2, 0);
        for number in 3..50 {
            overtaken.push(1, number, 1);
            overtaken.placed(1, number, true);
        }
        assert_eq!(overtaken.next_due(), None, "46 late after 100 early");
    }
}
