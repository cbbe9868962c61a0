//! The bytes of a drive: in a sparse file, in memory, or a pattern where only times count.

mod file;
mod memory;
#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;

use file::FileStore;
use memory::Memory;

use crate::Error;

/// Bytes of a drive, for several threads at a time.
#[derive(Debug)]
pub(super) enum Store {
    /// A sparse file.
    File(FileStore),
    /// Memory, as far as it was written.
    Memory(Memory),
    /// Nothing: each eight bytes are read as their own address, little-endian.
    Pattern,
}

/// State of a file of bytes when it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileState {
    /// It may be there, and is whole then.
    Whole,
    /// It may be there, and is taken though its process was killed: a folder of `--state` says what is in it.
    OfState,
    /// It must be there, with the bytes of a drive, and is taken though its process was killed.
    There,
}

impl FileState {
    /// Of a new drive, which may live in a folder.
    pub(super) fn of_state(has_folder: bool) -> Self {
        if has_folder { Self::OfState } else { Self::Whole }
    }
}

impl Store {
    /// Opens the store that `--data` names. `bytes` is the capacity of the drive.
    pub(super) fn open(data: &str, bytes: u64, state: FileState) -> Result<Self, Error> {
        Ok(match data {
            "memory" => Self::Memory(Memory::default()),
            "none" => Self::Pattern,
            path => Self::File(FileStore::open(Path::new(path), bytes, state)?),
        })
    }

    /// Reads bytes. Those that were never written are zeroes.
    pub(super) fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        match self {
            Self::File(file) => file.read(at, into),
            Self::Memory(memory) => {
                memory.read(at, into);
                Ok(())
            }
            Self::Pattern => {
                for (address, word) in (at..).step_by(8).zip(into.chunks_mut(8)) {
                    word.copy_from_slice(&address.to_le_bytes()[..word.len()]);
                }
                Ok(())
            }
        }
    }

    /// Writes bytes.
    pub(super) fn write(&self, at: u64, data: &[u8]) -> io::Result<()> {
        match self {
            Self::File(file) => file.write(at, data),
            Self::Memory(memory) => {
                memory.write(at, data);
                Ok(())
            }
            Self::Pattern => Ok(()),
        }
    }

    /// Makes bytes zero. `keep`: the space stays allocated.
    pub(super) fn zero(&self, at: u64, bytes: u64, keep: bool) -> io::Result<()> {
        match self {
            Self::File(file) => file.zero(at, bytes, keep),
            Self::Memory(memory) => {
                memory.zero(at, bytes);
                Ok(())
            }
            Self::Pattern => Ok(()),
        }
    }

    /// Lengths of the parts from `at` on, at most `limit`, and whether they are holes.
    pub(super) fn extents(&self, at: u64, bytes: u64, limit: usize) -> io::Result<Vec<(u64, bool)>> {
        match self {
            Self::File(file) => file.extents(at, bytes, limit),
            Self::Memory(memory) => Ok(memory.extents(at, bytes, limit)),
            Self::Pattern => Ok(vec![(bytes, false)]),
        }
    }

    /// Puts everything on the disk of the machine and marks the file as whole.
    pub(super) fn finish(&self) -> Result<(), Error> {
        match self {
            Self::File(file) => file.finish(),
            Self::Memory(_) | Self::Pattern => Ok(()),
        }
    }
}
