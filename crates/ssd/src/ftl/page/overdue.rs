//! Open blocks that have taken pages of the host for `ftl.open_time`: they take no more, as a reclaim unit of Flexible Data
//! Placement that has reached its time limit (TP4146). Their unwritten pages are lost until the block is erased.

use serde::{Deserialize, Serialize};

use super::PageFtl;

/// The time limit of open blocks, and when to look at them again.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[expect(clippy::struct_field_names, reason = "quantities carry their unit")]
pub(in crate::ftl) struct Deadline {
    /// Longest time that a block takes pages of the host, ns.
    limit_ns: Option<u64>,
    /// The present of the last request, ns.
    now_ns: u64,
    /// Before this no open block is overdue, ns; none that is open has a limit without it.
    next_ns: Option<u64>,
}

impl Deadline {
    pub(super) fn new(limit_ns: Option<u64>) -> Self {
        Self { limit_ns, now_ns: 0, next_ns: None }
    }

    /// A block is opened. Returns since when it takes pages, ns.
    pub(super) fn begin(&mut self) -> u64 {
        if let Some(limit_ns) = self.limit_ns {
            let due_ns = self.now_ns.saturating_add(limit_ns);
            self.next_ns = Some(self.next_ns.map_or(due_ns, |next_ns| next_ns.min(due_ns)));
        }
        self.now_ns
    }
}

impl PageFtl {
    /// Open blocks of the host that are overdue take no more pages. A block that is filling a page of flash waits for the end of
    /// it, and so does one of which `may_end` says, from the unit and the next page of flash, that it can't end there.
    pub(in crate::ftl) fn close_overdue(&mut self, now_ns: u64, may_end: impl Fn(u32, u32) -> bool) {
        let Some(groups) = &mut self.groups else { return };
        let deadline = &mut groups.deadline;
        deadline.now_ns = now_ns;
        let is_due = deadline.next_ns.is_some_and(|next_ns| next_ns <= now_ns);
        let Some(limit_ns) = deadline.limit_ns.filter(|_| is_due) else { return };
        let (per_block, per_page) = (self.rules.pages_per_block.get() as u32, self.rules.per_page);
        let mut next_ns: Option<u64> = None;
        for (unit, (own, state)) in (0..).zip(groups.units.iter_mut().zip(&mut self.units)) {
            for (group, began_ns) in (0..).zip(&own.began_ns) {
                let (frontier, open) = if own.in_place[0] == group {
                    (&mut state.host, state.open)
                } else {
                    let parked = &mut own.parked[group as usize];
                    (&mut parked.frontier, parked.open)
                };
                if frontier.next >= per_block || self.rules.is_full(*frontier) {
                    continue;
                }
                let due_ns = began_ns.saturating_add(limit_ns);
                // The rest of a page that was programmed is padding.
                let next = self.rules.page_from(frontier.next);
                let page = (frontier.block * per_block + next) / per_page;
                if due_ns > now_ns || open > 0 || !may_end(unit, page) {
                    next_ns = Some(next_ns.map_or(due_ns, |next_ns| next_ns.min(due_ns)));
                    continue;
                }
                groups.events.overdue_blocks += 1;
                groups.events.unwritten_pages += u64::from(per_block - next);
                frontier.next = per_block;
                state.blocks.fill(frontier.block, state.writes);
            }
        }
        groups.deadline.next_ns = next_ns;
    }
}
