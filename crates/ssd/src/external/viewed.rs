//! Views that are one question, and the time for which an answer holds.

use super::{Buffered, Destage, Idle, Steps, Units, Victims, Writes};

/// A view, and the changes of it that need a new answer.
pub(crate) trait Viewed: Clone + Default {
    /// Views like this of which the answer is remembered.
    fn room(&self) -> usize {
        1
    }
    /// A number that views have in common where an answer to one holds for the other.
    fn hash(&self) -> u64 {
        0
    }
    /// True if an answer to `before` also holds for this view.
    fn is_as(&self, before: &Self) -> bool;
    /// The present, ns, where a view has one.
    fn now_ns(&self) -> u64 {
        0
    }
}

impl Viewed for Victims {
    // After a collection no unit is as before.
    fn room(&self) -> usize {
        0
    }

    fn is_as(&self, before: &Self) -> bool {
        self == before
    }
}

impl Viewed for Writes {
    // Every question is of other writes.
    fn room(&self) -> usize {
        0
    }

    fn is_as(&self, before: &Self) -> bool {
        self == before
    }
}

/// True if the same units have pages that wait.
fn same_dirty(pages: &[u32], before: &[u32]) -> bool {
    let is_dirty = |pages: &u32| *pages > 0;
    pages.iter().map(is_dirty).eq(before.iter().map(is_dirty))
}

impl Viewed for Units {
    // Flags come and go with every page that is written, spare blocks with a collection: the same few thousand views come again
    // and again. About 4 MB of them.
    fn room(&self) -> usize {
        ((1 << 18) / self.spare_blocks.len().max(1)).max(1)
    }

    fn hash(&self) -> u64 {
        let must = self.must.map_or(0, |unit| u64::from(unit) + 1);
        let flags = u64::from(self.buffer_full) | u64::from(self.others_must) << 1;
        let bits = |set: bool| u64::from(set);
        let dirty = self.dirty_pages.iter().map(|pages| bits(*pages > 0));
        let under_way = self.under_way.iter().map(|under_way| bits(*under_way));
        let spare_blocks = self.spare_blocks.iter().copied();
        hash([must, flags].into_iter().chain(dirty).chain(under_way).chain(spare_blocks))
    }

    fn is_as(&self, before: &Self) -> bool {
        let flags = |view: &Self| (view.must, view.buffer_full, view.others_must);
        flags(self) == flags(before)
            && self.spare_blocks == before.spare_blocks
            && self.under_way == before.under_way
            && same_dirty(&self.dirty_pages, &before.dirty_pages)
    }
}

impl Viewed for Idle {
    // A unit that is busy now and then has the views of a collection again: a few, since times of idleness don't come back.
    fn room(&self) -> usize {
        64
    }

    fn hash(&self) -> u64 {
        let idle = self.idle_since_ns.iter().map(|since_ns| since_ns.map_or(u64::MAX, |since_ns| since_ns));
        hash(idle.chain(self.spare_blocks.iter().copied()))
    }

    fn is_as(&self, before: &Self) -> bool {
        self.idle_since_ns == before.idle_since_ns
            && self.spare_blocks == before.spare_blocks
            && self.under_way == before.under_way
            && same_dirty(&self.dirty_pages, &before.dirty_pages)
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }
}

impl Viewed for Buffered {
    fn is_as(&self, before: &Self) -> bool {
        (self.idle_since_ns, self.dirty_pages) == (before.idle_since_ns, before.dirty_pages)
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }
}

/// An answer that may ask to be asked again.
pub(crate) trait Answer: Clone {
    /// When, ns.
    fn again_ns(&self) -> Option<u64> {
        None
    }
    /// True if it holds for its view whenever that comes.
    fn is_of_view(&self) -> bool {
        true
    }
}

impl Answer for Option<u32> {}
impl Answer for Vec<u32> {}

impl Answer for Steps {
    fn again_ns(&self) -> Option<u64> {
        self.ask_again_ns
    }

    // Time alone may make a unit ready.
    fn is_of_view(&self) -> bool {
        self.ask_spare_below.is_none() && self.ask_idle_ns.is_none()
    }
}

impl Answer for Destage {
    fn again_ns(&self) -> Option<u64> {
        if let Destage::NotBefore(time_ns) = self { Some(*time_ns) } else { None }
    }
}

/// A hash of numbers, the same on every machine.
fn hash(numbers: impl IntoIterator<Item = u64>) -> u64 {
    // Multiplication by an odd number close to 2^64 / golden ratio spreads the low bits, rotation brings them back.
    let mix = |hash: u64, number: u64| (hash ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    numbers.into_iter().fold(0, mix)
}
