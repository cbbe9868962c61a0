//! Erases that wait for other units: a block is erased when all is programmed that replaces pages in it. Otherwise a power cut in
//! between would find no version of such a page at all.
//!
//! An erase only waits for programs that were handed over before it, so none waits for the other.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Chain, CommandKind, Events, Probe};
use crate::op::BlockAt;

/// A program that replaces nothing on another unit.
pub(super) const NOTHING: u32 = u32::MAX;

/// Programs that are not done and replace pages in one block, since that block was last handed over to be erased.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Replacing {
    block: BlockAt,
    programs: u32,
    /// Die of the erase that waits for them, and the number of its chain.
    erase: Option<(u32, u64)>,
}

/// Programs that replace pages of other units, and erases that wait for them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Guards {
    /// Blocks of the command handed over next.
    next: Vec<BlockAt>,
    /// By number of a list: numbers of what its program is one of. The memory is reused.
    lists: Vec<Vec<u64>>,
    free: Vec<u32>,
    /// Those that no erase waits for yet: programs handed over from now on belong to them.
    open: BTreeMap<BlockAt, u64>,
    replacing: BTreeMap<u64, Replacing>,
    /// Numbers so far.
    numbers: u64,
    /// By number of a chain: blocks that its erase still waits for.
    left: BTreeMap<u64, u32>,
}

impl Guards {
    /// See [`Executor::guard`](super::Executor::guard).
    pub(super) fn put(&mut self, blocks: &[BlockAt]) {
        self.next.extend_from_slice(blocks);
    }

    /// True if the next command replaces pages of other units, or erases a block in which others do.
    #[inline]
    pub(super) fn are_set(&self) -> bool {
        !self.next.is_empty()
    }

    /// A program that replaces pages in this block is handed over. Returns the number of what it is one of.
    fn replaces(&mut self, block: BlockAt) -> u64 {
        let number = *self.open.entry(block).or_insert_with(|| {
            self.numbers += 1;
            self.numbers
        });
        let first = Replacing { block, programs: 0, erase: None };
        self.replacing.entry(number).or_insert(first).programs += 1;
        number
    }

    /// A program is done. Returns an erase, as its die and the number of its chain, if it was the last that this one waited for.
    fn programmed(&mut self, number: u64) -> Option<(u32, u64)> {
        let replacing = self.replacing.get_mut(&number)?;
        replacing.programs -= 1;
        if replacing.programs > 0 {
            return None;
        }
        let done = self.replacing.remove(&number)?;
        let Some((die, chain)) = done.erase else {
            self.open.remove(&done.block);
            return None;
        };
        let left = self.left.get_mut(&chain)?;
        *left -= 1;
        if *left > 0 {
            return None;
        }
        self.left.remove(&chain);
        Some((die, chain))
    }
}

impl<P: Probe> Events<P> {
    /// Chain of the command handed over, if it has to wait; and the number of its list, if it replaces pages of other units.
    #[inline]
    pub(super) fn guarded(&mut self, kind: CommandKind, die: u32) -> (Chain, u32) {
        if self.guards.are_set() { self.guard_now(kind, die) } else { (Chain::None, NOTHING) }
    }

    #[inline(never)]
    fn guard_now(&mut self, kind: CommandKind, die: u32) -> (Chain, u32) {
        let guards = &mut self.guards;
        let blocks = std::mem::take(&mut guards.next);
        let guarded = if kind == CommandKind::Erase {
            let number = self.chains + 1;
            let mut left = 0;
            for replacing in blocks.iter().filter_map(|block| guards.open.remove(block)) {
                if let Some(replacing) = guards.replacing.get_mut(&replacing) {
                    replacing.erase = Some((die, number));
                    left += 1;
                }
            }
            if left == 0 {
                (Chain::None, NOTHING)
            } else {
                guards.left.insert(number, left);
                self.chains = number;
                (Chain::Second { number }, NOTHING)
            }
        } else {
            let list = guards.free.pop().unwrap_or_else(|| {
                guards.lists.push(Vec::new());
                guards.lists.len() as u32 - 1
            });
            let mut numbers = std::mem::take(&mut guards.lists[list as usize]);
            numbers.extend(blocks.iter().map(|block| guards.replaces(*block)));
            guards.lists[list as usize] = numbers;
            (Chain::None, list)
        };
        guards.next = blocks;
        guards.next.clear();
        guarded
    }

    /// The program with this list is done: erases that waited for it may start.
    #[cold]
    pub(super) fn replaced(&mut self, list: u32) {
        let mut numbers = std::mem::take(&mut self.guards.lists[list as usize]);
        for number in numbers.drain(..) {
            if let Some((die, chain)) = self.guards.programmed(number) {
                self.dies[die as usize].queue.release(chain);
                self.start(die);
            }
        }
        self.guards.lists[list as usize] = numbers;
        self.guards.free.push(list);
    }
}
