//! Commands of different dies that wait for one another, where superblocks are collected ([`Role`]).
//!
//! A *barrier* is a number of commands that are not done; commands that wait for it keep their places in the queues of their dies.
//! A set of dies has an open one for pages that are read, until the first of them is programmed, and one for pages that are programmed,
//! until the next erase. What an erase waits for includes all that the erase before it did.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Chain, Events, Probe};
use crate::op::{Link, Role};

/// Commands that others wait for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Barrier {
    /// Those that are not done.
    left: u32,
    /// Dies with a command that waits.
    dies: Vec<u32>,
    /// The barrier that counts this one among its commands.
    next: Option<u64>,
}

/// Open barriers of a set of dies, by number; a barrier of which all is done is gone.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Open {
    reads: u64,
    writes: u64,
    /// True if the pages that were read are being programmed, and if an erase waits for what was programmed.
    moves: bool,
    erases: bool,
}

/// Barriers of all sets.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Links {
    sets: Vec<Open>,
    barriers: BTreeMap<u64, Barrier>,
}

impl Links {
    /// The part of a command in the barriers of its set; `numbers`: the last number that was given.
    #[cold]
    fn chain(&mut self, set: u32, role: Role, die: u32, numbers: &mut u64) -> Chain {
        if self.sets.len() <= set as usize {
            self.sets.resize(set as usize + 1, Open::default());
        }
        let open = &mut self.sets[set as usize];
        match role {
            Role::Write => Chain::Counts { number: self.count(set, numbers) },
            Role::Read => {
                if open.reads == 0 || open.moves {
                    *numbers += 1;
                    (open.reads, open.moves) = (*numbers, false);
                }
                let number = open.reads;
                self.barriers.entry(number).or_default().left += 1;
                Chain::Counts { number }
            }
            Role::Move => {
                open.moves = true;
                let reads = open.reads;
                let counts = self.count(set, numbers);
                if self.wait(reads, die) {
                    Chain::Between { waits: reads, counts }
                } else {
                    Chain::Counts { number: counts }
                }
            }
            Role::Erase => {
                open.erases = true;
                let number = open.writes;
                if self.wait(number, die) { Chain::Second { number } } else { Chain::None }
            }
        }
    }

    /// A command on a die waits for a barrier. Returns false if there is nothing to wait for.
    fn wait(&mut self, number: u64, die: u32) -> bool {
        let Some(barrier) = self.barriers.get_mut(&number) else { return false };
        barrier.dies.push(die);
        true
    }

    /// One more command that the next erase waits for. Returns the barrier.
    fn count(&mut self, set: u32, numbers: &mut u64) -> u64 {
        let open = &mut self.sets[set as usize];
        if open.writes == 0 || open.erases {
            *numbers += 1;
            let before = std::mem::replace(&mut open.writes, *numbers);
            open.erases = false;
            if let Some(before) = self.barriers.get_mut(&before) {
                before.next = Some(*numbers);
                self.barriers.entry(*numbers).or_default().left += 1;
            }
        }
        let number = self.sets[set as usize].writes;
        self.barriers.entry(number).or_default().left += 1;
        number
    }

    /// A command of a barrier is done. Returns the dies that may go on, each with the barrier that it waited for.
    fn done(&mut self, mut number: u64) -> Vec<(u32, u64)> {
        let mut released = Vec::new();
        loop {
            let Some(barrier) = self.barriers.get_mut(&number) else { return released };
            barrier.left -= 1;
            if barrier.left > 0 {
                return released;
            }
            let Some(Barrier { dies, next, .. }) = self.barriers.remove(&number) else { return released };
            released.extend(dies.into_iter().map(|die| (die, number)));
            let Some(next) = next else { return released };
            number = next;
        }
    }
}

impl<P: Probe> Events<P> {
    /// The part that a command has in what commands of other dies wait for.
    #[inline]
    pub(super) fn chain_of(&mut self, link: Link, die: u32) -> Chain {
        match link.get() {
            None => Chain::None,
            Some((set, role)) => self.links.chain(set, role, die, &mut self.chains),
        }
    }

    /// A command that others count on is done.
    #[cold]
    pub(super) fn counted(&mut self, number: u64) {
        for (die, number) in self.links.done(number) {
            self.dies[die as usize].queue.release(number);
            self.start(die);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_wait_for_reads_and_erases_for_all_that_was_programmed_before() {
        let (mut links, mut numbers) = (Links::default(), 0);
        let mut chain = |links: &mut Links, role, die| links.chain(0, role, die, &mut numbers);
        let Chain::Counts { number: host } = chain(&mut links, Role::Write, 0) else { panic!("counts") };
        let Chain::Counts { number: read } = chain(&mut links, Role::Read, 1) else { panic!("counts") };
        let Chain::Between { waits, counts } = chain(&mut links, Role::Move, 0) else { panic!("waits") };
        assert_eq!((waits, counts), (read, host));
        assert_eq!(chain(&mut links, Role::Erase, 1), Chain::Second { number: host });
        // The next erase waits for programs from now on.
        let Chain::Counts { number: later } = chain(&mut links, Role::Write, 1) else { panic!("counts") };
        assert_eq!(chain(&mut links, Role::Erase, 0), Chain::Second { number: later });
        assert_eq!(links.done(read), [(0, read)]);
        assert_eq!(links.done(later), [], "the erase before has not begun");
        assert_eq!(links.done(host), []);
        assert_eq!(links.done(host), [(1, host), (0, later)]);
        assert_eq!(chain(&mut links, Role::Erase, 0), Chain::None);
    }
}
