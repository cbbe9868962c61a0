//! A large array of `u32` in chunks that are made when first written and copied when first written after a
//! snapshot. This is why untouched space costs nothing, and why a drive clones cheaply.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeSeq, Serializer};

use crate::raw::{PieceInto, Pieces, piece_len};

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

impl Chunk {
    /// One of `len` entries that is shared or absent becomes the array's own.
    #[cold]
    #[inline(never)]
    fn make_owned(&mut self, len: usize) {
        let block = match std::mem::replace(self, Chunk::Absent) {
            Chunk::Owned(block) => block,
            Chunk::Shared(shared) => Arc::try_unwrap(shared).unwrap_or_else(|shared| (*shared).clone()),
            Chunk::Absent => vec![0; len].into_boxed_slice(),
        };
        *self = Chunk::Owned(block);
    }
}

/// Entries in chunk `number` of an array of `len`.
fn chunk_len(len: u64, number: usize) -> usize {
    (len - number as u64 * LEN).min(LEN) as usize
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

    /// Copies the elements from `first` on, in the form that [`CowVec::put_run`] takes. They are there.
    #[inline]
    pub(crate) fn copy_run(&self, first: u64, into: &mut [u32]) {
        let (mut first, mut left) = (first, into);
        while !left.is_empty() {
            let place = (first & MASK) as usize;
            let (now, later) = left.split_at_mut(left.len().min(LEN as usize - place));
            match &self.chunks[(first >> SHIFT) as usize] {
                Chunk::Owned(block) => now.copy_from_slice(&block[place..place + now.len()]),
                Chunk::Shared(block) => now.copy_from_slice(&block[place..place + now.len()]),
                Chunk::Absent => now.fill(0),
            }
            first += now.len() as u64;
            left = later;
        }
    }

    /// Sets the elements from `first` on to some that were copied by [`CowVec::copy_run`].
    #[inline]
    pub(crate) fn put_run(&mut self, first: u64, from: &[u32]) {
        let (mut first, mut left) = (first, from);
        while !left.is_empty() {
            let place = (first & MASK) as usize;
            let (now, later) = left.split_at(left.len().min(LEN as usize - place));
            self.owned((first >> SHIFT) as usize)[place..place + now.len()].copy_from_slice(now);
            first += now.len() as u64;
            left = later;
        }
    }

    /// An element of those that were copied by [`CowVec::copy_run`].
    #[inline]
    pub(crate) fn element(copied: u32) -> u32 {
        copied.wrapping_sub(1)
    }

    #[inline]
    fn entry(&mut self, index: u64) -> &mut u32 {
        let block = self.owned((index >> SHIFT) as usize);
        &mut block[(index & MASK) as usize]
    }

    /// Chunk `number`, which is the array's own from now on. Looked up once: this is asked for every page that is written.
    #[inline]
    fn owned(&mut self, number: usize) -> &mut [u32] {
        let Self { chunks, len } = self;
        let chunk = &mut chunks[number];
        if !matches!(chunk, Chunk::Owned(_)) {
            chunk.make_owned(chunk_len(*len, number));
        }
        match chunk {
            Chunk::Owned(block) => block,
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

/// Pieces of a chunk in a state that is saved. Chunks that were never written are pieces of zeros, which take no room.
const PIECE: usize = piece_len::<u32>();

impl CowVec {
    /// Entries in chunk `number`.
    fn chunk_len(&self, number: usize) -> usize {
        chunk_len(self.len, number)
    }

    /// A part of a chunk, to be written.
    fn piece_mut(&mut self, number: usize, part: Range<usize>) -> &mut [u32] {
        &mut self.owned(number)[part]
    }
}

impl Serialize for CowVec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let pieces = self.len.div_ceil(PIECE as u64);
        let count = usize::try_from(pieces + 1).map_err(serde::ser::Error::custom)?;
        let mut sequence = serializer.serialize_seq(Some(count))?;
        sequence.serialize_element(&self.len)?;
        let mut to = Pieces::new(&mut sequence);
        for (number, chunk) in self.chunks.iter().enumerate() {
            let block = match chunk {
                Chunk::Owned(block) => block,
                Chunk::Shared(block) => &**block,
                Chunk::Absent => {
                    for _ in 0..self.chunk_len(number).div_ceil(PIECE) {
                        to.put::<u32>(&[])?;
                    }
                    continue;
                }
            };
            for piece in block.chunks(PIECE) {
                to.put(piece)?;
            }
        }
        sequence.end()
    }
}

impl<'de> Deserialize<'de> for CowVec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(InPieces)
    }
}

struct InPieces;

impl<'de> Visitor<'de> for InPieces {
    type Value = CowVec;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array in pieces")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<CowVec, A::Error> {
        let Some(len) = sequence.next_element()? else { return Err(A::Error::invalid_length(0, &self)) };
        let mut array = CowVec { chunks: Vec::new(), len };
        for number in 0..usize::try_from(len.div_ceil(LEN)).map_err(A::Error::custom)? {
            // One by one: a length that is wrong is found before its memory is asked for.
            array.chunks.push(Chunk::Absent);
            let chunk_len = array.chunk_len(number);
            for start in (0..chunk_len).step_by(PIECE) {
                let end = (start + PIECE).min(chunk_len);
                let place = &mut array;
                let words = PieceInto::new(move || place.piece_mut(number, start..end));
                if sequence.next_element_seed(words)?.is_none() {
                    return Err(A::Error::invalid_length(number, &self));
                }
            }
        }
        Ok(array)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_array_comes_back_and_untouched_parts_take_no_room() {
        for len in [1, LEN - 1, LEN, LEN + 1, 5 * LEN + 7] {
            let mut array = CowVec::new(len);
            for index in (0..len).step_by(90_001) {
                array.set(index, (index % 1000) as u32);
            }
            array.set(len - 1, CowVec::EMPTY - 1);
            let mut shared = array.snapshot();
            shared.replace(len / 2, 3);
            for saved in [&array, &shared] {
                let bytes = postcard::to_stdvec(saved).expect("bytes");
                let again: CowVec = postcard::from_bytes(&bytes).expect("an array");
                assert_eq!((again.len, again.chunks.len()), (saved.len, saved.chunks.len()));
                assert!((0..len).all(|index| again.get(index) == saved.get(index)), "{len}");
                assert!(postcard::from_bytes::<CowVec>(&bytes[..bytes.len() - 1]).is_err());
            }
        }
        let none = postcard::to_stdvec(&CowVec::new(0)).expect("bytes");
        assert_eq!(postcard::from_bytes::<CowVec>(&none).expect("an array").len, 0);
        let mut sparse = CowVec::new(1 << 30);
        sparse.set(1 << 29, 5);
        let bytes = postcard::to_stdvec(&sparse).expect("bytes");
        assert!(bytes.len() < (1 << 16) + (1 << 17), "{}", bytes.len());
        let again: CowVec = postcard::from_bytes(&bytes).expect("an array");
        let made = again.chunks.iter().filter(|chunk| !matches!(chunk, Chunk::Absent)).count();
        assert_eq!((again.get(1 << 29), again.get(0), made), (5, CowVec::EMPTY, 1));
    }

    #[test]
    fn runs_are_copied_across_chunks() {
        let mut array = CowVec::new(3 * LEN);
        (0..200).for_each(|at| array.set(LEN - 100 + at, at as u32));
        let mut copied = [0; 200];
        let mut shared = array.snapshot();
        for from in [LEN - 100, LEN - 3, 2 * LEN - 150] {
            array.copy_run(from, &mut copied);
            let expected = (0..200).map(|at| array.get(from + at));
            assert!(copied.iter().map(|copied| CowVec::element(*copied)).eq(expected), "{from}");
            shared.put_run(2 * LEN - 7, &copied);
            assert!((0..200).all(|at| shared.get(2 * LEN - 7 + at) == array.get(from + at)), "{from}");
        }
        assert_eq!((array.get(2 * LEN - 7), shared.get(2 * LEN + 193)), (CowVec::EMPTY, CowVec::EMPTY));
    }

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
