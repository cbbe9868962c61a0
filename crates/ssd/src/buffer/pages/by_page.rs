//! The youngest entry of each page in the buffer: short chains of entries, by a few bits of a number made of their page. Nothing
//! depends on the order of a chain.

use serde::{Deserialize, Serialize};

/// No entry.
const NONE: u32 = u32::MAX;

/// Odd, and near 2^64 by the golden ratio: pages at any distance from one another go to different chains.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Slots of entries by page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ByPage {
    /// First slot of each chain; a power of two of them.
    chains: Vec<u32>,
    /// By slot: the page of the entry, and the next slot of its chain.
    links: Vec<(u64, u32)>,
}

impl ByPage {
    pub(super) fn new() -> Self {
        Self { chains: vec![NONE; 16], links: Vec::new() }
    }

    #[inline]
    fn chain(&self, lpn: u64) -> usize {
        (lpn.wrapping_mul(SPREAD) >> (64 - self.chains.len().trailing_zeros())) as usize
    }

    /// The slot of a page.
    #[inline]
    pub(super) fn get(&self, lpn: u64) -> Option<u32> {
        let mut slot = self.chains[self.chain(lpn)];
        while slot != NONE {
            let (page, next) = self.links[slot as usize];
            if page == lpn {
                return Some(slot);
            }
            slot = next;
        }
        None
    }

    /// A page is in a slot from now on, in place of the one where it was.
    #[inline]
    pub(super) fn insert(&mut self, lpn: u64, slot: u32) {
        self.remove(lpn);
        if slot as usize >= self.links.len() {
            self.links.resize(slot as usize + 1, (0, NONE));
            if self.links.len() > self.chains.len() {
                self.grow();
            }
        }
        let chain = self.chain(lpn);
        self.links[slot as usize] = (lpn, self.chains[chain]);
        self.chains[chain] = slot;
    }

    /// A page is in no slot any more. Returns where it was.
    #[inline]
    pub(super) fn remove(&mut self, lpn: u64) -> Option<u32> {
        self.take(lpn, |_| true)
    }

    /// As [`ByPage::remove`], if the page is in that slot.
    #[inline]
    pub(super) fn remove_from(&mut self, lpn: u64, slot: u32) {
        self.take(lpn, |held| held == slot);
    }

    #[inline]
    fn take(&mut self, lpn: u64, goes: impl Fn(u32) -> bool) -> Option<u32> {
        let chain = self.chain(lpn);
        let (mut before, mut slot) = (NONE, self.chains[chain]);
        while slot != NONE {
            let (page, next) = self.links[slot as usize];
            if page == lpn {
                if !goes(slot) {
                    return None;
                }
                match self.links.get_mut(before as usize) {
                    Some(link) => link.1 = next,
                    None => self.chains[chain] = next,
                }
                return Some(slot);
            }
            (before, slot) = (slot, next);
        }
        None
    }

    /// Doubles the chains.
    #[cold]
    fn grow(&mut self) {
        let chains = vec![NONE; self.chains.len() * 2];
        let mut held = Vec::new();
        for first in std::mem::replace(&mut self.chains, chains) {
            let mut slot = first;
            while slot != NONE {
                held.push(slot);
                slot = self.links[slot as usize].1;
            }
        }
        for slot in held {
            let chain = self.chain(self.links[slot as usize].0);
            self.links[slot as usize].1 = self.chains[chain];
            self.chains[chain] = slot;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    use super::*;

    #[test]
    fn a_page_is_found_where_it_was_put_last_until_it_is_removed() {
        for distance in [1, 64, 1 << 20, 1 << 40] {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(distance);
            let (mut by_page, mut expected) = (ByPage::new(), BTreeMap::new());
            let mut free: Vec<u32> = (0..200).rev().collect();
            for _ in 0..20_000 {
                let lpn = random.next_u64() % 300 * distance;
                let held = expected.get(&lpn).copied();
                assert_eq!(by_page.get(lpn), held);
                match (random.next_u64() % 4, held) {
                    (0, _) => {
                        assert_eq!(by_page.remove(lpn), held);
                        free.extend(expected.remove(&lpn));
                    }
                    (1, Some(slot)) => {
                        by_page.remove_from(lpn, slot + 1);
                        assert_eq!(by_page.get(lpn), Some(slot), "it is elsewhere");
                        by_page.remove_from(lpn, slot);
                        free.extend(expected.remove(&lpn));
                    }
                    _ => {
                        let Some(slot) = free.pop() else { continue };
                        by_page.insert(lpn, slot);
                        free.extend(expected.insert(lpn, slot));
                    }
                }
            }
        }
    }

    #[test]
    fn chains_stay_short_whatever_the_distance_of_pages() {
        for distance in [1, 7, 64, 4096, 1 << 20, 1 << 33] {
            let mut by_page = ByPage::new();
            (0..1000).for_each(|slot| by_page.insert(u64::from(slot) * distance, slot));
            let mut lengths = vec![0; by_page.chains.len()];
            (0..1000).for_each(|slot: u64| lengths[by_page.chain(slot * distance)] += 1);
            assert!(lengths.iter().all(|length| *length <= 8), "{distance}: {:?}", lengths.iter().max());
        }
    }
}
