//! The entries of the buffer from the oldest on: a list through them, so that one comes and leaves in the same time however many
//! there are.

use serde::{Deserialize, Serialize};

/// No entry.
const NONE: u32 = u32::MAX;

/// Neighbours of an entry.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Neighbours {
    older: u32,
    younger: u32,
    is_held: bool,
}

/// Slots of entries by their order of entry.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Ages {
    /// By slot.
    all: Vec<Neighbours>,
    oldest: u32,
    youngest: u32,
    len: u32,
}

impl Ages {
    pub(super) fn new() -> Self {
        Self { all: Vec::new(), oldest: NONE, youngest: NONE, len: 0 }
    }

    /// An entry younger than all others.
    #[inline]
    pub(super) fn push(&mut self, slot: u32) {
        let own = Neighbours { older: self.youngest, younger: NONE, is_held: true };
        if slot as usize == self.all.len() {
            self.all.push(own);
        } else {
            self.all[slot as usize] = own;
        }
        match self.all.get_mut(self.youngest as usize) {
            Some(before) => before.younger = slot,
            None => self.oldest = slot,
        }
        self.youngest = slot;
        self.len += 1;
    }

    /// An entry leaves.
    #[inline]
    pub(super) fn remove(&mut self, slot: u32) {
        let own = &mut self.all[slot as usize];
        own.is_held = false;
        let Neighbours { older, younger, .. } = *own;
        match self.all.get_mut(older as usize) {
            Some(before) => before.younger = younger,
            None => self.oldest = younger,
        }
        match self.all.get_mut(younger as usize) {
            Some(after) => after.older = older,
            None => self.youngest = older,
        }
        self.len -= 1;
    }

    /// True if a slot has an entry.
    pub(super) fn holds(&self, slot: u32) -> bool {
        self.all.get(slot as usize).is_some_and(|own| own.is_held)
    }

    pub(super) fn oldest(&self) -> Option<u32> {
        Some(self.oldest).filter(|slot| *slot != NONE)
    }

    pub(super) fn len(&self) -> u32 {
        self.len
    }

    /// Slots, the oldest entry first.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let after = |slot: &u32| Some(self.all[*slot as usize].younger).filter(|slot| *slot != NONE);
        std::iter::successors(self.oldest(), after)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    use super::*;

    #[test]
    fn entries_are_in_the_order_in_which_they_came_whichever_leaves() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let (mut ages, mut expected, mut free) = (Ages::new(), BTreeMap::new(), Vec::new());
        for number in 0..20_000_u64 {
            let leaves = random.next_u64() % 16 < expected.len() as u64;
            if leaves {
                let at = random.next_u64() as usize % expected.len();
                let (number, slot) =
                    expected.iter().nth(at).map(|(number, slot)| (*number, *slot)).expect("one");
                expected.remove(&number);
                ages.remove(slot);
                free.push(slot);
            } else {
                let slot = free.pop().unwrap_or(expected.len() as u32);
                ages.push(slot);
                expected.insert(number, slot);
            }
            assert!(ages.iter().eq(expected.values().copied()));
            assert_eq!(ages.oldest(), expected.values().next().copied());
            assert_eq!(ages.len() as usize, expected.len());
            let held = |slot: u32| expected.values().any(|held| *held == slot);
            assert!((0..20).all(|slot| ages.holds(slot) == held(slot)));
        }
    }
}
