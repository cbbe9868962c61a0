//! Bytes in a sparse file. While it is served, a mark beside it says that it is not whole.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use flashweir_trace::output::OutputError;
use rustix::fs::{FallocateFlags, SeekFrom, fallocate, seek};
use rustix::io::Errno;

use super::FileState;
use crate::{Error, owner};

/// The file's name in a folder that was given.
const IN_FOLDER: &str = "drive.data";
/// Zeroes that are written at once.
const ZEROES: usize = 64 << 10;

/// Bytes of a drive.
#[derive(Debug)]
pub(in crate::serve) struct FileStore {
    path: PathBuf,
    file: File,
    bytes: u64,
}

/// Where the mark of a file is that is being served.
fn mark_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".open");
    path.with_file_name(name)
}

impl FileStore {
    /// Opens a file of this size, or makes it. A folder holds the file.
    pub(super) fn open(path: &Path, bytes: u64, state: FileState) -> Result<Self, Error> {
        let path = if path.is_dir() { path.join(IN_FOLDER) } else { path.to_owned() };
        let refused =
            |expected: String| Error::Setting { what: format!("--data {}", path.display()), expected };
        let system =
            |error: io::Error| refused(format!("{error}; expected a file, a folder, memory or none"));
        let there = std::fs::metadata(&path).ok();
        if there.as_ref().is_some_and(|there| !there.is_file()) {
            return Err(refused("is no file; expected a file, a folder, memory or none".into()));
        }
        let size = there.map_or(0, |there| there.len());
        if state == FileState::There && size == 0 {
            let expected = "has no bytes of the drive that --state has; expected the file that has them";
            return Err(refused(expected.into()));
        }
        if size != 0 && size != bytes {
            return Err(refused(format!("has {size} bytes, and the drive {bytes}; expected another name")));
        }
        let mark = mark_of(&path);
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(system)?;
        owner::lock(&file, &path, "--data")?;
        if mark.exists() && state == FileState::Whole {
            return Err(refused(format!(
                "is not whole: the process that served it was killed; remove {} to take it as it is",
                mark.display()
            )));
        }
        file.set_len(bytes).map_err(system)?;
        std::fs::write(&mark, format!("served by process {}\n", std::process::id())).map_err(system)?;
        Ok(Self { path, file, bytes })
    }

    pub(super) fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(into, at)
    }

    pub(super) fn write(&self, at: u64, data: &[u8]) -> io::Result<()> {
        self.file.write_all_at(data, at)
    }

    pub(super) fn zero(&self, at: u64, bytes: u64, keep: bool) -> io::Result<()> {
        let how = if keep { FallocateFlags::ZERO_RANGE } else { FallocateFlags::PUNCH_HOLE };
        match fallocate(&self.file, how | FallocateFlags::KEEP_SIZE, at, bytes) {
            Ok(()) => Ok(()),
            // A file system without holes.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
                let zeroes = vec![0; ZEROES];
                let (mut at, end) = (at, at + bytes);
                while at < end {
                    let len = (end - at).min(ZEROES as u64) as usize;
                    self.file.write_all_at(&zeroes[..len], at)?;
                    at += len as u64;
                }
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn extents(&self, at: u64, bytes: u64, limit: usize) -> io::Result<Vec<(u64, bool)>> {
        let (mut from, end) = (at, (at + bytes).min(self.bytes));
        let mut found = Vec::new();
        // One handle, one position: another one is opened for looking.
        let look = File::open(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&self.file)));
        let Ok(look) = look else { return Ok(vec![(bytes, false)]) };
        while from < end && found.len() < limit {
            let data = match seek(&look, SeekFrom::Data(from)) {
                Ok(data) => data.min(end),
                Err(Errno::NXIO) => end,
                Err(error) => return Err(error.into()),
            };
            if data > from {
                found.push((data - from, true));
                from = data;
                continue;
            }
            let hole = seek(&look, SeekFrom::Hole(from))?.min(end);
            found.push((hole - from, false));
            from = hole;
        }
        Ok(found)
    }

    /// Puts everything on the disk, and removes the mark.
    pub(super) fn finish(&self) -> Result<(), Error> {
        let failed = |source| Error::from(OutputError { path: self.path.clone(), source });
        self.file.sync_all().map_err(failed)?;
        match std::fs::remove_file(mark_of(&self.path)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(error)),
            _ => Ok(()),
        }
    }
}
