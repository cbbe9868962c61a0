//! Whether a real drive may be written. Before the first write, and before anything is opened for writing, it is looked at for what
//! its owner may have forgotten: mounts, swap, other users, partitions, file systems, volumes, arrays, content of files. Any of it
//! is a reason to refuse, unless the owner types the target's own name once more.
//!
//! Two things are refused whatever is typed: what the running system stands on (its mounts, active swap), and things that
//! are neither block devices nor files. Nothing here writes.

mod signatures;
mod system;
#[cfg(test)]
mod tests;

use std::fs::{File, Metadata};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::SeekFrom;
use rustix::io::Errno;

use crate::Error;

pub use signatures::signatures;
use system::System;

/// What a target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A block device: a disk, a partition, a loop device.
    Block,
    /// A regular file.
    File,
    /// A file that is not there yet.
    Missing,
}

/// What a reason not to write weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// There is something on the target. Who has written that may write more.
    Content,
    /// Somebody uses it. Its owner may know better.
    Use,
    /// The system needs it: nobody may.
    Needed,
}

/// A reason not to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was found, as the end of a sentence about the target: "is mounted at /mnt".
    pub what: String,
    /// How much it weighs.
    pub weight: Weight,
}

/// What is known of a target before it is opened for writing.
#[derive(Clone, Debug)]
pub struct Survey {
    /// As it was named.
    pub path: PathBuf,
    /// Behind all links.
    pub resolved: PathBuf,
    /// What it is.
    pub kind: Kind,
    /// Its size, bytes; of a block device, that of its whole blocks.
    pub size_bytes: u64,
    /// Device number of a block device, else that of the file system.
    pub device: u64,
    /// Whether it takes TRIMs, as far as the system knows.
    pub discards: bool,
    /// Reasons not to write.
    pub findings: Vec<Finding>,
}

/// Looks at a target, without opening it for writing.
pub fn survey(path: &Path) -> Result<Survey, Error> {
    let refuse = |detail: &str| Error::Target { path: path.into(), detail: detail.into() };
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !path.is_symlink() => {
            return missing(path);
        }
        Err(error) => return Err(refuse(&error.to_string())),
    };
    let resolved = std::fs::canonicalize(path).map_err(|error| refuse(&error.to_string()))?;
    let kind = metadata.file_type();
    let (kind, device) = if kind.is_block_device() {
        (Kind::Block, metadata.rdev())
    } else if kind.is_file() {
        (Kind::File, metadata.dev())
    } else {
        return Err(refuse("this is neither a block device nor a file; expected one of them, or sim:PRESET"));
    };
    let mut survey = Survey {
        path: path.into(),
        resolved,
        kind,
        size_bytes: 0,
        device,
        discards: kind == Kind::File || system::discards(device),
        findings: Vec::new(),
    };
    let file = File::open(path).map_err(|error| refuse(&error.to_string()))?;
    survey.size_bytes = size_of(&file).map_err(|error| refuse(&error.to_string()))?;
    let system = System::read();
    if kind == Kind::Block {
        system.look_at_device(device, &mut survey.findings);
        if survey.findings.is_empty() {
            survey.findings.extend(opened_exclusively(path));
        }
        // A part of a block at the end can't be read or written.
        let block = rustix::fs::ioctl_blksszget(&file).map_or(1, |bytes| u64::from(bytes.max(1)));
        survey.size_bytes = survey.size_bytes / block * block;
        let found = signatures(&file, survey.size_bytes).map_err(|error| refuse(&error.to_string()))?;
        survey.findings.extend(found.into_iter().map(|name| holds(&name)));
    } else {
        system.look_at_file(&metadata, &survey.resolved, &mut survey.findings);
        if has_content(&file, &metadata) {
            survey
                .findings
                .push(Finding { what: "is a file that is not empty".into(), weight: Weight::Content });
        }
    }
    Ok(survey)
}

impl Survey {
    /// Without what is on the target: whoever asks has written that.
    pub(crate) fn of_its_writer(mut self) -> Self {
        self.findings.retain(|finding| finding.weight != Weight::Content);
        self
    }

    /// Refuses to write if there is a reason to and the owner did not type the target's name, or typed another one.
    pub fn permit(&self, erase: Option<&str>) -> Result<(), Error> {
        let refuse = |detail: String| Err(Error::Target { path: self.path.clone(), detail });
        if let Some(name) = erase {
            let named = Path::new(name);
            if named != self.path && named != self.resolved {
                return refuse(format!(
                    "--erase {name} is not the name of this target; expected --erase {}",
                    self.path.display()
                ));
            }
        }
        let heaviest = self.findings.iter().find(|finding| finding.weight == Weight::Needed);
        if let Some(finding) = heaviest {
            return refuse(format!(
                "it {}: the running system needs it; expected another target",
                finding.what
            ));
        }
        if erase.is_none() && !self.findings.is_empty() {
            let found: Vec<&str> = self.findings.iter().map(|finding| finding.what.as_str()).collect();
            return refuse(format!(
                "it {}; expected a target with nothing on it, or --erase {} to destroy what it holds",
                found.join(", and "),
                self.path.display()
            ));
        }
        Ok(())
    }

    /// Whether an open file is what was looked at.
    pub(crate) fn is_still(&self, metadata: &Metadata) -> bool {
        let device = if self.kind == Kind::Block { metadata.rdev() } else { metadata.dev() };
        device == self.device && metadata.file_type().is_block_device() == (self.kind == Kind::Block)
    }
}

/// A file to be made: its folder must be there.
fn missing(path: &Path) -> Result<Survey, Error> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let resolved = std::fs::canonicalize(folder).ok().zip(path.file_name());
    match resolved {
        // A file in /dev would be memory under the name of a drive.
        Some((folder, name)) if !folder.starts_with("/dev") || folder.starts_with("/dev/shm") => Ok(Survey {
            path: path.into(),
            resolved: folder.join(name),
            kind: Kind::Missing,
            size_bytes: 0,
            device: 0,
            discards: true,
            findings: Vec::new(),
        }),
        Some(_) => Err(Error::Target { path: path.into(), detail: "there is no such device".into() }),
        None => Err(Error::Target { path: path.into(), detail: "there is no such file or folder".into() }),
    }
}

fn holds(name: &str) -> Finding {
    Finding { what: format!("holds {name}"), weight: Weight::Content }
}

/// The size of a file or device, bytes.
pub(crate) fn size_of(file: &File) -> Result<u64, Errno> {
    rustix::fs::seek(file.as_fd(), SeekFrom::End(0))
}

/// Whether the kernel has an exclusive user of a device: mounts of other namespaces, device mapper, md, and whoever asks for it.
fn opened_exclusively(path: &Path) -> Option<Finding> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    let busy = rustix::fs::open(path, flags, Mode::empty()).is_err_and(|error| error == Errno::BUSY);
    busy.then(|| Finding {
        what: "is in use (somebody has opened it exclusively)".into(),
        weight: Weight::Use,
    })
}

/// Whether a file has data, and not only a size.
fn has_content(file: &File, metadata: &Metadata) -> bool {
    metadata.len() > 0 && !matches!(rustix::fs::seek(file.as_fd(), SeekFrom::Data(0)), Err(Errno::NXIO))
}
