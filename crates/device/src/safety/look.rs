//! Opening a target once and looking at it through that descriptor. Its name is resolved to a handle on the inode, which has no effect
//! on the target; all that follows goes through the handle.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, SeekFrom, StatxFlags};
use rustix::io::Errno;

use super::in_use::{self, Node};
use super::{Finding, Identity, Kind, Survey, Weight, content, signatures};
use crate::Error;

/// `_IOR(0x12, 128, __u64)` of linux/fs.h: `BLKGETDISKSEQ`.
const GET_SEQUENCE: rustix::ioctl::Opcode = rustix::ioctl::opcode::read::<u64>(0x12, 128);
/// Magic numbers of file systems whose files are the kernel's own (linux/magic.h), and no data.
const KERNELS: [u64; 13] = [
    0x9fa0,      // proc
    0x6265_6572, // sysfs
    0x6462_6720, // debugfs
    0x7472_6163, // tracefs
    0x6367_7270, // cgroup2
    0x0027_e0eb, // cgroup
    0x7363_6673, // securityfs
    0x6265_6570, // configfs
    0xde5e_81e4, // efivarfs
    0x6165_676c, // pstore
    0xcafe_4a11, // bpf
    0xf97c_ff8c, // selinuxfs
    0x4341_5d53, // smackfs
];

/// Refusal of a file system without `O_DIRECT`.
pub(crate) const NO_DIRECT: &str =
    "its file system can't pass the page cache by (O_DIRECT); expected another one, or --buffered";

/// Access to a target.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Access<'a> {
    /// True if it is going to be written.
    pub(crate) write: bool,
    /// Its own name, typed once more by its owner.
    pub(crate) erase: Option<&'a str>,
    /// The target that its name has to lead to.
    pub(crate) seen: Option<Identity>,
    /// True if the caller wrote the data that it holds.
    pub(crate) ours: bool,
    /// True if requests bypass the page cache.
    pub(crate) direct: bool,
}

/// A name that was resolved.
#[derive(Debug)]
pub(crate) enum Place {
    /// It leads to a block device or file.
    There(There),
    /// It is the name of a file that can be made.
    Free(Survey),
}

/// A block device or file, not opened yet.
#[derive(Debug)]
pub(crate) struct There {
    path: PathBuf,
    resolved: PathBuf,
    handle: OwnedFd,
    kind: Kind,
    /// Device number of a block device.
    device: u64,
}

impl Place {
    /// Resolves a name, which is the only time that it is.
    pub(crate) fn find(path: &Path) -> Result<Self, Error> {
        let refuse = |detail: String| Error::Target { path: path.into(), detail };
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let handle = match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(handle) => handle,
            Err(Errno::NOENT) if !path.is_symlink() => return free(path).map(Self::Free),
            Err(error) => return Err(refuse(io::Error::from(error).to_string())),
        };
        let failed = |error: Errno| refuse(io::Error::from(error).to_string());
        let found = rustix::fs::fstat(&handle).map_err(failed)?;
        let kind = match FileType::from_raw_mode(found.st_mode) {
            FileType::BlockDevice => Kind::Block,
            FileType::RegularFile => Kind::File,
            _ => {
                let expected = "expected one of them, or sim:PRESET";
                return Err(refuse(format!("this is neither a block device nor a file; {expected}")));
            }
        };
        if kind == Kind::File {
            let system = rustix::fs::fstatfs(&handle).map_err(failed)?;
            if KERNELS.contains(&(system.f_type.cast_unsigned() & 0xffff_ffff)) {
                return Err(refuse(
                    "this is an interface of the kernel, and no data; expected a file on a drive".into(),
                ));
            }
        }
        let resolved = std::fs::read_link(link_to(&handle)).or_else(|_| std::fs::canonicalize(path));
        let resolved = resolved.map_err(|error| refuse(error.to_string()))?;
        Ok(Self::There(There { path: path.into(), resolved, handle, kind, device: found.st_rdev }))
    }
}

/// The handle's entry in `/proc`, through which the inode itself is opened, whatever its name leads to by now.
fn link_to(handle: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd()))
}

impl There {
    /// Opens the target and looks at it. Whoever wants to write is refused if there is a reason to.
    pub(crate) fn open(self, access: Access<'_>) -> Result<(File, Survey), Error> {
        let exclusive = if self.kind == Kind::Block { OFlags::EXCL } else { OFlags::empty() };
        let flags = if access.write { OFlags::RDWR | exclusive } else { OFlags::RDONLY };
        let file = match self.reopen(flags) {
            Ok(file) => file,
            Err(error) if is_busy(&error) => {
                let mut survey = self.survey(self.reopen(OFlags::RDONLY).ok().as_ref())?;
                survey.findings = self.users_of_busy();
                survey.permit(access.erase)?;
                return Err(self.refuse(&error));
            }
            Err(error) => return Err(self.refuse(&error)),
        };
        let mut survey = self.survey(Some(&file))?;
        survey.check_name(access.erase)?;
        if access.seen.is_some() && access.seen != survey.identity {
            let detail = "it became another file or drive since it was looked at; expected the same".into();
            return Err(Error::Target { path: self.path, detail });
        }
        if access.write {
            survey.findings = self.users(&file, &survey);
            // Its name, typed, covers any content.
            if access.erase.is_none() && !access.ours {
                self.look_at_content(&file, &mut survey);
            }
            survey.permit(access.erase)?;
        }
        if access.direct {
            set_direct(&file, true)
                .map_err(|_| Error::Target { path: self.path, detail: NO_DIRECT.into() })?;
        }
        Ok((file, survey))
    }

    /// Looks at the target with nothing opened for writing, and collects all reasons not to write it.
    fn look(&self) -> Result<Survey, Error> {
        let exclusive = if self.kind == Kind::Block { OFlags::EXCL } else { OFlags::empty() };
        let (file, busy) = match self.reopen(OFlags::RDONLY | exclusive) {
            Err(error) if is_busy(&error) => {
                (self.reopen(OFlags::RDONLY).map_err(|error| self.refuse(&error))?, true)
            }
            opened => (opened.map_err(|error| self.refuse(&error))?, false),
        };
        let mut survey = self.survey(Some(&file))?;
        survey.findings = if busy { self.users_of_busy() } else { self.users(&file, &survey) };
        self.look_at_content(&file, &mut survey);
        Ok(survey)
    }

    /// Users of a target, and reasons why they may be hidden.
    fn users(&self, file: &File, survey: &Survey) -> Vec<Finding> {
        // A file without data is no member of anything, and reading it would leave pages in the cache that look like data.
        let holds_some = self.kind == Kind::Block || content::has_data(file);
        in_use::findings(self.node(), holds_some.then_some((file, survey.size_bytes)))
    }

    /// Users of a target that could not be opened exclusively.
    fn users_of_busy(&self) -> Vec<Finding> {
        let mut findings = in_use::findings(self.node(), None);
        if findings.iter().all(|finding| finding.weight != Weight::Use) {
            findings.push(Finding::new(Weight::Use, "is in use (somebody has opened it exclusively)"));
        }
        findings
    }

    fn node(&self) -> Node {
        match (self.kind, rustix::fs::fstat(&self.handle)) {
            (Kind::File, Ok(found)) => Node::File { device: found.st_dev, inode: found.st_ino },
            _ => Node::Block(self.device),
        }
    }

    /// Opens the inode behind the handle.
    fn reopen(&self, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::CLOEXEC;
        match rustix::fs::open(link_to(&self.handle), flags, Mode::empty()) {
            Err(Errno::NOENT) => {}
            opened => return Ok(File::from(opened?)),
        }
        // There is no /proc: the name is used again, and has to lead to the same.
        let file = rustix::fs::open(&self.path, flags | OFlags::NONBLOCK | OFlags::NOCTTY, Mode::empty())?;
        let (found, expected) = (rustix::fs::fstat(&file)?, rustix::fs::fstat(&self.handle)?);
        let identity = |found: &rustix::fs::Stat| (found.st_dev, found.st_ino, found.st_rdev);
        if identity(&found) != identity(&expected) {
            return Err(io::Error::other("it became another file or drive while it was looked at"));
        }
        Ok(File::from(file))
    }

    /// Size, identity and the like, without reasons.
    fn survey(&self, open: Option<&File>) -> Result<Survey, Error> {
        let size = open.map_or(Ok(0), size_of).map_err(|error| self.refuse(&error.into()))?;
        // A part of a block at the end can't be read or written.
        let block = open
            .and_then(|file| rustix::fs::ioctl_blksszget(file).ok())
            .map_or(1, |bytes| u64::from(bytes.max(1)));
        Ok(Survey {
            path: self.path.clone(),
            resolved: self.resolved.clone(),
            kind: self.kind,
            size_bytes: size / block * block,
            identity: open.map(identity_of).transpose().map_err(|error| self.refuse(&error))?,
            discards: self.kind == Kind::File || in_use::discards(self.device),
            findings: Vec::new(),
        })
    }

    /// Adds what the target holds to the reasons.
    fn look_at_content(&self, file: &File, survey: &mut Survey) {
        let mut tell = |weight: Weight, what: String| survey.findings.push(Finding::new(weight, what));
        let size_bytes = survey.size_bytes;
        let found = if self.kind == Kind::File {
            Ok(content::has_data(file).then_some(0))
        } else {
            // Past the page cache if that can be, so that the look leaves nothing there.
            let direct = set_direct(file, true).is_ok();
            let found = content::first_data(file, size_bytes, content::EFFORT);
            if direct {
                let _ = set_direct(file, false);
            }
            found
        };
        if self.kind == Kind::Block {
            let parts = in_use::partitions(self.device);
            if !parts.is_empty() {
                tell(Weight::Content, format!("has partitions ({})", parts.join(", ")));
            }
        }
        match found {
            Ok(None) => {}
            Ok(Some(at)) => {
                if self.kind == Kind::File {
                    tell(Weight::Content, "is a file that is not empty".into());
                }
                let names = signatures(file, size_bytes).unwrap_or_default();
                let unnamed = names.is_empty() && self.kind == Kind::Block;
                for name in names {
                    tell(Weight::Content, format!("holds {name}"));
                }
                if unnamed {
                    tell(Weight::Content, format!("holds data of no known format, at byte {at}"));
                }
            }
            Err(unread) => {
                let what =
                    format!("may hold anything (it can't be read at byte {}: {})", unread.at, unread.error);
                tell(Weight::Unknown, what);
            }
        }
    }

    fn refuse(&self, error: &io::Error) -> Error {
        Error::Target { path: self.path.clone(), detail: error.to_string() }
    }
}

/// Kind, size and identity of a target, without opening it for writing and without reasons not to.
///
/// # Errors
/// It is neither a block device nor a file, or can't be opened.
pub fn glance(path: &Path) -> Result<Survey, Error> {
    match Place::find(path)? {
        Place::Free(survey) => Ok(survey),
        Place::There(there) => Ok(there.open(Access::default())?.1),
    }
}

/// Looks at a target without opening it for writing: reads it, and asks who uses it.
///
/// # Errors
/// It is neither a block device nor a file, or can't be opened.
pub fn survey(path: &Path) -> Result<Survey, Error> {
    match Place::find(path)? {
        Place::Free(survey) => Ok(survey),
        Place::There(there) => there.look(),
    }
}

/// A file to be made: its folder must be there.
fn free(path: &Path) -> Result<Survey, Error> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let resolved = std::fs::canonicalize(folder).ok().zip(path.file_name());
    match resolved {
        // A file in /dev would be memory under the name of a drive.
        Some((folder, name)) if !folder.starts_with("/dev") || folder.starts_with("/dev/shm") => Ok(Survey {
            path: path.into(),
            resolved: folder.join(name),
            kind: Kind::Missing,
            size_bytes: 0,
            identity: None,
            discards: true,
            findings: Vec::new(),
        }),
        Some(_) => Err(Error::Target { path: path.into(), detail: "there is no such device".into() }),
        None => Err(Error::Target { path: path.into(), detail: "there is no such file or folder".into() }),
    }
}

/// Removes a file that was made for nothing, if its name still leads to it.
pub(crate) fn unmake(path: &Path, made: Option<Identity>) {
    if made.is_some() && identity_of_name(path) == made {
        // A file that can't be removed is empty.
        let _ = std::fs::remove_file(path);
    }
}

/// Identity of an open target.
pub(crate) fn identity_of(file: &File) -> io::Result<Identity> {
    let found = rustix::fs::fstat(file)?;
    if FileType::from_raw_mode(found.st_mode) == FileType::BlockDevice {
        // SAFETY: BLKGETDISKSEQ fills a u64.
        let sequence = unsafe {
            let getter = rustix::ioctl::Getter::<GET_SEQUENCE, u64>::new();
            rustix::ioctl::ioctl(file.as_fd(), getter).ok()
        };
        return Ok(Identity::Block { device: found.st_rdev, sequence });
    }
    let wanted = StatxFlags::BTIME;
    let born = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, wanted).ok();
    let born = born.filter(|born| born.stx_mask & wanted.bits() != 0).map(|born| born.stx_btime);
    let born_ns = born.and_then(|born| {
        let seconds = u64::try_from(born.tv_sec).ok()?;
        seconds.checked_mul(1_000_000_000)?.checked_add(u64::from(born.tv_nsec))
    });
    Ok(Identity::File { device: found.st_dev, inode: found.st_ino, born_ns })
}

/// Identity of what a name leads to, without a link at its end.
pub(crate) fn identity_of_name(path: &Path) -> Option<Identity> {
    let Place::There(there) = Place::find(path).ok()? else { return None };
    identity_of(&there.reopen(OFlags::RDONLY).ok()?).ok()
}

/// The size of a file or device, bytes.
fn size_of(file: &File) -> Result<u64, Errno> {
    rustix::fs::seek(file.as_fd(), SeekFrom::End(0))
}

/// Has requests of this descriptor pass the page cache by, or not.
fn set_direct(file: &File, direct: bool) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(file)?;
    let flags = if direct { flags | OFlags::DIRECT } else { flags - OFlags::DIRECT };
    Ok(rustix::fs::fcntl_setfl(file, flags)?)
}

fn is_busy(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::BUSY.raw_os_error())
}
