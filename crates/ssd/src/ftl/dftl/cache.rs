//! The cached mapping table of a map: which of its entries are in RAM, in the order of their last use, and which of
//! them are newer than on flash. What an entry says is not kept here: the map is always right.

use serde::{Deserialize, Serialize};

use crate::cow::CowVec;
use crate::divisor::Divisor;

/// Stands for "no slot".
const NONE: u32 = u32::MAX;

/// A cached entry.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Slot {
    key: u32,
    /// Neighbours by last use.
    newer: u32,
    older: u32,
    dirty: bool,
    /// Neighbours among the dirty entries of the same translation page.
    dirty_before: u32,
    dirty_after: u32,
}

/// Entries in RAM, least recently used first out. Costs 4 bytes a logical page that was ever cached and 24 an entry.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Cache {
    /// Place of each key's entry.
    places: CowVec,
    slots: Vec<Slot>,
    most: usize,
    newest: u32,
    oldest: u32,
    /// First dirty entry of each translation page.
    dirty: CowVec,
    entries: Divisor,
}

impl Cache {
    /// For `keys` keys, of which `most` are cached, with `entries` of them in a translation page.
    pub(super) fn new(keys: u64, most: u64, entries: Divisor) -> Self {
        Self {
            places: CowVec::new(keys),
            slots: Vec::new(),
            most: usize::try_from(most.min(keys)).unwrap_or(usize::MAX),
            newest: NONE,
            oldest: NONE,
            dirty: CowVec::new(keys.div_ceil(entries.get())),
            entries,
        }
    }

    /// Reads what finding the key will read. Returns something that depends on it.
    #[inline]
    pub(super) fn peek(&self, key: u32) -> u64 {
        self.places.get(key.into()).into()
    }

    pub(super) fn has(&self, key: u32) -> bool {
        self.places.get(key.into()) != NONE
    }

    /// Uses the key's entry, if it is there: it is the newest then.
    pub(super) fn touch(&mut self, key: u32) -> bool {
        let place = self.places.get(key.into());
        if place == NONE {
            return false;
        }
        if place != self.newest {
            self.unlink(place);
            self.link_newest(place);
        }
        true
    }

    /// The entry that has to go before another one fits.
    pub(super) fn to_evict(&self) -> Option<u32> {
        (self.slots.len() == self.most).then(|| self.slots[self.oldest as usize].key)
    }

    /// The changed entry used longest ago of those whose key will do, if it is among the `among` that are.
    pub(super) fn oldest_dirty(&self, among: usize, will_do: impl Fn(u32) -> bool) -> Option<u32> {
        let slot = |place: u32| self.slots.get(place as usize);
        let oldest_first = std::iter::successors(slot(self.oldest), |before| slot(before.newer));
        oldest_first.take(among).find(|slot| slot.dirty && will_do(slot.key)).map(|slot| slot.key)
    }

    /// Takes the key in as the newest entry, clean, in place of the oldest one if there is no other. That one has to be clean.
    pub(super) fn insert(&mut self, key: u32) {
        let slot =
            Slot { key, newer: NONE, older: NONE, dirty: false, dirty_before: NONE, dirty_after: NONE };
        let place = if self.slots.len() < self.most {
            self.slots.push(slot);
            self.slots.len() as u32 - 1
        } else {
            let place = self.oldest;
            let Slot { key, dirty, .. } = self.slots[place as usize];
            debug_assert!(!dirty, "only clean entries are dropped");
            self.places.set(key.into(), NONE);
            self.unlink(place);
            self.slots[place as usize] = slot;
            place
        };
        self.places.set(key.into(), place);
        self.link_newest(place);
    }

    pub(super) fn is_dirty(&self, key: u32) -> bool {
        let place = self.places.get(key.into());
        place != NONE && self.slots[place as usize].dirty
    }

    /// The key's entry has changed. Returns false if it is not cached.
    pub(super) fn change(&mut self, key: u32) -> bool {
        let place = self.places.get(key.into());
        if place == NONE {
            return false;
        }
        if !self.slots[place as usize].dirty {
            let page = self.entries.split(key.into()).0;
            let after = self.dirty.replace(page, place);
            let slot = &mut self.slots[place as usize];
            (slot.dirty, slot.dirty_before, slot.dirty_after) = (true, NONE, after);
            if after != NONE {
                self.slots[after as usize].dirty_before = place;
            }
        }
        true
    }

    /// The key's entry, which is dirty, was written to flash.
    pub(super) fn clean(&mut self, key: u32) {
        let place = self.places.get(key.into());
        let slot = &mut self.slots[place as usize];
        let Slot { dirty_before: before, dirty_after: after, .. } = *slot;
        slot.dirty = false;
        if after != NONE {
            self.slots[after as usize].dirty_before = before;
        }
        if before == NONE {
            self.dirty.set(self.entries.split(key.into()).0, after);
        } else {
            self.slots[before as usize].dirty_after = after;
        }
    }

    /// All entries of a translation page were written to flash.
    pub(super) fn clean_page(&mut self, page: u64) {
        let mut place = self.dirty.replace(page, NONE);
        while place != NONE {
            let slot = &mut self.slots[place as usize];
            slot.dirty = false;
            place = slot.dirty_after;
        }
    }

    fn link_newest(&mut self, place: u32) {
        let before = std::mem::replace(&mut self.newest, place);
        let slot = &mut self.slots[place as usize];
        (slot.newer, slot.older) = (NONE, before);
        if before == NONE {
            self.oldest = place;
        } else {
            self.slots[before as usize].newer = place;
        }
    }

    fn unlink(&mut self, place: u32) {
        let Slot { newer, older, .. } = self.slots[place as usize];
        if newer == NONE {
            self.newest = older;
        } else {
            self.slots[newer as usize].older = older;
        }
        if older == NONE {
            self.oldest = newer;
        } else {
            self.slots[older as usize].newer = newer;
        }
    }

    pub(super) fn snapshot(&mut self) -> Self {
        Self {
            places: self.places.snapshot(),
            dirty: self.dirty.snapshot(),
            slots: self.slots.clone(),
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cache(most: u64) -> Cache {
        Cache::new(40, most, Divisor::new(8))
    }

    #[test]
    fn the_entry_used_longest_ago_goes_first() {
        let mut cache = cache(3);
        for key in [1, 2, 3] {
            assert_eq!(cache.to_evict(), None);
            cache.insert(key);
        }
        assert!(cache.touch(1));
        assert_eq!(cache.to_evict(), Some(2));
        cache.insert(4);
        assert_eq!((cache.has(2), cache.has(4), cache.touch(2)), (false, true, false));
        assert_eq!(cache.to_evict(), Some(3));
    }

    #[test]
    fn the_dirty_entries_of_a_page_become_clean_together() {
        let mut cache = cache(9);
        for key in [0, 7, 8, 3] {
            cache.insert(key);
            assert!(cache.change(key) && cache.change(key));
        }
        assert!(!cache.change(1));
        cache.clean(7);
        assert_eq!([0, 7, 3, 8, 1].map(|key| cache.is_dirty(key)), [true, false, true, true, false]);
        cache.clean_page(0);
        assert_eq!([0, 7, 3, 8].map(|key| cache.is_dirty(key)), [false, false, false, true]);
    }

    proptest! {
        #[test]
        fn it_is_a_list_in_the_order_of_use(most in 1..12usize, operations in prop::collection::vec((0..40u32, 0..6u32), 1..300)) {
            let mut cache = cache(most as u64);
            // Newest last, with whether it is dirty.
            let mut model: Vec<(u32, bool)> = Vec::new();
            for (key, kind) in operations {
                let at = model.iter().position(|(there, _)| *there == key);
                match (kind, at) {
                    (0, _) => {
                        cache.clean_page((key / 8).into());
                        for entry in model.iter_mut().filter(|(other, _)| other / 8 == key / 8) {
                            entry.1 = false;
                        }
                    }
                    (1, Some(at)) => {
                        if model[at].1 {
                            cache.clean(key);
                        }
                        model[at].1 = false;
                    }
                    (2..=3, _) => {
                        prop_assert_eq!(cache.change(key), at.is_some());
                        if let Some(at) = at {
                            model[at].1 = true;
                        }
                    }
                    _ => {
                        prop_assert_eq!(cache.touch(key), at.is_some());
                        if let Some(at) = at {
                            let entry = model.remove(at);
                            model.push(entry);
                            continue;
                        }
                        prop_assert_eq!(cache.to_evict(), (model.len() == most).then(|| model[0].0));
                        if let Some(oldest) = cache.to_evict() {
                            if cache.is_dirty(oldest) {
                                cache.clean(oldest);
                            }
                            model.remove(0);
                        }
                        cache.insert(key);
                        model.push((key, false));
                    }
                }
                for key in 0..40 {
                    let entry = model.iter().find(|(there, _)| *there == key);
                    prop_assert_eq!((cache.has(key), cache.is_dirty(key)), (entry.is_some(), entry.is_some_and(|entry| entry.1)));
                }
            }
        }
    }
}
