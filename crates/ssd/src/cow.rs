//! A large array of `u32` in chunks that are made when first written and copied when first written after a
//! snapshot. This is why untouched space costs nothing, and why a drive clones cheaply.

use std::sync::Arc;

/// Chunks of 1 MiB: the table of chunks stays in the cache. A new chunk is zeroed memory, of which the system gives only
/// the parts that are touched; entries are stored with 1 added, so that zero means [`CowVec::EMPTY`].
const SHIFT: u32 = 18;
const LEN: u64 = 1 << SHIFT;
const MASK: u64 = LEN - 1;

#[derive(Clone, Debug)]
enum Chunk {
    Absent,
    Owned(Box<[u32]>),
    Shared(Arc<Box<[u32]>>),
}

/// An array of `len` numbers, all [`CowVec::EMPTY`] until written.
#[derive(Clone, Debug)]
pub(crate) struct CowVec {
    chunks: Vec<Chunk>,
    len: u64,
}

impl CowVec {
    /// The value of an entry that was never written.
    pub(crate) const EMPTY: u32 = u32::MAX;

    /// An array of `len` entries. Takes 24 bytes for each 262,144 of them until they are written.
    pub(crate) fn new(len: u64) -> Self {
        let chunks = usize::try_from(len.div_ceil(LEN)).unwrap_or(usize::MAX);
        Self { chunks: vec![Chunk::Absent; chunks], len }
    }

    /// Entry `index`.
    #[inline]
    pub(crate) fn get(&self, index: u64) -> u32 {
        let place = (index & MASK) as usize;
        match &self.chunks[(index >> SHIFT) as usize] {
            Chunk::Owned(block) => block[place].wrapping_sub(1),
            Chunk::Shared(block) => block[place].wrapping_sub(1),
            Chunk::Absent => Self::EMPTY,
        }
    }

    /// Writes entry `index`.
    #[inline]
    pub(crate) fn set(&mut self, index: u64, value: u32) {
        *self.entry(index) = value.wrapping_add(1);
    }

    /// Writes entry `index` and returns what stood there: one look-up for both.
    #[inline]
    pub(crate) fn replace(&mut self, index: u64, value: u32) -> u32 {
        std::mem::replace(self.entry(index), value.wrapping_add(1)).wrapping_sub(1)
    }

    #[inline]
    fn entry(&mut self, index: u64) -> &mut u32 {
        let number = (index >> SHIFT) as usize;
        if !matches!(self.chunks[number], Chunk::Owned(_)) {
            self.make_owned(number);
        }
        match &mut self.chunks[number] {
            Chunk::Owned(block) => &mut block[(index & MASK) as usize],
            Chunk::Absent | Chunk::Shared(_) => unreachable!("made owned above"),
        }
    }

    #[cold]
    fn make_owned(&mut self, number: usize) {
        let len = (self.len - number as u64 * LEN).min(LEN) as usize;
        let chunk = &mut self.chunks[number];
        let block = match std::mem::replace(chunk, Chunk::Absent) {
            Chunk::Owned(block) => block,
            Chunk::Shared(shared) => Arc::try_unwrap(shared).unwrap_or_else(|shared| (*shared).clone()),
            Chunk::Absent => vec![0; len].into_boxed_slice(),
        };
        *chunk = Chunk::Owned(block);
    }

    /// A copy that shares every chunk until one side writes it.
    pub(crate) fn snapshot(&mut self) -> Self {
        for chunk in &mut self.chunks {
            if let Chunk::Owned(_) = chunk
                && let Chunk::Owned(block) = std::mem::replace(chunk, Chunk::Absent)
            {
                *chunk = Chunk::Shared(Arc::new(block));
            }
        }
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_do_not_see_each_other() {
        let mut first = CowVec::new(1_000_000);
        first.set(7, 1);
        first.set(999_999, 2);
        let mut second = first.snapshot();
        assert_eq!(second.replace(7, 5), 1);
        first.set(8, 3);
        assert_eq!((first.get(7), first.get(8), first.get(999_999)), (1, 3, 2));
        assert_eq!((second.get(7), second.get(8), second.get(999_999)), (5, CowVec::EMPTY, 2));
        assert_eq!(first.get(500_000), CowVec::EMPTY);
    }
}
