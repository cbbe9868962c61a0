//! The order in which things were last touched, and how many were touched since a given one: a bitmap of stamps with a
//! tree of sums over its words (Fenwick 1994), so that a count costs a walk through a table that fits into a cache.

/// Words below one leaf of the tree.
const WORDS: usize = 8;
/// Stamps below one leaf.
const LEAF: usize = WORDS * 64;

/// Things by the time of their last touch.
pub(super) struct Stamps {
    bits: Vec<u64>,
    /// Sums of leaves; entry `i` covers the `i & -i` leaves up to `i`, from 1.
    tree: Vec<u32>,
    /// Owner of each stamp that is in use.
    owners: Vec<u64>,
    next: usize,
    live: u32,
}

impl Stamps {
    /// Room for `live` things at once.
    pub(super) fn new(live: usize) -> Self {
        // Renumbering costs as much as there is room, and comes after three quarters of that many touches.
        let room = (live * 4).next_multiple_of(LEAF).max(LEAF * 2);
        Self {
            bits: vec![0; room / 64],
            tree: vec![0; room / LEAF + 1],
            owners: vec![0; room],
            next: 0,
            live: 0,
        }
    }

    /// True if no stamp is left, and [`Stamps::renumber`] is due.
    pub(super) const fn is_full(&self) -> bool {
        self.next == self.owners.len()
    }

    /// Makes room for more, where more than half of what there is would be left after renumbering, which has to follow.
    pub(super) fn make_room(&mut self) {
        if self.live as usize * 2 > self.owners.len() {
            let room = self.owners.len() * 2;
            self.bits.resize(room / 64, 0);
            self.owners.resize(room, 0);
            self.tree.resize(room / LEAF + 1, 0);
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.bits.len() * 8 + self.owners.len() * 8 + self.tree.len() * 4
    }

    /// The next stamp, for `owner`. Not if it is full.
    pub(super) fn stamp(&mut self, owner: u64) -> u32 {
        let stamp = self.next;
        self.next += 1;
        self.owners[stamp] = owner;
        self.bits[stamp / 64] |= 1 << (stamp % 64);
        self.change(stamp, 1);
        self.live += 1;
        stamp as u32
    }

    /// Takes a stamp back.
    pub(super) fn release(&mut self, stamp: u32) {
        let stamp = stamp as usize;
        self.bits[stamp / 64] &= !(1 << (stamp % 64));
        self.change(stamp, u32::MAX);
        self.live -= 1;
    }

    /// Number of owners with a later stamp.
    pub(super) fn since(&self, stamp: u32) -> u32 {
        let stamp = stamp as usize;
        let (leaf, word) = (stamp / LEAF, stamp / 64);
        let mut up_to = 0u32;
        let mut at = leaf;
        while at > 0 {
            up_to += self.tree[at];
            at &= at - 1;
        }
        for full in leaf * WORDS..word {
            up_to += self.bits[full].count_ones();
        }
        up_to += (self.bits[word] & (u64::MAX >> (63 - stamp % 64))).count_ones();
        self.live - up_to
    }

    /// Renumbers the stamps from 0 in their order. Calls `moved` with each owner and its new stamp.
    pub(super) fn renumber(&mut self, mut moved: impl FnMut(u64, u32)) {
        let mut stamps = 0usize;
        for word in 0..self.bits.len() {
            let mut bits = std::mem::take(&mut self.bits[word]);
            while bits != 0 {
                let owner = self.owners[word * 64 + bits.trailing_zeros() as usize];
                self.owners[stamps] = owner;
                moved(owner, stamps as u32);
                stamps += 1;
                bits &= bits - 1;
            }
        }
        self.next = stamps;
        for (word, bits) in self.bits.iter_mut().enumerate() {
            let taken = stamps.saturating_sub(word * 64).min(64);
            *bits = if taken == 64 { u64::MAX } else { (1 << taken) - 1 };
        }
        self.tree.fill(0);
        for leaf in 0..self.tree.len() - 1 {
            let ones: u32 =
                self.bits[leaf * WORDS..(leaf + 1) * WORDS].iter().map(|bits| bits.count_ones()).sum();
            self.tree[leaf + 1] += ones;
            let parent = (leaf + 1) + ((leaf + 1) & (leaf + 1).wrapping_neg());
            if parent < self.tree.len() {
                self.tree[parent] += self.tree[leaf + 1];
            }
        }
    }

    fn change(&mut self, stamp: usize, by: u32) {
        let mut at = stamp / LEAF + 1;
        while at < self.tree.len() {
            self.tree[at] = self.tree[at].wrapping_add(by);
            at += at & at.wrapping_neg();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn counts_are_those_of_a_list(touches in proptest::collection::vec((0u64..300, any::<bool>()), 1..5000)) {
            let (mut stamps, mut order, mut of) = (Stamps::new(300), Vec::<u64>::new(), vec![None; 300]);
            for (thing, drop) in touches {
                let known = order.iter().position(|other| *other == thing);
                prop_assert_eq!(known.is_some(), of[thing as usize].is_some());
                if let (Some(place), Some(stamp)) = (known, of[thing as usize].take()) {
                    prop_assert_eq!(stamps.since(stamp) as usize, order.len() - place - 1);
                    order.remove(place);
                    stamps.release(stamp);
                }
                if drop {
                    continue;
                }
                if stamps.is_full() {
                    stamps.renumber(|owner, stamp| of[owner as usize] = Some(stamp));
                }
                of[thing as usize] = Some(stamps.stamp(thing));
                order.push(thing);
            }
        }
    }
}
