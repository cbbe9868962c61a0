//! A map from the number of a part of the address space to what is known of it: open addressing over a slab, so that a
//! lookup costs one cache miss for the index and one for the value, and nothing depends on the order of the addresses.

/// Marks an entry of the index that holds nothing.
const EMPTY: u32 = u32::MAX;

/// Spreads keys over the index: the multiplier is 2^64 / golden ratio, odd (Knuth, volume 3, section 6.4).
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Entries of the smallest index; a power of two.
const LEAST: usize = 16;

#[derive(Clone, Copy)]
struct Entry {
    key: u64,
    slot: u32,
}

/// Values by a number, none of them for most numbers.
pub(super) struct Table<V> {
    /// A power of two of entries, at most two thirds of them taken; linear probing.
    index: Vec<Entry>,
    slab: Vec<V>,
    free: Vec<u32>,
    len: usize,
}

impl<V: Default> Table<V> {
    pub(super) fn new() -> Self {
        Self { index: vec![Entry { key: 0, slot: EMPTY }; LEAST], slab: Vec::new(), free: Vec::new(), len: 0 }
    }

    /// Number of values.
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Bytes of index and slab, without what values own elsewhere.
    pub(super) fn memory_bytes(&self) -> usize {
        self.index.capacity() * size_of::<Entry>()
            + self.slab.capacity() * size_of::<V>()
            + self.free.capacity() * size_of::<u32>()
    }

    #[inline]
    fn home(&self, key: u64) -> usize {
        // The upper bits are those that every bit of the key has changed.
        (key.wrapping_mul(SPREAD) >> (64 - self.index.len().trailing_zeros())) as usize
    }

    /// The entry with `key`, or the empty one where it would be.
    #[inline]
    fn probe(&self, key: u64) -> usize {
        let mask = self.index.len() - 1;
        let mut at = self.home(key);
        while self.index[at].slot != EMPTY && self.index[at].key != key {
            at = (at + 1) & mask;
        }
        at
    }

    #[inline]
    pub(super) fn get_mut(&mut self, key: u64) -> Option<&mut V> {
        let slot = self.index[self.probe(key)].slot;
        if slot == EMPTY { None } else { self.slab.get_mut(slot as usize) }
    }

    /// Looks `key` up, so that what it needs is in the cache when it is asked for soon: `glance` at the value, if that is it.
    #[inline]
    pub(super) fn look(&self, key: u64, glance: impl Fn(&V) -> u64) -> u64 {
        let entry = self.index[self.home(key)];
        self.slab.get(entry.slot as usize).map_or(entry.key, glance)
    }

    /// The value of `key`, made where there is none.
    #[inline]
    pub(super) fn entry(&mut self, key: u64) -> &mut V {
        let mut at = self.probe(key);
        if self.index[at].slot == EMPTY {
            if (self.len + 1) * 3 > self.index.len() * 2 {
                self.grow();
                at = self.probe(key);
            }
            let slot = self.free.pop().unwrap_or_else(|| {
                self.slab.push(V::default());
                self.slab.len() as u32 - 1
            });
            self.index[at] = Entry { key, slot };
            self.len += 1;
        }
        &mut self.slab[self.index[at].slot as usize]
    }

    /// Takes out the value of `key`.
    pub(super) fn remove(&mut self, key: u64) -> Option<V> {
        let mut gap = self.probe(key);
        let slot = self.index[gap].slot;
        if slot == EMPTY {
            return None;
        }
        // Entries behind the gap move up, unless that put them before their home.
        let mask = self.index.len() - 1;
        let mut at = gap;
        loop {
            at = (at + 1) & mask;
            let entry = self.index[at];
            if entry.slot == EMPTY {
                break;
            }
            let home = self.home(entry.key);
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(gap) & mask) {
                self.index[gap] = entry;
                gap = at;
            }
        }
        self.index[gap].slot = EMPTY;
        self.len -= 1;
        self.free.push(slot);
        Some(std::mem::take(&mut self.slab[slot as usize]))
    }

    /// All keys, in no order that means anything.
    pub(super) fn keys(&self) -> impl Iterator<Item = u64> + '_ {
        self.index.iter().filter(|entry| entry.slot != EMPTY).map(|entry| entry.key)
    }

    /// All keys with their values, by key.
    pub(super) fn sorted(&self) -> Vec<(u64, &V)> {
        let taken = self.index.iter().filter(|entry| entry.slot != EMPTY);
        let mut all: Vec<(u64, &V)> =
            taken.map(|entry| (entry.key, &self.slab[entry.slot as usize])).collect();
        all.sort_unstable_by_key(|(key, _)| *key);
        all
    }

    #[cold]
    fn grow(&mut self) {
        let larger = vec![Entry { key: 0, slot: EMPTY }; self.index.len() * 2];
        let old = std::mem::replace(&mut self.index, larger);
        for entry in old.into_iter().filter(|entry| entry.slot != EMPTY) {
            let at = self.probe(entry.key);
            self.index[at] = entry;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_map(steps in proptest::collection::vec((0u64..200, any::<bool>()), 0..2000)) {
            let (mut table, mut model) = (Table::<u64>::new(), BTreeMap::new());
            for (n, (key, remove)) in (1..).zip(steps) {
                // Keys that differ in their upper bits only come as well.
                let key = if key % 3 == 0 { key << 50 } else { key };
                if remove {
                    prop_assert_eq!(table.remove(key), model.remove(&key));
                } else {
                    *table.entry(key) = n;
                    model.insert(key, n);
                }
                prop_assert_eq!(table.get_mut(key).copied(), model.get(&key).copied());
                prop_assert_eq!(table.len(), model.len());
            }
            let all: Vec<_> = table.sorted().into_iter().map(|(key, value)| (key, *value)).collect();
            prop_assert_eq!(all, model.into_iter().collect::<Vec<_>>());
        }
    }
}
