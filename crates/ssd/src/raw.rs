//! Large arrays of numbers as raw little-endian bytes in pieces, for a state that is saved: fast, and bounded in what is held
//! beside the array. For `#[serde(with = "crate::raw")]`.
//!
//! The form is a sequence: the length of the array, then its pieces as byte strings. A piece of zeros is an empty string.

use std::fmt;
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};
use serde::ser::{SerializeSeq, Serializer};

/// Bytes of a piece.
pub(crate) const PIECE_BYTES: usize = 1 << 16;

/// A number of fixed width, or several of them.
pub(crate) trait Word: Copy + PartialEq {
    /// Its bytes.
    const BYTES: usize;
    /// Zero: all its bytes are.
    const ZERO: Self;
    /// Writes it to as many bytes.
    fn put(self, into: &mut [u8]);
    /// Reads it from as many bytes.
    fn get(from: &[u8]) -> Self;
}

macro_rules! words {
    ($($word:ty),*) => {$(
        impl Word for $word {
            const BYTES: usize = size_of::<Self>();
            const ZERO: Self = 0;

            #[inline]
            fn put(self, into: &mut [u8]) {
                into.copy_from_slice(&self.to_le_bytes());
            }

            #[inline]
            fn get(from: &[u8]) -> Self {
                let mut bytes = [0; size_of::<Self>()];
                bytes.copy_from_slice(from);
                Self::from_le_bytes(bytes)
            }
        }
    )*};
}

words!(u8, u16, u32, u64);

impl Word for bool {
    const BYTES: usize = 1;
    const ZERO: Self = false;

    fn put(self, into: &mut [u8]) {
        into[0] = self.into();
    }

    fn get(from: &[u8]) -> Self {
        from[0] != 0
    }
}

impl<W: Word, const N: usize> Word for [W; N] {
    const BYTES: usize = N * W::BYTES;
    const ZERO: Self = [W::ZERO; N];

    #[inline]
    fn put(self, into: &mut [u8]) {
        into.chunks_exact_mut(W::BYTES).zip(self).for_each(|(into, word)| word.put(into));
    }

    #[inline]
    fn get(from: &[u8]) -> Self {
        let mut words = Self::ZERO;
        words.iter_mut().zip(from.chunks_exact(W::BYTES)).for_each(|(word, from)| *word = W::get(from));
        words
    }
}

/// Words of a piece.
pub(crate) const fn piece_len<W: Word>() -> usize {
    PIECE_BYTES / W::BYTES
}

/// A byte string, which serde takes a sequence of bytes for otherwise.
struct Bytes<'a>(&'a [u8]);

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

/// Writes pieces of words into a sequence.
pub(crate) struct Pieces<'a, S> {
    sequence: &'a mut S,
    bytes: Vec<u8>,
}

impl<'a, S: SerializeSeq> Pieces<'a, S> {
    pub(crate) fn new(sequence: &'a mut S) -> Self {
        Self { sequence, bytes: Vec::new() }
    }

    /// One piece, of at most [`piece_len`] words.
    pub(crate) fn put<W: Word>(&mut self, words: &[W]) -> Result<(), S::Error> {
        self.bytes.clear();
        if words.iter().any(|word| *word != W::ZERO) {
            self.bytes.resize(words.len() * W::BYTES, 0);
            for (bytes, word) in self.bytes.chunks_exact_mut(W::BYTES).zip(words) {
                word.put(bytes);
            }
        }
        self.sequence.serialize_element(&Bytes(&self.bytes))
    }
}

/// Reads one piece into words, which are zeros before: the function gives them, and is not called for a piece of zeros.
pub(crate) struct PieceInto<F, W> {
    words: F,
    word: PhantomData<W>,
}

impl<'a, W: Word + 'a, F: FnOnce() -> &'a mut [W]> PieceInto<F, W> {
    pub(crate) fn new(words: F) -> Self {
        Self { words, word: PhantomData }
    }
}

impl<'a, 'de, W: Word + 'a, F: FnOnce() -> &'a mut [W]> DeserializeSeed<'de> for PieceInto<F, W> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_byte_buf(self)
    }
}

impl<'a, W: Word + 'a, F: FnOnce() -> &'a mut [W]> Visitor<'_> for PieceInto<F, W> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a piece of an array")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<(), E> {
        if bytes.is_empty() {
            return Ok(());
        }
        let words = (self.words)();
        if bytes.len() != words.len() * W::BYTES {
            return Err(E::custom(format!("a piece of {} bytes for {} words", bytes.len(), words.len())));
        }
        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(W::BYTES)) {
            *word = W::get(bytes);
        }
        Ok(())
    }
}

/// Writes an array.
pub(crate) fn serialize<W: Word, S: Serializer>(words: &[W], serializer: S) -> Result<S::Ok, S::Error> {
    let pieces = words.chunks(piece_len::<W>());
    let mut sequence = serializer.serialize_seq(Some(1 + pieces.len()))?;
    sequence.serialize_element(&(words.len() as u64))?;
    let mut to = Pieces::new(&mut sequence);
    for piece in pieces {
        to.put(piece)?;
    }
    sequence.end()
}

/// Reads an array.
pub(crate) fn deserialize<'de, W: Word, D: Deserializer<'de>, A: From<Vec<W>>>(
    deserializer: D,
) -> Result<A, D::Error> {
    deserializer.deserialize_seq(Array(PhantomData)).map(A::from)
}

struct Array<W>(PhantomData<W>);

impl<'de, W: Word> Visitor<'de> for Array<W> {
    type Value = Vec<W>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array in pieces")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Vec<W>, A::Error> {
        let Some(len) = sequence.next_element::<u64>()? else {
            return Err(A::Error::invalid_length(0, &self));
        };
        let mut words = Vec::new();
        let mut left = usize::try_from(len).map_err(A::Error::custom)?;
        while left > 0 {
            let count = left.min(piece_len::<W>());
            let start = words.len();
            // Grows piece by piece: a length that is wrong is found before its memory is asked for.
            words.resize(start + count, W::ZERO);
            let place = &mut words[start..];
            if sequence.next_element_seed(PieceInto::new(move || place))?.is_none() {
                return Err(A::Error::invalid_length(start, &self));
            }
            left -= count;
        }
        words.shrink_to_fit();
        Ok(words)
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Arrays {
        #[serde(with = "crate::raw")]
        bytes: Vec<u8>,
        #[serde(with = "crate::raw")]
        boxed: Box<[u32]>,
        #[serde(with = "crate::raw")]
        bits: Vec<u64>,
        #[serde(with = "crate::raw")]
        triples: Vec<[u32; 3]>,
        #[serde(with = "crate::raw")]
        flags: Vec<bool>,
        after: u32,
    }

    fn arrays(len: usize) -> Arrays {
        Arrays {
            bytes: (0..len).map(|at| at as u8).collect(),
            boxed: (0..len as u32).map(|at| if at < 100_000 { 0 } else { u32::MAX - at }).collect(),
            bits: (0..len as u64).map(|at| at << 40).collect(),
            triples: (0..len as u32).map(|at| [at, 0, at * 3]).collect(),
            flags: (0..len).map(|at| at % 3 == 0).collect(),
            after: 7,
        }
    }

    #[test]
    fn arrays_come_back_from_pieces() {
        for len in [0, 1, 8191, 8192, 8193, 200_000] {
            let bytes = postcard::to_stdvec(&arrays(len)).expect("bytes");
            assert_eq!(postcard::from_bytes::<Arrays>(&bytes), Ok(arrays(len)), "{len}");
        }
        // Zeros take no room.
        let zeros = Arrays { bytes: vec![0; 1 << 20], bits: vec![0; 1 << 20], ..arrays(0) };
        assert!(postcard::to_stdvec(&zeros).expect("bytes").len() < 200);
    }

    #[test]
    fn wrong_lengths_are_errors() {
        let bytes = postcard::to_stdvec(&arrays(20_000)).expect("bytes");
        for end in (0..bytes.len()).step_by(997) {
            assert!(postcard::from_bytes::<Arrays>(&bytes[..end]).is_err(), "{end}");
        }
        for at in 0..8 {
            let mut other = bytes.clone();
            other[at] ^= 0x55;
            // Damage may go unnoticed here, but nothing panics.
            let _ = postcard::from_bytes::<Arrays>(&other);
        }
    }
}
