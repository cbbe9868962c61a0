//! A block device or file, open.

use std::fs::{File, OpenOptions as FileOptions};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use flashweir_trace::SECTOR_BYTES;
use rustix::fs::{AtFlags, FallocateFlags, OFlags, StatxFlags};
use rustix::io::Errno;

use crate::safety::{self, Access, Identity, Kind, NO_DIRECT, Place, Survey};
use crate::{Error, OpenOptions};

/// Alignment of files where the system does not say which it wants for `O_DIRECT`.
const FILE_BLOCK_BYTES: u32 = 4096;
/// `_IO(0x12, 119)` of linux/fs.h.
const BLKDISCARD: rustix::ioctl::Opcode = rustix::ioctl::opcode::none(0x12, 119);

#[derive(Debug)]
pub(super) struct Device {
    pub(super) path: PathBuf,
    pub(super) file: File,
    pub(super) kind: Kind,
    pub(super) identity: Identity,
    pub(super) size_bytes: u64,
    pub(super) block_bytes: u32,
    /// Alignment that memory for requests needs, bytes.
    pub(super) align_bytes: usize,
    pub(super) writable: bool,
}

impl Device {
    /// Opens the target and looks at it; makes it, if it is a file that is not there and has a size.
    pub(super) fn open(path: &Path, options: &OpenOptions) -> Result<Self, Error> {
        let refuse = |detail: String| Error::Target { path: path.into(), detail };
        let access = Access {
            write: options.write,
            erase: options.erase.as_deref(),
            seen: options.seen,
            ours: options.ours,
            direct: options.direct,
        };
        let (file, survey) = match Place::find(path)? {
            Place::There(there) => there.open(access)?,
            Place::Free(survey) => (make(&survey, options)?, survey),
        };
        let size_bytes = match (survey.kind, options.size_bytes) {
            (Kind::Missing, size) => size.unwrap_or_default(),
            (Kind::File, Some(size)) if size > survey.size_bytes && options.write => size,
            (_, Some(size)) if size != survey.size_bytes => {
                let bytes = survey.size_bytes;
                return Err(refuse(format!(
                    "--size {size}: it has {bytes} bytes; expected no --size, which makes files"
                )));
            }
            _ => survey.size_bytes,
        };
        let kind = if survey.kind == Kind::Block { Kind::Block } else { Kind::File };
        if survey.size_bytes < size_bytes {
            file.set_len(size_bytes).map_err(|error| refuse(error.to_string()))?;
        }
        let (block_bytes, align_bytes) = blocks(&file, kind, options.direct);
        let whole_bytes = size_bytes / u64::from(block_bytes) * u64::from(block_bytes);
        if whole_bytes == 0 {
            return Err(refuse(format!(
                "it has {size_bytes} bytes; expected at least a block of {block_bytes}"
            )));
        }
        let identity = safety::identity_of(&file).map_err(|error| refuse(error.to_string()))?;
        Ok(Self {
            path: path.into(),
            file,
            kind,
            identity,
            size_bytes: whole_bytes,
            block_bytes,
            align_bytes,
            writable: options.write,
        })
    }

    pub(super) fn fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    pub(super) fn refuse(&self, detail: String) -> Error {
        Error::Target { path: self.path.clone(), detail }
    }

    /// Why a request failed.
    pub(super) fn failed(&self, what: &str, offset: u64, length: u64, error: Errno) -> Error {
        let (first, end) = (offset / SECTOR_BYTES, (offset + length) / SECTOR_BYTES);
        let reason = if error == Errno::OPNOTSUPP {
            "the drive can't do that; expected one that can, or only other requests".into()
        } else {
            std::io::Error::from(error).to_string()
        };
        let detail = format!("a {what} of sectors {first} to {end} failed: {reason}");
        Error::Failed { path: self.path.clone(), detail }
    }
}

/// Discards part of a device or file. Blocks until it is done.
pub(super) fn discard(file: &File, kind: Kind, offset: u64, length: u64) -> Result<(), Errno> {
    if kind == Kind::File {
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        return rustix::fs::fallocate(file.as_fd(), hole, offset, length);
    }
    // SAFETY: BLKDISCARD takes a pointer to two u64, first byte and length, and writes nothing.
    unsafe {
        let range = rustix::ioctl::Setter::<BLKDISCARD, [u64; 2]>::new([offset, length]);
        rustix::ioctl::ioctl(file.as_fd(), range)
    }
}

/// Makes a file that is not there, and nothing else: what came to be under its name meanwhile is left alone.
fn make(survey: &Survey, options: &OpenOptions) -> Result<File, Error> {
    let refuse = |detail: &str| Error::Target { path: survey.path.clone(), detail: detail.into() };
    survey.check_name(options.erase.as_deref())?;
    if options.size_bytes.is_none() {
        return Err(refuse(
            "there is no such file or drive; expected one that is there, or a simulated drive such as sim:tlc",
        ));
    }
    if options.seen.is_some() {
        return Err(refuse("it is gone since it was looked at; expected the same file or drive"));
    }
    if !options.write {
        return Err(refuse("a file made now would have nothing to read; expected one that is there"));
    }
    let direct = if options.direct { OFlags::DIRECT } else { OFlags::empty() };
    let mut how = FileOptions::new();
    how.read(true).write(true).create_new(true).custom_flags(direct.bits().cast_signed());
    how.open(&survey.path).map_err(|error| {
        if options.direct && error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) {
            return refuse(NO_DIRECT);
        }
        refuse(&error.to_string())
    })
}

/// The smallest unit of addresses and lengths, and the alignment of memory, bytes.
fn blocks(file: &File, kind: Kind, direct: bool) -> (u32, usize) {
    if kind == Kind::Block {
        let block = rustix::fs::ioctl_blksszget(file.as_fd()).unwrap_or(FILE_BLOCK_BYTES);
        return (block, block as usize);
    }
    if !direct {
        return (SECTOR_BYTES as u32, SECTOR_BYTES as usize);
    }
    let wanted = StatxFlags::DIOALIGN;
    let found = rustix::fs::statx(file.as_fd(), "", AtFlags::EMPTY_PATH, wanted).ok();
    let known = found.filter(|found| found.stx_mask & wanted.bits() != 0 && found.stx_dio_offset_align > 0);
    known.map_or((FILE_BLOCK_BYTES, FILE_BLOCK_BYTES as usize), |found| {
        (found.stx_dio_offset_align.max(SECTOR_BYTES as u32), found.stx_dio_mem_align as usize)
    })
}
