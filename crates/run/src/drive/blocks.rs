//! A stream in blocks, each with a checksum, compressed where that makes it smaller. What is read was checked before.
//!
//! A block is its length, the length that it takes in the file and the CRC-32 of that, 4 bytes each, little-endian, and its bytes. A
//! block that takes as much as it has is stored as it is; others are zstd. The stream ends with a block of length 0, which holds how
//! long the stream is, 8 bytes.

use std::io::{self, Read, Write};

use zstd::bulk::{Compressor, Decompressor};

/// Bytes of a block.
const BLOCK: usize = 1 << 20;
/// The fastest of the levels that look for more than runs.
const LEVEL: i32 = 1;
const HEAD: usize = 12;

/// Writes a stream.
pub(super) struct BlockWriter<W> {
    to: W,
    block: Vec<u8>,
    packed: Vec<u8>,
    compressor: Compressor<'static>,
    length: u64,
    /// Why a write failed: who serializes does not say.
    pub(super) failed: Option<io::Error>,
}

impl<W: Write> BlockWriter<W> {
    pub(super) fn new(to: W) -> io::Result<Self> {
        let packed = vec![0; zstd::zstd_safe::compress_bound(BLOCK)];
        let compressor = Compressor::new(LEVEL)?;
        Ok(Self { to, block: Vec::with_capacity(BLOCK), packed, compressor, length: 0, failed: None })
    }

    fn put(&mut self) -> io::Result<()> {
        let packed = self.compressor.compress_to_buffer(&self.block, &mut self.packed[..])?;
        let stored = if packed < self.block.len() { &self.packed[..packed] } else { &self.block[..] };
        put_block(&mut self.to, self.block.len(), stored)?;
        self.length += self.block.len() as u64;
        self.block.clear();
        Ok(())
    }

    /// Ends the stream.
    pub(super) fn finish(mut self) -> io::Result<W> {
        if !self.block.is_empty() {
            self.put()?;
        }
        put_block(&mut self.to, 0, &self.length.to_le_bytes())?;
        Ok(self.to)
    }
}

fn put_block(to: &mut impl Write, len: usize, stored: &[u8]) -> io::Result<()> {
    let crc = crc32fast::hash(stored);
    for number in [len as u32, stored.len() as u32, crc] {
        to.write_all(&number.to_le_bytes())?;
    }
    to.write_all(stored)
}

impl<W: Write> Write for BlockWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(BLOCK - self.block.len());
        self.block.extend_from_slice(&bytes[..taken]);
        if self.block.len() == BLOCK
            && let Err(error) = self.put()
        {
            self.failed.get_or_insert_with(|| io::Error::new(error.kind(), error.to_string()));
            return Err(error);
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads a stream.
pub(super) struct BlockReader<R> {
    from: R,
    block: Vec<u8>,
    at: usize,
    stored: Vec<u8>,
    decompressor: Decompressor<'static>,
    length: u64,
    ended: bool,
    /// Why a read failed: who deserializes does not say.
    pub(super) failed: Option<io::Error>,
}

impl<R: Read> BlockReader<R> {
    pub(super) fn new(from: R) -> io::Result<Self> {
        Ok(Self {
            from,
            block: Vec::with_capacity(BLOCK),
            at: 0,
            stored: Vec::new(),
            decompressor: Decompressor::new()?,
            length: 0,
            ended: false,
            failed: None,
        })
    }

    /// Takes the next block. False at the end of the stream.
    fn next_block(&mut self) -> io::Result<bool> {
        if self.ended {
            return Ok(false);
        }
        let mut head = [0; HEAD];
        self.from.read_exact(&mut head).map_err(cut_short)?;
        let number = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (len, stored_len, crc) = (number(0) as usize, number(4) as usize, number(8));
        if len > BLOCK || stored_len > len.max(size_of::<u64>()) {
            return Err(damaged());
        }
        self.stored.resize(stored_len, 0);
        self.from.read_exact(&mut self.stored).map_err(cut_short)?;
        if crc32fast::hash(&self.stored) != crc {
            return Err(damaged());
        }
        self.at = 0;
        self.block.clear();
        if len == 0 {
            self.ended = true;
            return if self.stored == self.length.to_le_bytes() { Ok(false) } else { Err(damaged()) };
        }
        if stored_len == len {
            self.block.extend_from_slice(&self.stored);
        } else if !matches!(self.decompressor.decompress_to_buffer(&self.stored, &mut self.block), Ok(taken) if taken == len)
        {
            return Err(damaged());
        }
        self.length += len as u64;
        Ok(true)
    }

    /// Checks that the stream ends here, and what holds it, too.
    pub(super) fn finish(mut self) -> io::Result<()> {
        if self.at < self.block.len() || self.next_block()? || self.from.read(&mut [0])? > 0 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "there is more in it than there should be",
            ));
        }
        Ok(())
    }
}

impl<R: Read> Read for BlockReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.at == self.block.len() {
            match self.next_block() {
                Ok(true) => {}
                Ok(false) => return Ok(0),
                Err(error) => {
                    self.failed.get_or_insert_with(|| io::Error::new(error.kind(), error.to_string()));
                    return Err(error);
                }
            }
        }
        let taken = into.len().min(self.block.len() - self.at);
        into[..taken].copy_from_slice(&self.block[self.at..self.at + taken]);
        self.at += taken;
        Ok(taken)
    }
}

/// The end of a file where there should be more.
pub(super) fn cut_short(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return io::Error::new(error.kind(), "it is cut short");
    }
    error
}

pub(super) fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it is damaged: a checksum does not fit")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(bytes: &[u8]) -> Vec<u8> {
        let mut writer = BlockWriter::new(Vec::new()).expect("a writer");
        for piece in bytes.chunks(70_001) {
            writer.write_all(piece).expect("written");
        }
        writer.finish().expect("finished")
    }

    fn read(file: &[u8]) -> Result<Vec<u8>, String> {
        let mut reader = BlockReader::new(file).expect("a reader");
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        reader.finish().map_err(|error| error.to_string())?;
        Ok(bytes)
    }

    /// Bytes that can't be compressed, then zeros.
    fn sample(len: usize) -> Vec<u8> {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        let mut bytes: Vec<u8> = (0..len).map(|_| next()).collect();
        bytes.resize(2 * len, 0);
        bytes
    }

    #[test]
    fn streams_come_back() {
        for len in [0, 1, 1000, BLOCK / 2, BLOCK, BLOCK + 1, 3 * BLOCK] {
            let bytes = sample(len);
            let file = written(&bytes);
            assert_eq!(read(&file), Ok(bytes), "{len}");
            // Incompressible data is stored as it is; zeros take almost no space.
            assert!(file.len() < len + len / 500 + 300, "{len}: {}", file.len());
        }
    }

    #[test]
    fn damage_is_found_wherever_it_is() {
        let file = written(&sample(BLOCK + 5000));
        for at in (0..file.len()).step_by(3001).chain(file.len() - 30..file.len()).chain(0..30) {
            let mut other = file.clone();
            other[at] ^= 1;
            assert!(read(&other).is_err(), "{at}");
            assert_eq!(read(&file[..at]), Err("it is cut short".into()), "{at}");
        }
        let longer = [&file[..], &[0]].concat();
        assert_eq!(read(&longer), Err("there is more in it than there should be".into()));
        // A whole block lost.
        let first = HEAD + BLOCK;
        assert!(read(&file[first..]).is_err());
    }
}
