//! A large array of `u32` in chunks that are made when first written and copied when first written after a
//! snapshot. This is why untouched space costs nothing, and why a drive clones cheaply.

use std::sync::Arc;

const SHIFT: u32 = 14;
const LEN: usize = 1 << SHIFT;
const MASK: usize = LEN - 1;

type Block = Box<[u32; LEN]>;

#[derive(Clone, Debug)]
enum Chunk {
    Absent,
    Owned(Block),
    Shared(Arc<Block>),
}

/// An array of `len` numbers, all [`CowVec::EMPTY`] until written.
#[derive(Clone, Debug)]
pub(crate) struct CowVec {
    chunks: Vec<Chunk>,
}

impl CowVec {
    /// The value of an entry that was never written.
    pub(crate) const EMPTY: u32 = u32::MAX;

    /// An array of `len` entries. Takes 16 bytes for each 16,384 of them until they are written.
    pub(crate) fn new(len: u64) -> Self {
        Self { chunks: vec![Chunk::Absent; usize::try_from(len.div_ceil(LEN as u64)).unwrap_or(usize::MAX)] }
    }

    /// Entry `index`.
    #[inline]
    pub(crate) fn get(&self, index: u64) -> u32 {
        let index = index as usize;
        match &self.chunks[index >> SHIFT] {
            Chunk::Owned(block) => block[index & MASK],
            Chunk::Shared(block) => block[index & MASK],
            Chunk::Absent => Self::EMPTY,
        }
    }

    /// Writes entry `index`.
    #[inline]
    pub(crate) fn set(&mut self, index: u64, value: u32) {
        *self.entry(index) = value;
    }

    /// Writes entry `index` and returns what stood there: one look-up for both.
    #[inline]
    pub(crate) fn replace(&mut self, index: u64, value: u32) -> u32 {
        std::mem::replace(self.entry(index), value)
    }

    #[inline]
    fn entry(&mut self, index: u64) -> &mut u32 {
        let index = index as usize;
        let chunk = &mut self.chunks[index >> SHIFT];
        if !matches!(chunk, Chunk::Owned(_)) {
            make_owned(chunk);
        }
        match chunk {
            Chunk::Owned(block) => &mut block[index & MASK],
            Chunk::Absent | Chunk::Shared(_) => unreachable!("made owned above"),
        }
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

#[cold]
fn make_owned(chunk: &mut Chunk) {
    let block = match std::mem::replace(chunk, Chunk::Absent) {
        Chunk::Owned(block) => block,
        Chunk::Shared(shared) => Arc::try_unwrap(shared).unwrap_or_else(|shared| (*shared).clone()),
        // Built on the heap: an array of this size must not pass through the stack.
        Chunk::Absent => match vec![CowVec::EMPTY; LEN].into_boxed_slice().try_into() {
            Ok(block) => block,
            Err(_) => unreachable!("the slice has exactly LEN entries"),
        },
    };
    *chunk = Chunk::Owned(block);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_do_not_see_each_other() {
        let mut first = CowVec::new(100_000);
        first.set(7, 1);
        first.set(99_999, 2);
        let mut second = first.snapshot();
        assert_eq!(second.replace(7, 5), 1);
        first.set(8, 3);
        assert_eq!((first.get(7), first.get(8), first.get(99_999)), (1, 3, 2));
        assert_eq!((second.get(7), second.get(8), second.get(99_999)), (5, CowVec::EMPTY, 2));
        assert_eq!(first.get(50_000), CowVec::EMPTY);
    }
}
